//! Tools and addresses of the client (section 21).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

const CALLS: &str = r#"
[model]
id = "mock"
[[turn]]
steps = [{ tool = "echo_host", id = "call-1", arguments = { message = "hello" } }]
[[turn]]
text = "Done."
"#;

fn offer(child: &mut Child) {
    let tools = json!({"type": "set_host_tools", "tools": [{
        "name": "echo_host", "label": "Echo Host", "description": "Echo a value",
        "parameters": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    }]});
    assert_eq!(child.data(tools), json!({"toolNames": ["echo_host"]}));
}

fn called(child: &mut Child, kind: &str) -> Value {
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    child.until_type(kind).pop().unwrap()
}

#[test]
fn a_tool_of_the_client_is_called_tells_how_far_it_is_and_ends() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    let mut told = vec![called(&mut child, "host_tool_call")];
    let id = told[0]["id"].clone();
    child.send(json!({"type": "host_tool_update", "id": id, "partialResult": {"content": [{"type": "text", "text": "working"}]}}));
    told.extend(child.until_type("tool_execution_update"));
    child.send(json!({"type": "host_tool_result", "id": id, "result": {"content": [{"type": "text", "text": "done"}], "details": {"n": 1}}}));
    told.extend(child.until_type("tool_execution_end"));
    // The call may be made before or after it is told of.
    told.retain(|frame| frame["type"] != "tool_execution_start");
    expect![[r#"
        {"type":"host_tool_call","id":"4000000000000001","toolCallId":"call-1","toolName":"echo_host","arguments":{"message":"hello"}}
        {"type":"tool_execution_update","toolCallId":"call-1","toolName":"echo_host","args":{"message":"hello"},"partialResult":{"content":[{"type":"text","text":"working"}],"details":{}}}
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"done"}],"details":{"n":1}},"isError":false,"durationMs":"MS"}
    "#]].assert_eq(&shown(&told, &folder));
    // A second result means nothing.
    child.send(json!({"type": "host_tool_result", "id": id, "result": {"content": []}}));
    child.until_type("agent_settled");
}

#[test]
fn a_failure_of_the_client_is_the_tools_error() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    let id = called(&mut child, "host_tool_call")["id"].clone();
    child.send(json!({"type": "host_tool_result", "id": id, "isError": true, "result": {"content": [{"type": "text", "text": "no"}, {"type": "text", "text": "way"}]}}));
    let end = child.until_type("tool_execution_end").pop().unwrap();
    expect![[r#"
        {"type":"tool_execution_end","toolCallId":"call-1","toolName":"echo_host","result":{"content":[{"type":"text","text":"no\nway"}],"details":{}},"isError":true,"durationMs":"MS"}
    "#]].assert_eq(&shown(&[end], &folder));
}

#[test]
fn an_abort_takes_the_call_back() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    let id = called(&mut child, "host_tool_call")["id"].clone();
    child.send(json!({"id": "a", "type": "abort"}));
    let frames = child.until(|frame| frame["id"] == "a");
    let mut cancel = frames
        .into_iter()
        .find(|frame| frame["type"] == "host_tool_cancel")
        .unwrap();
    assert_eq!(cancel["targetId"], id);
    assert_ne!(cancel["id"], id);
    cancel["targetId"] = json!("CALL");
    cancel["id"] = json!("CANCEL");
    expect![[r#"
        {"type":"host_tool_cancel","id":"CANCEL","targetId":"CALL"}
    "#]]
    .assert_eq(&shown(&[cancel], &folder));
}

#[test]
fn another_conversation_has_the_clients_tools_too() {
    let folder = Folder::with(CALLS);
    let mut child = folder.child(&["--no-session"]);
    offer(&mut child);
    child.data(json!({"type": "new_session"}));
    let id = called(&mut child, "host_tool_call")["id"].clone();
    child.send(json!({"type": "host_tool_result", "id": id, "result": {"content": []}}));
    child.until_type("agent_settled");
}

#[test]
fn addresses_of_the_client_are_read_and_written_over_it() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [
          { tool = "read", arguments = { path = "Issue://42", limit = 1 } },
          { tool = "write", arguments = { path = "issue://42", content = "new" } },
          { tool = "write", arguments = { path = "log://1", content = "new" } },
        ]
        [[turn]]
        text = "Done."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    let schemes = json!({"type": "set_host_uri_schemes", "schemes": [{"scheme": "ISSUE", "writable": true}, {"scheme": "log"}]});
    assert_eq!(child.data(schemes), json!({"schemes": ["issue", "log"]}));
    let read = called(&mut child, "host_uri_request");
    let id = read["id"].clone();
    assert_eq!(
        read,
        json!({"type": "host_uri_request", "id": id, "operation": "read", "url": "Issue://42"})
    );
    child.send(json!({"type": "host_uri_result", "id": id, "content": "one\ntwo\n"}));
    let mut ends = vec![child.until_type("tool_execution_end").pop().unwrap()];
    let write = child.until_type("host_uri_request").pop().unwrap();
    let id = write["id"].clone();
    assert_eq!(
        write,
        json!({"type": "host_uri_request", "id": id, "operation": "write", "url": "issue://42", "content": "new"})
    );
    child.send(json!({"type": "host_uri_result", "id": id, "isError": true, "error": "closed"}));
    for _ in 0..2 {
        ends.push(child.until_type("tool_execution_end").pop().unwrap());
    }
    expect![[r#"
        {"type":"tool_execution_end","toolCallId":"call_1_1","toolName":"read","result":{"content":[{"type":"text","text":"one\n\n[1 more lines. Use offset=2 to continue.]"}]},"isError":false,"durationMs":"MS"}
        {"type":"tool_execution_end","toolCallId":"call_1_2","toolName":"write","result":{"content":[{"type":"text","text":"closed"}],"details":{}},"isError":true,"durationMs":"MS"}
        {"type":"tool_execution_end","toolCallId":"call_1_3","toolName":"write","result":{"content":[{"type":"text","text":"log:// cannot be written to"}],"details":{}},"isError":true,"durationMs":"MS"}
    "#]].assert_eq(&shown(&ends, &folder));
}
