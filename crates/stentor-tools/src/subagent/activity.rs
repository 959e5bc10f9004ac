//! What a subagent is doing, in a few words for people, and what it did so far.

use std::sync::Arc;

use serde_json::Value;
use stentor_agent::event::{Event, EventKind, SubagentCall, SubagentWork};
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::{KnownMessage, Message, ToolCall, text_of};

/// Characters of a command or path that are shown.
const SHOWN_CHARS: usize = 60;

/// Calls that ended which are remembered.
const RECENT_CALLS: usize = 5;

/// Lines of its last words which are remembered.
const RECENT_LINES: usize = 8;

/// Follows the events of a subagent's session.
#[derive(Default)]
pub(super) struct SubagentActivity {
    begun_calls: u64,
    running: Vec<SubagentCall>,
    work: SubagentWork,
}

impl SubagentActivity {
    /// What an event says about what the subagent is doing, if it says anything new.
    pub fn status(&mut self, event: &Event) -> Option<String> {
        self.note(event);
        match &event.kind {
            EventKind::AnswerStarted(_) => Some("💭 thinking...".to_owned()),
            EventKind::BlockStarted { block, .. } => match &block.kind {
                LiveBlockKind::ToolCall { name, .. } => {
                    self.begun_calls += 1;
                    Some(format!("⚙ {name} (tool #{})", self.begun_calls))
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

    /// What it did so far.
    pub fn work(&self, duration_ms: u64) -> SubagentWork {
        SubagentWork {
            current: self.running.last().cloned(),
            duration_ms,
            ..self.work.clone()
        }
    }

    fn note(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolStarted { call } => {
                self.work.calls += 1;
                self.running.push(SubagentCall {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    about: about(call),
                    time_ms: event.time_ms,
                });
            }
            EventKind::ToolEnded { call, .. } => {
                let Some(at) = self.running.iter().position(|known| known.id == call.id) else {
                    return;
                };
                let mut ended = self.running.remove(at);
                ended.time_ms = event.time_ms;
                self.work.recent.insert(0, ended);
                self.work.recent.truncate(RECENT_CALLS);
            }
            EventKind::MessageEnded { message, .. } => {
                if let Message::Known(KnownMessage::Assistant(answer)) = &**message {
                    self.work.requests += 1;
                    self.work.usage.add(&answer.usage);
                    let text = text_of(&answer.content, "\n");
                    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
                    let lines: Vec<String> = lines.take(RECENT_LINES).map(str::to_owned).collect();
                    if !lines.is_empty() {
                        self.work.output = lines;
                    }
                }
            }
            _ => {}
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

/// The argument of a call that says most, in one line.
fn about(call: &ToolCall) -> String {
    const TELLING: [&str; 7] = [
        "command", "path", "pattern", "query", "url", "task", "message",
    ];
    let named = TELLING.iter().find_map(|name| call.arguments.get(*name));
    let first = || call.arguments.values().find(|value| value.is_string());
    let value = named.or_else(first).and_then(Value::as_str);
    value.map(short).unwrap_or_default()
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
            let status =
                SubagentActivity::default().status(&event(EventKind::ToolStarted { call }));
            assert_eq!(status, expected, "{name}");
        }
    }

    fn event(kind: EventKind) -> Event {
        Event {
            session: "s".into(),
            seq: 1,
            time_ms: 7,
            kind,
        }
    }

    #[test]
    fn calls_that_ended_are_remembered_the_newest_first_and_only_a_few() {
        let mut activity = SubagentActivity::default();
        for number in 1..=7 {
            let call = Arc::new(ToolCall {
                id: number.to_string(),
                name: "bash".into(),
                arguments: object(json!({"command": format!("echo {number}")})),
                thought_signature: None,
                intent: None,
            });
            activity.status(&event(EventKind::ToolStarted {
                call: Arc::clone(&call),
            }));
            let current = activity.work(1).current.unwrap();
            assert_eq!(current.about, format!("echo {number}"));
            activity.status(&event(EventKind::ToolEnded {
                call,
                output: Arc::new(stentor_agent::tool::ToolOutput::text("x")),
                duration_ms: 1,
            }));
        }
        let work = activity.work(9);
        let recent: Vec<&str> = work.recent.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(recent, ["7", "6", "5", "4", "3"]);
        assert_eq!((work.current, work.calls, work.duration_ms), (None, 7, 9));
    }
}
