//! The answer that is being written, block by block.

use std::ops::Range;

use serde_json::{Value, json};
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_journal::message::ToolCall;

/// A model began to answer.
pub(super) fn started(live: &LiveMessage) -> Value {
    json!({
        "type": "answer_started",
        "number": live.number(),
        "api": live.api(),
        "provider": live.provider(),
        "model": live.model(),
    })
}

/// A block was opened.
pub(super) fn block_started(live: &LiveMessage, block: &LiveBlock) -> Value {
    block_json("block_started", live, block)
}

/// More text in a block.
pub(super) fn block_delta(live: &LiveMessage, block: &LiveBlock, range: Range<usize>) -> Value {
    let mut object = block_json("block_delta", live, block);
    object["delta"] = block.with(range, |text| json!(text));
    object
}

/// A block is complete.
pub(super) fn block_ended(live: &LiveMessage, block: &LiveBlock, call: Option<&ToolCall>) -> Value {
    let mut object = block_json("block_ended", live, block);
    if let Some(call) = call {
        object["call"] = json!(call);
    }
    object
}

/// A block of an answer, by what happened to it.
fn block_json(kind: &str, live: &LiveMessage, block: &LiveBlock) -> Value {
    let mut object = json!({
        "type": kind,
        "number": live.number(),
        "block": block.index,
        "kind": null,
    });
    object["kind"] = json!(match &block.kind {
        LiveBlockKind::Text => "text",
        LiveBlockKind::Thinking => "thinking",
        LiveBlockKind::Redacted => "redacted_thinking",
        LiveBlockKind::ToolCall { id, name } => {
            object["callId"] = json!(id);
            object["name"] = json!(name);
            "tool_call"
        }
    });
    object
}
