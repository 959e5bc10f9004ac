//! Plan mode: nothing is changed until a person has accepted a plan, in every dialect.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

/// A model that tries to write, presents a plan, and writes when it may.
const PLANS: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "go", system_contains = "present it with exit_plan_mode" }
steps = [
  { tool = "write", id = "w1", arguments = { path = "early.txt", content = "too early" } },
  { tool = "bash", id = "b1", arguments = { command = "touch early.txt" } },
  { tool = "bash", id = "b2", arguments = { command = "pwd" } },
  { tool = "exit_plan_mode", id = "p1", arguments = { plan = "# Plan\n\n1. Write `late.txt`" } },
]
[[turn]]
when = { last_tool_result_contains = "has not accepted" }
text = "{{last_tool_result}}"
[[turn]]
steps = [{ tool = "write", id = "w2", arguments = { path = "late.txt", content = "planned" } }]
[[turn]]
text = "Done."
"##;

fn world_with(scenario: &str, config: &str) -> World {
    World::new(scenario, config)
}

fn world() -> World {
    world_with(PLANS, "permission_mode = \"all\"\n")
}

/// Which of the two files there are.
fn written(world: &World) -> Vec<&'static str> {
    let mut names = vec!["early.txt", "late.txt"];
    names.retain(|name| world.path("work").join(name).exists());
    names
}

/// A client of ACP that has chosen plan mode and prompted.
fn acp(world: &World, capabilities: Value) -> (Child, String) {
    let (mut child, session) = world.acp(capabilities);
    let mode = json!({ "sessionId": session, "modeId": "plan" });
    child.ask_acp(10, "session/set_mode", mode);
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    child.request_acp(3, "session/prompt", prompt);
    (child, session)
}

fn is_permission(line: &str) -> bool {
    line.contains("session/request_permission")
}

fn select(child: &mut Child, asked: &str, option: &str) {
    let asked: Value = serde_json::from_str(asked).unwrap();
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome });
    child.send(&reply.to_string());
}

#[test]
fn in_acp_a_plan_is_a_call_that_switches_the_mode() {
    let world = world();
    let (mut child, session) = acp(&world, json!({}));
    let lines = child.until(is_permission);
    let of_plan = lines.iter().filter(|line| line.contains("\"p1\""));
    let shown: Vec<String> = of_plan.map(|line| child.shown_in(&session, line)).collect();
    expect![[r##"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"p1","title":"Present a plan","name":"exit_plan_mode","kind":"switch_mode","status":"pending"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"p1","kind":"switch_mode","title":"Present a plan","locations":[],"rawInput":{"plan":"# Plan\n\n1. Write `late.txt`"}}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"p1","status":"in_progress"}}}
        {"jsonrpc":"2.0","id":-1,"method":"session/request_permission","params":{"sessionId":"SESSION","toolCall":{"toolCallId":"p1","kind":"switch_mode","status":"pending","title":"Accept this plan?","content":[{"type":"content","content":{"type":"text","text":"# Plan\n\n1. Write `late.txt`"}}]},"options":[{"optionId":"ask","name":"Yes, and ask before each change","kind":"allow_once"},{"optionId":"accept-edits","name":"Yes, and change files without asking","kind":"allow_always"},{"optionId":"all","name":"Yes, and do everything without asking","kind":"allow_always"},{"optionId":"plan","name":"No, keep planning","kind":"reject_once"}]}}"##]]
    .assert_eq(&shown.join("\n"));
    let refused = lines.iter().filter(|line| line.contains("plan mode, in"));
    assert_eq!(refused.count(), 2, "{lines:?}");
    assert_eq!(written(&world), [""; 0]);
    select(&mut child, lines.last().unwrap(), "accept-edits");
    let lines = child.until_answer(3);
    let mode = |line: &&String| {
        line.contains("current_mode_update") || line.contains("\"p1\"") || line.contains("\"id\":3")
    };
    let shown: Vec<String> = lines
        .iter()
        .filter(mode)
        .map(|line| child.shown_in(&session, line))
        .collect();
    expect![[r#"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"current_mode_update","currentModeId":"accept-edits"}}}
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"p1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"The user has accepted the plan. Plan mode is off, and the permission mode is accept-edits: carry out the plan."}}],"rawOutput":{"output":"The user has accepted the plan. Plan mode is off, and the permission mode is accept-edits: carry out the plan.","details":{"accepted":true,"mode":"accept-edits"}}}}}
        {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(written(&world), ["late.txt"]);
    child.end();
}

#[test]
fn a_refusal_goes_back_to_the_model_with_its_words_and_plan_mode_goes_on() {
    let world = world();
    let (mut child, session) = acp(&world, json!({ "elicitation": { "form": {} } }));
    let asked = child.until(is_permission).pop().unwrap();
    select(&mut child, &asked, "plan");
    let form = child
        .until(|line| line.contains("elicitation/create"))
        .pop();
    let form: Value = serde_json::from_str(&form.unwrap()).unwrap();
    assert_eq!(form["params"]["message"], "What should be different?");
    let content = json!({ "action": "accept", "content": { "answer": "Smaller steps." } });
    let reply = json!({ "jsonrpc": "2.0", "id": form["id"], "result": content });
    child.send(&reply.to_string());
    let lines = child.until_answer(3);
    let said = "The user has not accepted the plan, and says: Smaller steps.";
    assert!(lines.iter().any(|line| line.contains(said)), "{lines:?}");
    assert_eq!(written(&world), [""; 0]);
    // What was not offered accepts nothing, and neither does a cancelled question.
    for outcome in [
        json!({ "outcome": "selected", "optionId": "read-only" }),
        json!({ "outcome": "cancelled" }),
    ] {
        let world = self::world();
        let (mut child, _) = acp(&world, json!({}));
        let asked = child.until(is_permission).pop().unwrap();
        let asked: Value = serde_json::from_str(&asked).unwrap();
        let result = json!({ "outcome": outcome });
        let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        child.send(&reply.to_string());
        let lines = child.until_answer(3);
        let said = "The user has not accepted the plan";
        assert!(lines.iter().any(|line| line.contains(said)), "{lines:?}");
        assert_eq!(written(&world), [""; 0]);
        child.end();
    }
    // The session is still to plan when another process opens it.
    child.end();
    let mut child = world.child(&["acp"]);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    child.ask_acp(1, "initialize", hello);
    let load = json!({ "sessionId": session, "cwd": world.path("work"), "mcpServers": [] });
    let answer = child.ask_acp(2, "session/load", load).pop().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["modes"]["currentModeId"], "plan");
    child.end();
}

#[test]
fn a_prompt_that_only_plans_goes_on_in_the_mode_of_its_session() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let prompt = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": "go" }],
        "_meta": { "permission_mode": "plan" },
    });
    let mode = json!({ "sessionId": session, "modeId": "accept-edits" });
    child.ask_acp(10, "session/set_mode", mode);
    child.request_acp(3, "session/prompt", prompt);
    let asked = child.until(is_permission).pop().unwrap();
    let first = r#""options":[{"optionId":"accept-edits""#;
    assert!(asked.contains(first), "{asked}");
    assert_eq!(written(&world), [""; 0]);
    select(&mut child, &asked, "accept-edits");
    child.until_answer(3);
    assert_eq!(written(&world), ["late.txt"]);
    child.end();
}

#[test]
fn an_abort_while_somebody_reads_the_plan_leaves_plan_mode_on() {
    let world = world();
    let (mut child, session) = acp(&world, json!({}));
    child.until(is_permission);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    child.send(&cancel.to_string());
    let lines = child.until_answer(3);
    assert!(lines.iter().any(|line| line.contains("$/cancel_request")));
    assert!(
        !lines
            .iter()
            .any(|line| line.contains("current_mode_update"))
    );
    assert_eq!(written(&world), [""; 0]);
    child.end();
}

#[test]
fn in_omp_and_psi_plan_is_a_command_and_the_plan_a_selection() {
    let world = world();
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"m","type":"prompt","message":"/plan"}"#);
    let frames = child.until_type("prompt_result");
    let output = frames
        .iter()
        .find(|frame| frame["type"] == "command_output");
    expect![[r#"{"type":"command_output","text":"Plan mode is on: nothing is changed until you have accepted a plan. /plan ends it without one."}"#]]
        .assert_eq(&output.unwrap().to_string());
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let asked = child.until_type("extension_ui_request").pop().unwrap();
    expect![[r##"{"type":"extension_ui_request","id":"1000000100000001","method":"select","title":"# Plan\n\n1. Write `late.txt`\n\nAccept this plan?","options":["Yes, and ask before each change","Yes, and change files without asking","Yes, and do everything without asking","No, keep planning"]}"##]]
        .assert_eq(&asked.to_string());
    assert_eq!(written(&world), [""; 0]);
    let value = "Yes, and change files without asking";
    let response = json!({ "type": "extension_ui_response", "id": asked["id"], "value": value });
    child.send(&response.to_string());
    child.until_type("agent_settled");
    assert_eq!(written(&world), ["late.txt"]);
    child.end();

    let world = self::world();
    let mut child = world.psi();
    let topics = r#"{:topics ["assistant/message" "command-result" "ui/dialog-requested"]}"#;
    child.ask_psi("t", "subscribe", topics);
    child.send(r#"{:id "c" :kind :request :op "command" :params {:text "/plan"}}"#);
    child.until(|line| line.contains("command-result") && line.contains("Plan mode is on"));
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    let line = child
        .until(|line| line.contains("ui/dialog-requested"))
        .pop();
    let line = line.unwrap();
    for part in [
        r#":kind "select""#,
        r##":message "# Plan\n\n1. Write `late.txt`\n\nAccept this plan?""##,
        r#":value "accept-edits""#,
    ] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(written(&world), [""; 0]);
    // What follows may come before the answer to this.
    child.send(r#"{:id "d" :kind :request :op "resolve_dialog" :params {:dialog-id "dialog-1" :result "all"}}"#);
    child.until(|line| line.contains("Done."));
    assert_eq!(written(&world), ["late.txt"]);
    child.end();
}

/// What nobody can accept.
const ALONE: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "go", system_contains = "Nobody can accept it now: end with the plan" }
steps = [
  { tool = "write", arguments = { path = "early.txt", content = "too early" } },
  { tool = "exit_plan_mode", arguments = { plan = "x" } },
]
[[turn]]
when = { last_user_contains = "go" }
steps = [
  { tool = "write", arguments = { path = "early.txt", content = "too early" } },
  { tool = "exit_plan_mode", arguments = { plan = "x" } },
]
[[turn]]
text = "{{last_tool_result}}"
"##;

#[test]
fn where_nobody_can_accept_a_plan_it_is_the_answer() {
    let world = world_with(ALONE, "");
    let words = ["-p", "go", "--no-session", "--permission-mode", "plan"];
    let printed = world.asked(&words);
    assert_eq!(printed.trim(), "Tool exit_plan_mode not found");
    assert_eq!(written(&world), [""; 0]);
    // A synaps child learns it as it learns everything: by a prompt.
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"a","message":"/plan"}"#);
    let lines = child.until(|line| line.contains("\"id\":\"a\""));
    expect![[r#"
        {"type":"message_update","event":{"type":"text_delta","delta":"Plan mode is on: nothing is changed until you have accepted a plan. /plan ends it without one."}}
        {"type":"agent_end","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}
        {"type":"response","id":"a","command":"prompt","ok":true}"#]]
    .assert_eq(&lines.join("\n"));
    child.send(r#"{"type":"prompt","id":"b","message":"go"}"#);
    child.until(|line| line.contains("\"id\":\"b\""));
    assert_eq!(written(&world), [""; 0]);
    child.end();
}

#[test]
fn a_session_that_was_to_plan_goes_on_planning_unless_a_mode_is_named() {
    let world = world_with(ALONE, "permission_mode = \"all\"\n");
    world.asked(&["-p", "hello", "--permission-mode", "plan"]);
    world.asked(&["-c", "-p", "go"]);
    assert_eq!(written(&world), [""; 0]);
    world.asked(&["-c", "-p", "go", "--permission-mode", "all"]);
    assert_eq!(written(&world), ["early.txt"]);
}

const DELEGATES: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "write it", system_contains = "Plan mode is on" }
steps = [
  { tool = "write", arguments = { path = "early.txt", content = "too early" } },
  { tool = "bash", arguments = { command = "touch early.txt &" } },
]
[[turn]]
when = { last_user_contains = "delegate" }
steps = [{ tool = "subagent", arguments = { task = "write it" } }]
[[turn]]
text = "{{last_tool_result}}"
"##;

#[test]
fn subagents_are_in_plan_mode_too() {
    let world = world_with(DELEGATES, "");
    let mut child = world.synaps();
    for (id, message) in [("a", "/plan"), ("b", "delegate")] {
        let prompt = json!({ "type": "prompt", "id": id, "message": message });
        child.send(&prompt.to_string());
        let is_over = format!("\"id\":{id:?}");
        let lines = child.until(|line| line.contains(&is_over));
        let refused = |line: &String| line.contains("the session is in plan mode");
        assert_eq!(lines.iter().any(refused), id == "b", "{lines:?}");
    }
    assert_eq!(written(&world), [""; 0]);
    child.end();
}

/// A server with a tool that says it only reads, and one that does not.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    def send(result):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n")
        sys.stdout.flush()
    if method == "initialize":
        send({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        schema = {"type": "object"}
        send({"tools": [
            {"name": "look", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
            {"name": "change", "inputSchema": schema},
        ]})
    elif method == "tools/call":
        send({"content": [{"type": "text", "text": "called " + message["params"]["name"]}]})
"#;

const CALLS: &str = r##"
on_exhausted = "repeat-last"
[[turn]]
steps = [
  { tool = "mcp__s__change", id = "c1", arguments = {} },
  { tool = "mcp__s__look", id = "c2", arguments = {} },
]
[[turn]]
text = "{{last_tool_result}}"
"##;

#[test]
fn tools_of_servers_are_refused_and_asked_about_if_they_claim_to_read() {
    let config =
        "permission_mode = \"all\"\n[mcp_servers.s]\ncommand = [\"python3\", \"-S\", \"~/s.py\"]\n";
    let world = world_with(CALLS, config);
    world.file("home/s.py", SERVER);
    let (mut child, _) = acp(&world, json!({}));
    let lines = child.until(is_permission);
    let asked = lines.last().unwrap();
    assert!(asked.contains("\"c2\""), "{asked}");
    let why = "mcp__s__change: the session is in plan mode";
    assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    select(&mut child, asked, "allow_once");
    let lines = child.until_answer(3);
    assert!(lines.iter().any(|line| line.contains("called look")));
    child.end();
}

#[test]
fn another_agent_as_the_model_is_refused_with_the_reason() {
    let world = world_with(ALONE, "");
    let other = world.path("home/other.toml");
    world.file("home/other.toml", "[[turn]]\ntext = \"Hello.\"\n");
    let program = env!("CARGO_BIN_EXE_stentor");
    let config = format!(
        "[agents.other]\ndialect = \"acp\"\ncommand = [{program:?}, \"acp\", \"--model\", \"script/{}\"]\n",
        other.display()
    );
    world.file("home/.config/stentor/config.toml", &config);
    let words = ["-p", "go", "--no-session", "--model", "agent/other"];
    assert_eq!(world.asked(&words).trim(), "Hello.");
    let plan = [&words[..], &["--permission-mode", "plan"]].concat();
    let out = world.command(&plan).output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(
        err.contains("which plan mode cannot hold to reading"),
        "{err}"
    );
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn plan_mode_is_ended_by_hand_with_the_mode_that_was_before() {
    let world = world();
    let mut child = world.omp_with_dialogs();
    let mut said = Vec::new();
    for message in ["/plan", "/plan on", "/plan", "/plan off", "/plan maybe"] {
        let prompt = json!({ "id": "m", "type": "prompt", "message": message });
        child.send(&prompt.to_string());
        let is_over =
            |line: &str| line.contains("prompt_result") || line.contains("\"success\":false");
        let lines = child.until(is_over);
        let frames = lines.iter().filter_map(|line| {
            let frame: Value = serde_json::from_str(line).unwrap();
            let text = frame["text"].as_str().or(frame["error"].as_str());
            text.map(str::to_owned)
        });
        said.extend(frames);
    }
    expect![[r#"
        Plan mode is on: nothing is changed until you have accepted a plan. /plan ends it without one.
        Plan mode is on: nothing is changed until you have accepted a plan. /plan ends it without one.
        Plan mode is off; the permission mode is all.
        Plan mode is off; the permission mode is all.
        Usage: /plan [on|off]; without an argument, it starts or ends plan mode"#]]
    .assert_eq(&said.join("\n"));
    child.end();
}
