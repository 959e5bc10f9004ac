//! A folder that becomes trusted while a session is open: what it brings joins that session.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::world;
use crate::world::{Child, World};

const EXTENSION: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\(-\{0,1\}[0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"tools":[{"name":"of_extension","description":"Is there.","effect":"nothing","parameters":{"type":"object"}}]}}' ;;
    *'"method":"tool/run"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":"ran"}}' ;;
  esac
done
"#;

const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"say","description":"Says it","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      answer '{"content":[{"type":"text","text":"said"}]}' ;;
  esac
done
"#;

/// A model that goes from one thing the folder brings to the next, and stops where one is missing.
const PLAN: &str = r#"
on_exhausted = { text = "Something is missing." }
[[turn]]
when = { system_contains = "The folder speaks." }
times = 1
tool = "of_extension"
[[turn]]
when = { tool = "of_extension", tool_failed = false }
tool = "mcp__talk__say"
[[turn]]
when = { tool = "mcp__talk__say", tool_failed = false }
text = "badword"
[[turn]]
when = { last_user_contains = "Mind your manners." }
tool = "subagent"
arguments = { agent = "helper", task = "help" }
[[turn]]
when = { last_user_contains = "help" }
text = "I helped."
[[turn]]
when = { tool = "subagent", tool_failed = false }
text = "Everything joined."
"#;

const JOINED: &str = "Everything joined.";

const LATER: &str = "`auto_compaction` takes effect with the next session";

fn bringing() -> World {
    let world = world(PLAN, "permission_mode = \"all\"\n");
    world.file(
        "work/.stentor/config.toml",
        "append_system_prompt = \"The folder speaks.\"\nauto_compaction = false\n",
    );
    world.file(
        "work/.stentor/rules/manners.md",
        "---\ncondition: badword\n---\nMind your manners.\n",
    );
    world.file("work/.stentor/prompts/review.md", "Review it.\n");
    world.file(
        "work/.stentor/agents/helper.md",
        "---\ndescription: Helps.\n---\nYou help.\n",
    );
    let extension = "work/.stentor/extensions/extension";
    world.file(extension, EXTENSION);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path(extension), executable).unwrap();
    world.file("work/server.sh", SERVER);
    let servers = json!({ "mcpServers": { "talk": { "command": "sh", "args": ["server.sh"] } } });
    world.file("work/.mcp.json", &servers.to_string());
    world
}

fn assert_some_line_contains(lines: &[String], text: &str) {
    let there = lines.iter().any(|line| line.contains(text));
    assert!(there, "{text} is not in {lines:#?}");
}

#[test]
fn in_acp_the_next_turn_has_everything() {
    let world = bringing();
    let (mut child, session) = world.acp(json!({ "session": { "notices": {} } }));
    let text = json!([{ "type": "text", "text": "go" }]);
    let params = json!({ "sessionId": session, "prompt": text });
    let first = child.ask_acp(3, "session/prompt", params.clone());
    assert_some_line_contains(&first, "Something is missing.");
    let asked = first
        .iter()
        .find(|line| line.contains("session/request_permission"));
    let asked: Value = serde_json::from_str(asked.unwrap()).unwrap();
    let outcome = json!({ "outcome": "selected", "optionId": "option-2" });
    let result = json!({ "outcome": outcome });
    child.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string());
    let joined = child.until(|line| line.contains(LATER));
    assert_some_line_contains(&joined, r#""name":"review""#);
    let second = child.ask_acp(4, "session/prompt", params);
    assert_some_line_contains(&second, JOINED);
    child.end();
}

/// Prompts until the run has ended.
fn prompt_omp(child: &mut Child) -> Vec<String> {
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    child.until(|line| line.contains(r#""type":"agent_settled""#))
}

#[test]
fn in_omp_the_next_turn_has_everything() {
    let world = bringing();
    let mut child = world.omp_with_dialogs();
    let question = |line: &str| line.contains(r#""method":"confirm""#);
    let first = prompt_omp(&mut child);
    assert_some_line_contains(&first, "Something is missing.");
    let asked = match first.into_iter().find(|line| question(line)) {
        Some(asked) => asked,
        None => child.until(question).pop().unwrap(),
    };
    let asked: Value = serde_json::from_str(&asked).unwrap();
    let answer = json!({ "type": "extension_ui_response", "id": asked["id"], "confirmed": true });
    child.send(&answer.to_string());
    child.until(|line| line.contains(LATER));
    assert_some_line_contains(&prompt_omp(&mut child), JOINED);
    child.send(r#"{"id":"s","type":"get_state"}"#);
    let state = child.until(|line| line.contains(r#""command":"get_state""#));
    assert_some_line_contains(&state, "The folder speaks.");
    child.send(r#"{"id":"c","type":"get_commands"}"#);
    let commands = child.until(|line| line.contains(r#""command":"get_commands""#));
    assert_some_line_contains(&commands, r#""name":"review""#);
    child.end();
}

#[test]
fn in_psi_the_next_turn_has_everything() {
    let world = bringing();
    let mut child = world.psi();
    child.ask_psi("n", "subscribe", r#"{:topics ["ui/notification"]}"#);
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    let question = |line: &str| line.contains(":event \"ui/dialog-requested\"");
    let first = child.until(|line| line.contains(":phase \"idle\""));
    let asked = match first.into_iter().find(|line| question(line)) {
        Some(asked) => asked,
        None => child.until(question).pop().unwrap(),
    };
    let id = asked.split(":dialog-id ").nth(1).unwrap();
    let id = id.split(' ').next().unwrap();
    child.send(&format!(
        "{{:id \"d\" :kind :request :op \"resolve_dialog\" :params {{:dialog-id {id} :result true}}}}"
    ));
    child.until(|line| line.contains(LATER));
    child.send(r#"{:id "q" :kind :request :op "prompt" :params {:message "go"}}"#);
    child.until(|line| line.contains(JOINED));
    child.end();
}
