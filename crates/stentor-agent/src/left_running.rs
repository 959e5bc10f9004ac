//! What the commands of a session leave running when they end, such as a server started with `&`.
//!
//! Later commands of the session may use it, so it stays as long as the session does. Those of a
//! subagent count among those of the session that has it.

use std::sync::{Mutex, MutexGuard, PoisonError};

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
    left: Vec<Left>,
    /// The session has ended: nothing more stays.
    is_over: bool,
}

struct Left {
    process: Box<dyn LeftProcess>,
    /// The command that left it.
    command: String,
}

impl LeftRunning {
    /// Notes what a command left running. What is gone meanwhile is forgotten, so there are only as
    /// many as run.
    pub fn add(&self, command: &str, process: Box<dyn LeftProcess>) {
        let mut state = self.current();
        if !state.is_over {
            let command = command.to_owned();
            state.left.push(Left { process, command });
        }
    }

    /// True when something runs.
    pub fn is_something(&self) -> bool {
        !self.current().left.is_empty()
    }

    /// The commands that left something which runs.
    pub fn commands(&self) -> Vec<String> {
        let state = self.current();
        state.left.iter().map(|left| left.command.clone()).collect()
    }

    /// Ends everything, and from now on whatever is added.
    pub fn end(&self) {
        let mut state = self.current();
        state.is_over = true;
        state.left.clear();
    }

    fn current(&self) -> MutexGuard<'_, LeftRunningState> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.left.retain_mut(|left| !left.process.is_gone());
        state
    }
}
