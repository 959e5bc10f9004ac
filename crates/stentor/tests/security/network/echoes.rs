//! A key that a provider echoes reaches neither a client nor a file.

use serde_json::json;

use super::provider::{Answer, KEY, Provider};
use crate::world::World;

fn world() -> World {
    let deltas = ["You sent test-key-01", "23456789 and me:hidden-word", "."];
    let provider = Provider::answering(Answer::Deltas(deltas.map(str::to_owned).to_vec()));
    provider.world("")
}

/// All files below the temporary folder but the configuration.
fn files_with_key(world: &World) -> Vec<String> {
    let mut folders = vec![world.path("")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(KEY) {
                found.push(path.display().to_string());
            }
        }
    }
    found.retain(|path| !path.ends_with("config.toml"));
    found
}

#[test]
fn an_echoed_key_is_replaced_in_answers_and_in_session_files() {
    let world = world();
    let out = world.asked(&["-p", "hi"]);
    assert_eq!(out.trim_end(), "You sent [key] and me:hidden-word.");
    assert_eq!(files_with_key(&world), [""; 0]);
}

#[test]
fn an_echoed_key_is_replaced_in_every_dialect() {
    let world = world();
    let mut lines = Vec::new();

    let mut child = world.omp();
    child.send(r#"{"id":"1","type":"prompt","message":"hi"}"#);
    lines.extend(child.until(|line| line.contains(r#""type":"agent_end""#)));
    child.end();

    let (mut child, session) = world.acp(json!({}));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] });
    lines.extend(child.ask_acp(3, "session/prompt", prompt));
    child.end();

    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"hi"}"#);
    lines.extend(child.until(|line| line.contains(r#""id":"p","command":"prompt""#)));
    child.end();

    let mut child = world.psi();
    child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#);
    lines.extend(child.until(|line| line.contains(":event \"assistant/message\"")));
    child.end();

    assert!(lines.iter().any(|line| line.contains("[key]")));
    let leaks = |line: &&String| line.contains("0123456789") || line.contains("test-key");
    assert_eq!(lines.iter().find(leaks), None);
    assert_eq!(files_with_key(&world), [""; 0]);
}
