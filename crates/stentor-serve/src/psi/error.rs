//! Why an operation was not done, and what the wire calls it (section 4).

use stentor_agent::agent::AgentError;
use stentor_agent::session::SessionError;
use stentor_journal::store::StoreError;
use stentor_wire::psi::ErrorCode;
use tokio::task::JoinError;

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct OpError {
    pub code: ErrorCode,
    pub message: String,
    /// One written form.
    pub data: Option<Vec<u8>>,
}

impl OpError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The parameters are wrong.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// It went wrong, and no other code says how.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Failed, message)
    }
}

impl From<SessionError> for OpError {
    fn from(error: SessionError) -> Self {
        let code = match &error {
            SessionError::Busy => {
                let message = "the session is busy; steer, queue, interrupt or abort";
                return Self::new(ErrorCode::SessionNotIdle, message);
            }
            SessionError::UnknownModel { .. } => ErrorCode::UnknownModel,
            SessionError::Model(_) => ErrorCode::UnsupportedModel,
            SessionError::NoModel
            | SessionError::EmptyName
            | SessionError::EmptyMessage
            | SessionError::NotAUserMessage
            | SessionError::NothingToFork
            | SessionError::UnknownEntry(_) => ErrorCode::InvalidParams,
            SessionError::Closed => ErrorCode::NotFound,
            SessionError::Store(_)
            | SessionError::QueueFull
            | SessionError::Compaction(_)
            | SessionError::Shell(_)
            | SessionError::Command(_)
            | SessionError::OnlyObserves
            | SessionError::NoSuchQuestion(_) => ErrorCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<AgentError> for OpError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Session(error) => error.into(),
            AgentError::Defaults(why) => Self::failed(why.to_string()),
            AgentError::Store(error) => error.into(),
            AgentError::InUse | AgentError::NotToBeWatched(_) | AgentError::FolderGone(_) => {
                Self::failed(error.to_string())
            }
        }
    }
}

impl From<StoreError> for OpError {
    fn from(error: StoreError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<JoinError> for OpError {
    fn from(error: JoinError) -> Self {
        Self::failed(error.to_string())
    }
}
