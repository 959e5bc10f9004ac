//! Why a session did not do what it was asked.

use stentor_journal::store::StoreError;

use crate::commands::ExpandError;
use crate::model::ModelError;
use crate::turn::CompactionError;

/// Why a session did not do what it was asked. Each variant is something a caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Something is running; steer, queue, abort or wait.
    #[error("The agent is already working; steer, queue the message, abort, or wait.")]
    Busy,
    #[error("No model selected. Set one, or configure a key: see `stentor models`.")]
    NoModel,
    #[error("Model not found: {provider}/{id}")]
    UnknownModel { provider: String, id: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("Session name cannot be empty")]
    EmptyName,
    #[error("the message is empty")]
    EmptyMessage,
    #[error("Invalid entry ID for forking")]
    NotAUserMessage,
    #[error("Cannot clone session: no current entry selected")]
    NothingToFork,
    #[error("too many messages are queued; abort, or wait until some are delivered")]
    QueueFull,
    #[error("Entry not found: {0}")]
    UnknownEntry(String),
    #[error(transparent)]
    Compaction(#[from] CompactionError),
    #[error("{0}")]
    Shell(String),
    /// A slash command could not be used.
    #[error(transparent)]
    Command(#[from] ExpandError),
    #[error("no question {0} is open")]
    NoSuchQuestion(u64),
    #[error("this connection may only watch the session")]
    OnlyObserves,
    #[error("the session was closed")]
    Closed,
}
