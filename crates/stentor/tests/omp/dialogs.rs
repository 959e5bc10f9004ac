//! Questions to a person, over the client (section 15).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

const GUARDED: &str = r#"
[model]
id = "mock"
[[turn]]
tool = "bash"
arguments = { command = "echo GUARDED" }
[[turn]]
text = "Done."
[[turn]]
tool = "bash"
arguments = { command = "echo AGAIN" }
[[turn]]
text = "Done."
"#;

fn asked(child: &mut Child) -> Value {
    child.send(json!({"id": "p", "type": "prompt", "message": "guard"}));
    child.until_type("extension_ui_request").pop().unwrap()
}

fn outcome(child: &mut Child) -> Value {
    child.until_type("tool_execution_end").pop().unwrap()
}

#[test]
fn a_permission_is_asked_and_given_once() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let request = asked(&mut child);
    expect![[r#"
        {"type":"extension_ui_request","id":"2000000100000001","method":"select","title":"Allow bash: echo GUARDED? (bash `echo GUARDED` runs programs)","options":["Allow","Always allow","Deny","Always deny"]}
    "#]].assert_eq(&shown(std::slice::from_ref(&request), &folder));
    child.send(json!({"type": "extension_ui_response", "id": request["id"], "value": "Allow"}));
    let mut told = vec![outcome(&mut child)];
    child.until_type("agent_settled");
    let again = asked(&mut child);
    told.push(again.clone());
    // The answer to the first question is no answer to the second.
    child.send(json!({"type": "extension_ui_response", "id": request["id"], "value": "Allow"}));
    child.send(json!({"type": "extension_ui_response", "id": again["id"], "cancelled": true, "value": "Allow"}));
    told.push(outcome(&mut child));
    expect![[r#"
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"bash","result":{"content":[{"type":"text","text":"GUARDED\n"}]},"isError":false,"durationMs":"MS"}
        {"type":"extension_ui_request","id":"2000000100000002","method":"select","title":"Allow bash: echo AGAIN? (bash `echo AGAIN` runs programs)","options":["Allow","Always allow","Deny","Always deny"]}
        {"type":"tool_execution_end","toolCallId":"call_3_1","toolName":"bash","result":{"content":[{"type":"text","text":"The user rejected this call of bash. Do not repeat it; ask or go on without it."}],"details":{}},"isError":true,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
}

#[test]
fn a_permission_for_always_is_not_asked_again() {
    let folder = Folder::with(&GUARDED.replace("echo AGAIN", "echo GUARDED"));
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let request = asked(&mut child);
    child.send(
        json!({"type": "extension_ui_response", "id": request["id"], "value": "Always allow"}),
    );
    child.until_type("agent_settled");
    let frames = child.prompt("guard");
    assert!(
        frames
            .iter()
            .all(|frame| frame["type"] != "extension_ui_request")
    );
}

#[test]
fn an_abort_withdraws_the_question() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let request = asked(&mut child);
    child.send(json!({"id": "a", "type": "abort"}));
    let frames = child.until(|frame| frame["id"] == "a");
    let cancel = frames
        .iter()
        .find(|frame| frame["method"] == "cancel")
        .unwrap();
    assert_eq!(cancel["targetId"], request["id"]);
    child.send(json!({"type": "extension_ui_response", "id": request["id"], "value": "Allow"}));
    assert_eq!(
        child.data(json!({"type": "get_state"}))["isStreaming"],
        false
    );
}

#[test]
fn the_child_reads_on_while_a_question_is_open() {
    let folder = Folder::with(GUARDED);
    let mut child = folder.child(&["--no-session", "--permission-mode", "ask"]);
    let request = asked(&mut child);
    assert_eq!(
        child.data(json!({"type": "get_state"}))["isStreaming"],
        true
    );
    child.send(json!({"type": "extension_ui_response", "id": request["id"], "confirmed": true}));
    assert_eq!(outcome(&mut child)["isError"], false);
}
