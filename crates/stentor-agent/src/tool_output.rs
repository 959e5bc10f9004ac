//! What a call of a tool gives.

use serde::Serialize;
use serde_json::{Map, Value};
use stentor_journal::message::ContentBlock;

/// The outcome of a call, or the state of one that is still running.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolOutput {
    pub content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(skip)]
    pub is_error: bool,
}

impl ToolOutput {
    /// A success with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            details: None,
            is_error: false,
        }
    }

    /// A failure with text, as clients know it: `details` is an empty object.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            details: Some(Value::Object(Map::new())),
            is_error: true,
        }
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}
