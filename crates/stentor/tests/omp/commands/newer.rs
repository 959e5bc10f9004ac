//! Commands and frames that came later (section 19): opening a folder's conversation, handing off,
//! the fast mode, notices, changed models, summaries that are asked for again.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

/// A folder whose model always answers the same.
fn folder(more: &str) -> Folder {
    let folder = Folder::with(&format!(
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"Yes.\"\n{more}"
    ));
    folder.file(
        "../second.toml",
        "[model]\nid = \"second\"\n[[turn]]\ntext = \"Second.\"",
    );
    folder.file(
        "../home/.config/stentor/config.toml",
        "[retry]\nbase_delay_ms = 1\n",
    );
    folder
}

fn answer(child: &mut Child, folder: &Folder, command: Value, expected: Expect) {
    expected.assert_eq(&shown(&[child.ask(command)], folder));
}

#[test]
fn open_session_goes_on_with_the_newest_conversation_of_a_folder_or_begins_one_there() {
    let folder = folder("");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let open = |dir: &str| json!({"type": "open_session", "sessionDir": dir});
    // A folder without any: a new one in it, which has no file before something is said.
    answer(
        &mut child,
        &folder,
        open("../kept/one"),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":true,"data":{"cancelled":false,"resumed":false,"sessionId":"ID","sessionFile":"ROOT/kept/one/TIME_ID.jsonl"}}
        "#]],
    );
    child.prompt("remember this");
    let first = child.data(json!({"type": "get_state"}))["sessionId"].take();
    // The one that is open stays.
    answer(
        &mut child,
        &folder,
        open("../kept/one"),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":true,"data":{"cancelled":false,"resumed":true,"sessionId":"ID","sessionFile":"ROOT/kept/one/TIME_ID.jsonl"}}
        "#]],
    );
    assert_eq!(child.data(open("../kept/one"))["sessionId"], first);
    let other = child.data(open("../kept/two"));
    assert_eq!(other["resumed"], false);
    assert_ne!(other["sessionId"], first);
    // An empty one in the same folder is not replaced by another.
    assert_eq!(
        child.data(open("../kept/two"))["sessionId"],
        other["sessionId"]
    );
    // Back, with another model.
    let mut back = open("../kept/one");
    back["provider"] = json!("script");
    back["modelId"] = json!("../second.toml");
    answer(
        &mut child,
        &folder,
        back,
        expect![[r#"
        {"id":"asked","type":"response","command":"open_session","success":true,"data":{"cancelled":false,"resumed":true,"sessionId":"ID","sessionFile":"ROOT/kept/one/TIME_ID.jsonl"}}
    "#]],
    );
    let state = child.data(json!({"type": "get_state"}));
    assert_eq!(state["sessionId"], first);
    assert_eq!(state["model"]["id"], "second");
    assert_eq!(state["messageCount"], 2);
}

#[test]
fn open_session_that_cannot_be_changes_nothing() {
    let folder = folder("");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let before = child.data(json!({"type": "get_state"}))["sessionId"].take();
    answer(
        &mut child,
        &folder,
        json!({"type": "open_session", "sessionDir": "../kept", "provider": "nobody", "modelId": "x"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":false,"error":"Model not found: nobody/x"}
        "#]],
    );
    answer(
        &mut child,
        &folder,
        json!({"type": "open_session", "sessionDir": "../kept", "provider": "script"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":false,"error":"provider and modelId belong together"}
        "#]],
    );
    answer(
        &mut child,
        &folder,
        json!({"type": "open_session", "sessionDir": " "}),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":false,"error":"sessionDir is empty"}
        "#]],
    );
    answer(
        &mut child,
        &folder,
        json!({"type": "open_session"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":false,"error":"Invalid open_session command: missing field `sessionDir`"}
        "#]],
    );
    assert_eq!(
        child.data(json!({"type": "get_state"}))["sessionId"],
        before
    );
    let mut child = folder.child(&["--no-session"]);
    answer(
        &mut child,
        &folder,
        json!({"type": "open_session", "sessionDir": "../kept"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"open_session","success":false,"error":"open_session requires session persistence (omit --no-session)"}
        "#]],
    );
}

#[test]
fn the_fast_mode_can_only_be_left() {
    let folder = folder("");
    let mut child = folder.child(&["--no-session"]);
    answer(
        &mut child,
        &folder,
        json!({"type": "set_fast_mode", "enabled": false}),
        expect![[r#"
            {"id":"asked","type":"response","command":"set_fast_mode","success":true,"data":{"enabled":false,"active":false}}
        "#]],
    );
    answer(
        &mut child,
        &folder,
        json!({"type": "set_fast_mode", "enabled": true}),
        expect![[r#"
            {"id":"asked","type":"response","command":"set_fast_mode","success":false,"error":"Fast mode is unavailable for the current model."}
        "#]],
    );
    answer(
        &mut child,
        &folder,
        json!({"type": "set_fast_mode", "enabled": "yes"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"set_fast_mode","success":false,"error":"Invalid set_fast_mode command: enabled: invalid type: string \"yes\", expected a boolean"}
        "#]],
    );
}

#[test]
fn after_a_handoff_the_conversation_is_its_summary_alone() {
    let folder = folder("[compaction]\nsummary = \"All that matters.\"");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    answer(
        &mut child,
        &folder,
        json!({"type": "handoff"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"handoff","success":false,"error":"Nothing to hand off (no messages yet)"}
        "#]],
    );
    child.prompt("one");
    child.prompt("two");
    child.send(json!({"id": "h", "type": "handoff", "customInstructions": "the names"}));
    let frames = child.until(|frame| frame["id"] == "h");
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","result":{"summary":"All that matters.","shortSummary":"All that matters.","firstKeptEntryId":"ID","tokensBefore":4,"estimatedTokensAfter":5,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"id":"h","type":"response","command":"handoff","success":true,"data":{}}
    "#]].assert_eq(&shown(&frames, &folder));
    let messages = child.data(json!({"type": "get_messages"}));
    expect![[r#"
        {"messages":[{"role":"compactionSummary","summary":"All that matters.","tokensBefore":4,"timestamp":"TIME"}]}
    "#]].assert_eq(&shown(std::slice::from_ref(&messages), &folder));
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].take();
    let entries = child.data(json!({"type": "get_entries"}))["entries"].take();
    let entries = entries.as_array().unwrap();
    let compaction = entries.iter().find(|entry| entry["type"] == "compaction");
    let compaction = compaction.unwrap();
    assert_eq!(compaction["firstKeptEntryId"], compaction["id"]);
    drop(child);
    let words = [
        "--session-dir",
        "../sessions",
        "--session",
        file.as_str().unwrap(),
    ];
    let mut child = folder.child(&words);
    assert_eq!(child.data(json!({"type": "get_messages"})), messages);
}

#[test]
fn nothing_is_handed_off_while_the_agent_works() {
    let folder = Folder::with(
        "[model]\nid = \"mock\"\n[[turn]]\nsteps = [{ text = \"Sl\" }, { wait_for = \"../gate\" }, { text = \"ow\" }]",
    );
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
    child.until_type("message_update");
    answer(
        &mut child,
        &folder,
        json!({"type": "handoff"}),
        expect![[r#"
            {"id":"asked","type":"response","command":"handoff","success":false,"error":"Cannot hand off while a response is in progress"}
        "#]],
    );
    folder.file("../gate", "");
    let frames = child.until_type("agent_settled");
    assert!(frames.iter().any(|frame| frame["status"] == "completed"));
}

#[test]
fn a_summary_that_fails_for_a_moment_is_asked_for_again() {
    let folder = folder(
        "[compaction]\nsummary = \"All that matters.\"\nerror = { kind = \"overloaded\", message = \"Overloaded\" }\nerror_times = 2",
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt("one");
    child.prompt("two");
    child.send(json!({"id": "c", "type": "compact"}));
    let frames = child.until(|frame| frame["id"] == "c");
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"summarization_retry_scheduled","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
        {"type":"summarization_retry_attempt_start","source":"compaction","reason":"manual"}
        {"type":"summarization_retry_scheduled","attempt":2,"maxAttempts":3,"delayMs":2,"errorMessage":"Overloaded"}
        {"type":"summarization_retry_attempt_start","source":"compaction","reason":"manual"}
        {"type":"summarization_retry_finished"}
        {"type":"compaction_end","reason":"manual","result":{"summary":"All that matters.","shortSummary":"All that matters.","firstKeptEntryId":"ID","tokensBefore":4,"estimatedTokensAfter":7,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"id":"c","type":"response","command":"compact","success":true,"data":{"summary":"All that matters.","shortSummary":"All that matters.","firstKeptEntryId":"ID","tokensBefore":4,"estimatedTokensAfter":7,"details":{"readFiles":[],"modifiedFiles":[]}}}
    "#]].assert_eq(&shown(&frames, &folder));
}

#[test]
fn a_summary_that_keeps_failing_ends_as_a_failure() {
    let folder =
        folder("[compaction]\nerror = { kind = \"overloaded\", message = \"Overloaded\" }");
    let mut child = folder.child(&["--no-session"]);
    child.prompt("one");
    child.prompt("two");
    child.send(json!({"id": "c", "type": "compact"}));
    let frames = child.until(|frame| frame["id"] == "c");
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"summarization_retry_scheduled","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"Overloaded"}
        {"type":"summarization_retry_attempt_start","source":"compaction","reason":"manual"}
        {"type":"summarization_retry_scheduled","attempt":2,"maxAttempts":3,"delayMs":2,"errorMessage":"Overloaded"}
        {"type":"summarization_retry_attempt_start","source":"compaction","reason":"manual"}
        {"type":"summarization_retry_scheduled","attempt":3,"maxAttempts":3,"delayMs":4,"errorMessage":"Overloaded"}
        {"type":"summarization_retry_attempt_start","source":"compaction","reason":"manual"}
        {"type":"summarization_retry_finished"}
        {"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: Overloaded"}
        {"id":"c","type":"response","command":"compact","success":false,"error":"Overloaded"}
    "#]].assert_eq(&shown(&frames, &folder));
}

#[test]
fn a_changed_model_is_told_before_the_answer() {
    let folder = folder("");
    let mut child = folder.child(&["--no-session"]);
    child.send(
        json!({"id": "m", "type": "set_model", "provider": "script", "modelId": "../second.toml"}),
    );
    let frames = child.until(|frame| frame["id"] == "m");
    expect![[r#"
        {"type":"model_changed"}
        {"id":"m","type":"response","command":"set_model","success":true,"data":{"id":"second","name":"Scenario second","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}}
    "#]].assert_eq(&shown(&frames, &folder));
}

#[test]
fn what_the_agent_says_of_its_own_accord_is_told_in_the_words_of_both_families() {
    let folder = folder("");
    let entry = json!({"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"script","modelId":"gone.toml"});
    let header = json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"});
    folder.file("stored.jsonl", &format!("{header}\n{entry}\n"));
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.send(json!({"id": "s", "type": "switch_session", "sessionPath": "stored.jsonl"}));
    let frames = child.until_all(&[&|frame: &Value| frame["id"] == "s", &|frame: &Value| {
        frame["method"] == "notify"
    }]);
    expect![[r#"
        {"type":"notice","level":"warning","message":"the session's model script/gone.toml is not used: only a flag, the environment, your own file or your client can name a scenario file; using script/mock; choose another with --model or in your client"}
        {"type":"extension_ui_request","id":"3000000200000001","method":"notify","message":"the session's model script/gone.toml is not used: only a flag, the environment, your own file or your client can name a scenario file; using script/mock; choose another with --model or in your client","notifyType":"warning"}
        {"id":"s","type":"response","command":"switch_session","success":true,"data":{"cancelled":false}}
    "#]].assert_eq(&shown(&frames, &folder));
}
