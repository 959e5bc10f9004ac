//! Subagents as sessions of their own, for ACP clients that show them (unstable).

use std::collections::HashSet;

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

/// Fails on an update of a call that was not announced in the same session, or has ended there.
fn check_announced(lines: &[String]) {
    let mut open = HashSet::new();
    for line in lines {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        let call = || {
            let session = frame["params"]["sessionId"].to_string();
            (session, update["toolCallId"].to_string())
        };
        let has_ended = matches!(update["status"].as_str(), Some("completed" | "failed"));
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => assert!(open.insert(call()), "announced twice: {line}"),
            Some("tool_call_update") if has_ended => {
                assert!(open.remove(&call()), "of no open call: {line}");
            }
            Some("tool_call_update") => {
                assert!(open.contains(&call()), "of no open call: {line}");
            }
            _ => {}
        }
    }
}

/// All updates of a turn, of the session and of its children, which are named by their order.
fn turn(capabilities: Value, text: &str) -> Vec<String> {
    let world = World::new(DELEGATES, "permission_mode = \"all\"\n");
    world.file("work/a.txt", "hello\n");
    let (mut child, session) = world.acp(capabilities);
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    child.request_acp(3, "session/prompt", prompt);
    let lines = child.until_answer(3);
    check_announced(&lines);
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

/// The subagent's calls have the id of one that its parent has made.
const SAME_ID: &str = r#"
[[turn]]
when = { last_user_contains = "work there", tool = "bash" }
steps = [{ tool = "write", id = "w1", arguments = { path = "b.txt", content = "b" } }]
[[turn]]
when = { last_user_contains = "work there", tool = "write" }
text = "It works."
[[turn]]
when = { last_user_contains = "work there" }
steps = [{ tool = "bash", id = "same", arguments = { command = "echo there" } }]
[[turn]]
when = { last_user_contains = "Background job" }
text = "All is over."
[[turn]]
when = { tool = "bash" }
steps = [{ tool = "subagent", id = "s1", arguments = { task = "work there", background = BACKGROUND } }]
[[turn]]
when = { tool = "subagent" }
text = "Delegated."
[[turn]]
steps = [{ tool = "bash", id = "same", arguments = { command = "echo here" } }]
"#;

#[test]
fn calls_of_a_subagent_do_not_touch_those_of_its_session() {
    for is_background in [false, true] {
        for capabilities in [json!({}), json!({ "subagents": {} })] {
            let plan = SAME_ID.replace("BACKGROUND", &is_background.to_string());
            let world = World::new(&plan, "permission_mode = \"all\"\n");
            let (mut child, session) = world.acp(capabilities);
            let text = json!([{ "type": "text", "text": "delegate" }]);
            let prompt = json!({ "sessionId": session, "prompt": text });
            child.request_acp(3, "session/prompt", prompt);
            let mut lines = Vec::new();
            // The job may end before the run that began it does.
            let mut is_answered = false;
            let mut is_over = !is_background;
            while !(is_answered && is_over) {
                let line = child.next();
                is_answered |= line.contains("\"stopReason\"") && line.contains("\"id\":3");
                is_over |= line.contains("All is over.");
                lines.push(line);
            }
            check_announced(&lines);
            let own = lines.iter().filter(|line| line.contains("toolCallId"));
            let own = own.filter(|line| line.contains(&session));
            let other = own.filter(|line| !line.contains("\"same\"") && !line.contains("\"s1\""));
            assert_eq!(other.collect::<Vec<_>>(), [""; 0]);
            child.end();
        }
    }
}

#[test]
fn a_client_that_does_not_show_subagents_is_sent_nothing_of_them() {
    assert_eq!(turn(json!({}), "delegate"), [""; 0]);
    assert_eq!(turn(json!({ "subagents": null }), "delegate"), [""; 0]);
}
