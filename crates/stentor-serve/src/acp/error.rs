//! What a client is answered when something cannot be done: the one table from errors to codes
//! (section 1.5).

use serde_json::{Value, json};
use stentor_agent::agent::AgentError;
use stentor_agent::session::SessionError;
use stentor_journal::store::StoreError;
use stentor_wire::jsonrpc::{Id, code, encode};

use super::limits;
use crate::output::Closed;

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Refusal {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

/// What the handler of a request gives.
pub(super) type AcpResult<T> = Result<T, Refusal>;

impl Refusal {
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    pub fn method_not_found(method: &str) -> Self {
        // The name of a method is short, or it is not worth repeating.
        let shown: String = method.chars().take(80).collect();
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("Method not found: {shown:?}"),
        )
    }

    pub fn unknown_session(id: &str) -> Self {
        // An id of ours is short; what is longer is not worth repeating.
        let is_short = id.len() <= limits::MAX_SESSION_ID_BYTES;
        Self {
            data: is_short.then(|| json!({ "sessionId": id })),
            ..Self::new(
                code::RESOURCE_NOT_FOUND,
                "There is no such session. List the sessions, or start a new one.",
            )
        }
    }

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            code,
            // A message is one line (section 1.5).
            message: message.replace(['\n', '\r'], " "),
            data: None,
        }
    }

    /// Appends the answer to request `id`.
    pub fn write(&self, frames: &mut Vec<u8>, id: &Id) {
        let written = encode::error(
            frames,
            Some(id),
            self.code,
            &self.message,
            self.data.as_ref(),
        );
        match written {
            Ok(()) => frames.push(b'\n'),
            Err(error) => tracing::error!(%error, "an error could not be written"),
        }
    }
}

/// Why a stored session `id` could not be used.
pub(super) fn about_stored(id: &str, error: AgentError) -> Refusal {
    match error {
        AgentError::Store(StoreError::NotFound { .. }) => Refusal::unknown_session(id),
        AgentError::Store(StoreError::BadId { .. }) => Refusal {
            data: Some(json!({ "field": "sessionId" })),
            ..Refusal::invalid_params(
                "sessionId is not one this agent gives: letters, digits, `-`, `_` and `.`",
            )
        },
        other => other.into(),
    }
}

impl From<Closed> for Refusal {
    fn from(closed: Closed) -> Self {
        Self::internal(closed.to_string())
    }
}

impl From<AgentError> for Refusal {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Session(error) => error.into(),
            AgentError::NotToBeWatched(_) | AgentError::FolderGone(_) => {
                Self::invalid_params(error.to_string())
            }
            AgentError::Defaults(_) | AgentError::Store(_) | AgentError::InUse => {
                Self::internal(error.to_string())
            }
        }
    }
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Busy => Self::invalid_params(
                "A turn is already running in this session. Cancel it, wait for it, or send the \
                 message with _session/steering.",
            ),
            SessionError::UnknownModel { .. }
            | SessionError::EmptyName
            | SessionError::EmptyMessage
            | SessionError::NotAUserMessage
            | SessionError::UnknownEntry(_)
            | SessionError::NoSuchQuestion(_)
            | SessionError::NothingToFork
            | SessionError::Command(_)
            | SessionError::OnlyObserves
            | SessionError::QueueFull => Self::invalid_params(error.to_string()),
            SessionError::Closed => Self::new(code::RESOURCE_NOT_FOUND, error.to_string()),
            SessionError::NoModel
            | SessionError::Model(_)
            | SessionError::Store(_)
            | SessionError::Compaction(_)
            | SessionError::Shell(_) => Self::internal(error.to_string()),
        }
    }
}
