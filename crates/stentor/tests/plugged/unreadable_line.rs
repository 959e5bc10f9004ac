//! One line of a session file that cannot be read costs that line only.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::World;

/// A session in which two things were said and answered, and of which the first answer is damaged.
fn damaged() -> (World, String, PathBuf) {
    damaged_by(|_| "half a rec".to_owned())
}

/// The same with what takes the place of the first answer's line.
fn damaged_by(damage: impl Fn(&str) -> String) -> (World, String, PathBuf) {
    let world = World::new(
        "[[turn]]\ntext = \"Hello.\"\n[[turn]]\ntext = \"Good.\"\n",
        "",
    );
    let (mut child, session) = world.acp(json!({}));
    for (id, text) in [(3, "said first"), (4, "said second")] {
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        child.ask_acp(id, "session/prompt", params);
    }
    child.end();
    let mut folders = vec![world.path("home")];
    let mut found = None;
    while let Some(folder) = folders.pop() {
        for child in fs::read_dir(folder).unwrap() {
            let path = child.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(&session) {
                found = Some(path);
            }
        }
    }
    let file = found.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    let answer = lines.find(|line| line.contains("\"Hello.\"")).unwrap();
    fs::write(&file, text.replacen(answer, &damage(answer), 1)).unwrap();
    (world, session, file)
}

const LEFT_OUT: &str = "skipped an unreadable line, 10 bytes at byte ";

#[test]
fn the_command_line_goes_on_and_names_what_is_left_out() {
    let (world, _, file) = damaged();
    let out = world.command(&["-p", "said third", "-c"]).output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{err}");
    assert!(
        err.contains(LEFT_OUT) && err.contains("half a rec"),
        "{err}"
    );
    let text = fs::read_to_string(file).unwrap();
    for kept in ["said first", "half a rec", "said second", "said third"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn acp_loads_everything_else_and_logs_what_is_left_out() {
    let (world, session, _) = damaged();
    let mut child = world.child(&["acp"]);
    child.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let load = json!({ "sessionId": session, "cwd": world.path("work"), "mcpServers": [] });
    let lines = child.ask_acp(2, "session/load", load);
    let said: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let frame: Value = serde_json::from_str(line).unwrap();
            let text = &frame["params"]["update"]["content"]["text"];
            text.as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(said, ["said first", "said second", "Good."]);
    let err = child.end_and_stderr();
    assert!(
        err.contains(LEFT_OUT) && err.contains("half a rec"),
        "{err}"
    );
}

#[test]
fn omp_opens_everything_else_and_tells_what_is_left_out() {
    let (world, _, file) = damaged();
    let mut child = world.child(&["--mode", "rpc", "--session", file.to_str().unwrap()]);
    let notice = child.until_type("notice").pop().unwrap();
    let message = notice["message"].as_str().unwrap();
    assert!(
        message.starts_with(LEFT_OUT) && message.contains("half a rec"),
        "{notice}"
    );
    child.send(r#"{"id":"m","type":"get_messages"}"#);
    let answer = child.until_type("response").pop().unwrap();
    let messages = answer["data"]["messages"].as_array().unwrap();
    let said: Vec<&Value> = messages
        .iter()
        .map(|message| &message["content"][0]["text"])
        .collect();
    assert_eq!(said, ["said first", "said second", "Good."]);
    child.end();
}

#[test]
fn synaps_continues_with_everything_else_and_warns_of_what_is_left_out() {
    let (world, session, _) = damaged();
    let mut child = world.child(&["rpc", "--continue", &session]);
    assert_eq!(child.json()["type"], "ready");
    child.send(r#"{"id":"m","type":"get_messages"}"#);
    let answer = child.until_type("response").pop().unwrap();
    let messages = answer["messages"].as_array().unwrap();
    let said: Vec<&str> = messages.iter().map(synaps_text).collect();
    assert_eq!(said, ["said first", "said second", "Good."]);
    let err = child.end_and_stderr();
    assert!(
        err.contains(LEFT_OUT) && err.contains("half a rec"),
        "{err}"
    );
}

/// What a message of synaps says: its content is text, or blocks of which the first is.
fn synaps_text(message: &Value) -> &str {
    let content = &message["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    text.unwrap_or_else(|| panic!("{message}"))
}

#[test]
fn psi_resumes_everything_else_and_notifies_of_what_is_left_out() {
    let (world, session, _) = damaged();
    let mut child = world.child(&["--rpc-edn", "--resume", &session]);
    let client = r#"{:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}"#;
    child.ask_psi("h", "handshake", client);
    child.send(r#"{:id "s" :kind :request :op "subscribe" :params {:topics ["ui/notification"]}}"#);
    let shown = child.until(|line| line.contains("half a rec"));
    let notification = shown.last().unwrap();
    assert!(
        notification.contains(":event \"ui/notification\"") && notification.contains(LEFT_OUT),
        "{notification}"
    );
    let messages = child.ask_psi("m", "get_messages", "{}").pop().unwrap();
    let place = |text: &str| messages.find(text).unwrap_or_else(|| panic!("{messages}"));
    assert!(place("said first") < place("said second") && place("said second") < place("Good."));
    assert!(!messages.contains("Hello."), "{messages}");
    child.end();
}

#[test]
fn a_message_that_is_not_in_its_shape_is_named_and_the_rest_is_there() {
    let of_wrong_shape: [fn(&mut Value); 4] = [
        |message| message["content"] = json!(7),
        |message| message["content"] = json!([7]),
        |message| message["timestamp"] = json!("noon"),
        |message| *message = json!({}),
    ];
    for damage in of_wrong_shape {
        let (world, _, file) = damaged_by(|line| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            damage(&mut entry["message"]);
            entry.to_string()
        });
        let damaged = fs::read_to_string(&file).unwrap();
        let out = world.command(&["-p", "said third", "-c"]).output().unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(0), "{err}");
        let warnings = err.matches("skipped an unreadable line, ").count();
        assert_eq!(warnings, 1, "{err}");
        assert!(err.contains(r#": "{\"type\":\"message\""#), "{err}");
        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with(&damaged), "{text}");
        assert!(text.contains("said third"), "{text}");
    }
}
