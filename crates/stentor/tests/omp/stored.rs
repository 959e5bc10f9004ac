//! Sessions that pi and omp wrote (section 16).

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Folder, shown};

/// Opens a file of another program, says something, and opens it again. The file only grows, unless
/// it is of an older version.
fn check(stored: &str, only_grows: bool, expected: Expect) {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"From here.\"");
    folder.file("theirs.jsonl", stored);
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let mut told =
        vec![child.ask(json!({"type": "switch_session", "sessionPath": "theirs.jsonl"}))];
    told.push(child.ask(json!({"type": "get_messages"})));
    let mut state = child.data(json!({"type": "get_state"}));
    state.as_object_mut().unwrap().retain(|key, _| {
        matches!(
            key.as_str(),
            "sessionName" | "thinkingLevel" | "messageCount"
        )
    });
    told.push(state);
    expected.assert_eq(&shown(&told, &folder));
    let model = json!({"type": "set_model", "provider": "script", "modelId": "../scenario.toml"});
    child.data(model);
    child.prompt("and here");
    let before: Vec<Value> = child.data(json!({"type": "get_messages"}))["messages"]
        .as_array()
        .unwrap()
        .clone();
    drop(child);
    let now = std::fs::read_to_string(folder.work("theirs.jsonl")).unwrap();
    assert_eq!(now.starts_with(stored), only_grows);
    let mut child = folder.child(&["--session-dir", "../sessions", "--session", "theirs.jsonl"]);
    let after = child.data(json!({"type": "get_messages"}))["messages"].take();
    assert_eq!(after, Value::from(before));
}

#[test]
fn a_session_of_pi_with_a_compaction_a_branch_a_picture_a_command_and_notes() {
    check(
        include_str!("stored/pi.jsonl"),
        true,
        expect![[r#"
        {"id":"asked","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"compactionSummary","summary":"Things were said.","tokensBefore":1234,"timestamp":"TIME"},{"role":"user","content":[{"type":"text","text":"kept question"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"x"}}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME"},{"role":"toolResult","toolCallId":"call-1","toolName":"read","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":"TIME"},{"role":"branchSummary","summary":"Something was tried.","fromId":"a0000009","timestamp":"TIME"},{"role":"bashExecution","command":"ls","output":"x\n","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"},{"role":"custom","customType":"note","content":"a note","display":true,"timestamp":"TIME"}]}}
        {"thinkingLevel":"low","sessionName":"from pi","messageCount":7}
    "#]],
    );
}

#[test]
fn a_session_of_omp_with_its_own_roles_entries_and_title() {
    check(
        include_str!("stored/omp.jsonl"),
        true,
        expect![[r#"
        {"id":"asked","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"developer","content":[{"type":"text","text":"a reminder"}],"attribution":"agent","timestamp":"TIME"},{"role":"user","content":"a plain string","attribution":"user","timestamp":"TIME"},{"role":"fileMention","files":[{"path":"x","content":"x","lineCount":1}],"timestamp":"TIME"},{"role":"assistant","content":[{"type":"redactedThinking","data":"b3BhcXVl"},{"type":"text","text":"Hello."},{"type":"toolCall","id":"call-1","name":"bash","arguments":{"command":"ls"},"intent":"to look"}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"toolResult","toolCallId":"call-1","toolName":"bash","content":[{"type":"text","text":"x"}],"details":{"meta":{}},"isError":false,"timestamp":"TIME"},{"role":"pythonExecution","code":"1+1","output":"2","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"TIME"}]}}
        {"thinkingLevel":"medium","sessionName":"from omp","messageCount":6}
    "#]],
    );
}

#[test]
fn a_session_of_the_first_version_is_lifted() {
    check(
        include_str!("stored/version1.jsonl"),
        false,
        expect![[r#"
        {"id":"asked","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
        {"id":"asked","type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"user","content":[{"type":"text","text":"from long ago"}],"timestamp":"TIME"},{"role":"custom","customType":"note","content":"an old note","display":true,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Still here."}],"api":"anthropic-messages","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME"}]}}
        {"thinkingLevel":"medium","messageCount":3}
    "#]],
    );
}
