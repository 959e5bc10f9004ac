//! The journal of a session in the fleet: a file as the working copy, the stream as the truth.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use stentor_journal::store::{Entry, Journal, JournalReader, SessionHeader, StoreError};

use crate::log::Log;

/// A file whose entries also go to the stream. What is appended is written to the file; the writer
/// of the session sends it on in order, and [`Journal::sync`] waits for the stream.
pub(crate) struct FleetJournal {
    working_copy: Box<dyn Journal>,
    /// The same file.
    file: Arc<File>,
    /// Where the entries begin in it.
    begin: u64,
    log: Arc<Log>,
}

impl FleetJournal {
    pub fn new(
        mut working_copy: Box<dyn Journal>,
        file: Arc<File>,
        begin: u64,
        log: Arc<Log>,
    ) -> Self {
        // Pictures go into the object store. So it is for programs, too, that read files and look nowhere
        // else: they do not read working copies.
        working_copy.put_out_pictures();
        Self {
            working_copy,
            file,
            begin,
            log,
        }
    }
}

impl Journal for FleetJournal {
    fn header(&self) -> &SessionHeader {
        self.working_copy.header()
    }

    fn path(&self) -> Option<&Path> {
        self.working_copy.path()
    }

    fn append(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.log.check()?;
        self.working_copy.append(entry)?;
        let size = self.file.metadata().map(|about| about.len());
        let size = size.map_err(|source| StoreError::Io {
            doing: "look at",
            path: self.path().unwrap_or(Path::new("")).to_owned(),
            source,
        })?;
        self.log.appended(entry, size.saturating_sub(self.begin));
        Ok(())
    }

    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        self.log.acknowledged()
    }

    fn survives_process(&self) -> bool {
        false
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        self.working_copy.reader()
    }
}

impl Drop for FleetJournal {
    fn drop(&mut self) {
        self.log.close();
    }
}

/// The journal of a session that this node may not write to.
pub(crate) struct ReadOnlyJournal {
    copy: Box<dyn Journal>,
    why: String,
}

impl ReadOnlyJournal {
    pub fn new(copy: Box<dyn Journal>, why: String) -> Self {
        Self { copy, why }
    }
}

impl Journal for ReadOnlyJournal {
    fn header(&self) -> &SessionHeader {
        self.copy.header()
    }

    fn path(&self) -> Option<&Path> {
        self.copy.path()
    }

    /// The session refuses what is said. What it notes for itself when it is opened is noted by
    /// whoever may write.
    fn append(&mut self, _entry: &Entry) -> Result<(), StoreError> {
        Ok(())
    }

    fn read_only(&self) -> Option<&str> {
        Some(&self.why)
    }

    fn sync(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Result<Arc<dyn JournalReader>, StoreError> {
        self.copy.reader()
    }
}
