//! What a subagent is doing, in a few words for people.

use std::sync::Arc;

use serde_json::Value;
use stentor_agent::event::EventKind;
use stentor_agent::live::LiveBlockKind;
use stentor_agent::message::ToolCall;

/// Characters of a command or path that are shown.
const SHOWN_CHARS: usize = 60;

/// Follows the events of a subagent's session.
#[derive(Default)]
pub(super) struct Activity {
    tools: u64,
}

impl Activity {
    /// What an event says about what the subagent is doing, if it says anything new.
    pub fn status(&mut self, event: &EventKind) -> Option<String> {
        match event {
            EventKind::AnswerStarted(_) => Some("💭 thinking...".to_owned()),
            EventKind::BlockStarted { block, .. } => match &block.kind {
                LiveBlockKind::ToolCall { name, .. } => {
                    self.tools += 1;
                    Some(format!("⚙ {name} (tool #{})", self.tools))
                }
                LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted => None,
            },
            EventKind::ToolStarted { call } => describe(call),
            EventKind::RetryStarted {
                attempt,
                max_attempts,
                ..
            } => Some(format!("retrying ({attempt} of {max_attempts})")),
            EventKind::CompactionStarted { .. } => Some("compacting".to_owned()),
            _ => None,
        }
    }
}

/// What a call does. Tools without words of their own were named when the call was written.
fn describe(call: &Arc<ToolCall>) -> Option<String> {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str).map(short);
    match call.name.as_str() {
        "bash" => argument("command").map(|command| format!("$ {command}")),
        "read" => argument("path").map(|path| format!("reading {path}")),
        "write" => argument("path").map(|path| format!("writing {path}")),
        "edit" => argument("path").map(|path| format!("editing {path}")),
        "grep" => argument("pattern").map(|pattern| format!("grep /{pattern}/")),
        "find" => argument("pattern").map(|pattern| format!("find {pattern}")),
        "ls" => Some(format!("ls {}", argument("path").unwrap_or_default())),
        _ => None,
    }
    .map(|status| status.trim_end().to_owned())
}

/// One line, cut where it gets too long.
fn short(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN_CHARS)
        .collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use serde_json::json;

    #[test]
    fn calls_are_described_by_what_they_touch() {
        let long = "x".repeat(100);
        for (name, arguments, expected) in [
            (
                "bash",
                json!({"command": "ls\n-l"}),
                Some("$ ls -l".to_owned()),
            ),
            (
                "bash",
                json!({"command": long}),
                Some(format!("$ {}", "x".repeat(60))),
            ),
            (
                "read",
                json!({"path": "a.rs"}),
                Some("reading a.rs".to_owned()),
            ),
            (
                "grep",
                json!({"pattern": "fn"}),
                Some("grep /fn/".to_owned()),
            ),
            ("ls", json!({}), Some("ls".to_owned())),
            ("read", json!({"path": 7}), None),
            ("todo", json!({}), None),
        ] {
            let call = Arc::new(ToolCall {
                id: "1".into(),
                name: name.into(),
                arguments: object(arguments),
                thought_signature: None,
                intent: None,
            });
            let status = Activity::default().status(&EventKind::ToolStarted { call });
            assert_eq!(status, expected, "{name}");
        }
    }
}
