//! Subagents.

use serde_json::{Value, json};
use stentor_agent::event::{Event, Subagent, SubagentEnd};

use super::event_json;

/// A subagent that began.
pub(super) fn started(agent: &Subagent) -> Value {
    subagent("subagent_started", agent)
}

/// What a subagent is doing.
pub(super) fn progress(agent: &Subagent, status: &str) -> Value {
    let mut object = subagent("subagent_progress", agent);
    object["status"] = json!(status);
    object
}

/// What happened in a subagent's own session.
pub(super) fn event(agent: &Subagent, event: &Event) -> Value {
    let mut object = subagent("subagent_event", agent);
    object["event"] = event_json(event);
    object
}

/// A subagent that ended.
pub(super) fn ended(agent: &Subagent, end: &SubagentEnd) -> Value {
    let mut object = subagent("subagent_ended", agent);
    object["result"] = json!(end.result);
    object["failed"] = json!(end.failed);
    object["durationMs"] = json!(end.duration_ms);
    object["usage"] = json!(end.usage);
    object
}

/// A subagent, by what happened to it.
fn subagent(kind: &str, agent: &Subagent) -> Value {
    json!({
        "type": kind,
        "id": agent.id,
        "name": agent.name,
        "task": agent.task,
        "callId": agent.call_id,
    })
}
