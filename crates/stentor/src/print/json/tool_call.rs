//! Calls of tools.

use serde_json::{Value, json};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolCall;

/// The state of a call that runs.
pub(super) fn progress(call: &ToolCall, partial: &ToolOutput) -> Value {
    json!({
        "type": "tool_progress",
        "callId": call.id,
        "name": call.name,
        "output": partial,
    })
}

/// A call that ended.
pub(super) fn ended(call: &ToolCall, output: &ToolOutput, duration_ms: u64) -> Value {
    json!({
        "type": "tool_ended",
        "callId": call.id,
        "name": call.name,
        "output": output,
        "isError": output.is_error,
        "durationMs": duration_ms,
    })
}
