//! Answers, in types. Unknown keys are ignored: children add some.

use serde::Deserialize;
use serde_json::Value;

/// How a turn ended.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TurnEnd {
    pub ok: bool,
    pub cancelled: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// The kind of failure, from children that say so.
    pub outcome: Option<Value>,
}

/// The answer to `get_state`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionState {
    pub streaming: bool,
    pub model: String,
    pub session_id: String,
    pub message_count: u64,
}

/// The answer to `get_session_stats`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SessionStats {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost: f64,
    pub message_count: u64,
    pub model: String,
    pub session_id: String,
}

/// One of the models of `get_available_models`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AvailableModel {
    pub provider: String,
    pub model_id: String,
    pub model_name: String,
}

/// One of the tools of `tools_list`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolInfo {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub input_schema: Value,
}
