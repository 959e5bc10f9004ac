//! Taking sessions: who owns one, and what the stream says of it, before it is opened here.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::message::PublishMessage;
use stentor_journal::store::{self as files, OpenedSession, StoreError, short_id};

use super::capacity::Opening;
use super::{FleetStore, OwnedSession, removal};
use crate::directory::SessionActivity;
use crate::error::FleetError;
use crate::journal::ReadOnlyJournal;
use crate::log::Log;
use crate::message::{KIND, MessageKind, OFFSET, WRITER};
use crate::ownership::{Claim, ClaimedRecord, HeldRecord, NotHeld};
use crate::pictures::Pictures;
use crate::places::WorkingFolder;
use crate::sequence::misplaced;
use crate::working_copy::WorkingCopy;
use crate::writer::WriterStart;

/// How often a session is read anew because its former owner still wrote to it.
const TRIES: usize = 20;

/// How long a session that is being closed here may take.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// How long a client waits for the node that its session moves to, and how often it looks.
const WANTED_WAIT: Duration = Duration::from_secs(10);
const WANTED_PAUSE: Duration = Duration::from_millis(50);

/// How often it is looked whether a working copy is there that somebody else makes.
const COPYING_PAUSE: Duration = Duration::from_millis(10);

/// How many sessions an ambiguity names.
const MAX_CANDIDATES: usize = 5;

/// A session that can be opened now.
pub(super) enum PreparedOpening {
    /// It is this node's.
    Taken {
        claimed: Box<ClaimedRecord>,
        claim: Claim,
        copy: WorkingCopy,
        /// The sequence of the message that says so.
        sequence: u64,
    },
    /// It can only be read here.
    ToRead { why: String },
}

/// Makes the working copy of a session, as the only one.
struct CopyInProgress<'a> {
    store: &'a FleetStore,
    id: String,
}

impl Drop for CopyInProgress<'_> {
    fn drop(&mut self) {
        self.store.lock_copying().remove(&self.id);
    }
}

impl OwnedSession {
    fn prepared(prepared: PreparedOpening) -> Self {
        Self::Prepared {
            prepared: Box::new(prepared),
            since: Instant::now(),
        }
    }
}

impl FleetStore {
    /// Takes a session that nobody has, and brings its working copy up to date.
    pub(crate) async fn prepare_session(&self, id: &str, claim: Claim) -> Result<(), StoreError> {
        self.closed(id).await;
        let _copying = self.copying(id).await;
        if self.has(id) {
            return Ok(());
        }
        let held = self.known(id).await?;
        let (path, folder) = self.path_of(&held.record)?;
        let mut capacity = None;
        let prepared = match self.places().find_working_folder(&held.record).await {
            WorkingFolder::Here(_) => {
                let opening = match claim == Claim::InTurn || held.record.is_moving() {
                    true => Opening::TakenOver,
                    false => Opening::Another,
                };
                capacity = self.reserve_for(Some(id), &held.record.place, opening)?;
                self.take(id, &path, &folder, claim).await?
            }
            WorkingFolder::Absent(why) => self.to_read(id, &path, &folder, claim, why).await?,
        };
        self.lock()
            .insert(id.to_owned(), OwnedSession::prepared(prepared));
        // It counts by itself from here on.
        drop(capacity);
        Ok(())
    }

    /// Lets go of sessions that were prepared so long ago that nobody opens them any more.
    pub(crate) async fn let_go_unopened(&self) {
        let lease = self.fleet().lease();
        let old: Vec<PreparedOpening> = {
            let mut sessions = self.lock();
            let is_old = |owned: &OwnedSession| matches!(owned, OwnedSession::Prepared { since, .. } if since.elapsed() > lease);
            let old = sessions.extract_if(|_, owned| is_old(owned));
            let prepared = old.filter_map(|(_, owned)| match owned {
                OwnedSession::Prepared { prepared, .. } => Some(*prepared),
                OwnedSession::Reserved | OwnedSession::Opening | OwnedSession::Open { .. } => None,
            });
            prepared.collect()
        };
        for prepared in old {
            if let PreparedOpening::Taken { claimed, .. } = prepared {
                self.let_go(*claimed).await;
            }
        }
    }

    /// Lets go of a session that was prepared and cannot be opened here.
    pub(crate) async fn let_go_prepared(&self, id: &str) {
        let prepared = match self.lock().entry(id.to_owned()) {
            Entry::Occupied(found) if matches!(found.get(), OwnedSession::Prepared { .. }) => {
                found.remove()
            }
            Entry::Occupied(_) | Entry::Vacant(_) => return,
        };
        if let OwnedSession::Prepared { prepared, .. } = prepared
            && let PreparedOpening::Taken { claimed, .. } = *prepared
        {
            self.let_go(*claimed).await;
        }
    }

    /// A session that this node has taken over is open for good: when it is closed, it is not somebody
    /// else's turn.
    pub(crate) fn taken_up(&self, id: &str) {
        let sessions = self.lock();
        if let (Some(OwnedSession::Open { log, .. }), false) =
            (sessions.get(id), self.is_draining())
        {
            log.taken_up();
        }
    }

    /// Opens a session that was prepared.
    pub(super) fn open_prepared(&self, id: &str, path: &Path) -> Result<OpenedSession, StoreError> {
        let prepared = match self.lock().entry(id.to_owned()) {
            Entry::Vacant(_) => {
                return Err(not_ours(id, "it has just been closed here; try again"));
            }
            Entry::Occupied(mut found) => match found.insert(OwnedSession::Opening) {
                OwnedSession::Prepared { prepared, .. } => prepared,
                before => {
                    found.insert(before);
                    return Err(not_ours(id, "it is open on this node already"));
                }
            },
        };
        let opened = self.open_taken(*prepared, path);
        let mut sessions = self.lock();
        if matches!(sessions.get(id), Some(OwnedSession::Opening)) {
            sessions.remove(id);
        }
        opened
    }

    fn open_taken(
        &self,
        prepared: PreparedOpening,
        path: &Path,
    ) -> Result<OpenedSession, StoreError> {
        let mut opened = files::open(path)?;
        opened.journal = match prepared {
            PreparedOpening::ToRead { why } => Box::new(ReadOnlyJournal::new(opened.journal, why)),
            PreparedOpening::Taken {
                claimed,
                claim,
                copy,
                sequence,
            } => {
                let file = File::open(&copy.path).map_err(|source| StoreError::Io {
                    doing: "open",
                    path: copy.path.clone(),
                    source,
                })?;
                let lease = self.fleet().lease();
                let held = claimed.held;
                let log = Log::new(held.record.clone(), copy.size, copy.size, lease);
                if claim == Claim::InTurn {
                    // Until it is taken up: what else fails may succeed on another node.
                    log.hand_over(SessionActivity::HandedOver, None);
                }
                let held = Box::new(held);
                let beginning = WriterStart::Taken { held, sequence };
                let place = (copy.path, file, copy.begin);
                self.write(opened.journal, place, log, beginning)
            }
        };
        Ok(opened)
    }

    /// The file of a session by its id or the beginning of that. What it says is there, unless this
    /// node writes to it itself.
    pub(super) fn find_session(&self, wanted: &str) -> Option<Result<PathBuf, StoreError>> {
        let mut found = self.fleet().find(wanted);
        if found.len() > 1 {
            let named = found.iter().take(MAX_CANDIDATES);
            return Some(Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                candidates: named
                    .map(|record| short_id(&record.id).to_owned())
                    .collect(),
            }));
        }
        let record = found.pop()?;
        let found = self.path_of(&record).and_then(|(path, folder)| {
            self.block(async {
                let _copying = self.copying(&record.id).await;
                match self.has(&record.id) {
                    true => Ok(()),
                    false => self.copy(&record.id, &path, &folder).await.map(|_| ()),
                }
            })?;
            Ok(path)
        });
        Some(found)
    }

    fn lock_copying(&self) -> MutexGuard<'_, HashSet<String>> {
        let copying = &self.shared.copying;
        copying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else makes the working copy of a session.
    async fn copying(&self, id: &str) -> CopyInProgress<'_> {
        while !self.lock_copying().insert(id.to_owned()) {
            tokio::time::sleep(COPYING_PAUSE).await;
        }
        CopyInProgress {
            store: self,
            id: id.to_owned(),
        }
    }

    /// Removes a session that nobody has open, here and everywhere.
    pub(super) async fn remove_session(&self, id: &str, path: &Path) -> Result<(), StoreError> {
        self.closed(id).await;
        let failed = |why: FleetError| unreachable(id, &why);
        match self.fleet().claim(id, Claim::ForClient).await {
            Ok(_) | Err(NotHeld::Unknown) => {}
            Err(why) => return Err(not_held(id, why)),
        }
        if let Ok(file) = File::open(path) {
            let pictures = Pictures::beside(path, id);
            pictures
                .remove(self.fleet(), &Arc::new(file))
                .await
                .map_err(failed)?;
            removal::remove_file(path)?;
        }
        // The record goes first: what the directory has can be opened.
        self.fleet().strike(id).await.map_err(failed)?;
        let subject = self.fleet().journal_subject(id);
        let purged = self.fleet().journal_stream().purge().filter(subject).await;
        purged.map_err(|why| failed(FleetError::nats("remove a journal")(why)))?;
        // What was set aside beside it.
        removal::remove_from(path.parent().unwrap_or(path), &|found| found == id);
        Ok(())
    }

    /// Waits until a session that is being closed here is released.
    async fn closed(&self, id: &str) {
        let log = {
            let sessions = self.lock();
            match sessions.get(id) {
                Some(OwnedSession::Open { log, .. }) => Arc::clone(log),
                _ => return,
            }
        };
        let mut progress = log.progress();
        let is_ending = progress.borrow().closing || progress.borrow().stopped.is_some();
        if is_ending {
            let ended = progress.wait_for(|progress| progress.ended);
            tokio::time::timeout(CLOSE_WAIT, ended).await.ok();
            self.forget(&log);
        }
    }

    async fn known(&self, id: &str) -> Result<HeldRecord, StoreError> {
        let found = self.fleet().read_record(id).await;
        let found = found.map_err(|why| unreachable(id, &why))?;
        found.ok_or_else(|| StoreError::NotFound {
            wanted: id.to_owned(),
            place: PathBuf::from("the fleet"),
        })
    }

    /// Makes this node the owner: first in the directory, then in the log, which from then on
    /// refuses whoever wrote before.
    async fn take(
        &self,
        id: &str,
        path: &Path,
        folder: &Path,
        claim: Claim,
    ) -> Result<PreparedOpening, StoreError> {
        let claimed = self.claimed(id, claim).await?;
        let label = claimed.held.record.place.clone();
        let places = self.places().clone();
        let made = tokio::task::spawn_blocking(move || places.prepare(&label)).await;
        if let Ok(Err(why)) = made {
            self.let_go(claimed).await;
            return Err(not_ours(id, &why.to_string()));
        }
        // What was checked out may not have the folder.
        let record = &claimed.held.record;
        if let WorkingFolder::Absent(why) = self.places().find_working_folder(record).await {
            self.let_go(claimed).await;
            return self.to_read(id, path, folder, claim, why).await;
        }
        for _ in 0..TRIES {
            let copy = match self.copy(id, path, folder).await {
                Ok(copy) => copy,
                Err(why) => {
                    self.let_go(claimed).await;
                    return Err(why);
                }
            };
            match self.fence(id, &copy).await {
                Ok(Some(sequence)) => {
                    return Ok(PreparedOpening::Taken {
                        claimed: Box::new(claimed),
                        claim,
                        copy,
                        sequence,
                    });
                }
                Ok(None) => {}
                Err(why) => {
                    self.let_go(claimed).await;
                    return Err(unreachable(id, &why));
                }
            }
        }
        self.let_go(claimed).await;
        Err(not_ours(id, "another node goes on writing to it"))
    }

    /// Prepares a session that a client can only read here. Nobody takes one over for that.
    async fn to_read(
        &self,
        id: &str,
        path: &Path,
        folder: &Path,
        claim: Claim,
        why: String,
    ) -> Result<PreparedOpening, StoreError> {
        match claim {
            Claim::InTurn => Err(not_ours(id, &why)),
            Claim::ForClient => {
                self.copy(id, path, folder).await?;
                Ok(PreparedOpening::ToRead { why })
            }
        }
    }

    /// Claims a session for as long as a node that should take it might still do so.
    async fn claimed(&self, id: &str, claim: Claim) -> Result<ClaimedRecord, StoreError> {
        let until = Instant::now() + WANTED_WAIT;
        loop {
            match self.fleet().claim(id, claim).await {
                Ok(claimed) => return Ok(claimed),
                Err(NotHeld::Wanted(_)) if Instant::now() < until => {
                    tokio::time::sleep(WANTED_PAUSE).await;
                }
                Err(why) => return Err(not_held(id, why)),
            }
        }
    }

    async fn copy(&self, id: &str, path: &Path, folder: &Path) -> Result<WorkingCopy, StoreError> {
        let made = WorkingCopy::make(self.fleet(), id, path, folder).await;
        match made {
            Ok(Some(copy)) => Ok(copy),
            Ok(None) => Err(not_ours(id, "nothing of it is stored yet")),
            Err(why) => Err(unreachable(id, &why)),
        }
    }

    /// Writes into the log that this node has the session. `None` when somebody else wrote since it
    /// was copied.
    async fn fence(&self, id: &str, copy: &WorkingCopy) -> Result<Option<u64>, FleetError> {
        let node = self.fleet().this_node();
        let message_id = format!("{id}-{}-owner-{}", node.life, copy.last);
        let message = PublishMessage::build()
            .header(KIND, MessageKind::Owner.word())
            .header(WRITER, format!("{} {}", node.name, node.life).as_str())
            .header(OFFSET, copy.size.to_string().as_str())
            .message_id(message_id)
            .expected_last_subject_sequence(copy.last);
        match self.fleet().publish(id, message).await {
            Ok(sequence) => Ok(Some(sequence)),
            Err(why) if misplaced(&why).is_some() => Ok(None),
            Err(why) => Err(FleetError::nats("take a session")(why)),
        }
    }

    /// Somebody else may have the session after all.
    async fn let_go(&self, claimed: ClaimedRecord) {
        let ClaimedRecord { held, unopened } = claimed;
        if let Err(why) = self.fleet().change(&held, unopened).await {
            tracing::warn!(session = %held.record.id, "not released: {why}");
        }
    }
}

fn not_held(id: &str, why: NotHeld) -> StoreError {
    match why {
        NotHeld::Unknown => StoreError::NotFound {
            wanted: id.to_owned(),
            place: PathBuf::from("the fleet"),
        },
        NotHeld::Fleet(why) => unreachable(id, &why),
        NotHeld::OwnedBy(_) | NotHeld::Wanted(_) | NotHeld::Raced | NotHeld::Contested => {
            not_ours(id, &why.to_string())
        }
    }
}

fn not_ours(id: &str, why: &str) -> StoreError {
    StoreError::NotOurs {
        id: id.to_owned(),
        why: why.to_owned(),
    }
}

fn unreachable(id: &str, why: &FleetError) -> StoreError {
    StoreError::Unacknowledged {
        id: id.to_owned(),
        why: why.to_string(),
    }
}
