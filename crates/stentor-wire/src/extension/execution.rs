//! What an extension does: tools and commands.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::content::ContentInput;

/// Parameters of `tool/run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRunParams {
    pub call_id: String,
    pub name: String,
    /// Checked against the required names and types of the tool's parameters.
    pub arguments: Map<String, Value>,
    /// The folder the session works in.
    pub cwd: String,
}

/// Result of `tool/run`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolRunResult {
    /// For the model.
    #[serde(default)]
    pub content: ContentInput,
    /// For clients that know the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default)]
    pub is_error: bool,
}

/// Parameters of `tool/progress`. Each report replaces the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolProgressParams {
    pub call_id: String,
    #[serde(default)]
    pub content: ContentInput,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Parameters of `command/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandRunParams {
    /// Without the slash.
    pub name: String,
    /// What follows the name.
    pub arguments: String,
}

/// Result of `command/run`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandRunResult {
    /// The model is asked this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The user is told this, and no model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Parameters of `cancel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CancelParams {
    /// The id of the request.
    pub id: i64,
}
