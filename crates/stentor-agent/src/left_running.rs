//! What the commands of a session leave running when they end, such as a server started with `&`.
//!
//! Later commands of the session may use it, so it stays as long as the session does. Those of a
//! subagent count among those of the session that has it.

use std::sync::{Mutex, PoisonError};

/// Something that was left running. Dropping it ends it.
pub trait LeftProcess: Send {
    /// True when nothing of it runs any more.
    fn is_gone(&mut self) -> bool;
}

/// All that a session has left running.
#[derive(Default)]
pub struct LeftRunning(Mutex<LeftRunningState>);

#[derive(Default)]
struct LeftRunningState {
    left: Vec<Box<dyn LeftProcess>>,
    /// The session has ended: nothing more stays.
    is_over: bool,
}

impl LeftRunning {
    /// Notes what a command left running. What is gone meanwhile is forgotten, so there are only as
    /// many as run.
    pub fn add(&self, process: Box<dyn LeftProcess>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.left.retain_mut(|process| !process.is_gone());
        if !state.is_over {
            state.left.push(process);
        }
    }

    /// True when something runs.
    pub fn is_something(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.left.retain_mut(|process| !process.is_gone());
        !state.left.is_empty()
    }

    /// Ends everything, and from now on whatever is added.
    pub fn end(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        state.left.clear();
    }
}
