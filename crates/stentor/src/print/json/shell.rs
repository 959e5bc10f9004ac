//! Commands of the user beside the conversation.

use serde_json::{Value, json};
use stentor_agent::event::BashEnd;

pub(super) fn started(id: u64, entry_id: &str, command: &str) -> Value {
    json!({ "type": "bash_started", "id": id, "entryId": entry_id, "command": command })
}

pub(super) fn output(id: u64, delta: &str) -> Value {
    json!({ "type": "bash_output", "id": id, "delta": delta })
}

pub(super) fn ended(id: u64, entry_id: &str, end: &BashEnd) -> Value {
    let mut ended = json!({ "type": "bash_ended", "id": id, "entryId": entry_id });
    match end {
        BashEnd::Ran(message) => ended["message"] = json!(message),
        BashEnd::Failed(why) => ended["error"] = why.as_str().into(),
    }
    ended
}
