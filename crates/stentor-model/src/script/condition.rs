//! When a conditional turn is the answer.

use std::sync::Arc;

use regex::Regex;
use stentor_agent::model::ModelRequest;
use stentor_journal::message::{KnownMessage, Message, text_of};

/// What must hold for a turn to be played. All parts that are set must hold.
///
/// Texts are looked for in what is new: the messages after the model's last answer. That way a
/// turn that answers a prompt does not answer the tool results of its own calls as well.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    pub last_user: Option<Pattern>,
    pub last_tool_result: Option<Pattern>,
    /// Who the very last message is from.
    pub last_role: Option<Role>,
    /// One of the new tool results is of this tool.
    pub tool: Option<String>,
    /// One of the new tool results is an error (or: none is).
    pub tool_failed: Option<bool>,
    pub system: Option<Pattern>,
}

/// A text to look for.
#[derive(Debug, Clone)]
pub enum Pattern {
    Contains(String),
    Matches(Regex),
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
}

impl Condition {
    /// Holds when a new user message contains `text`.
    pub fn user_contains(text: impl Into<String>) -> Self {
        Self {
            last_user: Some(Pattern::Contains(text.into())),
            ..Self::default()
        }
    }

    /// Holds when a new tool result contains `text`.
    pub fn tool_result_contains(text: impl Into<String>) -> Self {
        Self {
            last_tool_result: Some(Pattern::Contains(text.into())),
            ..Self::default()
        }
    }

    /// Whether it holds for a request.
    pub fn holds(&self, request: &ModelRequest) -> bool {
        self.holds_for(&request.system, &request.messages)
    }

    /// Whether it holds for a conversation that ends with `messages`.
    pub(super) fn holds_for(&self, system: &str, messages: &[Arc<Message>]) -> bool {
        let new = new_messages(messages);
        let results = || new.iter().filter_map(|message| message.as_tool_result());
        self.last_user.as_ref().is_none_or(|pattern| {
            new.iter()
                .filter_map(|message| message.as_user())
                .any(|user| pattern.fits(&user.content.text()))
        }) && self
            .last_tool_result
            .as_ref()
            .is_none_or(|pattern| results().any(|one| pattern.fits(&text_of(&one.content, "\n"))))
            && self
                .last_role
                .is_none_or(|role| messages.last().and_then(|last| role_of(last)) == Some(role))
            && self
                .tool
                .as_ref()
                .is_none_or(|tool| results().any(|one| one.tool_name == *tool))
            && self
                .tool_failed
                .is_none_or(|failed| results().any(|one| one.is_error) == failed)
            && self
                .system
                .as_ref()
                .is_none_or(|pattern| pattern.fits(system))
    }
}

impl Pattern {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Matches(regex) => regex.is_match(text),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Contains(a), Self::Contains(b)) => a == b,
            (Self::Matches(a), Self::Matches(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }
}

/// The messages after the model's last answer.
pub(super) fn new_messages(messages: &[Arc<Message>]) -> &[Arc<Message>] {
    let start = messages
        .iter()
        .rposition(|message| message.as_assistant().is_some())
        .map_or(0, |answer| answer + 1);
    messages.get(start..).unwrap_or_default()
}

fn role_of(message: &Message) -> Option<Role> {
    match message {
        Message::Known(KnownMessage::User(_)) => Some(Role::User),
        Message::Known(KnownMessage::Assistant(_)) => Some(Role::Assistant),
        Message::Known(KnownMessage::ToolResult(_)) => Some(Role::ToolResult),
        _ => None,
    }
}
