//! The subagents at work for a session: who wants to stop one, or to tell it something, finds it
//! here by its number.

use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_journal::message::ContentBlock;
use tokio_util::sync::CancellationToken;

/// The subagents at work for one session.
#[derive(Default)]
pub struct Subagents {
    at_work: Mutex<HashMap<u64, Reach>>,
    watched: AtomicBool,
}

/// How one is reached.
struct Reach {
    door: Door,
    cancel: CancellationToken,
    /// Fires when it is gone and its end was told.
    gone: CancellationToken,
}

/// Who talks to a subagent holds its door open meanwhile. No session: it takes no more messages.
type Door = Arc<tokio::sync::Mutex<Option<Arc<dyn Steered>>>>;

/// The session of a subagent, for who wants to tell it something.
pub trait Steered: Send + Sync {
    /// Queues a message as a user's steering message.
    fn steer(&self, content: Vec<ContentBlock>) -> SteerFuture<'_>;
}

/// A message that is being queued.
pub type SteerFuture<'a> = Pin<Box<dyn Future<Output = Result<(), SteerError>> + Send + 'a>>;

/// A subagent at work. Dropping this says that it is gone.
#[must_use = "a subagent that is dropped is gone"]
pub struct AtWork {
    subagents: Arc<Subagents>,
    id: u64,
    door: Door,
}

/// Why a subagent was told nothing.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    #[error("the subagent is not at work")]
    NotAtWork,
    /// Its session did not take the message.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

impl Subagents {
    /// Has what happens in them told to the session's subscribers, or no longer.
    pub fn watch(&self, on: bool) {
        self.watched.store(on, Ordering::Release);
    }

    /// True when somebody wants to know what happens in them.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Notes one that works until `cancel` fires.
    pub fn enter(
        self: &Arc<Self>,
        id: u64,
        session: impl Steered + 'static,
        cancel: CancellationToken,
    ) -> AtWork {
        let door: Door = Arc::new(tokio::sync::Mutex::new(Some(Arc::new(session))));
        let reach = Reach {
            door: Arc::clone(&door),
            cancel,
            gone: CancellationToken::new(),
        };
        self.lock().insert(id, reach);
        AtWork {
            subagents: Arc::clone(self),
            id,
            door,
        }
    }

    /// Stops one and waits until it is gone. False when it is not at work.
    pub async fn cancel(&self, id: u64) -> bool {
        let gone = {
            let at_work = self.lock();
            let Some(reach) = at_work.get(&id) else {
                return false;
            };
            reach.cancel.cancel();
            reach.gone.clone()
        };
        gone.cancelled().await;
        true
    }

    /// Tells one something, as a user would.
    pub async fn steer(&self, id: u64, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let door = self.lock().get(&id).map(|reach| Arc::clone(&reach.door));
        let door = door.ok_or(SteerError::NotAtWork)?;
        let open = door.lock().await;
        let session = open.as_ref().ok_or(SteerError::NotAtWork)?;
        session.steer(content).await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Reach>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtWork {
    /// From now on it takes no more messages. What it was told before is in its session's queues.
    pub async fn close(&self) {
        *self.door.lock().await = None;
    }

    /// It takes messages again.
    pub async fn open(&self, session: impl Steered + 'static) {
        *self.door.lock().await = Some(Arc::new(session));
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if let Some(reach) = self.subagents.lock().remove(&self.id) {
            reach.gone.cancel();
        }
    }
}
