//! Events: what a child writes (section 7).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first frame of all.
    Ready {
        session_id: String,
        model: String,
        protocol_version: u64,
    },
    MessageUpdate {
        event: AssistantEvent,
    },
    SubagentStart {
        subagent_id: u64,
        agent_name: String,
        task_preview: String,
    },
    SubagentUpdate {
        subagent_id: u64,
        agent_name: String,
        status: String,
    },
    SubagentDone {
        subagent_id: u64,
        agent_name: String,
        result_preview: String,
        duration_secs: f64,
    },
    AgentEnd {
        usage: TurnUsage,
    },
    /// The answer to a command. The body's keys lie beside the others.
    Response {
        id: String,
        command: String,
        #[serde(flatten)]
        body: Map<String, Value>,
    },
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        message: String,
    },
}

/// What happens inside a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantEvent {
    TextDelta {
        delta: String,
    },
    ThinkingDelta {
        delta: String,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        tool_id: String,
        tool_name: String,
    },
    /// A piece of the input's JSON text.
    #[serde(rename = "toolcall_input_delta")]
    ToolCallInputDelta {
        tool_id: String,
        delta: String,
    },
    #[serde(rename = "toolcall_input")]
    ToolCallInput {
        tool_id: String,
        input: Value,
    },
    #[serde(rename = "toolcall_result")]
    ToolCallResult {
        tool_id: String,
        result: String,
    },
}

/// What a turn consumed (section 9.5). `input_tokens` does not include what the cache took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cache_read_input_tokens: u64,
    #[serde(default)]
    pub cache_creation_input_tokens: u64,
    /// Absent means unknown, not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_5m: Option<u64>,
    /// Absent means unknown, not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_1h: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(event: AssistantEvent) -> Event {
        Event::MessageUpdate { event }
    }

    #[test]
    fn events_are_written_as_the_golden_lines_have_them() {
        let body = |value: Value| value.as_object().cloned().unwrap();
        let tool_id = "id1".to_owned();
        for (event, line) in [
            (
                Event::Ready {
                    session_id: "s1".into(),
                    model: "claude-3-opus".into(),
                    protocol_version: 1,
                },
                r#"{"type":"ready","session_id":"s1","model":"claude-3-opus","protocol_version":1}"#,
            ),
            (
                update(AssistantEvent::TextDelta { delta: "hi".into() }),
                r#"{"type":"message_update","event":{"type":"text_delta","delta":"hi"}}"#,
            ),
            (
                update(AssistantEvent::ToolCallStart {
                    tool_id: tool_id.clone(),
                    tool_name: "bash".into(),
                }),
                r#"{"type":"message_update","event":{"type":"toolcall_start","tool_id":"id1","tool_name":"bash"}}"#,
            ),
            (
                update(AssistantEvent::ToolCallInputDelta {
                    tool_id: tool_id.clone(),
                    delta: "{\"command\":".into(),
                }),
                r#"{"type":"message_update","event":{"type":"toolcall_input_delta","tool_id":"id1","delta":"{\"command\":"}}"#,
            ),
            (
                update(AssistantEvent::ToolCallInput {
                    tool_id: tool_id.clone(),
                    input: json!({"command":"ls"}),
                }),
                r#"{"type":"message_update","event":{"type":"toolcall_input","tool_id":"id1","input":{"command":"ls"}}}"#,
            ),
            (
                update(AssistantEvent::ToolCallResult {
                    tool_id,
                    result: "file.txt\n".into(),
                }),
                r#"{"type":"message_update","event":{"type":"toolcall_result","tool_id":"id1","result":"file.txt\n"}}"#,
            ),
            (
                Event::SubagentStart {
                    subagent_id: 1,
                    agent_name: "worker".into(),
                    task_preview: "child task".into(),
                },
                r#"{"type":"subagent_start","subagent_id":1,"agent_name":"worker","task_preview":"child task"}"#,
            ),
            (
                Event::SubagentDone {
                    subagent_id: 1,
                    agent_name: "worker".into(),
                    result_preview: "done".into(),
                    duration_secs: 1.5,
                },
                r#"{"type":"subagent_done","subagent_id":1,"agent_name":"worker","result_preview":"done","duration_secs":1.5}"#,
            ),
            (
                Event::AgentEnd {
                    usage: TurnUsage {
                        input_tokens: 10,
                        output_tokens: 5,
                        ..TurnUsage::default()
                    },
                },
                r#"{"type":"agent_end","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}"#,
            ),
            (
                Event::Response {
                    id: "x".into(),
                    command: "get_messages".into(),
                    body: body(json!({"messages":[]})),
                },
                r#"{"type":"response","id":"x","command":"get_messages","messages":[]}"#,
            ),
            (
                Event::Error {
                    id: None,
                    message: "bad".into(),
                },
                r#"{"type":"error","message":"bad"}"#,
            ),
            (
                Event::Error {
                    id: Some("e1".into()),
                    message: "something failed".into(),
                },
                r#"{"type":"error","id":"e1","message":"something failed"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&event).unwrap(), line);
            assert_eq!(serde_json::from_str::<Event>(line).unwrap(), event);
        }
    }

    #[test]
    fn missing_cache_counts_read_as_zero_and_a_missing_split_as_unknown() {
        let usage: TurnUsage =
            serde_json::from_str(r#"{"input_tokens":1,"output_tokens":2,"later":true}"#).unwrap();
        assert_eq!(
            (usage.cache_read_input_tokens, usage.cache_creation_5m),
            (0, None)
        );
    }
}
