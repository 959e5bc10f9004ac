//! What the reader of the connection puts into a session's mailbox.

use stentor_agent::hub::Cursor;
use stentor_wire::jsonrpc::Id;
use tokio::sync::OwnedSemaphorePermit;

use super::client::AcpClient;
use super::params::{PromptParams, RequestedSession};
use super::settings::SettingChange;
use super::turn::PromptRequest;

/// What is meant for one session.
pub(super) enum SessionMessage {
    Request(Box<SessionRequest>),
    /// Whatever runs is to stop, whoever began it. Nothing is answered.
    Abort,
}

/// A request that is meant for one session.
pub(super) struct SessionRequest {
    pub id: Id,
    /// The client as it introduced itself last.
    pub client: AcpClient,
    pub kind: RequestKind,
    /// Counts the request among those that are worked on, until it is dropped.
    pub permit: Option<OwnedSemaphorePermit>,
}

pub(super) enum RequestKind {
    New(RequestedSession),
    /// `session/load`, which replays the history, and `session/resume`, which does not.
    Reopen {
        wanted: RequestedSession,
        replays: bool,
        /// The client has everything up to here.
        after: Option<Cursor>,
    },
    /// `session/fork`: begins as a copy of another session.
    Fork {
        wanted: RequestedSession,
        source: String,
    },
    Close,
    Delete,
    /// `session/set_title`, also of a session that is not open.
    Title(String),
    Prompt(PromptRequest, PromptParams),
    Steer(PromptParams),
    Set(SettingChange),
}

impl RequestKind {
    /// Whether the session is open when this has been handled; `None` when it is as before.
    pub fn opens(&self) -> Option<bool> {
        match self {
            Self::New(_)
            | Self::Reopen { .. }
            | Self::Fork { .. }
            | Self::Prompt(..)
            | Self::Set(_) => Some(true),
            Self::Close | Self::Delete => Some(false),
            Self::Title(_) | Self::Steer(_) => None,
        }
    }
}
