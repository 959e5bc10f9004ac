//! psi's session tree has the sessions that other clients of the server have open in its folder.

use serde_json::json;

use crate::clients::{acp, chunks, prompt, server};
use crate::server::Server;
use crate::world::Child;

const SAID: &str =
    "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n[[turn]]\ntext = \"Three.\"\n";

fn psi(server: &Server) -> Child {
    let mut psi = server.relay(&["--rpc-edn"]);
    psi.shake_hands_psi();
    let topics = r#"{:topics ["ui/frontend-action-requested"]}"#;
    psi.ask_psi("t", "subscribe", topics);
    psi
}

/// A client of ACP, its session, and a prompt that was answered in it.
fn said(server: &Server) -> (Child, String) {
    let (mut client, session) = acp(server);
    prompt(&mut client, 3, &session, "from acp");
    client.until_answer(3);
    (client, session)
}

fn listed(psi: &mut Child) -> String {
    psi.ask_psi("l", "list_sessions", "{}").pop().unwrap()
}

fn command(psi: &mut Child, text: &str) -> Vec<String> {
    psi.ask_psi("c", "command", &format!("{{:text {text:?}}}"))
}

/// A prompt of the other client arrives.
fn follows(psi: &mut Child, client: &mut Child, session: &str) {
    prompt(client, 4, session, "followed");
    psi.until(|line| line.contains("followed"));
    chunks(client, "agent_message_chunk", "Two.");
}

#[test]
fn sessions_of_others_are_listed_when_something_was_said_in_them() {
    let server = server(SAID);
    let mut psi = psi(&server);
    let (mut client, session) = acp(&server);
    assert!(!listed(&mut psi).contains(&session));
    prompt(&mut client, 3, &session, "from acp");
    client.until_answer(3);
    let line = listed(&mut psi);
    let file = format!("{session}.jsonl\"");
    assert!(line.contains(&session) && line.contains(&file), "{line}");
    assert!(line.contains(":display-name \"from acp\""), "{line}");
    let picker = command(&mut psi, "/tree");
    let picker = psi_picker(&mut psi, picker);
    assert!(picker.contains(&session), "{picker}");
}

/// The picker may come before or after the answer to what asked for it.
fn psi_picker(psi: &mut Child, lines: Vec<String>) -> String {
    let is_picker = |line: &str| line.contains("ui/frontend-action-requested");
    match lines.into_iter().find(|line| is_picker(line)) {
        Some(line) => line,
        None => psi.until(is_picker).pop().unwrap(),
    }
}

#[test]
fn a_session_of_another_folder_is_not_listed() {
    let server = server(SAID);
    let mut client = server.relay(&["acp"]);
    std::fs::create_dir(server.world.path("other")).unwrap();
    let session = client.shake_hands_acp(json!({}), &server.world.path("other"));
    prompt(&mut client, 3, &session, "from acp");
    client.until_answer(3);
    let mut psi = psi(&server);
    assert!(!listed(&mut psi).contains(&session));
    let answer = psi.ask_psi(
        "w",
        "switch_session",
        &format!("{{:session-id {session:?}}}"),
    );
    assert!(answer.last().unwrap().contains("request/not-found"));
}

#[test]
fn one_is_joined_by_its_id() {
    let server = server(SAID);
    let (mut client, session) = said(&server);
    let mut psi = psi(&server);
    let lines = psi.ask_psi(
        "w",
        "switch_session",
        &format!("{{:session-id {session:?}}}"),
    );
    let answer = lines.last().unwrap();
    assert!(
        answer.contains(":ok true") && answer.contains(&session),
        "{answer}"
    );
    follows(&mut psi, &mut client, &session);
}

#[test]
fn one_is_joined_by_the_beginning_of_its_id_in_the_tree() {
    let server = server(SAID);
    let (mut client, session) = said(&server);
    let mut psi = psi(&server);
    let beginning = session.get(..session.len() - 1).unwrap();
    command(&mut psi, &format!("/tree {beginning}"));
    let line = listed(&mut psi);
    assert!(
        line.contains(&format!(":active-session-id {session:?}")),
        "{line}"
    );
    follows(&mut psi, &mut client, &session);
    // Its own session is still there.
    assert_eq!(listed(&mut psi).matches(":session-id ").count(), 2);
}
