//! What an extension is asked about, and told of.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::{Content, ContentInput};

/// Parameters of `tool/before`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BeforeToolParams {
    pub call_id: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// Result of `tool/before`. `{}` allows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BeforeToolResult {
    /// The call does not run; the model is told this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<String>,
    /// The call runs with these arguments instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// Parameters of `tool/after`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AfterToolParams {
    pub call_id: String,
    pub tool: String,
    /// The arguments it ran with.
    pub arguments: Map<String, Value>,
    pub content: Vec<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub is_error: bool,
}

/// Result of `tool/after`. What is present replaces that part of the tool's result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AfterToolResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// Parameters of `prompt/before`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BeforePromptParams {
    /// What the user said.
    pub text: String,
}

/// Result of `prompt/before`. `{}` lets it go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BeforePromptResult {
    /// No model is asked; the user is told this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<String>,
    /// The model is told this, too. It becomes part of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Parameters of `event`: its type, its number and time, and what belongs to the type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventParams {
    #[serde(rename = "type")]
    pub kind: String,
    /// Grows with each event of the session; numbers are missing where others were not asked for.
    pub seq: u64,
    /// Milliseconds since the epoch.
    pub time: u64,
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Parameters of `session/end`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionEndParams {
    /// After this long the extension is ended if it has not done so itself.
    pub grace_ms: u64,
}
