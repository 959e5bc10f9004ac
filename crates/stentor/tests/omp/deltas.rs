//! The message while it is being written: snapshots, deltas, filters (sections 8 and 19).

use serde_json::{Value, json};

use crate::child::Folder;

fn long(times: u32) -> Folder {
    Folder::with(&format!(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"word {{{{n}}}}\\n\"\nrepeat = {times}"
    ))
}

fn expected(times: u32) -> String {
    (1..=times).map(|n| format!("word {n}\n")).collect()
}

fn deltas(frames: &[Value]) -> impl Iterator<Item = &str> {
    frames
        .iter()
        .filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str())
}

#[test]
fn snapshots_hold_exactly_what_the_deltas_say_and_nothing_is_lost() {
    let folder = long(5_000);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("go");
    let mut text = String::new();
    for frame in &frames {
        let event = &frame["assistantMessageEvent"];
        if let Some(delta) = event["delta"].as_str() {
            text.push_str(delta);
            assert_eq!(frame["message"]["content"][0]["text"], text);
            assert_eq!(frame["message"], event["partial"]);
            assert_eq!(frame["usage"], frame["message"]["usage"]);
        }
    }
    assert_eq!(text, expected(5_000));
    let ended = frames
        .iter()
        .find(|frame| frame["assistantMessageEvent"]["type"] == "text_end");
    assert_eq!(ended.unwrap()["assistantMessageEvent"]["content"], text);
    let updates = deltas(&frames).count();
    assert!(
        updates < 2_500,
        "deltas that came together went out one by one: {updates}"
    );
}

#[test]
fn delta_only_updates_carry_only_what_is_new() {
    let folder = long(2_000);
    let mut child = folder.child(&["--no-session"]);
    let filter = json!({"type": "set_event_filter", "events": null, "messageUpdates": "delta"});
    assert_eq!(
        child.data(filter),
        json!({"events": null, "messageUpdates": "delta"})
    );
    let frames = child.prompt("go");
    assert_eq!(deltas(&frames).collect::<String>(), expected(2_000));
    let update = frames
        .iter()
        .find(|frame| frame["type"] == "message_update")
        .unwrap();
    assert_eq!(
        *update,
        json!({
            "type": "message_update", "messageId": "msg-2", "message": {"role": "assistant"},
            "assistantMessageEvent": {"type": "text_start", "contentIndex": 0},
        })
    );
}

#[test]
fn a_filter_holds_back_events_but_not_the_end_of_a_prompt() {
    let folder = long(3);
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_event_filter", "events": ["agent_end"]}));
    let kinds: Vec<String> = child
        .prompt("go")
        .iter()
        .map(|frame| frame["type"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "response",
        "agent_end",
        "prompt_result",
        "session_settled",
        "agent_settled",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn an_abort_gets_through_although_nobody_reads() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\ntext = \"word {{n}} \"\nrepeat = 300000\n[[turn]]\ntext = \"x\"",
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child.until_type("message_update");
    child.send(json!({"id": "a", "type": "abort"}));
    let frames = child.until(|frame| frame["id"] == "a");
    let ended = frames
        .iter()
        .find(|frame| frame["type"] == "message_end")
        .unwrap();
    assert_eq!(ended["message"]["stopReason"], "aborted");
}
