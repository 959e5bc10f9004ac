//! What an extension says in the conversation, and that it may end the program (sections 2, 7.4
//! and 9).

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder, shown};

const DOER: &str = include_str!("doer.py");

/// A folder with the extension, and a model that answers everything; what contains `[[slow]]` when
/// it may.
fn folder() -> Folder {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Nobody said what to answer to." }
        [model]
        id = "mock"
        [[turn]]
        when = { last_user_contains = "[[slow]]" }
        steps = [{ text = "Slow" }, { wait_for = "../gate" }, { text = "ly." }]
        [[turn]]
        when = { last_user_contains = "body" }
        text = "To the message."
        [[turn]]
        when = { last_user_contains = "hi" }
        text = "To the prompt."
        "#,
    );
    folder.file("doer.py", DOER);
    folder
}

fn start(folder: &Folder) -> Child {
    let mut child = folder.child(&["--session-dir", "../sessions", "-e", "doer.py"]);
    child.until_type("available_commands_update");
    child
}

/// Has the extension ask for something. Returns the frames until its command is done.
fn has_it_do(child: &mut Child, request: &Value) -> Vec<Value> {
    let message = format!("/do {request}");
    child.send(json!({"id": "do", "type": "prompt", "message": message}));
    child.until(|frame| frame["type"] == "prompt_result" && frame["id"] == "do")
}

fn message(content: Value, more: Value) -> Value {
    let mut params = json!({"customType": "demo", "content": content, "details": {"k": 1}});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    json!({"method": "message/send", "params": params})
}

/// All but the answers of the model while they are written.
fn brief(frames: &[Value], folder: &Folder) -> String {
    let told: Vec<Value> = frames
        .iter()
        .filter(|frame| {
            frame["type"] != "message_update"
                && frame["type"] != "turn_end"
                && !(frame["type"] == "message_start" && frame["message"]["role"] == "assistant")
        })
        .cloned()
        .collect();
    shown(&told, folder)
}

/// What is in context, as roles and contents.
fn context(child: &mut Child) -> Vec<Value> {
    let messages = child.data(json!({"type": "get_messages"}))["messages"].take();
    let messages = messages.as_array().unwrap().iter();
    messages
        .map(|message| json!([message["role"], message["content"]]))
        .collect()
}

#[test]
fn a_message_that_begins_nothing_is_told_kept_and_read_with_the_next_prompt() {
    let folder = folder();
    let mut child = start(&folder);
    let mut frames = has_it_do(&mut child, &message(json!("custom body"), json!({})));
    frames.extend(child.prompt("well?"));
    expect![[r#"
        {"type":"message_start","messageId":"msg-1","message":{"role":"custom","customType":"demo","content":"custom body","display":true,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"custom","customType":"demo","content":"custom body","display":true,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"command_output","text":"{}"}
        {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":true}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"user","content":[{"type":"text","text":"well?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"user","content":[{"type":"text","text":"well?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"well?"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&frames, &folder));
    let entries = child.data(json!({"type": "get_entries"}))["entries"].take();
    let kept: Vec<Value> = entries.as_array().unwrap()[2..3].to_vec();
    expect![[r#"
        {"type":"custom_message","id":"ID","parentId":"ID","timestamp":"TIME","customType":"demo","content":"custom body","display":true,"details":{"k":1}}
    "#]].assert_eq(&shown(&kept, &folder));
    let before = child.data(json!({"type": "get_messages"}));
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].take();
    drop(child);
    let words = [
        "--session-dir",
        "../sessions",
        "--session",
        file.as_str().unwrap(),
    ];
    assert_eq!(
        folder.child(&words).data(json!({"type": "get_messages"})),
        before
    );
}

#[test]
fn a_message_may_begin_a_run_of_its_own() {
    let folder = folder();
    let mut child = start(&folder);
    let blocks = json!([{"type": "text", "text": "body"}]);
    let request = message(blocks, json!({"triggerTurn": true, "display": false}));
    let text = format!("/do {request}");
    child.send(json!({"id": "do", "type": "prompt", "message": text}));
    let mut frames = child.until_all(&[
        &|frame: &Value| frame["type"] == "agent_settled",
        &|frame: &Value| frame["type"] == "prompt_result",
    ]);
    // The command and the run end on their own.
    frames.retain(|frame| {
        !matches!(
            frame["type"].as_str(),
            Some("response" | "prompt_result" | "command_output")
        )
    });
    expect![[r#"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"custom","customType":"demo","content":[{"type":"text","text":"body"}],"display":false,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"custom","customType":"demo","content":[{"type":"text","text":"body"}],"display":false,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"custom","customType":"demo","content":[{"type":"text","text":"body"}],"display":false,"details":{"k":1},"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&frames, &folder));
}

#[test]
fn a_message_for_the_next_turn_follows_the_prompt_also_after_a_restart() {
    let folder = folder();
    let mut child = start(&folder);
    child.prompt("hi");
    let request = message(
        json!("body"),
        json!({"deliverAs": "nextTurn", "triggerTurn": true}),
    );
    let frames = has_it_do(&mut child, &request);
    expect![[r#"
        {"type":"command_output","text":"{}"}
        {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":true}
    "#]].assert_eq(&shown(&frames, &folder));
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].take();
    drop(child);
    let words = [
        "--session-dir",
        "../sessions",
        "--session",
        file.as_str().unwrap(),
    ];
    let mut child = folder.child(&words);
    let frames = child.prompt("and?");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"and?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"and?"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_start","messageId":"msg-2","message":{"role":"custom","customType":"demo","content":"body","display":true,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"custom","customType":"demo","content":"body","display":true,"details":{"k":1},"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"and?"}],"attribution":"user","timestamp":"TIME"},{"role":"custom","customType":"demo","content":"body","display":true,"details":{"k":1},"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":3}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&frames, &folder));
}

/// Has the extension say something during a run, then lets the run go on.
fn check_during_a_run(requests: &[Value], expected: Expect, in_context: Expect) {
    let folder = folder();
    let mut child = start(&folder);
    child.send(json!({"id": "p", "type": "prompt", "message": "[[slow]]"}));
    child.until_type("message_update");
    let mut frames = Vec::new();
    for request in requests {
        frames.extend(has_it_do(&mut child, request));
    }
    folder.file("../gate", "");
    frames.extend(child.until_type("agent_settled"));
    expected.assert_eq(&brief(&frames, &folder));
    in_context.assert_eq(&shown(&context(&mut child), &folder));
}

#[test]
fn during_a_run_a_message_steers_follows_or_stands_aside_as_it_says() {
    check_during_a_run(
        &[
            message(json!("follow-up body"), json!({"deliverAs": "followUp"})),
            message(json!("steering body"), json!({})),
            message(json!("just a note"), json!({"triggerTurn": false})),
        ],
        expect![[r#"
            {"type":"command_output","text":"{}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"command_output","text":"{}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"command_output","text":"{}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-3","message":{"role":"custom","customType":"demo","content":"steering body","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":{"role":"custom","customType":"demo","content":"steering body","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_start","messageId":"msg-4","message":{"role":"custom","customType":"demo","content":"just a note","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":{"role":"custom","customType":"demo","content":"just a note","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"custom","customType":"demo","content":"follow-up body","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-6","message":{"role":"custom","customType":"demo","content":"follow-up body","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"[[slow]]"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"custom","customType":"demo","content":"steering body","display":true,"details":{"k":1},"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"custom","customType":"demo","content":"follow-up body","display":true,"details":{"k":1},"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":6}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
        expect![[r#"
            ["user",[{"type":"text","text":"[[slow]]"}]]
            ["assistant",[{"type":"text","text":"Slowly."}]]
            ["custom","steering body"]
            ["custom","just a note"]
            ["assistant",[{"type":"text","text":"To the message."}]]
            ["custom","follow-up body"]
            ["assistant",[{"type":"text","text":"To the message."}]]
        "#]],
    );
}

#[test]
fn a_message_that_stands_aside_does_not_prolong_a_run() {
    check_during_a_run(
        &[message(json!("just a note"), json!({"triggerTurn": false}))],
        expect![[r#"
            {"type":"command_output","text":"{}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"[[slow]]"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"message_start","messageId":"msg-3","message":{"role":"custom","customType":"demo","content":"just a note","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":{"role":"custom","customType":"demo","content":"just a note","display":true,"details":{"k":1},"timestamp":"TIME"}}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
        expect![[r#"
            ["user",[{"type":"text","text":"[[slow]]"}]]
            ["assistant",[{"type":"text","text":"Slowly."}]]
            ["custom","just a note"]
        "#]],
    );
}

#[test]
fn in_the_name_of_the_user_it_joins_a_run_only_as_it_says() {
    let user = |params: Value| json!({"method": "message/sendUser", "params": params});
    check_during_a_run(
        &[
            user(json!({"content": "refused body"})),
            user(json!({"content": "/do body", "deliverAs": "followUp"})),
        ],
        expect![[r#"
            {"type":"command_output","text":"{\"code\": -32600, \"message\": \"Agent is already processing. Specify deliverAs ('steer' or 'followUp') to queue the message.\"}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"queue_update","steering":[],"followUp":["/do body"]}
            {"type":"command_output","text":"{}"}
            {"id":"do","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
            {"type":"prompt_result","id":"do","agentInvoked":false,"status":"completed","sessionSettled":false}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"[[slow]]"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"},{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
        expect![[r#"
            ["user",[{"type":"text","text":"[[slow]]"}]]
            ["assistant",[{"type":"text","text":"Slowly."}]]
            ["user",[{"type":"text","text":"/do body"}]]
            ["assistant",[{"type":"text","text":"To the message."}]]
        "#]],
    );
}

#[test]
fn in_the_name_of_the_user_it_begins_a_run_and_calls_no_command() {
    let folder = folder();
    let mut child = start(&folder);
    let request = json!({"method": "message/sendUser", "params": {"content": "/do body"}});
    let text = format!("/do {request}");
    child.send(json!({"id": "do", "type": "prompt", "message": text}));
    let mut frames = child.until_all(&[
        &|frame: &Value| frame["type"] == "agent_settled",
        &|frame: &Value| frame["type"] == "prompt_result",
    ]);
    frames.retain(|frame| {
        !matches!(
            frame["type"].as_str(),
            Some("response" | "prompt_result" | "command_output")
        )
    });
    expect![[r#"
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"/do body"}],"attribution":"agent","steering":true,"timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"To the message."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&frames, &folder));
}

#[test]
fn a_request_that_makes_no_sense_is_refused_and_nothing_is_said() {
    let folder = folder();
    let mut child = start(&folder);
    let mut told = Vec::new();
    for request in [
        json!({"method": "message/send", "params": {"content": "no type"}}),
        json!({"method": "message/send", "params": {"customType": "demo"}}),
        json!({"method": "message/send", "params": {"customType": "demo", "content": 7}}),
        json!({"method": "message/send", "params": {"customType": "demo", "content": "x", "deliverAs": "never"}}),
        json!({"method": "message/sendUser", "params": {"content": []}}),
        json!({"method": "message/sendUser", "params": {"content": "x", "deliverAs": "nextTurn"}}),
    ] {
        let frames = has_it_do(&mut child, &request);
        told.extend(
            frames
                .into_iter()
                .filter(|frame| frame["type"] == "command_output"),
        );
    }
    expect![[r#"
        {"type":"command_output","text":"{\"code\": -32602, \"message\": \"missing field `customType` at line 1 column 22\"}"}
        {"type":"command_output","text":"{\"code\": -32602, \"message\": \"missing field `content` at line 1 column 22\"}"}
        {"type":"command_output","text":"{\"code\": -32602, \"message\": \"`content` must be a string or a list of pieces at line 1 column 36\"}"}
        {"type":"command_output","text":"{\"code\": -32602, \"message\": \"unknown variant `never`, expected one of `steer`, `followUp`, `nextTurn` at line 1 column 59\"}"}
        {"type":"command_output","text":"{\"code\": -32600, \"message\": \"the message is empty\"}"}
        {"type":"command_output","text":"{\"code\": -32602, \"message\": \"unknown variant `nextTurn`, expected `steer` or `followUp` at line 1 column 40\"}"}
    "#]].assert_eq(&shown(&told, &folder));
    assert_eq!(context(&mut child), Vec::<Value>::new());
}

#[test]
fn the_program_ends_when_the_command_is_done_in_which_an_extension_asks_for_it() {
    let folder = folder();
    let mut child = start(&folder);
    child.send(json!({"id": "quit", "type": "prompt", "message": r#"/do {"method":"shutdown"}"#}));
    let mut frames = Vec::new();
    while let Some(frame) = child.try_next() {
        frames.push(frame);
    }
    expect![[r#"
        {"type":"command_output","text":"{}"}
        {"id":"quit","type":"response","command":"prompt","success":true,"data":{"disposition":"handled","agentInvoked":false}}
        {"type":"prompt_result","id":"quit","agentInvoked":false,"status":"completed","sessionSettled":true}
    "#]].assert_eq(&shown(&frames, &folder));
    assert_eq!(child.process.wait().unwrap().code(), Some(0));
}

#[test]
fn a_run_that_goes_on_settles_before_the_program_ends() {
    let folder = folder();
    let mut child = start(&folder);
    child.send(json!({"id": "p", "type": "prompt", "message": "[[slow]]"}));
    child.until_type("message_update");
    has_it_do(&mut child, &json!({"method": "shutdown"}));
    let state = child.data(json!({"type": "get_state"}));
    folder.file("../gate", "");
    let mut frames = Vec::new();
    while let Some(frame) = child.try_next() {
        frames.push(frame);
    }
    expect![[r#"
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"agent_end","messages":[{"role":"user","content":[{"type":"text","text":"[[slow]]"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Slowly."}],"api":"script","provider":"script","model":"mock","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&brief(&frames, &folder));
    assert_eq!(child.process.wait().unwrap().code(), Some(0));
    let file = std::fs::read_to_string(state["sessionFile"].as_str().unwrap()).unwrap();
    assert!(file.contains("Slowly."), "{file}");
}
