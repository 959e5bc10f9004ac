//! Whether a tool call may run: the vocabulary.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the policy says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// A person decides. The text says why.
    Ask(String),
    /// The text goes to the model.
    Deny(String),
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    AllowOnce,
    /// Allow this and everything like it from now on: in the session, and in later ones of the
    /// project where answers are kept.
    AllowAlways,
    RejectOnce,
    /// Reject this and everything like it from now on.
    RejectAlways,
    /// The question went away: the turn was cancelled, or nobody can be asked.
    Cancelled,
}

impl PermissionAnswer {
    /// What a person can choose, in the usual order.
    pub const CHOICES: [Self; 4] = [
        Self::AllowOnce,
        Self::AllowAlways,
        Self::RejectOnce,
        Self::RejectAlways,
    ];

    /// Its name, as in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::RejectOnce => "reject_once",
            Self::RejectAlways => "reject_always",
            Self::Cancelled => "cancelled",
        }
    }

    /// What most clients call it.
    pub fn label(self) -> &'static str {
        match self {
            Self::AllowOnce => "Allow",
            Self::AllowAlways => "Always allow",
            Self::RejectOnce => "Reject",
            Self::RejectAlways => "Always reject",
            Self::Cancelled => "Cancel",
        }
    }

    /// Whether it answers later calls as well.
    pub fn is_for_good(self) -> bool {
        matches!(self, Self::AllowAlways | Self::RejectAlways)
    }
}

/// The stance a session takes where no rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Reading in the folder is free, everything else is asked.
    Ask,
    /// Reading and changing files in the folder is free, the rest is asked.
    AcceptEdits,
    /// Only reading. Nothing is asked.
    ReadOnly,
    /// Only reading until a person has accepted a plan. What reads elsewhere is asked.
    Plan,
    /// Everything is allowed.
    #[default]
    All,
}

impl PermissionMode {
    /// All modes, most careful first.
    pub const ALL: [Self; 5] = [
        Self::ReadOnly,
        Self::Plan,
        Self::Ask,
        Self::AcceptEdits,
        Self::All,
    ];

    /// The one of both that lets less happen unasked.
    #[must_use]
    pub fn more_careful(self, other: Self) -> Self {
        let first = Self::ALL
            .into_iter()
            .find(|mode| [self, other].contains(mode));
        first.unwrap_or(self)
    }

    /// Its name in the configuration and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::ReadOnly => "read-only",
            Self::Plan => "plan",
            Self::All => "all",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownPermissionMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownPermissionMode(text.to_owned()))
    }
}

/// A word that is no permission mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown permission mode `{0}`: use ask, accept-edits, plan, read-only or all")]
pub struct UnknownPermissionMode(pub String);
