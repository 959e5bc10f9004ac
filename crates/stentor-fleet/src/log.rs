//! How far the journal of a session has come: what was appended to the working copy, and what of it
//! the stream has acknowledged.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use stentor_journal::store::{Entry, EntryKind, StoreError};
use tokio::sync::watch;

use crate::directory::{SessionActivity, SessionRecord};

/// How much of the first message the directory shows.
const FIRST_MESSAGE_CHARS: usize = 200;

/// What the journal, its writer and the node share about a session that this node owns.
pub(crate) struct Log {
    pub id: String,
    progress: watch::Sender<LogProgress>,
    /// What the directory should say. The writer enters it.
    about: Mutex<SessionRecord>,
    /// In which state it is when it is released, and who should take it then.
    after: Mutex<(SessionActivity, Option<String>)>,
    /// How long an acknowledgement is waited for.
    patience: Duration,
}

/// Positions are bytes of entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogProgress {
    pub appended: u64,
    pub acknowledged: u64,
    /// The fleet knows the session.
    pub begun: bool,
    /// What the directory should say has changed so often.
    pub about: u64,
    /// Nobody appends any more.
    pub closing: bool,
    /// What is in the way of the next acknowledgement.
    pub trouble: Option<String>,
    /// Why nothing more is written.
    pub stopped: Option<String>,
    /// The writer has ended.
    pub ended: bool,
}

impl Log {
    pub fn new(record: SessionRecord, written: u64, acknowledged: u64, patience: Duration) -> Self {
        let progress = LogProgress {
            appended: written,
            acknowledged,
            ..LogProgress::default()
        };
        Self {
            id: record.id.clone(),
            progress: watch::Sender::new(progress),
            about: Mutex::new(record),
            after: Mutex::new((SessionActivity::Stored, None)),
            patience,
        }
    }

    /// An error when nothing more may be written.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.progress.borrow().stopped {
            Some(why) => Err(self.not_ours(why)),
            None => Ok(()),
        }
    }

    /// An entry is in the working copy, which has so many bytes of entries now.
    pub fn appended(&self, entry: &Entry, size: u64) {
        let is_told = self.note(entry);
        self.progress.send_modify(|progress| {
            progress.appended = size;
            progress.about += u64::from(is_told);
        });
    }

    /// Waits until everything that was appended before the call is acknowledged.
    pub fn acknowledged(self: &std::sync::Arc<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        let log = std::sync::Arc::clone(self);
        let target = log.progress.borrow().appended;
        Box::pin(async move {
            let mut progress = log.progress.subscribe();
            let is_stored =
                |progress: &LogProgress| progress.begun && progress.acknowledged >= target;
            let done = |progress: &LogProgress| is_stored(progress) || progress.stopped.is_some();
            let waited = tokio::time::timeout(log.patience, progress.wait_for(done)).await;
            match waited {
                Ok(Ok(progress)) if is_stored(&progress) => Ok(()),
                Ok(Ok(progress)) => {
                    Err(log.not_ours(progress.stopped.as_deref().unwrap_or_default()))
                }
                Ok(Err(_)) => Err(log.not_ours("its writer has ended")),
                Err(_) => Err(StoreError::Unacknowledged {
                    id: log.id.clone(),
                    why: log.trouble(),
                }),
            }
        })
    }

    /// Nothing more may be written, for this reason. The first one counts.
    pub fn stop(&self, why: &str) {
        self.progress.send_if_modified(|progress| {
            let is_first = progress.stopped.is_none();
            progress.stopped.get_or_insert_with(|| why.to_owned());
            is_first
        });
    }

    /// Nobody appends any more.
    pub fn close(&self) {
        self.progress
            .send_modify(|progress| progress.closing = true);
    }

    /// Notes what goes on in the session, for the directory.
    pub fn set_state(&self, state: SessionActivity, now_ms: u64) {
        let mut about = self.about();
        if about.state != state {
            about.state = state;
            about.updated_ms = now_ms;
            drop(about);
            self.progress.send_modify(|progress| progress.about += 1);
        }
    }

    /// Notes in which state it is when it is released, and who should take it then.
    pub fn hand_over(&self, state: SessionActivity, wanted: Option<String>) {
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = (state, wanted);
    }

    /// It is open for good: when it is closed, it need not go on elsewhere, unless somebody else has said
    /// so meanwhile.
    pub fn taken_up(&self) {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        if *after == (SessionActivity::HandedOver, None) {
            after.0 = SessionActivity::Stored;
        }
    }

    /// What the directory says of it when this node has it no more.
    pub fn released(&self) -> SessionRecord {
        let after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, wanted) = after.clone();
        SessionRecord {
            owner: None,
            wanted,
            state,
            ..self.about().clone()
        }
    }

    /// What the directory should say.
    pub fn about(&self) -> MutexGuard<'_, SessionRecord> {
        self.about.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it has come, and every change of that.
    pub fn progress(&self) -> watch::Receiver<LogProgress> {
        self.progress.subscribe()
    }

    /// Notes a change.
    pub fn change(&self, change: impl FnOnce(&mut LogProgress)) {
        self.progress.send_modify(change);
    }

    fn trouble(&self) -> String {
        let trouble = self.progress.borrow().trouble.clone();
        trouble.unwrap_or_else(|| "the fleet does not answer".to_owned())
    }

    fn not_ours(&self, why: &str) -> StoreError {
        StoreError::NotOurs {
            id: self.id.clone(),
            why: why.to_owned(),
        }
    }

    /// Takes from an entry what the directory shows. True when that is something new.
    fn note(&self, entry: &Entry) -> bool {
        let mut about = self.about();
        match &entry.kind {
            EntryKind::SessionInfo { name } => about.name = Some(name.clone()),
            EntryKind::Message { message } => {
                let Some(user) = message.as_user() else {
                    return false;
                };
                about.updated_ms = about.updated_ms.max(user.timestamp);
                let text = user.content.text();
                if about.first_message.is_none() && !text.is_empty() {
                    about.first_message = Some(text.chars().take(FIRST_MESSAGE_CHARS).collect());
                }
            }
            _ => return false,
        }
        true
    }
}
