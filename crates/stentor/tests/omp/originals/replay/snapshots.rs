//! Checks that each update of a message has the message so far, twice.

use serde_json::{Value, json};

/// The message that is being written, as its deltas make it.
#[derive(Default)]
pub struct Snapshots {
    message: Value,
    /// The text of the arguments of the call that is open.
    arguments: String,
}

impl Snapshots {
    /// Follows the frames of a run; fails if a snapshot is not what the deltas before it come to.
    pub fn check(&mut self, frame: &Value) {
        match frame["type"].as_str().unwrap() {
            "message_start" => self.message = frame["message"].clone(),
            "message_update" => self.update(frame),
            _ => {}
        }
    }

    fn update(&mut self, frame: &Value) {
        let event = &frame["assistantMessageEvent"];
        let index = usize::try_from(event["contentIndex"].as_u64().unwrap()).unwrap();
        let snapshot = &frame["message"];
        assert_eq!(*snapshot, event["partial"], "{frame}");
        assert_eq!(snapshot["usage"], frame["usage"], "{frame}");
        let content = self.message["content"].as_array_mut().unwrap();
        let kind = event["type"].as_str().unwrap();
        match kind {
            "text_start" => content.push(json!({"type": "text", "text": ""})),
            "thinking_start" => content.push(json!({"type": "thinking", "thinking": ""})),
            "toolcall_start" => {
                self.arguments.clear();
                let call = &snapshot["content"][index];
                let (id, name) = (&call["id"], &call["name"]);
                content.push(json!({"type": "toolCall", "id": id, "name": name, "arguments": {}}));
            }
            "text_delta" | "thinking_delta" => {
                let key = kind.trim_end_matches("_delta");
                let text = content[index][key].as_str().unwrap();
                content[index][key] = json!(format!("{text}{}", event["delta"].as_str().unwrap()));
            }
            "toolcall_delta" => self.arguments.push_str(event["delta"].as_str().unwrap()),
            "text_end" => assert_eq!(content[index]["text"], event["content"]),
            "thinking_end" => {
                assert_eq!(content[index]["thinking"], event["content"]);
                let signature = &snapshot["content"][index]["thinkingSignature"];
                if !signature.is_null() {
                    content[index]["thinkingSignature"] = signature.clone();
                }
            }
            "toolcall_end" => {
                let arguments = serde_json::from_str(&self.arguments).unwrap_or_default();
                content[index]["arguments"] = arguments;
                assert_eq!(content[index], event["toolCall"], "{frame}");
            }
            other => panic!("{other}"),
        }
        // How much of a call's arguments can be read already is not told by the deltas.
        let mut seen = snapshot.clone();
        if kind == "toolcall_delta" {
            seen["content"][index]["arguments"] = json!({});
        }
        for key in ["usage", "responseId"] {
            seen.as_object_mut().unwrap().shift_remove(key);
            self.message.as_object_mut().unwrap().shift_remove(key);
        }
        assert_eq!(seen, self.message, "{frame}");
    }
}
