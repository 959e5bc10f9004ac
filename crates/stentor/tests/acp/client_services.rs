//! The client's own files and terminals (section 11).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;

/// Answers every request of the program by `service` until the prompt is answered.
fn serve(
    client: &mut Client,
    prompt: i64,
    service: impl Fn(&Value) -> Option<Value>,
) -> Vec<Value> {
    let mut messages = Vec::new();
    loop {
        let message = client.read();
        let is_last = message["id"] == prompt && message.get("method").is_none();
        if message.get("id").is_some()
            && message.get("method").is_some()
            && let Some(reply) = service(&message)
        {
            let mut line = reply;
            line["jsonrpc"] = json!("2.0");
            line["id"] = message["id"].clone();
            client.write(&line.to_string());
        }
        messages.push(message);
        if is_last {
            return messages;
        }
    }
}

fn all_allowed(scenario: &str, capabilities: Value) -> (Client, String) {
    let mut client = Client::offering(scenario, capabilities);
    let session = client.session();
    let id = client.send(
        "session/set_mode",
        json!({ "sessionId": session, "modeId": "all" }),
    );
    client.until(id);
    (client, session)
}

fn requests(messages: &[Value]) -> Vec<&Value> {
    let is_request = |one: &&Value| one.get("id").is_some() && one.get("method").is_some();
    messages.iter().filter(is_request).collect()
}

const EDIT: &str = r#"
[[turn]]
steps = [{ tool = "edit", id = "c1", arguments = { path = "a.txt", edits = [{ oldText = "unsaved", newText = "edited" }] } }]
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn edits_see_unsaved_text_and_go_through_the_editor() {
    let (mut client, session) = all_allowed(
        EDIT,
        json!({ "fs": { "readTextFile": true, "writeTextFile": true } }),
    );
    client.world.file("work/a.txt", "on disk\n");
    let prompt = client.prompt(&session, "go");
    let messages = serve(&mut client, prompt, |request| {
        match request["method"].as_str() {
            Some("fs/read_text_file") => Some(json!({ "result": { "content": "unsaved\n" } })),
            Some("fs/write_text_file") => Some(json!({ "result": null })),
            _ => None,
        }
    });
    let asked: Vec<Value> = requests(&messages).into_iter().cloned().collect();
    expect![[r#"
        {"id":-1,"method":"fs/read_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt"}}
        {"id":-2,"method":"fs/write_text_file","params":{"sessionId":"SESSION-1","path":"~~/work/a.txt","content":"edited\n"}}"#]].assert_eq(&client.shown(&asked));
    // Only the editor wrote.
    assert_eq!(
        std::fs::read_to_string(client.world.work("a.txt")).unwrap(),
        "on disk\n"
    );
}

#[test]
fn what_the_client_does_not_offer_is_not_asked_of_it() {
    let (mut client, session) = all_allowed(
        &EDIT.replace("unsaved", "on disk"),
        json!({ "fs": {}, "terminal": false }),
    );
    client.world.file("work/a.txt", "on disk\n");
    let prompt = client.prompt(&session, "go");
    let messages = client.until(prompt);
    assert_eq!(requests(&messages), Vec::<&Value>::new());
    assert_eq!(
        std::fs::read_to_string(client.world.work("a.txt")).unwrap(),
        "edited\n"
    );
}

#[test]
fn a_file_the_client_refuses_is_read_from_disk_but_never_written_behind_its_back() {
    let scenario = r#"
[[turn]]
tool = "read"
arguments = { path = "a.txt" }
[[turn]]
steps = [{ tool = "write", id = "w", arguments = { path = "a.txt", content = "new" } }]
[[turn]]
text = "{{last_tool_result}}"
"#;
    let (mut client, session) = all_allowed(
        scenario,
        json!({ "fs": { "readTextFile": true, "writeTextFile": true } }),
    );
    client.world.file("work/a.txt", "on disk\n");
    let prompt = client.prompt(&session, "go");
    let messages = serve(&mut client, prompt, |_| {
        Some(json!({ "error": { "code": -32000, "message": "not in the project" } }))
    });
    let outputs: Vec<String> = messages
        .iter()
        .filter_map(|one| one["params"]["update"]["rawOutput"]["output"].as_str())
        .map(|text| client.world.without_folder(text))
        .collect();
    expect![[r#"
        on disk

        ~~/work/a.txt was not written: the client refused: not in the project"#]]
    .assert_eq(&outputs.join("\n"));
    assert_eq!(
        std::fs::read_to_string(client.world.work("a.txt")).unwrap(),
        "on disk\n"
    );
}

const COMMAND: &str = r#"
[[turn]]
steps = [{ tool = "bash", id = "c1", arguments = { command = "echo hi" } }]
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn commands_run_in_the_clients_terminal_and_it_is_released() {
    let (mut client, session) = all_allowed(COMMAND, json!({ "terminal": true }));
    let prompt = client.prompt(&session, "go");
    let mut messages = serve(&mut client, prompt, |request| {
        Some(match request["method"].as_str()? {
            "terminal/create" => json!({ "result": { "terminalId": "term-1" } }),
            "terminal/wait_for_exit" => json!({ "result": { "exitCode": 0 } }),
            "terminal/output" => json!({ "result": { "output": "hi\n", "truncated": false } }),
            _ => json!({ "result": {} }),
        })
    });
    if !messages
        .iter()
        .any(|one| one["method"] == "terminal/release")
    {
        messages.extend(client.read_until(|one| one["method"] == "terminal/release"));
    }
    // The release may come before or after the result it does not matter for.
    let shown: Vec<Value> = messages
        .iter()
        .filter(|one| one["method"] != "terminal/release")
        .filter(|one| one["params"]["update"]["sessionUpdate"] != "usage_update")
        .cloned()
        .collect();
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run a command","name":"bash","kind":"execute"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"execute","title":"Run echo hi","locations":[],"rawInput":{"command":"echo hi"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"id":-1,"method":"terminal/create","params":{"sessionId":"SESSION-1","command":"/bin/bash","args":["-c","echo hi"],"cwd":"~~/work","outputByteLimit":51200}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"terminal","terminalId":"term-1"}]}}}
        {"id":-2,"method":"terminal/wait_for_exit","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"id":-3,"method":"terminal/output","params":{"sessionId":"SESSION-1","terminalId":"term-1"}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"terminal","terminalId":"term-1"}],"rawOutput":{"output":"hi\n"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi\n"},"messageId":"MSG-4"}}}
        {"id":4,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&shown));
}

#[test]
fn cancelling_kills_and_releases_the_terminal() {
    let (mut client, session) = all_allowed(COMMAND, json!({ "terminal": true }));
    let prompt = client.prompt(&session, "go");
    let asked = client.read_until(|one| one["method"] == "terminal/create");
    client.reply(asked.last().unwrap(), json!({ "terminalId": "term-1" }));
    client.read_until(|one| one["method"] == "terminal/wait_for_exit");
    client.cancel(&session);
    let mut seen = Vec::new();
    let mut stopped = false;
    while !(stopped
        && seen.contains(&"terminal/release".to_owned())
        && seen.contains(&"terminal/kill".to_owned()))
    {
        let message = client.read();
        if let Some(method) = message["method"].as_str() {
            seen.push(method.to_owned());
        }
        if message["id"] == prompt {
            assert_eq!(message["result"]["stopReason"], "cancelled");
            stopped = true;
        }
    }
}

#[test]
fn a_client_that_never_answers_blocks_nothing_else() {
    let (mut client, stuck) = all_allowed(COMMAND, json!({ "terminal": true }));
    let first = client.prompt(&stuck, "go");
    client.read_until(|one| one["method"] == "terminal/create");
    let other = client.session();
    let prompt = client.prompt(&other, "/name Other");
    let answer = client.until(prompt).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    client.cancel(&stuck);
    let answer = client.until(first).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

#[test]
fn a_terminal_that_cannot_be_opened_is_an_error_the_model_hears() {
    let (mut client, session) = all_allowed(COMMAND, json!({ "terminal": true }));
    let prompt = client.prompt(&session, "go");
    let messages = serve(&mut client, prompt, |_| {
        Some(json!({ "error": { "code": -32603, "message": "no shells today" } }))
    });
    let said = messages
        .iter()
        .rfind(|one| one["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    assert_eq!(
        said.unwrap()["params"]["update"]["content"]["text"],
        "The client opened no terminal: the client refused: no shells today"
    );
}
