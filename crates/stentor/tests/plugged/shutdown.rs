//! An extension that wants the program to end: what runs is answered first, in every dialect.

use serde_json::{Value, json};

use crate::world::World;

/// An extension that asks for the end whenever something is said.
const QUITTER: &str = r#"
import json, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "hooks": ["prompt/before"]})
    elif message.get("method") == "prompt/before":
        send(id="end", method="shutdown")
        send(id=message["id"], result={})
"#;

fn world() -> World {
    let world = World::new(
        "[[turn]]\ntext = \"Goodbye.\"\n",
        "[extensions.quitter]\nfile = \"quitter.py\"\nstart_timeout_ms = 60000\n",
    );
    world.file("home/.config/stentor/quitter.py", QUITTER);
    world
}

/// The lines that were said until the program ended by itself hold each of these, in this order.
fn check(lines: &[String], wanted: &[&str]) {
    let mut rest = lines.iter();
    for text in wanted {
        assert!(rest.any(|line| line.contains(text)), "{text}: {lines:#?}");
    }
}

#[test]
fn omp() {
    let world = world();
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"hi"}"#);
    let last = [
        "Goodbye.",
        r#""type":"agent_end""#,
        r#""type":"prompt_result""#,
        r#""type":"agent_settled""#,
    ];
    check(&child.ended(), &last);
}

#[test]
fn synaps() {
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    let lines = child.ended();
    check(&lines, &["Goodbye.", r#""type":"response""#]);
    let answer: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
}

#[test]
fn psi() {
    let world = world();
    let mut child = world.psi();
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    check(&child.ended(), &[":id \"p\"", "Goodbye."]);
}

#[test]
fn acp() {
    let world = world();
    let (mut child, session) = world.acp(json!({}));
    let text = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": session, "prompt": text });
    child.request_acp(3, "session/prompt", params);
    check(&child.ended(), &["Goodbye.", r#""stopReason":"end_turn""#]);
}
