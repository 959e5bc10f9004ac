//! Subagents as sessions of their own, for ACP clients that show them (unstable).

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::World;

const DELEGATES: &str = r#"
[[turn]]
when = { last_user_contains = "look there" }
thinking = "Hm."
tool = "read"
arguments = { path = "a.txt" }
usage = { input = 10, output = 5 }
[[turn]]
when = { tool = "read" }
text = "It says hello."
usage = { input = 20, output = 5 }
[[turn]]
when = { last_user_contains = "delegate" }
steps = [{ tool = "subagent", id = "s1", arguments = { task = "look there" } }]
[[turn]]
when = { last_user_contains = "badly" }
steps = [{ tool = "subagent", id = "s2", arguments = { task = "fail there" } }]
[[turn]]
when = { last_user_contains = "fail there" }
error = { kind = "invalid_request", message = "no" }
[[turn]]
when = { tool = "subagent" }
text = "Done."
"#;

/// All updates of a turn, of the session and of its children, which are named by their order.
fn turn(capabilities: Value, text: &str) -> Vec<String> {
    let world = World::new(DELEGATES, "permission_mode = \"all\"\n");
    world.file("work/a.txt", "hello\n");
    let (mut child, session) = world.acp(capabilities);
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    child.request_acp(3, "session/prompt", prompt);
    let lines = child.until_answer(3);
    let subagent = lines.iter().find_map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        let is_announced = update["sessionUpdate"] == "subagent_update";
        is_announced.then(|| update["sessionId"].as_str().unwrap().to_owned())
    });
    let shown = lines.iter().map(|line| {
        let line = child.shown_in(&session, line);
        match &subagent {
            Some(subagent) => line.replace(subagent, "CHILD"),
            None => line,
        }
    });
    let of_subagents: Vec<String> = shown
        .filter(|line| line.contains("CHILD") || line.contains("subagent_update"))
        .collect();
    child.end();
    of_subagents
}

#[test]
fn a_subagent_is_announced_watched_and_ends_idle() {
    let shown = turn(json!({ "subagents": {} }), "delegate");
    expect![[r#"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"subagent_update","sessionId":"CHILD","title":"general","description":"look there","state":{"state":"running"}}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"session_message","messageId":"ID","senderSessionId":"SESSION","recipientSessionId":"CHILD","recipientMessageId":"CHILD-task-received","content":[{"type":"text","text":"look there"}]}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"CHILD","update":{"sessionUpdate":"session_message","messageId":"ID","senderSessionId":"SESSION","recipientSessionId":"CHILD","senderMessageId":"CHILD-task-sent","content":[{"type":"text","text":"look there"}]}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"CHILD","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."},"messageId":"ID"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"CHILD","update":{"sessionUpdate":"tool_call","toolCallId":"call_1_1","title":"Read a.txt","name":"read","kind":"read","status":"in_progress","locations":[{"path":"~~/work/a.txt"}],"rawInput":{"path":"a.txt"}}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"CHILD","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_1_1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"hello\n"}}],"rawOutput":{"output":"hello\n"}}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"CHILD","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It says hello."},"messageId":"ID"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"subagent_update","sessionId":"CHILD","state":{"state":"idle","stopReason":"end_turn","usage":{"totalTokens":40,"inputTokens":30,"outputTokens":10,"cachedReadTokens":0,"cachedWriteTokens":0}}}}}"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_subagent_that_fails_is_idle_with_the_reason() {
    let shown = turn(json!({ "subagents": {} }), "badly");
    let last = shown.last().unwrap();
    expect![[r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"subagent_update","sessionId":"CHILD","state":{"state":"idle","stopReason":"error","error":{"code":-32603,"message":"no"}}}}}"#]].assert_eq(last);
}

#[test]
fn a_client_that_does_not_show_subagents_is_sent_nothing_of_them() {
    assert_eq!(turn(json!({}), "delegate"), [""; 0]);
    assert_eq!(turn(json!({ "subagents": null }), "delegate"), [""; 0]);
}
