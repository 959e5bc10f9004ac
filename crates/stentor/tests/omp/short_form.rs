//! Frames in a short form, in which recorded runs of the originals are kept.

use serde_json::{Value, json};

/// Whose run it is: each original has events that the others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Original {
    Omp13,
    Omp18,
    Pi073,
    Pi087,
}

impl Original {
    /// The original a recording is of, by the name of its file.
    pub fn of(name: &str) -> Self {
        match name.split('_').next().unwrap() {
            "omp-13.19.0" => Self::Omp13,
            "omp-18.3.4" => Self::Omp18,
            "pi-0.73.1" => Self::Pi073,
            "pi-0.87.1" => Self::Pi087,
            other => panic!("{other}"),
        }
    }

    fn is_pi(self) -> bool {
        matches!(self, Self::Pi073 | Self::Pi087)
    }

    /// Events that not all of them have.
    fn has(self, kind: &str) -> bool {
        match kind {
            "queue_update" | "compaction_start" | "compaction_end" | "session_info_changed" => {
                self.is_pi()
            }
            "thinking_level_changed" => self != Self::Omp13,
            "agent_settled" => self == Self::Pi087,
            "session_settled" | "prompt_result" => self == Self::Omp18,
            _ => true,
        }
    }
}

/// The delta of a frame, and what it is of.
pub fn delta(frame: &Value) -> Option<(String, &str)> {
    let event = &frame["assistantMessageEvent"];
    let text = event["delta"].as_str()?;
    let kind = event["type"].as_str()?;
    Some((format!("update {kind} {}", event["contentIndex"]), text))
}

/// The short form of an answer with the part of its data that does not depend on the machine.
pub fn answer(frame: &Value, original: Original) -> String {
    let command = frame["command"].as_str().unwrap_or("(none)");
    if let Some(error) = frame["error"].as_str() {
        return format!("response {command} failed: {error}");
    }
    let line = format!("response {command} ok");
    if frame["success"] != true {
        return line;
    }
    match (frame.get("data"), data(frame, original)) {
        (None, _) => line,
        (Some(Value::Null), _) => format!("{line} null"),
        (Some(_), None) => line,
        (Some(_), Some(data)) => format!("{line} {}", sorted(&data)),
    }
}

fn data(frame: &Value, original: Original) -> Option<Value> {
    let data = &frame["data"];
    let of_each = |key: &str| -> Vec<Value> {
        let messages = data["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|message| message[key].clone())
            .collect()
    };
    Some(match frame["command"].as_str()? {
        "get_state" => {
            let mut keys = vec![
                "thinkingLevel",
                "isStreaming",
                "isCompacting",
                "steeringMode",
                "followUpMode",
                "sessionName",
                "autoCompactionEnabled",
            ];
            if original != Original::Pi087 {
                // Its count has a message more, of the system.
                keys.push("messageCount");
            }
            if original.is_pi() {
                keys.push("pendingMessageCount");
            } else {
                keys.extend(["interruptMode", "queuedMessageCount"]);
            }
            only(data, &keys)
        }
        "get_session_stats" => {
            let mut keys = vec![
                "userMessages",
                "assistantMessages",
                "toolCalls",
                "toolResults",
                "cost",
            ];
            if original != Original::Pi087 {
                keys.push("totalMessages");
            }
            only(data, &keys)
        }
        "bash" => {
            let mut kept = only(data, &["output", "exitCode", "cancelled"]);
            kept["output"] = json!(cut(kept["output"].as_str().unwrap()));
            kept
        }
        "get_branch_messages" | "get_fork_messages" => json!({"texts": of_each("text")}),
        "get_messages" => json!({"roles": of_each("role")}),
        "get_last_assistant_text"
        | "cycle_thinking_level"
        | "new_session"
        | "switch_session"
        | "branch"
        | "fork"
        | "clone"
        | "negotiate_protocol"
        | "export_html" => data.clone(),
        _ => return None,
    })
}

fn only(data: &Value, keys: &[&str]) -> Value {
    let mut kept = data.as_object().unwrap().clone();
    kept.retain(|key, _| keys.contains(&key.as_str()));
    Value::Object(kept)
}

/// The recordings are cut where a text gets long.
fn cut(text: &str) -> String {
    const KEPT: usize = 300;
    if text.chars().count() <= KEPT {
        return text.to_owned();
    }
    text.chars().take(KEPT).chain(['…']).collect()
}

/// The short form of an event; none for those the original does not have.
pub fn event(frame: &Value, original: Original) -> Option<String> {
    let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
    let kind = frame["type"].as_str().unwrap();
    if !original.has(kind) {
        return None;
    }
    let message = &frame["message"];
    Some(match kind {
        "agent_start" | "turn_start" => kind.to_owned(),
        "agent_end" => format!("agent_end ({} messages)", count(&frame["messages"])),
        "turn_end" => format!("turn_end ({} results)", count(&frame["toolResults"])),
        "message_start" => format!("message_start {}", message["role"].as_str().unwrap()),
        "message_end" => {
            let role = message["role"].as_str().unwrap();
            let mut line = format!("message_end {role}: {}", content(&message["content"]));
            if role == "assistant" {
                line.push_str(&format!(" ({})", message["stopReason"].as_str().unwrap()));
            }
            if message["isError"] == true {
                line.push_str(" (error)");
            }
            line
        }
        "message_update" => {
            let event = &frame["assistantMessageEvent"];
            format!(
                "update {} {}",
                event["type"].as_str().unwrap(),
                event["contentIndex"]
            )
        }
        "tool_execution_start" => {
            format!("tool_start {} {}", text("toolName"), sorted(&frame["args"]))
        }
        "tool_execution_end" => format!(
            "tool_end {}: {}{}",
            text("toolName"),
            content(&frame["result"]["content"]),
            if frame["isError"] == true {
                " (error)"
            } else {
                ""
            }
        ),
        "auto_retry_start" => format!(
            "auto_retry_start {} of {} after {} ms: {}",
            frame["attempt"],
            frame["maxAttempts"],
            frame["delayMs"],
            text("errorMessage")
        ),
        "auto_retry_end" => {
            let success = if frame["success"] == true {
                "True"
            } else {
                "False"
            };
            let error = frame["finalError"].as_str();
            let error = error.map_or(String::new(), |error| format!(": {error}"));
            format!("auto_retry_end {success} {}{error}", frame["attempt"])
        }
        "host_tool_call" => {
            format!(
                "host_tool_call {} {}",
                text("toolName"),
                sorted(&frame["arguments"])
            )
        }
        "queue_update" => format!("queue_update {} {}", frame["steering"], frame["followUp"]),
        "compaction_start" => format!("compaction_start {}", text("reason")),
        "compaction_end" => {
            let error = frame["errorMessage"].as_str();
            let error = error.map_or(String::new(), |error| format!(": {error}"));
            format!(
                "compaction_end {} aborted {} retry {}{error}",
                text("reason"),
                frame["aborted"],
                frame["willRetry"]
            )
        }
        "thinking_level_changed" => format!("thinking_level_changed {}", text("level")),
        "session_info_changed" => format!("session_info_changed {}", frame["name"]),
        "agent_settled" | "session_settled" => kind.to_owned(),
        "prompt_result" => format!("prompt_result {} {}", text("id"), text("status")),
        "extension_error" => format!(
            "extension_error {} {}: {}",
            text("extensionPath"),
            text("event"),
            text("error")
        ),
        "extension_ui_request" => {
            let mut fields = frame.as_object().unwrap().clone();
            fields.retain(|key, _| !matches!(key.as_str(), "type" | "id" | "method"));
            format!("ui {} {}", text("method"), sorted(&Value::Object(fields)))
        }
        _ => return None,
    })
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

fn content(blocks: &Value) -> String {
    if blocks.is_string() {
        return format!("text {blocks}");
    }
    let blocks: Vec<String> = blocks
        .as_array()
        .unwrap()
        .iter()
        .map(|block| match block["type"].as_str().unwrap() {
            "text" => format!("text {}", Value::from(cut(block["text"].as_str().unwrap()))),
            "thinking" => format!("thinking {}", block["thinking"]),
            "toolCall" => format!(
                "call {} {}",
                block["name"].as_str().unwrap(),
                sorted(&block["arguments"])
            ),
            "image" => format!("image {}", block["mimeType"].as_str().unwrap()),
            other => other.to_owned(),
        })
        .collect();
    let blocks = blocks.join(" + ");
    match blocks.as_str() {
        "" => "nothing".to_owned(),
        // How much a command said before it was stopped depends on time.
        _ if blocks.ends_with("Command aborted\"") => "output and Command aborted".to_owned(),
        _ => blocks,
    }
}

/// An object with its keys in order.
fn sorted(object: &Value) -> String {
    let mut fields: Vec<_> = object.as_object().unwrap().iter().collect();
    fields.sort_by_key(|(key, _)| key.as_str());
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(key, value)| {
            let value = match value {
                Value::Array(items) => {
                    let items: Vec<String> = items
                        .iter()
                        .map(|item| {
                            if item.is_object() {
                                sorted(item)
                            } else {
                                item.to_string()
                            }
                        })
                        .collect();
                    format!("[{}]", items.join(","))
                }
                other => other.to_string(),
            };
            format!("{}:{value}", Value::from(key.as_str()))
        })
        .collect();
    format!("{{{}}}", fields.join(","))
}
