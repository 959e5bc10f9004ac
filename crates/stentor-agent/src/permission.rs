//! What a person is asked before a tool call.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::{AlwaysAnswers, PermissionAnswer, ToolEffect};
use stentor_text::visible::visible;

use crate::arguments::InvalidArguments;

/// How the result of a call begins that a person did not allow. The rest of it is for the model.
pub const REJECTED: &str = "The user rejected this call";

/// Result of a call whose answer was aborted before the call could run.
pub const NOT_RUN_ABORTED: &str = "Tool execution was aborted.";

/// Why a call does not run, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallRefused {
    /// A rule, a hook or a person says no.
    #[error("{0}")]
    Denied(String),
    #[error("An extension changed the arguments. {0}")]
    ChangedArguments(InvalidArguments),
    #[error("{NOT_RUN_ABORTED}")]
    Aborted,
    #[error("The session was closed.")]
    SessionClosed,
}

/// A permission that is being decided.
pub type PermitFuture = Pin<Box<dyn Future<Output = Result<(), CallRefused>> + Send>>;

/// A choice of the person who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAnswer {
    pub answer: PermissionAnswer,
    /// One that says "always" goes on with how far that reaches.
    pub label: String,
}

/// What is asked before a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    pub call: Arc<ToolCall>,
    pub effect: ToolEffect,
    /// The paths the call touches, links and `..` resolved.
    pub paths: Vec<PathBuf>,
    /// The shell command, if there is one.
    pub command: Option<String>,
    /// The address on the web that it asks for, if there is one.
    pub url: Option<String>,
    /// Why it is asked, for a person: for example that a path lies outside the folder.
    pub reason: String,
    /// What an "always" would be remembered as. The choices say how far it reaches.
    pub always: AlwaysAnswers,
}

impl PermissionRequest {
    /// What is asked about, for a person: the whole command, as far as `most_bytes` hold it, else
    /// the address, else the path. What is cut is said, and what would not be seen is made visible.
    pub fn subject(&self, most_bytes: usize) -> Option<String> {
        let path = || Some(self.paths.first()?.display().to_string());
        let subject = self.command.clone().or_else(|| self.url.clone());
        let subject = subject.or_else(path)?;
        let shown = visible(&subject);
        if shown.len() <= most_bytes {
            return Some(shown.into_owned());
        }
        let kept = shown.get(..shown.floor_char_boundary(most_bytes))?;
        let cut_bytes = shown.len() - kept.len();
        Some(format!("{kept}\n[{cut_bytes} more bytes are not shown]"))
    }

    /// The choices there are, as `label` calls them.
    pub fn choices(&self, label: impl Fn(PermissionAnswer) -> &'static str) -> [OfferedAnswer; 4] {
        PermissionAnswer::CHOICES.map(|answer| {
            let scope = match answer {
                PermissionAnswer::AllowAlways => Some(self.always.allow.scope()),
                PermissionAnswer::RejectAlways => Some(self.always.reject.scope()),
                PermissionAnswer::AllowOnce
                | PermissionAnswer::RejectOnce
                | PermissionAnswer::Cancelled => None,
            };
            let label = label(answer);
            let label = scope.map_or(label.to_owned(), |scope| format!("{label} {scope}"));
            OfferedAnswer { answer, label }
        })
    }
}
