//! Entries that change what is in context: what is told of them, and what becomes of them when the
//! session is opened again (sections 12, 16 and 19).

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Folder, shown};

/// A folder in which a retry waits hardly, or for ever.
fn folder(delay_ms: u64, turns: &str) -> Folder {
    let folder = Folder::with(&format!("[model]\nid = \"mock\"\n{turns}"));
    std::fs::create_dir_all(folder.home(".config/stentor")).unwrap();
    std::fs::write(
        folder.home(".config/stentor/config.toml"),
        format!("[retry]\nbase_delay_ms = {delay_ms}\n"),
    )
    .unwrap();
    folder
}

/// The frames from the beginning of the first retry on, without the messages.
fn from_the_retry(frames: &[Value], folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .iter()
        .skip_while(|frame| frame["type"] != "auto_retry_start")
        .filter(|frame| {
            !matches!(
                frame["type"].as_str().unwrap(),
                "message_start" | "message_update" | "message_end" | "turn_end" | "agent_end"
            )
        })
        .cloned()
        .collect();
    shown(&told, folder)
}

/// The ids that the told edits take out of the context.
fn targets(frames: &[Value]) -> Vec<Value> {
    let edits = frames.iter().filter(|f| f["type"] == "entry_appended");
    edits
        .map(|frame| frame["entry"]["targetId"].clone())
        .collect()
}

#[test]
fn an_attempt_that_is_retried_leaves_the_context_by_an_edit_that_is_told() {
    let folder = folder(
        1,
        r#"
        [[turn]]
        steps = [{ text = "partial" }, { end_block = true }, { error = { kind = "overloaded", message = "Overloaded" } }]
        [[turn]]
        text = "Whole."
        "#,
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let frames = child.prompt("hi");
    expect![[r#"
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"auto_retry_end","success":true,"attempt":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]]
    .assert_eq(&from_the_retry(&frames, &folder));
    let entries = child.data(json!({"type": "get_entries"}))["entries"].take();
    let failed = entries
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["message"]["stopReason"] == "error")
        .unwrap();
    assert_eq!(targets(&frames), [failed["id"].clone()]);
    let before = child.data(json!({"type": "get_messages"}));
    assert_eq!(before["messages"].as_array().unwrap().len(), 2);
    let state = child.data(json!({"type": "get_state"}));
    drop(child);
    let file = state["sessionFile"].as_str().unwrap();
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", file]);
    assert_eq!(child.data(json!({"type": "get_messages"})), before);
}

#[test]
fn each_result_of_the_calls_of_a_failed_answer_has_an_edit_of_its_own() {
    let folder = folder(
        1,
        r#"
        [[turn]]
        steps = [{ tool = "bash", arguments = { command = "true" } }, { end_block = true }, { error = { kind = "overloaded", message = "Overloaded" } }]
        [[turn]]
        text = "Whole."
        "#,
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let frames = child.prompt("hi");
    expect![[r#"
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"auto_retry_end","success":true,"attempt":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&from_the_retry(&frames, &folder));
    let entries = child.data(json!({"type": "get_entries"}))["entries"].take();
    let taken_out: Vec<Value> = entries
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| {
            entry["message"]["stopReason"] == "error" || entry["message"]["role"] == "toolResult"
        })
        .map(|entry| entry["id"].clone())
        .collect();
    assert_eq!(taken_out.len(), 2);
    assert_eq!(targets(&frames), taken_out);
}

#[test]
fn the_edit_of_a_retry_that_is_called_off_comes_before_its_end() {
    let folder = folder(
        3_600_000,
        "[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }",
    );
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "prompt", "type": "prompt", "message": "hi"}));
    let mut frames = child.until_type("auto_retry_start");
    child.send(json!({"id": "stop", "type": "abort_retry"}));
    frames.extend(child.until_all(&[
        &|frame: &Value| frame["type"] == "agent_settled",
        &|frame: &Value| frame["id"] == "stop",
    ]));
    frames.retain(|frame| frame["id"] != "stop");
    expect![[r#"
        {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":300000,"errorMessage":"Overloaded"}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID","parentId":"ID","timestamp":"TIME","targetId":"ID","replacement":null}}
        {"type":"auto_retry_end","success":false,"attempt":1,"finalError":"Retry cancelled"}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"Overloaded","provider":"script","model":"mock","httpStatus":529,"retryable":true},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&from_the_retry(&frames, &folder));
}

/// Opens a session file with these entries after the header and says what is in context.
fn check_stored(entries: &[Value], expected: Expect) {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Here.\"");
    let header = json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"});
    let mut lines = format!("{header}\n");
    for entry in entries {
        lines.push_str(&format!("{entry}\n"));
    }
    folder.file("stored.jsonl", &lines);
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "stored.jsonl"]);
    let messages = child.data(json!({"type": "get_messages"}))["messages"].take();
    let roles_and_content: Vec<Value> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| json!([message["role"], message["content"]]))
        .collect();
    expected.assert_eq(&shown(&roles_and_content, &folder));
}

fn entry(id: &str, parent: Option<&str>, mut fields: Value) -> Value {
    fields["id"] = json!(id);
    fields["parentId"] = json!(parent);
    fields["timestamp"] = json!("2026-01-01T00:00:00.000Z");
    fields
}

/// A question, an answer with a call, its result, and a note.
fn conversation() -> Vec<Value> {
    let answer = json!({"type":"message","message":{"role":"assistant","content":[
        {"type":"text","text":"answer"},
        {"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}],
        "api":"a","provider":"p","model":"m","stopReason":"toolUse","timestamp":2}});
    let result = json!({"type":"message","message":{"role":"toolResult","toolCallId":"call-1",
        "toolName":"read","content":[{"type":"text","text":"result"}],"isError":false,"timestamp":3}});
    vec![
        entry(
            "a1",
            None,
            json!({"type":"message","message":{"role":"user","content":"question","timestamp":1}}),
        ),
        entry("a2", Some("a1"), answer),
        entry("a3", Some("a2"), result),
        entry(
            "a4",
            Some("a3"),
            json!({"type":"custom_message","customType":"note","content":"note","display":true}),
        ),
    ]
}

fn edited(edits: &[(&str, Value)]) -> Vec<Value> {
    let mut entries = conversation();
    for (n, (target, replacement)) in edits.iter().enumerate() {
        let parent = entries.last().unwrap()["id"].as_str().unwrap().to_owned();
        let edit = json!({"type":"context_edit","targetId":target,"replacement":replacement});
        entries.push(entry(&format!("e{n}"), Some(&parent), edit));
    }
    entries
}

#[test]
fn a_replacement_takes_the_place_of_the_content_and_keeps_the_rest() {
    check_stored(
        &edited(&[
            ("a1", json!({"content":"another question"})),
            ("a2", json!({"content":"another answer"})),
            ("a3", json!({"content":[{"type":"text","text":"cut"}]})),
            (
                "a4",
                json!({"content":[{"type":"text","text":"another note"}]}),
            ),
        ]),
        expect![[r#"
            ["user","another question"]
            ["assistant",[{"type":"text","text":"another answer"}]]
            ["toolResult",[{"type":"text","text":"cut"}]]
            ["custom",[{"type":"text","text":"another note"}]]
        "#]],
    );
}

#[test]
fn the_newest_edit_of_a_message_counts_and_one_of_nothing_takes_it_out() {
    check_stored(
        &edited(&[
            ("a1", json!(null)),
            ("a1", json!({"content":"back again"})),
            ("a4", json!({"content":"not for long"})),
            ("a4", json!(null)),
        ]),
        expect![[r#"
            ["user","back again"]
            ["assistant",[{"type":"text","text":"answer"},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}]]
            ["toolResult",[{"type":"text","text":"result"}]]
        "#]],
    );
}

#[test]
fn an_edit_of_nothing_known_or_without_a_readable_replacement_changes_nothing() {
    check_stored(
        &edited(&[
            ("nowhere", json!(null)),
            ("a1", json!("text alone")),
            ("a1", json!({"text":"no content"})),
            ("a1", json!({"content":7})),
        ]),
        expect![[r#"
            ["user","question"]
            ["assistant",[{"type":"text","text":"answer"},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}]]
            ["toolResult",[{"type":"text","text":"result"}]]
            ["custom","note"]
        "#]],
    );
}

#[test]
fn what_an_earlier_version_noted_as_forgotten_is_not_in_context_with_its_results() {
    let mut entries = conversation();
    let note = json!({"type":"custom","customType":"stentor.forgotten","data":{"entryId":"a2"}});
    entries.push(entry("f1", Some("a4"), note));
    check_stored(
        &entries,
        expect![[r#"
        ["user","question"]
        ["custom","note"]
    "#]],
    );
}
