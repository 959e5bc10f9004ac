//! Whether a tool call may run: the vocabulary. The rules are in [`policy`].

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stentor_journal::message::ToolCall;

use crate::policy::Always;
use crate::tool::ToolEffect;
use crate::visible::visible;

/// What is asked before a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub call: Arc<ToolCall>,
    pub effect: ToolEffect,
    /// The paths the call touches, links and `..` resolved.
    pub paths: Vec<PathBuf>,
    /// The shell command, if there is one.
    pub command: Option<String>,
    /// Why it is asked, for a person: for example that a path lies outside the folder.
    pub reason: String,
    /// What an "always" would be remembered as. The choices say how far it reaches.
    pub always: Always,
}

impl PermissionRequest {
    /// What is asked about, for a person: the whole command, as far as `most_bytes` hold it, else
    /// the path. What is cut is said, and what would not be seen is made visible.
    pub fn subject(&self, most_bytes: usize) -> Option<String> {
        let path = || Some(self.paths.first()?.display().to_string());
        let subject = self.command.clone().or_else(path)?;
        let shown = visible(&subject);
        if shown.len() <= most_bytes {
            return Some(shown.into_owned());
        }
        let kept = shown.get(..shown.floor_char_boundary(most_bytes))?;
        let cut_bytes = shown.len() - kept.len();
        Some(format!("{kept}\n[{cut_bytes} more bytes are not shown]"))
    }

    /// A choice as it is shown: one that says "always" goes on with how far that reaches.
    pub fn choice(&self, answer: PermissionAnswer, label: &str) -> String {
        match answer {
            PermissionAnswer::AllowAlways => format!("{label} {}", self.always.allow.scope()),
            PermissionAnswer::RejectAlways => format!("{label} {}", self.always.reject.scope()),
            PermissionAnswer::AllowOnce
            | PermissionAnswer::RejectOnce
            | PermissionAnswer::Cancelled => label.to_owned(),
        }
    }
}

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
    /// Everything is allowed.
    #[default]
    All,
}

impl PermissionMode {
    /// All modes, most careful first.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::AcceptEdits, Self::All];

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
#[error("unknown permission mode `{0}`: use ask, accept-edits, read-only or all")]
pub struct UnknownPermissionMode(pub String);
