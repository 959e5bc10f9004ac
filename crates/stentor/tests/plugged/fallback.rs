//! A model that steps in for another: every dialect tells it in its way.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let world = World::new(
        "[model]\nid = \"first\"\n[[turn]]\nerror = { kind = \"overloaded\", message = \"Overloaded.\" }\n",
        "[retry]\nfallback = [\"script/second.toml\"]\n",
    );
    world.file(
        "home/.config/stentor/second.toml",
        "[model]\nid = \"second\"\n[[turn]]\ntext = \"Hello.\"\n",
    );
    world
}

#[test]
fn omp_has_frames_for_it() {
    let world = world();
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    let frames = child.until_type("agent_settled");
    let told = frames.iter().filter(|frame| {
        let kind = frame["type"].as_str().unwrap();
        kind.starts_with("retry_fallback") || kind == "prompt_result"
    });
    let told: Vec<String> = told.map(Value::to_string).collect();
    expect![[r#"
        {"type":"retry_fallback_applied","from":"script/first:medium","to":"script/second.toml","role":"default","reason":"Overloaded."}
        {"type":"retry_fallback_succeeded","model":"script/second:medium","role":"default"}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}"#]].assert_eq(&told.join("\n"));
    child.end();
}

#[test]
fn psi_shows_a_notification() {
    let world = world();
    let mut child = world.psi();
    child.ask_psi("n", "subscribe", r#"{:topics ["ui/notification"]}"#);
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    let is_said =
        |line: &str| line.contains(":event \"assistant/message\"") && line.contains("Hello.");
    let lines = child.until(is_said);
    let told = lines.iter().filter(|line| line.contains("steps in"));
    let told: Vec<String> = told.map(|line| child.shown(line)).collect();
    expect![[r#"{:kind :event :event "ui/notification" :data {:id "notification-1" :message "script/second.toml steps in for script/first:medium" :level "warning"} :seq N :ts "TIME"}"#]].assert_eq(&told.join("\n"));
    child.end();
}

#[test]
fn acp_sends_a_notice_where_the_client_takes_one() {
    let world = world();
    let (mut child, session) = world.acp(json!({ "session": { "notices": {} } }));
    let text = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": session, "prompt": text });
    let lines = child.ask_acp(3, "session/prompt", params);
    let told = lines.iter().filter(|line| line.contains("steps in"));
    let told: Vec<String> = told.map(|line| child.shown_in(&session, line)).collect();
    expect![[r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"notice","severity":"warning","title":"Overloaded. script/second.toml steps in for script/first:medium."}}}"#]].assert_eq(&told.join("\n"));
    let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    child.end();
}

#[test]
fn synaps_has_no_frame_for_it_and_says_it_on_stderr() {
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let frames = child.until_type("response");
    assert_eq!(frames.last().unwrap()["ok"], true);
    let err = child.end_and_stderr();
    let told = "script/second.toml steps in for script/first:medium";
    assert!(err.lines().any(|line| line.ends_with(told)), "{err}");
}

#[test]
fn the_command_line_says_it_on_stderr() {
    let world = world();
    let out = world.command(&["-p", "hi"]).output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "Hello.");
    let told = "script/second.toml steps in for script/first:medium";
    assert!(err.contains(told), "{err}");
}
