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

fn frame<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> Value {
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
        frame(|f| s.write_start(None, f)),
        json!({"type": "message_start", "messageId": "msg-2", "message": message(json!([]))})
    );
    assert_eq!(
        frame(|f| s.write_start(Some("e\"1"), f)),
        json!({
            "type": "message_start", "messageId": "msg-2", "entryId": "e\"1",
            "message": message(json!([])),
        })
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
fn a_long_message_is_left_open_and_put_in_part_by_part() {
    let full = MessageUpdates::Full;
    let mut s = begun();
    s.open_text(0, TextKind::Text);
    let long = "\"ä\n".repeat(LONG_BYTES / 4);
    let mut before = b"frame before\n".to_vec();
    let start = before.len();
    let grown = s.append(&long, full, &mut before);
    assert!(!grown.is_empty());
    let around = before.split_off(start);
    assert!(around.len() < 1000, "{} bytes", around.len());
    let text = json!([{"type": "text", "text": long}]);
    let event = json!({"type": "text_delta", "contentIndex": 0, "delta": long});
    assert_eq!(
        frame(|f| s.fill(&around, &grown, 0..around.len() + grown.bytes(), f)),
        update(text.clone(), event)
    );
    let mut around = Vec::new();
    let closed = s.close_text(full, &mut around);
    let len = around.len() + closed.bytes();
    let event = json!({"type": "text_end", "contentIndex": 0, "content": long});
    assert_eq!(
        frame(|f| {
            for from in (0..len).step_by(10_007) {
                s.fill(&around, &closed, from..len.min(from + 10_007), f);
            }
        }),
        update(text, event)
    );
    let mut bare = Vec::new();
    s.open_text(1, TextKind::Text);
    assert!(s.write_opened(MessageUpdates::Delta, &mut bare).is_empty());
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
