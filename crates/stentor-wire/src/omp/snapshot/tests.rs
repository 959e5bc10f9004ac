use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn begun() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let facts = Facts {
        number: 2,
        api: "a",
        provider: "p",
        model: "m",
        timestamp: 5,
    };
    snapshot.begin(facts, &json!({"input": 1}));
    snapshot
}

fn message(content: Value) -> Value {
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 1}, "stopReason": "stop", "timestamp": 5,
    })
}

fn frame(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut bytes = Vec::new();
    write(&mut bytes);
    assert!(!bytes.contains(&b'\n'));
    serde_json::from_slice(&bytes).unwrap()
}

fn update(content: Value, event: Value) -> Value {
    let mut event = event;
    event["partial"] = message(content.clone());
    json!({
        "type": "message_update", "messageId": "msg-2", "message": message(content),
        "assistantMessageEvent": event, "usage": {"input": 1},
    })
}

#[test]
fn a_message_is_told_block_by_block_with_the_whole_so_far() {
    let full = MessageUpdates::Full;
    let mut s = begun();
    assert_eq!(
        frame(|f| s.write_start(f)),
        json!({"type": "message_start", "messageId": "msg-2", "message": message(json!([]))})
    );
    s.open_text(0, TextKind::Thinking);
    assert_eq!(
        frame(|f| s.write_opened(full, f)),
        update(
            json!([{"type": "thinking", "thinking": ""}]),
            json!({"type": "thinking_start", "contentIndex": 0})
        )
    );
    let hm = json!({"type": "thinking", "thinking": "h\n\"m"});
    s.append("h\n", full, &mut Vec::new());
    assert_eq!(
        frame(|f| s.append("\"m", full, f)),
        update(
            json!([hm]),
            json!({"type": "thinking_delta", "contentIndex": 0, "delta": "\"m"})
        )
    );
    assert_eq!(
        frame(|f| s.close_text(full, f)),
        update(
            json!([hm]),
            json!({"type": "thinking_end", "contentIndex": 0, "content": "h\n\"m"})
        )
    );
    s.open_call(1, "t\"1", "bash");
    let call = |arguments: Value| json!({"type": "toolCall", "id": "t\"1", "name": "bash", "arguments": arguments});
    assert_eq!(
        frame(|f| s.append(r#"{"command":"l"#, full, f)),
        update(
            json!([hm, call(json!({"command": "l"}))]),
            json!({"type": "toolcall_delta", "contentIndex": 1, "delta": "{\"command\":\"l"})
        )
    );
    s.append("s\"}", full, &mut Vec::new());
    let whole = call(json!({"command": "ls"}));
    assert_eq!(
        frame(|f| s.close_call(&whole, full, f)),
        update(
            json!([hm, whole]),
            json!({"type": "toolcall_end", "contentIndex": 1, "toolCall": whole})
        )
    );
}

#[test]
fn the_delta_form_carries_only_what_is_new() {
    let mut s = begun();
    s.open_text(0, TextKind::Text);
    s.append("before", MessageUpdates::Delta, &mut Vec::new());
    assert_eq!(
        frame(|f| s.append("new", MessageUpdates::Delta, f)),
        json!({
            "type": "message_update", "messageId": "msg-2", "message": {"role": "assistant"},
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "new"},
        })
    );
}

#[test]
fn what_follows_an_end_is_ignored() {
    let mut s = begun();
    let mut bytes = Vec::new();
    s.append("x", MessageUpdates::Full, &mut bytes);
    s.close_text(MessageUpdates::Full, &mut bytes);
    s.close_call(&json!({}), MessageUpdates::Full, &mut bytes);
    assert!(bytes.is_empty());
}

proptest! {
    #[test]
    fn the_text_in_a_snapshot_is_the_sum_of_the_deltas(deltas in prop::collection::vec(any::<String>(), 1..8)) {
        let mut s = begun();
        s.open_text(0, TextKind::Text);
        let mut text = String::new();
        for delta in deltas {
            text.push_str(&delta);
            let shown = frame(|f| s.append(&delta, MessageUpdates::Full, f));
            prop_assert_eq!(shown["message"]["content"][0]["text"].as_str(), Some(text.as_str()));
            prop_assert_eq!(&shown["assistantMessageEvent"]["delta"], &json!(delta));
        }
    }
}
