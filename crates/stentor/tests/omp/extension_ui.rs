//! The extension UI sub-protocol (section 15), with an extension that is a process of its own.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

const DEMO: &str = include_str!("extensions/demo.py");

/// A folder with the extension, and a model that has it do something.
fn stage(what: &str) -> Folder {
    let folder = Folder::with(&format!(
        r#"
        on_exhausted = {{ text = "Done." }}
        [model]
        id = "mock"
        [[turn]]
        steps = [{{ tool = "demo", id = "call-1", arguments = {{ what = "{what}" }} }}]
        "#
    ));
    folder.file("demo.py", DEMO);
    folder
}

fn start(folder: &Folder) -> Child {
    let mut child = folder.child(&["--no-session", "--extension", "demo.py"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child
}

fn is_question(frame: &Value) -> bool {
    let method = frame["method"].as_str().unwrap_or_default();
    matches!(method, "confirm" | "select" | "input" | "editor")
}

/// Answers question after question. Returns what was asked, and the end of the call.
fn answered(child: &mut Child, answers: &[Value]) -> Vec<Value> {
    let mut frames = Vec::new();
    for answer in answers {
        let question = child.until(is_question).pop().unwrap();
        let mut answer = answer.clone();
        answer["type"] = json!("extension_ui_response");
        answer["id"] = question["id"].clone();
        child.send(answer);
        frames.push(question);
    }
    frames.push(child.until_type("tool_execution_end").pop().unwrap());
    frames
}

fn check(answers: [Value; 4], expected: Expect) {
    let folder = stage("ask");
    let mut child = start(&folder);
    let frames = answered(&mut child, &answers);
    expected.assert_eq(&shown(&frames, &folder));
}

#[test]
fn each_kind_of_question_is_asked_and_its_answer_arrives() {
    check(
        [
            json!({"confirmed": true}),
            json!({"value": "Block"}),
            json!({"value": "main"}),
            json!({"value": "edited\ntext"}),
        ],
        expect![[r#"
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": true, \"answered\": true}, {\"value\": \"b\"}, {\"value\": \"main\"}, {\"value\": \"edited\\ntext\"}]"}]},"isError":false,"durationMs":"MS"}
        "#]],
    );
}

#[test]
fn a_question_that_is_cancelled_gets_its_default_whatever_else_the_answer_says() {
    check(
        [
            json!({"cancelled": true, "confirmed": true}),
            json!({"cancelled": true, "value": "Allow"}),
            json!({"cancelled": true}),
            json!({"cancelled": true, "timedOut": true}),
        ],
        expect![[r#"
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
        "#]],
    );
}

#[test]
fn an_answer_of_the_wrong_kind_counts_as_none() {
    check(
        [
            json!({"value": "yes"}),
            json!({"confirmed": true}),
            json!({}),
            json!({"confirmed": false}),
        ],
        expect![[r#"
            {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?"}
            {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"],"optionDetails":[{},{"description":"No"}]}
            {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"Branch name","placeholder":"feature/..."}
            {"type":"extension_ui_request","id":"1000000100000004","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
            {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
        "#]],
    );
}

#[test]
fn a_question_nobody_answers_in_time_is_withdrawn_and_a_late_answer_is_ignored() {
    let folder = stage("ask in vain");
    let mut child = start(&folder);
    let mut told: Vec<Value> = Vec::new();
    for _ in 0..3 {
        told.push(child.until(is_question).pop().unwrap());
        let withdrawn = child.until(|frame| frame["method"] == "cancel");
        told.push(withdrawn.last().unwrap().clone());
        let id = &told[told.len() - 2]["id"];
        child.send(
            json!({"type": "extension_ui_response", "id": id, "value": "late", "confirmed": true}),
        );
    }
    told.push(child.until_type("tool_execution_end").pop().unwrap());
    expect![[r#"
        {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"C","message":"m","timeout":1}
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"1000000100000001"}
        {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"S","options":["x"],"timeout":1}
        {"type":"extension_ui_request","id":"3000000100000002","method":"cancel","targetId":"1000000100000002"}
        {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"I","timeout":1}
        {"type":"extension_ui_request","id":"3000000100000003","method":"cancel","targetId":"1000000100000003"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[{\"confirmed\": false, \"answered\": false}, {\"value\": null}, {\"value\": null}]"}]},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
    child.until_type("agent_settled");
}

#[test]
fn what_an_extension_shows_is_shown() {
    let folder = stage("show");
    let mut child = start(&folder);
    let last = |frame: &Value| frame["method"] == "set_editor_text";
    let told: Vec<Value> = child
        .until(last)
        .into_iter()
        .filter(|frame| frame["type"] == "extension_ui_request")
        .collect();
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"starting","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"notify","message":"starting","notifyType":"warning"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"notify","message":"starting","notifyType":"error"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"setStatus","statusKey":"demo:s","statusText":"running"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"setStatus","statusKey":"demo:s"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"setWidget","widgetKey":"demo:w","widgetLines":["a","b"]}
        {"type":"extension_ui_request","id":"3000000100000007","method":"setWidget","widgetKey":"demo:w","widgetLines":["a"],"widgetPlacement":"belowEditor"}
        {"type":"extension_ui_request","id":"3000000100000008","method":"setWidget","widgetKey":"demo:w"}
        {"type":"extension_ui_request","id":"3000000100000009","method":"setTitle","title":"demo title"}
        {"type":"extension_ui_request","id":"300000010000000a","method":"set_editor_text","text":"prefill"}
    "#]].assert_eq(&shown(&told, &folder));
    // None of it can be answered.
    for frame in &told {
        child.send(json!({"type": "extension_ui_response", "id": frame["id"], "value": "x"}));
    }
    child.until_type("agent_settled");
}

#[test]
fn what_an_extension_shows_and_asks_comes_in_the_order_it_was_sent() {
    let folder = stage("mix");
    let mut child = start(&folder);
    let is_ui = |frame: &Value| frame["type"] == "extension_ui_request";
    let asked_last = |frame: &Value| frame["title"] == "after 7";
    let mut told = child.until(asked_last);
    told.retain(is_ui);
    let questions: Vec<Value> = told.iter().filter(|ui| is_question(ui)).cloned().collect();
    for question in questions {
        child.send(json!({
            "type": "extension_ui_response", "id": question["id"], "value": question["title"],
        }));
    }
    // What it showed before it was done is there when it is done.
    let end = child.until_type("tool_execution_end");
    told.extend(
        end.into_iter()
            .filter(|frame| is_ui(frame) || frame["type"] == "tool_execution_end"),
    );
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"before 0","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"setStatus","statusKey":"demo:s","statusText":"before 0"}
        {"type":"extension_ui_request","id":"1000000100000001","method":"input","title":"question 0"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"setTitle","title":"after 0"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"notify","message":"before 1","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"setStatus","statusKey":"demo:s","statusText":"before 1"}
        {"type":"extension_ui_request","id":"1000000100000002","method":"input","title":"question 1"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"setTitle","title":"after 1"}
        {"type":"extension_ui_request","id":"3000000100000007","method":"notify","message":"before 2","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000008","method":"setStatus","statusKey":"demo:s","statusText":"before 2"}
        {"type":"extension_ui_request","id":"1000000100000003","method":"input","title":"question 2"}
        {"type":"extension_ui_request","id":"3000000100000009","method":"setTitle","title":"after 2"}
        {"type":"extension_ui_request","id":"300000010000000a","method":"notify","message":"before 3","notifyType":"info"}
        {"type":"extension_ui_request","id":"300000010000000b","method":"setStatus","statusKey":"demo:s","statusText":"before 3"}
        {"type":"extension_ui_request","id":"1000000100000004","method":"input","title":"question 3"}
        {"type":"extension_ui_request","id":"300000010000000c","method":"setTitle","title":"after 3"}
        {"type":"extension_ui_request","id":"300000010000000d","method":"notify","message":"before 4","notifyType":"info"}
        {"type":"extension_ui_request","id":"300000010000000e","method":"setStatus","statusKey":"demo:s","statusText":"before 4"}
        {"type":"extension_ui_request","id":"1000000100000005","method":"input","title":"question 4"}
        {"type":"extension_ui_request","id":"300000010000000f","method":"setTitle","title":"after 4"}
        {"type":"extension_ui_request","id":"3000000100000010","method":"notify","message":"before 5","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000011","method":"setStatus","statusKey":"demo:s","statusText":"before 5"}
        {"type":"extension_ui_request","id":"1000000100000006","method":"input","title":"question 5"}
        {"type":"extension_ui_request","id":"3000000100000012","method":"setTitle","title":"after 5"}
        {"type":"extension_ui_request","id":"3000000100000013","method":"notify","message":"before 6","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000014","method":"setStatus","statusKey":"demo:s","statusText":"before 6"}
        {"type":"extension_ui_request","id":"1000000100000007","method":"input","title":"question 6"}
        {"type":"extension_ui_request","id":"3000000100000015","method":"setTitle","title":"after 6"}
        {"type":"extension_ui_request","id":"3000000100000016","method":"notify","message":"before 7","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000017","method":"setStatus","statusKey":"demo:s","statusText":"before 7"}
        {"type":"extension_ui_request","id":"1000000100000008","method":"input","title":"question 7"}
        {"type":"extension_ui_request","id":"3000000100000018","method":"setTitle","title":"after 7"}
        {"type":"extension_ui_request","id":"3000000100000019","method":"notify","message":"last","notifyType":"info"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"[\"question 0\", \"question 1\", \"question 2\", \"question 3\", \"question 4\", \"question 5\", \"question 6\", \"question 7\"]"}]},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn what_an_extension_keeps_is_told_as_an_entry_that_can_be_read_again() {
    let folder = stage("keep");
    let mut child = start(&folder);
    let is_entry = |frame: &Value| frame["type"] == "entry_appended";
    let mut told = child.until_type("tool_execution_end");
    told.retain(|frame| is_entry(frame) || frame["type"] == "tool_execution_end");
    let entries = child.data(json!({"type": "get_entries"}))["entries"].take();
    let entries = entries.as_array().unwrap();
    for frame in told.iter().filter(|frame| is_entry(frame)) {
        assert!(entries.contains(&frame["entry"]), "{frame}");
    }
    expect![[r#"
        {"type":"entry_appended","entry":{"type":"custom","id":"ID","parentId":"ID","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":{"a":1}}}}
        {"type":"entry_appended","entry":{"type":"custom","id":"ID","parentId":"ID","timestamp":"TIME","customType":"extension:demo","data":{"key":"k","value":null}}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"\"kept\""}]},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn an_extension_that_dies_is_told_of_and_the_run_goes_on() {
    let folder = stage("die");
    let mut child = start(&folder);
    let told = |frame: &Value| frame["type"] == "extension_error";
    let ended = |frame: &Value| frame["type"] == "tool_execution_end";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    let mut frames = child.until_all(&[&told, &ended, &settled]);
    frames.retain(|frame| told(frame) || ended(frame));
    // Which of the two is told first depends on who hears of the end first.
    frames.sort_by_key(|frame| frame["type"].as_str().unwrap().to_owned());
    expect![[r#"
        {"type":"extension_error","extensionPath":"demo","event":"run","error":"it ended (exit status: 3); it said: kaboom; it is started again in 500 ms"}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"The extension `demo` failed: it ended before it answered"}],"details":{}},"isError":true,"durationMs":"MS"}
    "#]].assert_eq(&shown(&frames, &folder));
}

#[test]
fn an_abort_withdraws_the_question_of_an_extension() {
    let folder = stage("ask");
    let mut child = start(&folder);
    let question = child.until(is_question).pop().unwrap();
    child.send(json!({"id": "a", "type": "abort"}));
    let answered = |frame: &Value| frame["id"] == "a";
    let withdrawn = |frame: &Value| frame["method"] == "cancel";
    let ended = |frame: &Value| frame["type"] == "tool_execution_end";
    let mut frames = child.until_all(&[&answered, &withdrawn, &ended]);
    frames.retain(|frame| answered(frame) || withdrawn(frame) || ended(frame));
    // The extension learns of the abort in its own time, and withdraws what it asked.
    frames.sort_by_key(|frame| frame["type"].as_str().unwrap().to_owned());
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"1000000100000001"}
        {"id":"a","type":"response","command":"abort","success":true}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"demo","result":{"content":[{"type":"text","text":"Operation aborted"}],"details":{}},"isError":true,"durationMs":"MS"}
    "#]].assert_eq(&shown(&frames, &folder));
    child.send(json!({"type": "extension_ui_response", "id": question["id"], "confirmed": true}));
    let state = child.data(json!({"type": "get_state"}));
    assert_eq!(state["isStreaming"], false);
}

#[test]
fn the_client_may_leave_while_a_question_is_open() {
    let folder = stage("ask");
    let mut child = start(&folder);
    child.until(is_question);
    let (_, code) = child.close();
    assert_eq!(code, Some(0));
}

#[test]
fn without_extensions_there_is_no_such_tool_but_one_that_is_named_is_there() {
    let folder = stage("show");
    std::fs::create_dir_all(folder.home(".config/stentor/extensions")).unwrap();
    std::fs::write(folder.home(".config/stentor/extensions/demo.py"), DEMO).unwrap();
    for (words, is_there) in [
        (&["--no-session"][..], true),
        (&["--no-session", "--no-extensions"], false),
        (&["--no-session", "-ne", "-e", "demo.py"], true),
        (&["--no-session", "-ne", "-e", "theirs.ts"], false),
    ] {
        let mut child = folder.child(words);
        let frames = child.prompt("go");
        let failed = frames
            .iter()
            .find(|frame| frame["type"] == "tool_execution_end")
            .unwrap();
        assert_eq!(failed["isError"], !is_there, "{words:?}");
    }
}
