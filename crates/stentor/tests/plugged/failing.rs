//! An extension that fails is told of in every dialect, and disturbs nothing else.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

/// An extension that dies when it is asked about a prompt.
const FRAIL: &str = r#"
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": 1, "hooks": ["prompt/before"]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif message.get("method") == "prompt/before":
        os._exit(3)
"#;

/// A world in which it is not started again.
fn world() -> World {
    let config = "[extensions.frail]\nfile = \"frail.py\"\nrestart = 0\nstart_timeout_ms = 60000\n";
    let world = World::new(
        "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Hello.\"\n",
        config,
    );
    world.file("home/.config/stentor/frail.py", FRAIL);
    world
}

#[test]
fn omp_writes_an_extension_error() {
    let world = world();
    let mut child = world.omp();
    let is_error = |frame: &&Value| frame["type"] == "extension_error";
    let prompt = |child: &mut Child| {
        child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
        let frames = child.until_type("agent_settled");
        let result = frames.iter().find(|frame| frame["type"] == "prompt_result");
        assert_eq!(result.unwrap()["status"], "completed");
        let errors = frames.iter().filter(is_error).map(Value::to_string);
        errors.collect::<Vec<String>>()
    };
    let mut errors = prompt(&mut child);
    // That its process has ended may be found out a moment later.
    if errors.len() == 1 {
        errors.push(
            child
                .until_type("extension_error")
                .pop()
                .unwrap()
                .to_string(),
        );
    }
    // What was asked of it and its process are watched by two, and either may be first to tell.
    errors.sort();
    expect![[r#"
        {"type":"extension_error","extensionPath":"frail","event":"prompt/before","error":"it ended before it answered"}
        {"type":"extension_error","extensionPath":"frail","event":"run","error":"it ended (exit status: 3); it failed once and is disabled"}"#]].assert_eq(&errors.join("\n"));
    // It is disabled and not asked again.
    assert_eq!(prompt(&mut child), Vec::<String>::new());
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
    let told = lines.iter().filter(|line| {
        line.contains(":event \"ui/notification\"") && line.contains("prompt/before")
    });
    // That its process has ended may be told before or later.
    let told: Vec<String> = told
        .map(|line| {
            child
                .shown(line)
                .replace("notification-2", "notification-1")
        })
        .collect();
    expect![[r#"{:kind :event :event "ui/notification" :data {:id "notification-1" :message "prompt/before: it ended before it answered" :level "error" :extension-id "frail"} :seq N :ts "TIME"}"#]].assert_eq(&told.join("\n"));
    child.end();
}

#[test]
fn acp_says_it_in_the_conversation() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let text = json!([{ "type": "text", "text": "hi" }]);
    let lines = child.ask_acp(
        3,
        "session/prompt",
        json!({ "sessionId": session, "prompt": text }),
    );
    let told = lines
        .iter()
        .filter(|line| line.contains("frail failed in prompt/before"));
    let told: Vec<String> = told.map(|line| child.shown_in(&session, line)).collect();
    expect![[r#"
        {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The extension frail failed in prompt/before: it ended before it answered\n\n"},"messageId":"ID"}}}"#]].assert_eq(&told.join("\n"));
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
    assert!(frames.iter().all(|frame| frame["type"] != "error"));
    let err = child.end_and_stderr();
    // That its process has ended may be told before or later.
    let told = "ERROR the extension frail failed in prompt/before: it ended before it answered";
    assert!(err.lines().any(|line| line.ends_with(told)), "{err}");
}
