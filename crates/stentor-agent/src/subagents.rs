//! The running subagents of a session: who wants to stop or steer one finds it here by its number.

use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_journal::message::ContentBlock;
use tokio_util::sync::CancellationToken;

/// The running subagents of one session.
#[derive(Default)]
pub struct Subagents {
    running: Mutex<HashMap<u64, SubagentHandle>>,
    watched: AtomicBool,
}

/// How one is reached.
struct SubagentHandle {
    mailbox: Mailbox,
    cancel: CancellationToken,
    /// Fires when it is gone and its end was published.
    gone: CancellationToken,
}

/// Whoever steers a subagent holds the lock meanwhile. No session: it takes no more messages.
type Mailbox = Arc<tokio::sync::Mutex<Option<Arc<dyn SteeredSession>>>>;

/// The session of a subagent, for who wants to steer it.
pub trait SteeredSession: Send + Sync {
    /// Queues a message as a user's steering message.
    fn steer(&self, content: Vec<ContentBlock>) -> SteerFuture<'_>;
}

/// A message that is being queued.
pub type SteerFuture<'a> = Pin<Box<dyn Future<Output = Result<(), SteerError>> + Send + 'a>>;

/// A running subagent. Dropping this means that it is gone.
#[must_use = "a subagent that is dropped is gone"]
pub struct RunningSubagent {
    subagents: Arc<Subagents>,
    id: u64,
    mailbox: Mailbox,
}

/// Why a subagent was not steered.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    #[error("the subagent is not running")]
    NotRunning,
    /// Its session did not take the message.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

impl Subagents {
    /// Has what happens in them published to the session's subscribers from now on. Who does not want
    /// it any more leaves it out: others may share the session.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Release);
    }

    /// True when somebody wants to know what happens in them.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Notes one that works until `cancel` fires.
    pub fn enter(
        self: &Arc<Self>,
        id: u64,
        session: impl SteeredSession + 'static,
        cancel: CancellationToken,
    ) -> RunningSubagent {
        let mailbox: Mailbox = Arc::new(tokio::sync::Mutex::new(Some(Arc::new(session))));
        let reach = SubagentHandle {
            mailbox: Arc::clone(&mailbox),
            cancel,
            gone: CancellationToken::new(),
        };
        self.lock().insert(id, reach);
        RunningSubagent {
            subagents: Arc::clone(self),
            id,
            mailbox,
        }
    }

    /// Stops one and waits until it is gone. False when it is not running.
    pub async fn cancel(&self, id: u64) -> bool {
        let gone = {
            let running = self.lock();
            let Some(reach) = running.get(&id) else {
                return false;
            };
            reach.cancel.cancel();
            reach.gone.clone()
        };
        gone.cancelled().await;
        true
    }

    /// Steers one, as a user would.
    pub async fn steer(&self, id: u64, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let mailbox = self.lock().get(&id).map(|reach| Arc::clone(&reach.mailbox));
        let mailbox = mailbox.ok_or(SteerError::NotRunning)?;
        let open = mailbox.lock().await;
        let session = open.as_ref().ok_or(SteerError::NotRunning)?;
        session.steer(content).await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, SubagentHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningSubagent {
    /// From now on it takes no more messages. What it was sent before is in its session's queues.
    pub async fn close(&self) {
        *self.mailbox.lock().await = None;
    }

    /// It takes messages again.
    pub async fn open(&self, session: impl SteeredSession + 'static) {
        *self.mailbox.lock().await = Some(Arc::new(session));
    }
}

impl Drop for RunningSubagent {
    fn drop(&mut self) {
        if let Some(reach) = self.subagents.lock().remove(&self.id) {
            reach.gone.cancel();
        }
    }
}
