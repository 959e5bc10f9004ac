//! Many sessions left open: those that nobody uses are unloaded, and nobody sees it.

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

/// More than are loaded at once.
const MANY: usize = 40;

/// A tool server in a few lines of shell.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"from the server"}]}}\n' "$id" ;;
  esac
done
"#;

/// The second prompt calls a tool, then tells what the model knows.
const TALK: &str = r#"
on_exhausted = { text = "Answer {{turn}}, thinking {{thinking}}, tool: {{last_tool_result}}." }
[model]
reasoning = true
[[turn]]
when = { last_user_contains = "Call" }
steps = [{ tool = "mcp__talk__say", id = "c1", arguments = {} }]
times = 1
[[turn]]
when = { last_user_contains = "One" }
text = "Answer {{turn}}."
"#;

/// Opens `count` sessions, many at a time.
fn open(client: &mut Client, count: usize) -> Vec<String> {
    let cwd = client.world.work("");
    let mut sessions = Vec::new();
    while sessions.len() < count {
        let batch = 25.min(count - sessions.len());
        for _ in 0..batch {
            client.send("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        }
        // Each is answered, and has its commands.
        for _ in 0..2 * batch {
            let message = client.read();
            if message.get("method").is_none() {
                let id = message["result"]["sessionId"].as_str();
                let id = id.unwrap_or_else(|| panic!("{message}"));
                sessions.push(id.to_owned());
            }
        }
    }
    sessions
}

fn set(client: &mut Client, session: &str, option: &str, value: &str) -> Value {
    let params = json!({ "sessionId": session, "configId": option, "value": value });
    let id = client.send("session/set_config_option", params);
    client.until(id).pop().unwrap()
}

#[test]
fn six_hundred_sessions_need_few_open_files_and_the_first_goes_on_as_it_was_left() {
    let mut client = Client::with_open_files(256, TALK);
    let cwd = client.world.work("");
    let server = json!({ "name": "talk", "command": "/bin/sh", "args": ["-c", SERVER], "env": [] });
    let params = json!({ "cwd": cwd, "mcpServers": [server] });
    let answer = client.ask("session/new", params);
    let first = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    client.know(&first);
    client.until_update("available_commands_update");
    set(&mut client, &first, "mode", "all");
    set(&mut client, &first, "thinking", "high");
    client.turn(&first, "One");
    let others = open(&mut client, 600);
    let messages = client.turn(&first, "Call");
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"say (talk)","name":"mcp__talk__say","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"other","title":"say (talk)","locations":[],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"from the server"}}],"rawOutput":{"output":"from the server"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Answer 3, thinking high, tool: from the server."},"messageId":"MSG"}}}
        {"id":606,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&messages);
    // One of the others, which has said nothing yet.
    let answer = client.turn(&others[300], "One");
    assert!(answer.contains("Answer 1."), "{answer}");
}

#[test]
fn an_unloaded_session_is_listed_changed_steered_and_closed_like_any_other() {
    let mut client = Client::with(TALK);
    let first = client.session();
    open(&mut client, MANY);
    let listed = client.ask("session/list", json!({}));
    let listed = listed["result"]["sessions"].as_array().unwrap();
    assert!(listed.iter().any(|one| one["sessionId"] == first.as_str()));
    let mut messages = Vec::new();
    let steering = json!({ "sessionId": first, "prompt": [{ "type": "text", "text": "x" }] });
    messages.push(client.ask("_session/steering", steering));
    client.cancel(&first);
    let set = client.send(
        "session/set_mode",
        json!({ "sessionId": first, "modeId": "plan" }),
    );
    let mut changed = client.until(set);
    changed.retain(|one| one["params"]["update"]["sessionUpdate"] != "config_option_update");
    messages.extend(changed);
    open(&mut client, MANY);
    let close = client.send("session/close", json!({ "sessionId": first }));
    messages.extend(client.until(close));
    let prompt = client.prompt(&first, "One");
    messages.extend(client.until(prompt));
    let cwd = client.world.work("");
    let params = json!({ "sessionId": first, "cwd": cwd, "mcpServers": [] });
    let load = client.send("session/load", params);
    let loaded = client.until(load).pop().unwrap();
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "plan");
    expect![[r#"
        {"id":44,"result":{"outcome":"failed","_meta":{"stentor":{"reason":"no turn is running; send session/prompt"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"plan"}}}
        {"id":45,"result":{}}
        {"id":86,"result":{}}
        {"id":87,"error":{"code":-32002,"message":"There is no such session. List the sessions, or start a new one.","data":{"sessionId":"SESSION-1"}}}"#]].assert_eq(&client.shown(&messages));
}

#[test]
fn what_was_allowed_for_good_is_not_asked_again_when_many_sessions_came_between() {
    let mut client = Client::with(
        "[[turn]]\nwhen = { last_user_contains = \"go\" }\nsteps = [{ tool = \"bash\", id = \"c{{n}}\", arguments = { command = \"true\" } }]\ntimes = 2\n[[turn]]\ntext = \"Done.\"\ntimes = 5\n",
    );
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    client.choose("allow_always");
    client.until(prompt);
    open(&mut client, MANY);
    let prompt = client.prompt(&session, "go");
    let messages = client.until(prompt);
    let asked = |one: &Value| one["method"] == "session/request_permission";
    assert!(!messages.iter().any(asked), "{}", client.shown(&messages));
}

#[test]
fn a_session_that_is_stored_nowhere_stays_as_it_is_when_many_come_after_it() {
    let world = World::new();
    world.file("scenario.toml", TALK);
    let mut client = Client::started(world, &["--no-session"]);
    client.greet(json!({}));
    let session = client.session();
    client.turn(&session, "One");
    open(&mut client, MANY);
    let said = client.turn(&session, "Two");
    assert!(said.contains("Answer 2, thinking"), "{said}");
}

#[test]
fn a_session_that_works_is_not_unloaded() {
    let mut client =
        Client::with("[[turn]]\nsteps = [{ text = \"Working\" }, { hang = true }]\ntimes = 100\n");
    let busy = client.session();
    let prompt = client.prompt(&busy, "go");
    client.until_update("agent_message_chunk");
    open(&mut client, MANY);
    client.cancel(&busy);
    let answer = client.until(prompt).pop().unwrap();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}
