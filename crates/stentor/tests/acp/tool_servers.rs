//! MCP servers that a client names (section 5.1).

use expect_test::expect;
use serde_json::{Value, json};
use stentor_test_support::http::Request;
use stentor_test_support::when_dead;

use crate::client::Client;

/// A server in a few lines of shell: one tool that says what it was given.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","description":"Says it","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}\n' "$id" ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"said %s in %s"}]}}\n' "$id" "$WORD" "$(basename "$PWD")" ;;
  esac
done
"#;

const SCENARIO: &str = r#"
[[turn]]
steps = [{ tool = "mcp__talk__say", id = "c1", arguments = { text = "hello" } }]
[[turn]]
text = "{{last_tool_result}}"
times = 10
"#;

fn new_session(client: &mut Client, servers: Value) -> String {
    let cwd = client.world.work("");
    let answer = client.ask("session/new", json!({ "cwd": cwd, "mcpServers": servers }));
    let id = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    client.know(&id);
    client.until_update("available_commands_update");
    id
}

#[test]
fn tools_of_a_server_are_asked_about_and_run() {
    let mut client = Client::with(SCENARIO);
    let servers = json!([{ "name": "talk", "command": "/bin/sh", "args": ["-c", SERVER], "env": [{ "name": "WORD", "value": "well" }] }]);
    let session = new_session(&mut client, servers);
    let prompt = client.prompt(&session, "go");
    let mut messages = client.read_until(|one| one["method"] == "session/request_permission");
    let question = messages.last().unwrap().clone();
    client.reply(
        &question,
        json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }),
    );
    messages.extend(client.until(prompt));
    messages.retain(|one| one["params"]["update"]["sessionUpdate"] != "usage_update");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"say (talk)","name":"mcp__talk__say","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"other","title":"say (talk)","locations":[],"rawInput":{"text":"hello"}}}}
        {"id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION-1","toolCall":{"toolCallId":"c1","kind":"other","status":"pending","title":"say (talk)","name":"mcp__talk__say","content":[{"type":"content","content":{"type":"text","text":"mcp__talk__say runs programs"}}],"locations":[],"rawInput":{"text":"hello"}},"options":[{"optionId":"allow_once","name":"Allow","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow every call of mcp__talk__say","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject every call of mcp__talk__say","kind":"reject_always"}]}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"said well in work"}}],"rawOutput":{"output":"said well in work"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"said well in work"},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn a_broken_server_is_told_by_its_name_and_stops_nothing() {
    let mut client = Client::offering(SCENARIO, json!({ "session": { "notices": {} } }));
    let servers = json!([
        { "name": "broken", "command": "/bin/sh", "args": ["-c", "echo I am ill >&2; exit 1"], "env": [] },
        { "name": "missing", "command": "/no/such/program", "args": [], "env": [] },
    ]);
    let session = new_session(&mut client, servers);
    let mut notices = Vec::new();
    while notices.len() < 2 {
        let message = client.read();
        assert_eq!(message["params"]["update"]["sessionUpdate"], "notice");
        notices.push(client.plain(&message));
    }
    notices.sort();
    assert!(
        notices[0].contains(r#"\"broken\" did not start and is tried again"#),
        "{}",
        notices[0]
    );
    assert!(notices[0].contains("I am ill"), "{}", notices[0]);
    assert!(
        notices[1].contains(r#"\"missing\" is given up: /no/such/program cannot be run"#),
        "{}",
        notices[1]
    );
    let prompt = client.prompt(&session, "go");
    let answer = client.until(prompt).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}

#[test]
fn a_server_ends_with_the_program() {
    let mut client = Client::with(SCENARIO);
    let pid_file = client.world.work("pid");
    let script = format!("echo $$ > {}; {SERVER}", pid_file.display());
    let servers =
        json!([{ "name": "talk", "command": "/bin/sh", "args": ["-c", script], "env": [] }]);
    let session = new_session(&mut client, servers);
    let prompt = client.prompt(&session, "go");
    client.choose("allow_once");
    client.until(prompt);
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let world = client.end();
    // The program has killed it; the system may take a moment to clear it away.
    when_dead(&pid);
    drop(world);
}

/// A server over HTTP with events, for one client: its answers go into the stream.
fn serve_events(listener: std::net::TcpListener) {
    use std::io::{BufReader, Write};

    let (mut events, _) = listener.accept().unwrap();
    Request::of(&events).unwrap().unwrap();
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: post\n\n";
    events.write_all(head.as_bytes()).unwrap();
    // Each message may come over a connection of its own.
    for posting in listener.incoming() {
        let mut posting = posting.unwrap();
        let mut reading = BufReader::new(posting.try_clone().unwrap());
        while let Ok(Some(request)) = Request::read(&mut reading) {
            let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
            posting.write_all(accepted.as_bytes()).unwrap();
            let message: Value = serde_json::from_str(&request.body).unwrap();
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2024-11-05",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" },
                }),
                Some("tools/list") => {
                    json!({ "tools": [{ "name": "say", "inputSchema": { "type": "object" } }] })
                }
                Some("tools/call") => {
                    json!({ "content": [{ "type": "text", "text": "said over events" }] })
                }
                _ => continue,
            };
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            events
                .write_all(format!("data: {answer}\n\n").as_bytes())
                .unwrap();
        }
    }
}

#[test]
fn a_server_over_events_is_used_like_any_other() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    std::thread::spawn(move || serve_events(listener));
    let mut client = Client::with(SCENARIO);
    let servers = json!([{ "type": "sse", "name": "talk", "url": url, "headers": [] }]);
    let session = new_session(&mut client, servers);
    let prompt = client.prompt(&session, "go");
    client.choose("allow_once");
    let messages = client.until(prompt);
    let said = messages.iter().any(|one| {
        one["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
            && one["params"]["update"]["content"]["text"] == "said over events"
    });
    assert!(said, "{}", client.shown(&messages));
}
