//! The state of a session: its queues, settings and slash commands.

use serde_json::{Value, json};
use stentor_agent::event::{CommandInfo, Queues, StateChange};

/// A setting or position that changed.
pub(super) fn changed(change: &StateChange) -> Value {
    let (what, value) = match change {
        StateChange::Model(model) => ("model", json!(model)),
        StateChange::ThinkingLevel(level) => ("thinking", json!(level)),
        StateChange::Name(name) => ("name", json!(name)),
        StateChange::SteeringMode(mode) => ("steering_mode", json!(mode.as_str())),
        StateChange::FollowUpMode(mode) => ("follow_up_mode", json!(mode.as_str())),
        StateChange::InterruptMode(mode) => ("interrupt_mode", json!(mode.as_str())),
        StateChange::AutoCompaction(on) => ("auto_compaction", json!(on)),
        StateChange::AutoRetry(on) => ("auto_retry", json!(on)),
        StateChange::PermissionMode(mode) => ("permission_mode", json!(mode)),
        StateChange::Leaf(entry) => ("leaf", json!(entry)),
    };
    json!({ "type": "state_changed", "what": what, "value": value })
}

/// The messages that wait.
pub(super) fn queue_changed(queues: &Queues) -> Value {
    json!({
        "type": "queue_changed",
        "steering": queues.steering,
        "followUp": queues.follow_up,
    })
}

/// The slash commands there are.
pub(super) fn commands_changed(commands: &[CommandInfo]) -> Value {
    let commands: Vec<Value> = commands
        .iter()
        .map(|command| {
            json!({
                "name": command.name,
                "description": command.description,
                "hint": command.hint,
                "source": command.source.as_str(),
                "path": command.path.as_ref().map(|path| path.display().to_string()),
            })
        })
        .collect();
    json!({ "type": "commands_changed", "commands": commands })
}
