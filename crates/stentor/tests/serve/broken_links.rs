//! Relays whose connection breaks, and whose server dies.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::server::Server;
use crate::world::{Child, World};

const ENDED: &str =
    "the server has ended; what it acknowledged is stored, and the session can be resumed";

/// Something between relays and their server that can break, as a forwarded socket does.
struct Between {
    socket: PathBuf,
    connections: Arc<Connections>,
}

#[derive(Default)]
struct Connections {
    /// Each with its end at the relay and its end at the server.
    open: Mutex<Vec<[UnixStream; 2]>>,
    /// One end that breaks does not break the other.
    are_stranded: AtomicBool,
    /// Whoever connects is turned away.
    is_down: AtomicBool,
}

impl Between {
    fn new(server: &Server) -> Self {
        let socket = server.world.path("between");
        let listener = UnixListener::bind(&socket).unwrap();
        let connections = Arc::<Connections>::default();
        let (behind, all) = (server.socket(), Arc::clone(&connections));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if !all.is_down.load(Ordering::Acquire) {
                    forward(stream, &behind, &all);
                }
            }
        });
        Self {
            socket,
            connections,
        }
    }

    fn flag(&self) -> String {
        format!("--attach={}", self.socket.display())
    }

    /// Breaks every connection there is.
    fn cut(&self) {
        for stream in self.connections.open.lock().unwrap().drain(..).flatten() {
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    /// Breaks every connection at the relay's end. The ends at the server are returned: as long as
    /// they are there, it notices nothing.
    fn strand(&self) -> Vec<UnixStream> {
        self.connections.are_stranded.store(true, Ordering::Release);
        let mut open = self.connections.open.lock().unwrap();
        let stranded = open.drain(..).map(|[relay, server]| {
            relay.shutdown(Shutdown::Both).ok();
            server
        });
        stranded.collect()
    }
}

fn forward(stream: UnixStream, behind: &Path, connections: &Arc<Connections>) {
    let server = UnixStream::connect(behind).unwrap();
    let ends = [&stream, &server].map(|end| end.try_clone().unwrap());
    connections.open.lock().unwrap().push(ends);
    for (from, to) in [(&stream, &server), (&server, &stream)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let connections = Arc::clone(connections);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read) = from.read(&mut buffer) {
                if read == 0 || to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            if !connections.are_stranded.load(Ordering::Acquire) {
                from.shutdown(Shutdown::Both).ok();
                to.shutdown(Shutdown::Both).ok();
            }
        });
    }
}

#[test]
fn a_frontend_notices_nothing_of_connections_that_break() {
    let scenario = "[[turn]]\n\
                    steps = [{ text = \"0123456789abcdef\", repeat = 20000 }]\n";
    let server = Server::new(scenario);
    let between = Between::new(&server);
    let flag = between.flag();
    let mut client = server.world.child(&["acp", &flag]);
    let session = client.shake_hands_acp(json!({}), &server.world.path("work"));
    between.cut();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    client.request_acp(3, "session/prompt", prompt);
    let (mut text, mut frames) = (String::new(), 0);
    loop {
        let frame = client.json();
        frames += 1;
        if frames % 500 == 1 {
            between.cut();
        }
        let update = &frame["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            text.push_str(update["content"]["text"].as_str().unwrap());
        }
        if frame["id"] == 3 {
            assert_eq!(frame["result"]["stopReason"], "end_turn");
            break;
        }
    }
    assert!(
        text == "0123456789abcdef".repeat(20_000),
        "{} bytes",
        text.len()
    );
    client.end();
}

#[test]
fn a_relay_that_comes_back_before_the_server_has_noticed_that_it_was_gone_goes_on() {
    let server = Server::new("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let between = Between::new(&server);
    let flag = between.flag();
    let mut client = server.world.child(&["acp", &flag]);
    let session = client.shake_hands_acp(json!({}), &server.world.path("work"));
    let mut stranded = Vec::new();
    for (id, text) in [(3, "One."), (4, "Two.")] {
        stranded.extend(between.strand());
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
        let lines = client.ask_acp(id, "session/prompt", prompt);
        assert!(lines.concat().contains(text), "{lines:#?}");
    }
    assert_eq!(stranded.len(), 2);
    client.end();
}

#[test]
fn a_frontend_whose_server_dies_before_it_answers_gets_an_error_in_its_dialect() {
    let world = World::new("", "");
    let socket = world.path("dying");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            // Before it has read anything, or when it has read something.
            if number % 2 == 0 {
                (&stream).read_exact(&mut [0]).unwrap();
            }
        }
    });
    let attach = format!("--attach={}", socket.display());
    for (words, error) in [
        (&["acp"][..], r#""error":{"code":-32603"#),
        (&["--mode", "rpc"], r#""command":"attach","success":false"#),
        (&["--rpc-edn"], ":kind :error"),
        (&["rpc"], r#""type":"error""#),
    ] {
        for _ in 0..2 {
            let words = [words, &[&attach]].concat();
            let ran = world.command(&words).output().unwrap();
            let (out, err) = (
                String::from_utf8(ran.stdout).unwrap(),
                String::from_utf8(ran.stderr).unwrap(),
            );
            assert!(
                out.contains(error) && out.contains(ENDED),
                "{words:?}: {out}"
            );
            assert_eq!(err, format!("stentor: {ENDED}\n"), "{words:?}");
            assert_eq!(ran.status.code(), Some(1));
        }
    }
}

#[test]
fn a_frontend_whose_server_was_killed_gets_an_error_in_its_dialect_and_can_go_on_later() {
    let scenario = "[[turn]]\nsteps = [{ text = \"Begun \" }, { wait_for = \"never\" }]\n";
    let server = Server::new(scenario);
    let mut acp = server.relay(&["acp"]);
    let session = acp.shake_hands_acp(json!({}), &server.world.path("work"));
    let mut omp = server.relay(&["--mode", "rpc"]);
    assert_eq!(omp.json()["type"], "ready");
    let mut synaps = server.relay(&["rpc"]);
    assert_eq!(synaps.json()["type"], "ready");
    let mut psi = server.relay(&["--rpc-edn"]);
    psi.shake_hands_psi();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    acp.request_acp(3, "session/prompt", prompt);
    acp.until(|line| line.contains("Begun "));
    kill_process(server.process.pid(), Signal::KILL).unwrap();

    let why = ENDED;
    let last = |mut client: Child| {
        let line = client.until(|line| line.contains(why)).pop().unwrap();
        assert_eq!(client.exit_code(), Some(1));
        line
    };
    let json = |line: String| serde_json::from_str::<Value>(&line).unwrap();
    assert_eq!(
        json(last(acp)),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32603, "message": why } })
    );
    assert_eq!(
        json(last(omp)),
        json!({ "type": "response", "command": "attach", "success": false, "error": why })
    );
    assert_eq!(
        json(last(synaps)),
        json!({ "type": "error", "message": why })
    );
    let line = last(psi);
    assert!(line.contains(":kind :error"), "{line}");

    let Server { process, world, .. } = server;
    drop(process);
    let server = Server::with(world, &[]);
    let mut client = server.relay(&["acp"]);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.ask_acp(1, "initialize", hello);
    let load = json!({
        "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [],
    });
    let lines = client.ask_acp(2, "session/load", load);
    assert!(lines.concat().contains(r#""text":"go""#), "{lines:#?}");
}

#[test]
fn a_relay_that_does_not_come_back_in_time_has_left() {
    let server = Server::with(World::new("", ""), &["--resume-within", "0"]);
    let mut relay = server.relay(&["--mode", "rpc"]);
    assert_eq!(relay.json()["type"], "ready");
    kill_process(relay.pid(), Signal::KILL).unwrap();
    let status = || {
        server
            .talk("{\"stentor\":1,\"control\":\"status\"}\n")
            .concat()
    };
    while status().contains("\"omp\"") {
        thread::yield_now();
    }
}

#[test]
fn a_relay_that_is_away_is_shown_as_that_and_others_are_not() {
    let server = Server::new("");
    let mut there = server.relay(&["rpc"]);
    assert_eq!(there.json()["type"], "ready");
    let mut away = server.relay(&["--mode", "rpc"]);
    assert_eq!(away.json()["type"], "ready");
    kill_process(away.pid(), Signal::KILL).unwrap();
    let report = || {
        let report = server.talk("{\"stentor\":1,\"control\":\"status\"}\n");
        serde_json::from_str::<Value>(&report[0]).unwrap()
    };
    let client = |name: &str| {
        let report = report();
        let clients = report["clients"].as_array().unwrap().clone();
        let mut clients = clients.into_iter();
        clients.find(|client| client["dialect"] == name).unwrap()
    };
    while !client("omp")["away"].is_u64() {
        thread::yield_now();
    }
    assert_eq!(client("synaps").get("away"), None);
    let mut counted: Vec<u64> = {
        let report = report();
        let sessions = report["sessions"].as_array().unwrap().iter();
        sessions
            .map(|session| session["clients"].as_u64().unwrap())
            .collect()
    };
    counted.sort_unstable();
    assert_eq!(counted, [0, 1]);
    let socket = server.socket().display().to_string();
    let said = server
        .world
        .asked(&["serve", "status", "--socket", &socket]);
    let line = said.lines().find(|line| line.contains("omp in")).unwrap();
    assert!(
        line.contains(", away for ") && line.ends_with(" s"),
        "{said}"
    );
}

#[test]
fn a_client_that_sends_what_is_no_frame_leaves_at_once() {
    let server = Server::new("");
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    let hello = json!({ "stentor": 1, "client": {
        "dialect": "omp", "args": ["--no-session"], "cwd": server.world.path("work"), "link": true,
    } });
    // No kind of a frame.
    let sent = [format!("{hello}\n").as_bytes(), &[9, 0, 0, 0, 0]].concat();
    stream.write_all(&sent).unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).ok();
    let status = || {
        server
            .talk("{\"stentor\":1,\"control\":\"status\"}\n")
            .concat()
    };
    while status().contains("\"omp\"") {
        thread::yield_now();
    }
}

#[test]
fn a_token_that_nobody_has_is_refused() {
    let server = Server::new("");
    let lines = server.talk("{\"stentor\":1,\"resume\":{\"token\":\"x\",\"received\":0}}\n");
    let answer: Value = serde_json::from_str(&lines[0]).unwrap();
    let message = "the server no longer knows this connection";
    assert_eq!(
        answer,
        json!({ "stentor": 1, "refused": { "message": message, "status": 1 } })
    );
}

#[test]
fn a_relay_tries_as_long_as_its_server_waits_and_says_why_it_gave_up() {
    let server = Server::with(World::new("", ""), &["--resume-within", "6"]);
    let between = Between::new(&server);
    let mut client = server.world.child(&["--mode", "rpc", &between.flag()]);
    assert_eq!(client.json()["type"], "ready");
    between.connections.is_down.store(true, Ordering::Release);
    between.cut();
    let last = client.json();
    let why = "the server could not be reached again within 6 s: the connection was closed before \
               the server answered; what it acknowledged is stored, and the session can be resumed";
    assert_eq!(
        last,
        json!({ "type": "response", "command": "attach", "success": false, "error": why })
    );
    assert_eq!(client.exit_code(), Some(1));
}
