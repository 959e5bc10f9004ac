//! What a person is asked before a tool call.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::{Always, PermissionAnswer, ToolEffect};
use stentor_text::visible::visible;

/// How the result of a call begins that a person did not allow. The rest of it is for the model.
pub const REJECTED: &str = "The user rejected this call";

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
    pub always: Always,
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
