//! What the client was asked and has not answered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stentor_agent::tool::{Progress, ToolOutput};
use stentor_wire::omp::command::HostUriResult;
use tokio::sync::oneshot;

use crate::omp::limits;

/// What the client was asked.
#[derive(Default)]
pub(super) struct HostCalls {
    state: Mutex<OpenCallsState>,
}

#[derive(Default)]
struct OpenCallsState {
    next: u64,
    open: HashMap<String, HostCallWaiter>,
    closed: bool,
}

/// Who waits for an answer.
pub(super) enum HostCallWaiter {
    Tool {
        progress: Progress,
        done: oneshot::Sender<ToolOutput>,
    },
    Uri(oneshot::Sender<HostUriResult>),
}

/// Why the client is not asked, in words for a model.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostNotAsked {
    #[error("The client is gone.")]
    ClientGone,
    #[error("Too many calls wait for the client.")]
    TooMany,
}

impl HostCalls {
    /// Opens a call and gives it an id.
    pub fn open(&self, pending: HostCallWaiter) -> Result<String, HostNotAsked> {
        let mut state = self.lock();
        if state.closed {
            return Err(HostNotAsked::ClientGone);
        }
        if state.open.len() >= limits::HOST_CALLS {
            return Err(HostNotAsked::TooMany);
        }
        let id = Self::new_id(&mut state);
        state.open.insert(id.clone(), pending);
        Ok(id)
    }

    /// An id for a frame that nobody answers.
    pub fn id(&self) -> String {
        Self::new_id(&mut self.lock())
    }

    /// Nobody waits for the answer any more.
    pub fn forget(&self, id: &str) {
        self.lock().open.remove(id);
    }

    /// Tells who waits for a tool how far it is.
    pub fn progress(&self, id: &str, output: ToolOutput) {
        let progress = match self.lock().open.get(id) {
            Some(HostCallWaiter::Tool { progress, .. }) => progress.clone(),
            Some(HostCallWaiter::Uri(_)) | None => return,
        };
        progress.report(output);
    }

    /// Who waits for a tool.
    pub fn take_tool(&self, id: &str) -> Option<HostCallWaiter> {
        self.take(id, |pending| matches!(pending, HostCallWaiter::Tool { .. }))
    }

    /// Who waits for an address.
    pub fn take_uri(&self, id: &str) -> Option<HostCallWaiter> {
        self.take(id, |pending| matches!(pending, HostCallWaiter::Uri(_)))
    }

    /// Nothing will be answered any more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.open.clear();
    }

    fn take(&self, id: &str, right: impl Fn(&HostCallWaiter) -> bool) -> Option<HostCallWaiter> {
        let mut state = self.lock();
        if state.open.get(id).is_some_and(right) {
            state.open.remove(id)
        } else {
            None
        }
    }

    fn new_id(state: &mut OpenCallsState) -> String {
        state.next += 1;
        format!("4{:015x}", state.next)
    }

    fn lock(&self) -> MutexGuard<'_, OpenCallsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
