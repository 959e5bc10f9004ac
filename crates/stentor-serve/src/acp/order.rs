//! Requests of one session that must wait, in the order of their lines.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stentor_wire::jsonrpc::Id;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Keeps changes of settings in the order of their requests, prompts behind the changes that were
/// asked for before them, and knows the prompts that wait for the session to be opened.
pub(super) struct Order {
    /// Fires when the last change that was asked for has been made.
    last: Mutex<CancellationToken>,
    /// The prompts that wait, and what cancels each. As many as requests may be worked on.
    prompts: Mutex<Vec<(Id, CancellationToken)>>,
}

/// The place of a request in the order. The next one goes when this is dropped.
pub(super) struct Turnstile {
    before: CancellationToken,
    _made: DropGuard,
}

impl Order {
    pub fn new() -> Self {
        let nothing = CancellationToken::new();
        nothing.cancel();
        Self {
            last: Mutex::new(nothing),
            prompts: Mutex::default(),
        }
    }

    /// Fires when every change that was asked for so far has been made.
    pub fn last(&self) -> CancellationToken {
        self.lock().clone()
    }

    /// One more change.
    pub fn enter(&self) -> Turnstile {
        let mine = CancellationToken::new();
        let before = std::mem::replace(&mut *self.lock(), mine.clone());
        Turnstile {
            before,
            _made: mine.drop_guard(),
        }
    }

    /// Notes a prompt that waits. What is given back fires when it is cancelled.
    pub fn prompt_waits(&self, id: &Id) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.prompts().push((id.clone(), cancel.clone()));
        cancel
    }

    /// The prompt waits no longer.
    pub fn prompt_begun(&self, id: &Id) {
        self.prompts().retain(|(waiting, _)| waiting != id);
    }

    /// Cancels the prompts that wait: all, or that of one request.
    pub fn cancel(&self, only: Option<&Id>) {
        for (id, cancel) in self.prompts().iter() {
            if only.is_none_or(|only| only == id) {
                cancel.cancel();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CancellationToken> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prompts(&self) -> MutexGuard<'_, Vec<(Id, CancellationToken)>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turnstile {
    /// Waits until everything before has been done.
    pub async fn pass(&self) {
        self.before.cancelled().await;
    }
}
