//! Frames without what differs from run to run and from original to original.

use serde_json::{Map, Value, json};

use super::fields::{self, Original};

/// A command of the recordings, and what is run in its place: it takes as long as the test wants.
const RECORDED: &str = "sleep 1; echo first";
const GATED: &str = "until [ -e ../tool-gate ]; do sleep 0.01; done; echo first";

/// Makes the frames of one side comparable.
pub struct Normal {
    original: Original,
    side: Side,
    /// What stands for `/home/user/project` and for the address of the model.
    places: [(String, &'static str); 2],
    /// Messages that were told whole.
    told: Vec<Value>,
}

/// Whose frames they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Theirs,
    Ours,
}

impl Normal {
    /// For the frames of the original as recorded.
    pub fn theirs(original: Original) -> Self {
        Self::of(
            original,
            Side::Theirs,
            "/home/user/project",
            "http://127.0.0.1:8000",
        )
    }

    /// For the frames of this program, which runs in `here` and asks the model at `url`.
    pub fn ours(original: Original, here: &str, url: &str) -> Self {
        Self::of(original, Side::Ours, here, url)
    }

    fn of(original: Original, side: Side, here: &str, url: &str) -> Self {
        let here = here.trim_end_matches('/').to_owned();
        Self {
            original,
            side,
            places: [
                (here, "/home/user/project"),
                (url.to_owned(), "http://127.0.0.1:8000"),
            ],
            told: Vec::new(),
        }
    }

    /// The frame as it is compared; none where it is not.
    pub fn frame(&mut self, frame: &Value) -> Option<Value> {
        let kind = frame["type"].as_str().unwrap();
        if !fields::is_compared(frame, self.original) {
            return None;
        }
        let mut frame = frame.clone();
        let label = match kind {
            "response" => format!("response:{}", frame["command"].as_str().unwrap_or("none")),
            "extension_ui_request" => format!("ui:{}", frame["method"].as_str().unwrap()),
            other => other.to_owned(),
        };
        if kind == "message_update" {
            without_snapshots(&mut frame);
        }
        if kind == "message_start" && frame["message"]["role"] == "assistant" {
            // What has come meanwhile is in the originals' already.
            for live in ["content", "usage", "responseId"] {
                remove(&mut frame["message"], live);
            }
            if frame["message"]["stopReason"] == "pending" {
                // Only pi 0.87 knows this word, and not every client.
                frame["message"]["stopReason"] = json!("stop");
            }
        }
        self.value(&mut frame, &label);
        match kind {
            "message_end" => self.told.push(frame["message"].clone()),
            "turn_end" => {
                self.refer(&mut frame["message"]);
                self.refer_all(&mut frame["toolResults"]);
            }
            "agent_end" => self.refer_all(&mut frame["messages"]),
            "response" => {
                if let Some(messages) = frame.pointer_mut("/data/messages") {
                    self.refer_all(messages);
                }
            }
            _ => {}
        }
        Some(frame)
    }

    /// Messages that were told before are only named.
    fn refer_all(&self, messages: &mut Value) {
        let Some(messages) = messages.as_array_mut() else {
            return;
        };
        messages.retain(|message| message["role"] != "system");
        for message in messages {
            self.refer(message);
        }
    }

    fn refer(&self, message: &mut Value) {
        let Some(role) = message["role"].as_str() else {
            return;
        };
        let mut of_role = self.told.iter().filter(|told| told["role"] == role);
        if let Some(n) = of_role.position(|told| told == message) {
            *message = json!(format!("{role} {}", n + 1));
        }
    }

    fn value(&self, value: &mut Value, label: &str) {
        match value {
            Value::Object(object) => {
                let role = object.get("role").and_then(Value::as_str);
                let label = match role {
                    Some(role) => format!("message:{role}"),
                    None => label.to_owned(),
                };
                self.drop_fields(object, &label);
                let entry = object.contains_key("parentId");
                for (key, value) in object.iter_mut() {
                    if let Some(name) = stand_in(key, value, entry, &label) {
                        *value = json!(name);
                    } else {
                        let inner = match key.as_str() {
                            "data" if label == "response:set_model" => "model",
                            "data" if label.starts_with("response:") => &label,
                            "models" => "model",
                            _ => key,
                        };
                        self.value(value, inner);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.value(item, label);
                }
            }
            Value::String(text) => {
                for (place, recorded) in &self.places {
                    if text.contains(place.as_str()) {
                        *text = text.replace(place.as_str(), recorded);
                    }
                }
                *text = cut(&text.replace(GATED, RECORDED));
                if text.ends_with("\n\nCommand aborted") || text == "Command aborted" {
                    // How much it had said depends on time.
                    *text = "output and Command aborted".to_owned();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn drop_fields(&self, object: &mut Map<String, Value>, label: &str) {
        object.retain(|key, _| match self.side {
            Side::Ours => !fields::is_ours_alone(label, key, self.original),
            Side::Theirs => !fields::is_theirs_alone(label, key, self.original),
        });
    }
}

/// Snapshots of a message that is being written are taken late by the originals and have what came
/// after them; ours are checked against the deltas in [`super::snapshots`].
fn without_snapshots(frame: &mut Value) {
    for key in ["message", "usage"] {
        remove(frame, key);
    }
    remove(&mut frame["assistantMessageEvent"], "partial");
}

fn remove(object: &mut Value, key: &str) {
    if let Some(object) = object.as_object_mut() {
        object.shift_remove(key);
    }
}

/// What stands for a time, an id or a path.
fn stand_in(key: &str, value: &Value, entry: bool, label: &str) -> Option<&'static str> {
    Some(match key {
        "timestamp" | "labelTimestamp" => "TIME",
        "duration" | "ttft" | "completedAt" | "durationMs" if value.is_number() => "TIME",
        "sessionId" => "SESSION",
        "sessionFile" => "SESSIONFILE",
        "fullOutputPath" | "nextCursor" => "PATH",

        "entryId" | "parentId" | "leafId" | "firstKeptEntryId" | "targetId" | "fromId"
            if value.is_string() =>
        {
            "ENTRY"
        }
        "id" if entry => "ENTRY",
        "id" if label.starts_with("ui:") || label == "host_tool_call" => "ID",
        _ => return None,
    })
}

/// The recordings are cut where a text gets long.
fn cut(text: &str) -> String {
    const LONGEST: usize = 1500;
    let kept = match text.find("…[") {
        Some(end) => &text[..end],
        None if text.chars().count() <= LONGEST => return text.to_owned(),
        None => text,
    };
    kept.chars()
        .take(200)
        .chain("… and so on".chars())
        .collect()
}
