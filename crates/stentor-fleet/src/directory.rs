//! Which sessions there are, and who owns each.

use serde::{Deserialize, Serialize};

use crate::nodes::NodeId;

/// A session as the whole fleet knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    pub id: String,
    /// The label of the place it works in.
    pub place: String,
    /// The folder in that place, relative to it.
    #[serde(default)]
    pub folder: String,
    /// Where it worked last.
    pub cwd: String,
    #[serde(default)]
    pub name: Option<String>,
    /// The beginning of its first message.
    #[serde(default)]
    pub first_message: Option<String>,
    /// ISO-8601, from its header.
    pub created: String,
    /// Milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// Who should write to it; nobody when it is stored only.
    pub owner: Option<NodeId>,
    /// The node that should take it next.
    #[serde(default)]
    pub wanted: Option<String>,
    /// The folder of session files by which a client keeps it ([`crate::kept_in`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
    pub state: SessionActivity,
}

impl SessionRecord {
    /// True when it was open and should be again somewhere, if its owner is not there: it has one, or
    /// that has handed it over.
    pub fn is_moving(&self) -> bool {
        self.owner.is_some() || self.state == SessionActivity::HandedOver
    }
}

/// What goes on in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionActivity {
    /// Nobody has it loaded.
    Stored,
    Idle,
    Running,
    /// It waits for the answer to a question.
    Asking,
    /// Its node has handed it over in the middle of something: another one should take it.
    HandedOver,
}

impl SessionActivity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Asking => "asking",
            Self::HandedOver => "handed over",
        }
    }

    /// Something is unfinished.
    pub fn is_unfinished(self) -> bool {
        match self {
            Self::Stored | Self::Idle => false,
            Self::Running | Self::Asking | Self::HandedOver => true,
        }
    }
}
