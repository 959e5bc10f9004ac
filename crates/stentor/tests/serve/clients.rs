//! Clients of one server that share a session, in whichever dialect.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::server::Server;
use crate::world::{Child, World};

/// Sessions of all dialects are in one place, so that each finds those of the others.
const TOGETHER: &str = "session_dir = \"/SESSIONS\"\nshare_sessions = false\n";

pub fn server(scenario: &str) -> Server {
    server_with(scenario, "", &[])
}

pub fn server_with(scenario: &str, config: &str, flags: &[&str]) -> Server {
    let world = World::new(scenario, "");
    let sessions = world.path("sessions").display().to_string();
    let config = format!("{}{config}", TOGETHER.replace("/SESSIONS", &sessions));
    let own = std::fs::read_to_string(world.path("home/.config/stentor/config.toml")).unwrap();
    world.file(
        "home/.config/stentor/config.toml",
        &format!("{own}{config}"),
    );
    Server::with(world, flags)
}

/// An ACP client with a new session.
pub fn acp(server: &Server) -> (Child, String) {
    let mut client = server.relay(&["acp"]);
    let session = client.shake_hands_acp(json!({}), &server.world.path("work"));
    (client, session)
}

pub fn prompt(client: &mut Child, id: u64, session: &str, text: &str) {
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    client.request_acp(id, "session/prompt", prompt);
}

pub fn file_of(server: &Server, session: &str) -> PathBuf {
    let files = std::fs::read_dir(server.world.path("sessions")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let is_it = |file: &PathBuf| {
        file.to_str()
            .unwrap()
            .ends_with(&format!("{session}.jsonl"))
    };
    files.find(is_it).unwrap()
}

/// A second ACP client that loads a session; the lines up to the answer.
pub fn acp_too(server: &Server, session: &str) -> (Child, Vec<String>) {
    let mut client = server.relay(&["acp"]);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.ask_acp(1, "initialize", hello);
    let load = json!({
        "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [],
    });
    let lines = client.ask_acp(2, "session/load", load);
    (client, lines)
}

pub fn omp_too(server: &Server, session: &str) -> Child {
    let mut client = server.relay(&["--mode", "rpc", "--session", session]);
    assert_eq!(client.json()["type"], "ready");
    client
}

pub fn synaps_too(server: &Server, session: &str) -> Child {
    let mut client = server.relay(&["rpc", "--continue", session]);
    assert_eq!(client.json()["session_id"], session);
    client
}

pub fn psi_too(server: &Server, session: &str) -> Child {
    let mut client = server.relay(&["--rpc-edn"]);
    client.shake_hands_psi();
    let file = file_of(server, session).display().to_string();
    let lines = client.ask_psi(
        "w",
        "switch_session",
        &format!("{{:session-path {file:?}}}"),
    );
    let answer = lines.last().unwrap();
    assert!(answer.contains(session), "{answer}");
    client
}

pub fn text_of(frame: &Value) -> &str {
    frame["params"]["update"]["content"]["text"]
        .as_str()
        .unwrap_or_default()
}

/// The texts of the chunks of this kind, up to and with the one that is `last`.
pub fn chunks(client: &mut Child, kind: &str, last: &str) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let frame = client.json();
        if frame["params"]["update"]["sessionUpdate"] == kind {
            texts.push(text_of(&frame).to_owned());
            if texts.concat().ends_with(last) {
                return texts;
            }
        }
    }
}

/// The permission question that a client is asked next; what came before it is not looked at.
pub fn asked(client: &mut Child) -> Value {
    let is_question = |line: &str| line.contains("session/request_permission");
    let line = client.until(is_question).pop().unwrap();
    serde_json::from_str::<Value>(&line).unwrap()["id"].clone()
}

/// Lets the call run that a question was about.
pub fn allow(client: &mut Child, question: &Value) {
    let answer = json!({
        "jsonrpc": "2.0", "id": question,
        "result": { "outcome": { "outcome": "selected", "optionId": "allow_once" } },
    });
    client.send(&answer.to_string());
}

/// A client that has introduced itself and opened nothing.
pub fn acp_alone(server: &Server) -> Child {
    let mut client = server.relay(&["acp"]);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.ask_acp(1, "initialize", hello);
    client
}
