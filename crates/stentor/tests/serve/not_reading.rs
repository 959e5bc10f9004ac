//! Clients that are connected and read nothing, over every transport, while another one works.

use std::net::TcpStream;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::acp_http;
use crate::clients::{acp, prompt, server_with};
use crate::http_client::Socket;
use crate::server::Server;

/// Calls of one answer, each with a result of this many bytes. It is more than all buffers on the
/// way to a client hold, and more events than wait for one.
const CALLS: usize = 500;
const RESULT_BYTES: usize = 40_000;

fn busy() -> Server {
    let call = "{ tool = \"read\", arguments = { path = \"big.txt\" } }";
    let calls = vec![call; CALLS].join(",\n");
    let scenario = format!("[[turn]]\nsteps = [{calls}]\n[[turn]]\ntext = \"Done.\"\n");
    let server = server_with(&scenario, "", &["--http", "0"]);
    let line = "x".repeat(999) + "\n";
    let text = line.repeat(RESULT_BYTES / line.len());
    server.world.file("work/big.txt", &text);
    server
}

/// Has the kernel take little for a client that does not read.
fn take_little(stream: &TcpStream) {
    set_socket_recv_buffer_size(stream, 64 << 10).unwrap();
}

/// The clients that the server says are connected.
fn dialects(server: &Server) -> Vec<String> {
    let lines = server.talk("{\"stentor\":1,\"control\":\"status\"}\n");
    let status: Value = serde_json::from_str(&lines[0]).unwrap();
    let clients = status["clients"].as_array();
    let clients = clients.unwrap_or_else(|| panic!("{status}")).iter();
    clients
        .map(|client| client["dialect"].as_str().unwrap().to_owned())
        .collect()
}

/// Reads what is left of a WebSocket; the code and the reason it is closed with.
fn close_of(socket: &mut Socket) -> (u16, String) {
    loop {
        match socket.socket.read() {
            Ok(Message::Close(Some(frame))) => {
                return (frame.code.into(), frame.reason.to_string());
            }
            Ok(_) => {}
            Err(Error::ConnectionClosed) => panic!("closed without a reason"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn clients_that_do_not_read_are_disconnected_and_the_session_goes_on() {
    let server = busy();
    let (mut one, session) = acp(&server);

    let mut page = server.web_socket("/page");
    page.send(&json!({ "do": "open", "session": session }).to_string());
    page.until("\"transcript\"");
    take_little(page.socket.get_ref());

    let mut web = server.web_socket("/acp");
    web.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#);
    let load = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/load", "params": {
        "sessionId": session, "cwd": server.world.path("work"), "mcpServers": [] } });
    web.send(&load.to_string());
    web.until("\"id\":2");
    take_little(web.socket.get_ref());

    let http = acp_http::Client::open(&server);
    let mut events = http.stream(&[]);
    assert_eq!(
        http.post(&load, &[&format!("Acp-Session-Id: {session}")])
            .status,
        202
    );
    let of_session = http.stream(&[&format!("Acp-Session-Id: {session}")]);
    take_little(of_session.stream());
    assert_eq!(events.event()["id"], 2);

    prompt(&mut one, 3, &session, "read all of it");
    let lines = one.until_answer(3);
    assert!(lines.concat().contains("Done."));
    // Those that kept it waiting are gone; what HTTP may hold back was enough for the third.
    let mut left = dialects(&server);
    left.sort();
    assert_eq!(left, ["acp", "acp"]);
    for socket in [&mut page, &mut web] {
        let why = "disconnected: nothing was read here while other clients of the session waited";
        assert_eq!(close_of(socket), (1011, why.to_owned()));
    }
    drop((of_session, events));
}

#[test]
fn a_server_whose_clients_do_not_read_stops() {
    let server = busy();
    let mut page = server.web_socket("/page");
    take_little(page.socket.get_ref());
    page.send(r#"{"do":"prompt","text":"read all of it"}"#);
    // It has the session to itself, so it is waited for.
    let file = server.world.path("sessions");
    while !std::fs::read_dir(&file).is_ok_and(|mut files| files.next().is_some()) {
        std::thread::yield_now();
    }
    let mut stop = server.world.command(&["serve", "stop", "--socket"]);
    let stopped = stop.arg(server.socket()).output().unwrap();
    assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    assert_eq!(server.process.exit_code(), Some(0));
}
