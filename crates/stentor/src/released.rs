//! Sessions that a server keeps although nobody uses them: it lets go of one that is wanted.

use std::path::Path;

use stentor_agent::agent::AgentError;
use stentor_journal::store::StoreError;

use crate::relay;

/// An error that may say that somebody else has a session open.
pub trait SaysLocked {
    fn says_locked(&self) -> bool;
}

impl SaysLocked for StoreError {
    fn says_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }
}

impl SaysLocked for AgentError {
    fn says_locked(&self) -> bool {
        matches!(self, Self::Store(error) if error.says_locked())
    }
}

/// Does something that needs a session for itself. If a server has it open and nobody uses it there,
/// the server lets go of it.
pub fn with_released<T, E: SaysLocked>(
    file: &Path,
    attempt: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    match attempt() {
        Err(error) if error.says_locked() && relay::release(file) => attempt(),
        done => done,
    }
}
