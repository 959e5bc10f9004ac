//! What a model is told about a tool.

use std::sync::Arc;

use serde_json::Value;
use stentor_policy::ToolEffect;

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// For people.
    pub label: String,
    pub description: String,
    /// JSON Schema of the arguments, an object. It is large, and all sessions have the same.
    pub parameters: Arc<Value>,
    pub effect: ToolEffect,
}
