//! The client's own terminals, from their opening to their release (section 11).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, is_request};

const COMMAND: &str = r#"
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo hi" } }]
[[turn]]
text = "{{last_tool_result}}"
times = 5
"#;

fn with_terminals(scenario: &str) -> (Client, String) {
    Client::unasked(scenario, json!({ "terminal": true }))
}

/// A terminal in which every command puts out `output` and ends so.
fn ends_with(exit: Value, output: &str) -> impl Fn(&Value) -> Option<Value> {
    move |request| {
        Some(match request["method"].as_str()? {
            "terminal/create" => json!({ "terminalId": "term-1" }),
            "terminal/wait_for_exit" => exit.clone(),
            "terminal/output" => json!({ "output": output, "truncated": false }),
            _ => json!({}),
        })
    }
}

/// The release may come before or after what does not depend on it: it is put at the end.
fn with_release(client: &mut Client, mut messages: Vec<Value>) -> Vec<Value> {
    let is_release = |one: &Value| one["method"] == "terminal/release";
    if !messages.iter().any(is_release) {
        messages.extend(client.read_until(is_release));
    }
    let (release, mut rest): (Vec<Value>, Vec<Value>) = messages.into_iter().partition(is_release);
    rest.extend(release);
    rest
}

#[test]
fn a_command_runs_in_the_clients_terminal_and_it_is_released() {
    let (mut client, session) = with_terminals(COMMAND);
    let prompt = client.prompt(&session, "go");
    let messages = client.serve(prompt, ends_with(json!({ "exitCode": 0 }), "hi\n"));
    let messages = with_release(&mut client, messages);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run echo hi","locations":[],"rawInput":{"command":"echo hi"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"terminal/create","params":{"sessionId":"SESSION-1","command":"/bin/bash","args":["-c","echo hi"],"cwd":"~~/work","outputByteLimit":51200}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"terminal","terminalId":"term-1"}]}}}
        {"id":-2,"method":"terminal/wait_for_exit","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":-3,"method":"terminal/output","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"hi\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi\n"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"id":-4,"method":"terminal/release","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_command_that_fails_there_fails_the_call() {
    let mut all = Vec::new();
    for exit in [
        json!({ "exitCode": 3 }),
        json!({ "exitCode": null, "signal": "SIGKILL" }),
        json!({}),
    ] {
        let (mut client, session) = with_terminals(COMMAND);
        let prompt = client.prompt(&session, "go");
        let messages = client.serve(prompt, ends_with(exit, "out\n"));
        let ended = messages
            .iter()
            .find(|one| one["params"]["update"]["rawOutput"].is_object());
        all.push(client.plain(ended.unwrap()));
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"out\n\n\nCommand exited with code 3","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"out\n\n\nCommand aborted","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"out\n\n\nCommand aborted","details":{}}}}}"#]].assert_eq(&all.join("\n"));
}

#[test]
fn a_terminal_that_cannot_be_opened_is_an_error_the_model_hears() {
    let (mut client, session) = with_terminals(COMMAND);
    let prompt = client.prompt(&session, "go");
    let asked = client.read_until(is_request).pop().unwrap();
    client.refuse(&asked, -32603, "no shells today");
    let messages = client.until(prompt);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"The client opened no terminal: the client refused: no shells today"}}],"rawOutput":{"output":"The client opened no terminal: the client refused: no shells today","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The client opened no terminal: the client refused: no shells today"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn cancelling_kills_and_releases_the_terminal() {
    let (mut client, session) = with_terminals(COMMAND);
    let prompt = client.prompt(&session, "go");
    let asked = client.read_until(|one| one["method"] == "terminal/create");
    client.reply(asked.last().unwrap(), json!({ "terminalId": "term-1" }));
    client.read_until(|one| one["method"] == "terminal/wait_for_exit");
    client.cancel(&session);
    let mut messages = client.until(prompt);
    for method in ["terminal/kill", "terminal/release"] {
        if !messages.iter().any(|one| one["method"] == method) {
            messages.extend(client.read_until(|one| one["method"] == method));
        }
    }
    // What is asked of the terminal has no order towards the updates.
    let (mut requests, updates): (Vec<Value>, Vec<Value>) =
        messages.into_iter().partition(is_request);
    requests.sort_by_key(|one| one["method"].to_string());
    for request in &mut requests {
        request["id"] = json!("N");
    }
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"Command aborted","details":{}}}}}
        {"id":3,"result":{"stopReason":"cancelled"}}
        {"id":"N","method":"terminal/kill","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":"N","method":"terminal/output","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":"N","method":"terminal/release","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}"#]].assert_eq(&format!(
        "{}\n{}",
        client.shown(&updates),
        client.shown(&requests)
    ));
}

#[test]
fn a_terminal_that_opens_after_the_cancel_is_released_too() {
    let (mut client, session) = with_terminals(COMMAND);
    let prompt = client.prompt(&session, "go");
    let asked = client.read_until(is_request).pop().unwrap();
    client.cancel(&session);
    let messages = client.until(prompt);
    assert_eq!(
        messages.last().unwrap()["result"]["stopReason"],
        "cancelled"
    );
    client.reply(&asked, json!({ "terminalId": "late" }));
    let release = client.read();
    expect![[r#"{"id":-2,"method":"terminal/release","params":{"sessionId":"SESSION-1","terminalId":"late"}}"#]].assert_eq(&client.plain(&release));
    client.reply(&release, json!({}));
}

#[test]
fn a_command_that_takes_too_long_is_killed_and_its_output_kept() {
    let scenario = COMMAND.replace(r#"command = "echo hi""#, r#"command = "x", timeout = 0.01"#);
    let (mut client, session) = with_terminals(&scenario);
    let prompt = client.prompt(&session, "go");
    let messages = client.serve(prompt, |request| {
        Some(match request["method"].as_str()? {
            "terminal/create" => json!({ "terminalId": "term-1" }),
            "terminal/output" => json!({ "output": "so far\n", "truncated": false }),
            // It never ends by itself.
            "terminal/wait_for_exit" => return None,
            _ => json!({}),
        })
    });
    let messages = with_release(&mut client, messages);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run x","locations":[],"rawInput":{"command":"x","timeout":0.01}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"terminal/create","params":{"sessionId":"SESSION-1","command":"/bin/bash","args":["-c","x"],"cwd":"~~/work","outputByteLimit":51200}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"terminal","terminalId":"term-1"}]}}}
        {"id":-2,"method":"terminal/wait_for_exit","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":-3,"method":"terminal/kill","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":-4,"method":"terminal/output","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"so far\n\n\nCommand timed out after 0.01 seconds","details":{}}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"so far\n\n\nCommand timed out after 0.01 seconds"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}
        {"id":-5,"method":"terminal/release","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_client_that_never_answers_blocks_nothing_else() {
    let (mut client, stuck) = with_terminals(COMMAND);
    let first = client.prompt(&stuck, "go");
    client.read_until(|one| one["method"] == "terminal/create");
    let other = client.session();
    let prompt = client.prompt(&other, "/name Other");
    let messages = client.until(prompt);
    client.cancel(&stuck);
    let rest = client.until(first);
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"session_info_update","title":"Other"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"This session is now called \"Other\"."},"messageId":"MSG-said-0"}}}
        {"id":5,"result":{"stopReason":"end_turn"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"Command aborted"}}],"rawOutput":{"output":"Command aborted","details":{}}}}}
        {"id":3,"result":{"stopReason":"cancelled"}}"#]].assert_eq(&format!(
        "{}\n{}",
        client.shown(&messages),
        client.shown(&rest)
    ));
}
