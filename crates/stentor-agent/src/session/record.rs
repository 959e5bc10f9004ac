//! The session's entries: planned until the first that must last, then in a journal.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use stentor_journal::clock::Clock;
use stentor_journal::store::{
    self, Entry, Journal, JournalReader, JournalStore, Reservation, SessionHeader, StoreError,
};

use super::held_journal::HeldJournal;

/// Entries that are kept in memory until the session becomes worth a file, then in its journal.
///
/// A client that connects, looks around and leaves should leave no file behind; an accepted prompt
/// must be on disk. So the file is made by the first [`Record::append`] with `must_last`.
pub(super) enum Record {
    Planned(Box<PlannedJournal>),
    Held(HeldJournal),
    Open(Box<dyn Journal>),
}

/// A journal that is to be made.
pub(super) struct PlannedJournal {
    /// The folder it will be in; `None` when it has a path of its own.
    folder: Option<PathBuf>,
    path: PathBuf,
    header: SessionHeader,
    entries: Vec<Entry>,
    inline_pictures: bool,
    /// What makes the file.
    journals: Arc<dyn JournalStore>,
    /// The session counts before it has a file, so that there is capacity for it when it gets one.
    _reservation: Option<Box<dyn Reservation>>,
}

impl Record {
    /// The record of a session that was opened, and that nothing is written to until somebody adds
    /// something: what is added before [`Record::restored`] waits for that.
    pub fn held(journal: Box<dyn Journal>) -> Self {
        Self::Held(HeldJournal::new(journal))
    }

    /// What is added from here on is written.
    pub fn restored(&mut self) {
        if let Self::Held(held) = self {
            held.restored();
        }
    }

    /// The entry in the file that an entry goes back to: itself, or the nearest before it that does
    /// not wait.
    pub fn stored_ancestor(&self) -> impl Fn(String) -> Option<String> + Send + use<> {
        let waiting = match self {
            Self::Held(held) => held.parents(),
            Self::Planned(_) | Self::Open(_) => HashMap::new(),
        };
        move |id| {
            let mut found = Some(id);
            while let Some(parent) = found.as_ref().and_then(|id| waiting.get(id)) {
                found.clone_from(parent);
            }
            found
        }
    }

    /// A record that becomes a file in `folder` when it must, with the capacity that was reserved for
    /// it, or that it reserves now.
    pub fn planned(
        journals: Arc<dyn JournalStore>,
        folder: PathBuf,
        header: SessionHeader,
        reserved: Option<Box<dyn Reservation>>,
    ) -> Result<Self, StoreError> {
        let path = store::file_path(&folder, &header)?;
        let mut reservation = match reserved {
            Some(reserved) => Some(reserved),
            None => journals.reserve(&folder, Path::new(&header.cwd))?,
        };
        if let Some(reservation) = &mut reservation {
            reservation.assign(&header.id);
        }
        Ok(Self::Planned(Box::new(PlannedJournal {
            folder: Some(folder),
            path,
            header,
            entries: Vec::new(),
            inline_pictures: false,
            journals,
            _reservation: reservation,
        })))
    }

    /// A record that becomes the file `path` when it must, if it can.
    pub fn planned_at(
        journals: Arc<dyn JournalStore>,
        path: PathBuf,
        header: SessionHeader,
    ) -> Result<Self, StoreError> {
        store::check_can_create_at(&path)?;
        Ok(Self::Planned(Box::new(PlannedJournal {
            folder: None,
            path,
            header,
            entries: Vec::new(),
            inline_pictures: false,
            journals,
            _reservation: None,
        })))
    }

    /// From here on pictures stay in their entries.
    pub fn keep_pictures_inline(&mut self) {
        match self {
            Self::Planned(planned) => planned.inline_pictures = true,
            Self::Held(held) => held.journal_mut().keep_pictures_inline(),
            Self::Open(journal) => journal.keep_pictures_inline(),
        }
    }

    pub fn header(&self) -> &SessionHeader {
        match self {
            Self::Planned(planned) => &planned.header,
            Self::Held(held) => held.journal().header(),
            Self::Open(journal) => journal.header(),
        }
    }

    /// The file, or where it will be; `None` when there will never be one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Planned(planned) => Some(&planned.path),
            Self::Held(held) => held.journal().path(),
            Self::Open(journal) => journal.path(),
        }
    }

    /// Adds an entry. With `must_last` it is in the file when this returns.
    pub fn append(
        &mut self,
        entry: &Entry,
        must_last: bool,
        clock: &dyn Clock,
    ) -> Result<(), StoreError> {
        if must_last {
            self.make_file(clock)?;
        }
        match self {
            Self::Planned(planned) => {
                planned.entries.push(entry.clone());
                Ok(())
            }
            Self::Held(held) => held.append(entry),
            Self::Open(journal) => journal.append(entry),
        }
    }

    /// Makes the file, if there is to be one and it is not there yet.
    pub fn make_file(&mut self, clock: &dyn Clock) -> Result<(), StoreError> {
        if let Self::Planned(planned) = self {
            let header = planned.header.clone();
            let mut journal = match &planned.folder {
                Some(folder) => planned.journals.create(folder, header, clock)?,
                None => planned.journals.create_at(&planned.path, header, clock)?,
            };
            if planned.inline_pictures {
                journal.keep_pictures_inline();
            }
            for entry in &planned.entries {
                journal.append(entry)?;
            }
            *self = Self::Open(journal);
        }
        Ok(())
    }

    /// Whether what was appended survives the end of this process.
    pub fn survives_process(&self) -> bool {
        self.journal().is_none_or(Journal::survives_process)
    }

    /// Makes everything appended so far survive a power cut.
    pub fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        match self {
            Self::Planned(_) => Box::pin(std::future::ready(Ok(()))),
            Self::Held(held) => held.journal().sync(),
            Self::Open(journal) => journal.sync(),
        }
    }

    /// Reads the entries made so far.
    pub fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        match self {
            Self::Planned(planned) => Ok(store::memory_reader(planned.entries.clone())),
            Self::Held(held) => held.reader(),
            Self::Open(journal) => journal.reader(),
        }
    }

    /// The journal, once there is one.
    pub fn journal(&self) -> Option<&dyn Journal> {
        match self {
            Self::Planned(_) => None,
            Self::Held(held) => Some(held.journal()),
            Self::Open(journal) => Some(&**journal),
        }
    }
}
