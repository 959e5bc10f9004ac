//! Sessions are joined by clients of every dialect, whoever opened them, with nothing configured: each
//! family of clients stores its own where it looks for them itself.

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clients::{acp, acp_alone, prompt};
use crate::cursors::restarted;
use crate::server::Server;
use crate::world::World;

const SCENARIO: &str = "[[turn]]\ntext = \"Said.\"\n[[turn]]\ntext = \"Said more.\"\n";

/// A client that stays until it is dropped.
type Client = Box<dyn Any>;

/// How a client of some kind opens a session.
type Open = fn(&Server) -> Client;

/// How a client of some kind joins one.
type Join = fn(&Server, &LiveOne) -> Client;

fn server() -> Server {
    Server::with(World::new(SCENARIO, ""), &["--http", "0"])
}

/// A client of each kind with a session of its own in which something was said.
const OPENERS: [(&str, Open); 6] = [
    ("acp", |server| {
        let (mut client, session) = acp(server);
        prompt(&mut client, 3, &session, "hello");
        client.until_answer(3);
        Box::new(client)
    }),
    ("pi", |server| opened_by_omp(server, &["--mode", "rpc"])),
    ("omp", |server| {
        opened_by_omp(server, &["--mode", "rpc", "--no-title"])
    }),
    ("psi", |server| {
        let mut client = server.relay(&["--rpc-edn"]);
        client.shake_hands_psi();
        client.ask_psi("p", "prompt", r#"{:message "hello"}"#);
        client.until(|line| line.contains(":phase \"idle\""));
        Box::new(client)
    }),
    ("synaps", |server| {
        let mut client = server.relay(&["rpc"]);
        client.send(r#"{"type":"prompt","id":"p","message":"hello"}"#);
        client.until(|line| line.contains(r#""type":"agent_end""#));
        Box::new(client)
    }),
    ("page", |server| {
        let mut page = server.web_socket(&at_work(server, "/page"));
        page.send(r#"{"do":"prompt","text":"hello"}"#);
        page.until("Said.");
        Box::new(page)
    }),
];

fn opened_by_omp(server: &Server, words: &[&str]) -> Client {
    let mut client = server.relay(words);
    client.send(r#"{"id":"p","type":"prompt","message":"hello"}"#);
    client.until_type("agent_settled");
    Box::new(client)
}

fn at_work(server: &Server, path: &str) -> String {
    format!("{path}?cwd={}", server.world.path("work").display())
}

/// One more client of each kind that finds the session by the means of its dialect.
const JOINERS: [(&str, Join); 8] = [
    ("acp, by the list", |server, live| {
        let mut client = acp_alone(server);
        let work = server.world.path("work");
        let listed = client.ask_acp(2, "session/list", json!({ "cwd": work }));
        assert!(listed.concat().contains(&live.id), "{listed:#?}");
        let load = json!({ "sessionId": live.id, "cwd": work, "mcpServers": [] });
        let loaded = client.ask_acp(3, "session/load", load).concat();
        assert!(
            loaded.contains("Said.") && !loaded.contains("error"),
            "{loaded}"
        );
        Box::new(client)
    }),
    ("acp, by session/resume", |server, live| {
        let mut client = acp_alone(server);
        let work = server.world.path("work");
        let resume = json!({ "sessionId": live.id, "cwd": work, "mcpServers": [] });
        let resumed = client.ask_acp(2, "session/resume", resume).concat();
        assert!(!resumed.contains("error"), "{resumed}");
        Box::new(client)
    }),
    ("pi, by the id", |server, live| {
        joined_by_omp(server, live, &["--mode", "rpc"])
    }),
    ("omp, by the id", |server, live| {
        joined_by_omp(server, live, &["--mode", "rpc", "--no-title"])
    }),
    ("psi, by the id", |server, live| {
        let mut client = server.relay(&["--rpc-edn"]);
        client.shake_hands_psi();
        let params = format!("{{:session-id {:?}}}", live.id);
        let lines = client.ask_psi("w", "switch_session", &params);
        let answer = lines.last().unwrap();
        assert!(answer.contains(":ok true"), "{answer}");
        Box::new(client)
    }),
    ("psi, at its start", |server, live| {
        let mut client = server.relay(&["--rpc-edn", "--resume", &live.id]);
        client.shake_hands_psi();
        let state = client.ask_psi("g", "get_state", "{}").concat();
        assert!(state.contains(&live.id), "{state}");
        Box::new(client)
    }),
    ("synaps", |server, live| {
        let mut client = server.relay(&["rpc", "--continue", &live.id]);
        assert_eq!(client.json()["session_id"], live.id);
        Box::new(client)
    }),
    ("page", |server, live| {
        let mut page = server.web_socket(&at_work(server, "/page"));
        page.send(r#"{"do":"list"}"#);
        page.until(&format!("data-session=\\\"{}", live.id));
        page.send(&json!({ "do": "open", "session": live.id }).to_string());
        page.until("Said.");
        Box::new(page)
    }),
];

fn joined_by_omp(server: &Server, live: &LiveOne, words: &[&str]) -> Client {
    let mut client = server.relay(&[words, &["--session", &live.id]].concat());
    client.send(r#"{"id":"g","type":"get_state"}"#);
    let state = client.until_type("response").pop().unwrap();
    assert_eq!(state["data"]["sessionId"], live.id, "{state}");
    Box::new(client)
}

/// The session in which something was said.
struct LiveOne {
    id: String,
    file: PathBuf,
    clients: u64,
}

fn live(server: &Server) -> LiveOne {
    let said = |session: &&Value| {
        let file = std::fs::read_to_string(session["file"].as_str().unwrap());
        file.is_ok_and(|text| text.contains("Said."))
    };
    // A page shows an answer before it is complete and on disk.
    loop {
        let report = server.talk("{\"stentor\":1,\"control\":\"status\"}\n");
        let report: Value = serde_json::from_str(&report[0]).unwrap();
        let mut sessions = report["sessions"].as_array().unwrap().iter();
        if let Some(session) = sessions.find(said) {
            return LiveOne {
                id: session["id"].as_str().unwrap().to_owned(),
                file: session["file"].as_str().unwrap().into(),
                clients: session["clients"].as_u64().unwrap(),
            };
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_live_session_is_joined_in_every_dialect_whichever_opened_it() {
    for (opener, open) in OPENERS {
        let server = server();
        let mut clients = vec![open(&server)];
        for (joiner, join) in JOINERS {
            clients.push(join(&server, &live(&server)));
            let there = u64::try_from(clients.len()).unwrap();
            assert_eq!(live(&server).clients, there, "{joiner} with {opener}");
        }
    }
}

#[test]
fn a_live_session_that_is_in_none_of_the_places_is_found_too() {
    let server = server();
    let file = server.world.path("notes.jsonl").display().to_string();
    let _opener = opened_by_omp(&server, &["--mode", "rpc", "--session", &file]);
    let named = live(&server);
    assert!(named.file.ends_with("notes.jsonl"));
    let found = JOINERS.into_iter();
    let found = found.filter(|(name, _)| !name.starts_with("psi, at its start"));
    let clients: Vec<Client> = found.map(|(_, join)| join(&server, &named)).collect();
    let there = u64::try_from(clients.len() + 1).unwrap();
    assert_eq!(live(&server).clients, there);
}

#[test]
fn a_stored_session_of_pi_is_found_by_all_and_stays_as_pi_reads_it() {
    let first = server();
    let opener = OPENERS[1].1(&first);
    let of_pi = live(&first);
    let folder = first.world.path("home/.pi/agent/sessions");
    assert!(of_pi.file.starts_with(folder.canonicalize().unwrap()));
    drop(opener);
    let server = restarted(first);
    let mut client = acp_alone(&server);
    let work = server.world.path("work");
    let listed = client.ask_acp(2, "session/list", json!({ "cwd": work }));
    assert!(listed.concat().contains(&of_pi.id), "{listed:#?}");
    let load = json!({ "sessionId": of_pi.id, "cwd": work, "mcpServers": [] });
    let loaded = client.ask_acp(3, "session/load", load).concat();
    assert!(loaded.contains("Said."), "{loaded}");
    // More than Stentor's own files hold themselves.
    let picture = "AAAA".repeat(40_000);
    let look = json!({ "sessionId": of_pi.id, "prompt": [
        { "type": "text", "text": "look" },
        { "type": "image", "data": picture, "mimeType": "image/png" },
    ] });
    let answered = client.ask_acp(4, "session/prompt", look).concat();
    assert!(answered.contains("Said more."), "{answered}");
    let text = std::fs::read_to_string(&of_pi.file).unwrap();
    assert!(text.contains(&picture));
    assert!(!of_pi.file.with_file_name("blobs").exists());
}
