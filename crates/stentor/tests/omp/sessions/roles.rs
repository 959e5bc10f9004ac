//! Messages of every role, as another program may have left them in a file (section 7.4): they come
//! back as they were, and the model is told of them in the words of the reference.

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Folder, shown};

/// A file with these entries below the header, each after the one before.
fn stored(entries: &[Value]) -> String {
    let header = json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"});
    let mut lines = format!("{header}\n");
    let mut parent = Value::Null;
    for (n, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = json!(format!("e{n}"));
        entry["parentId"] = parent;
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        parent = entry["id"].clone();
        lines.push_str(&format!("{entry}\n"));
    }
    lines
}

fn said(message: Value) -> Value {
    json!({"type": "message", "message": message})
}

/// One of each role that a file may hold as a message.
fn every_role() -> Vec<Value> {
    let usage = json!({"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,
        "cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}});
    vec![
        json!({"role":"user","content":"plain","timestamp":1}),
        json!({"role":"user","content":[{"type":"text","text":"blocks"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"attribution":"user","synthetic":true,"steering":true,"timestamp":1}),
        json!({"role":"developer","content":[{"type":"text","text":"a reminder"}],"attribution":"agent","timestamp":1}),
        json!({"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},
            {"type":"redactedThinking","data":"b3BhcXVl"},
            {"type":"text","text":"answer","textSignature":"t"},
            {"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"},"thoughtSignature":"s","intent":"to look"}],
            "api":"anthropic-messages","provider":"mock","model":"mock-1","usage":usage,"stopReason":"toolUse",
            "timestamp":1,"responseId":"r","duration":5,"ttft":2,"providerPayload":{"x":1},"completedAt":9,
            "responseModel":"mock-1-b","rawStopReason":"tool_use"}),
        json!({"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"result"}],"details":{"d":1},"isError":false,"timestamp":1,"attribution":"agent","prunedAt":4}),
        json!({"role":"bashExecution","command":"ls","output":"x","exitCode":1,"cancelled":false,"truncated":false,"timestamp":1,"meta":{"truncation":null}}),
        json!({"role":"pythonExecution","code":"1+1","output":"2","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1}),
        json!({"role":"custom","customType":"note","content":[{"type":"text","text":"a note"}],"display":false,"details":{"k":1},"timestamp":1,"attribution":"agent"}),
        json!({"role":"hookMessage","customType":"note","content":"an old note","display":true,"timestamp":1}),
        json!({"role":"branchSummary","summary":"tried","fromId":"e0","timestamp":1}),
        json!({"role":"compactionSummary","summary":"before","tokensBefore":9,"timestamp":1,"shortSummary":"b"}),
        json!({"role":"fileMention","files":[{"path":"x.rs","content":"fn x() {}","lineCount":1,"byteSize":9}],"timestamp":1}),
        json!({"role":"hologram","depth":3,"timestamp":1}),
    ]
}

#[test]
fn each_comes_back_with_every_field_it_had_also_in_a_copy() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Here.\"");
    let roles = every_role();
    let entries: Vec<Value> = roles.iter().cloned().map(said).collect();
    folder.file("stored.jsonl", &stored(&entries));
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "stored.jsonl"]);
    // What no client knows is kept and not shown (section 1).
    let mut known = roles.clone();
    known.retain(|message| message["role"] != "hologram");
    for _ in 0..2 {
        let messages = child.data(json!({"type": "get_messages"}))["messages"].take();
        assert_eq!(messages, Value::from(known.clone()));
        let entries = child.data(json!({"type": "get_entries"}));
        let entries = entries["entries"].as_array().unwrap();
        let kept = entries.iter().filter(|entry| entry["type"] == "message");
        let kept: Vec<Value> = kept.map(|entry| entry["message"].clone()).collect();
        assert_eq!(kept, roles);
        child.data(json!({"type": "clone"}));
    }
}

#[test]
fn entries_that_stand_for_messages_have_the_fields_of_their_roles() {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Here.\"");
    let entries = [
        said(json!({"role":"user","content":"long ago","timestamp":1})),
        json!({"type":"compaction","summary":"before","firstKeptEntryId":"e1","tokensBefore":9,"shortSummary":"b","fromExtension":true,"details":{"readFiles":[]}}),
        json!({"type":"branch_summary","fromId":"e0","summary":"tried"}),
        json!({"type":"custom_message","customType":"note","content":[{"type":"text","text":"a note"}],"display":false,"details":{"k":1},"attribution":"agent"}),
        json!({"type":"custom","customType":"state","data":{"never":"in context"}}),
        json!({"type":"label","targetId":"e0","label":"here"}),
    ];
    folder.file("stored.jsonl", &stored(&entries));
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "stored.jsonl"]);
    let messages = child.data(json!({"type": "get_messages"}));
    expect![[r#"
        {"messages":[{"role":"compactionSummary","summary":"before","tokensBefore":9,"timestamp":"TIME","shortSummary":"b"},{"role":"branchSummary","summary":"tried","fromId":"e0","timestamp":"TIME"},{"role":"custom","customType":"note","content":[{"type":"text","text":"a note"}],"display":false,"details":{"k":1},"timestamp":"TIME","attribution":"agent"}]}
    "#]].assert_eq(&shown(&[messages], &folder));
}

/// True when the model is told exactly this text of a message in a file.
fn is_told(message: &Value, text: &str) -> bool {
    let wanted = Value::from(format!("^{}$", regex_of(text)));
    let folder = Folder::with(&format!(
        "[model]\nid = \"mock\"\n[[turn]]\nwhen = {{ last_user_matches = {wanted} }}\ntext = \"Told.\"\n[[turn]]\ntext = \"Not told.\""
    ));
    folder.file("stored.jsonl", &stored(&[said(message.clone())]));
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "stored.jsonl"]);
    let model = json!({"type": "set_model", "provider": "script", "modelId": "../scenario.toml"});
    child.data(model);
    child.prompt("go");
    child.data(json!({"type": "get_last_assistant_text"}))["text"] == "Told."
}

/// A pattern for this text and no other.
fn regex_of(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[test]
fn the_model_is_told_of_each_in_the_words_of_the_reference() {
    let file = "<system-reminder>\n<file path=\"x.rs\">\nfn x() {}\n</file>\n</system-reminder>";
    for (role, text) in [
        ("developer", "a reminder"),
        (
            "bashExecution",
            "Ran `ls`\n```\nx\n```\n\nCommand exited with code 1",
        ),
        (
            "pythonExecution",
            "Ran Python:\n```python\n1+1\n```\nOutput:\n```\n2\n```",
        ),
        ("custom", "a note"),
        ("hookMessage", "an old note"),
        (
            "branchSummary",
            "This conversation came back from a branch. What happened there:\n\n<summary>\ntried\n</summary>",
        ),
        (
            "compactionSummary",
            "The conversation before this point was replaced by this summary of it:\n\n<summary>\nbefore\n</summary>",
        ),
        ("fileMention", file),
    ] {
        let message = every_role().into_iter().find(|one| one["role"] == role);
        let mut message = message.unwrap();
        assert!(is_told(&message, text), "{role}");
        message["excludeFromContext"] = json!(true);
        if role.ends_with("Execution") {
            assert!(!is_told(&message, text), "{role}");
        }
    }
}
