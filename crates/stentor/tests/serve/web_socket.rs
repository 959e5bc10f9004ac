//! The dialects over WebSocket: a frame is a message.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::http_client::http_server;
use crate::server::Server;

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn each_dialect_has_a_path() {
    let server = http_server("[[turn]]\ntext = \"Hello.\"\n[[turn]]\ntext = \"Hello.\"\n");

    let mut acp = server.web_socket("/acp");
    assert!(acp.answer.headers().contains_key("acp-connection-id"));
    acp.send(INITIALIZE);
    assert_eq!(acp.json()["result"]["protocolVersion"], 1);

    let mut omp = server.web_socket("/omp?arg=--no-session");
    assert_eq!(omp.json()["type"], "ready");
    omp.send("{\"id\":\"1\",\n \"type\":\"prompt\",\n \"message\":\"hi\"}\n");
    let frames = omp.until(r#""type":"agent_end""#);
    assert!(frames.concat().contains("Hello."), "{frames:#?}");

    let mut psi = server.web_socket("/psi");
    psi.send(r#"{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#);
    psi.until(":op \"handshake\"");

    let mut synaps = server.web_socket("/synaps");
    assert_eq!(synaps.json()["type"], "ready");
    synaps.send(r#"{"type":"nonsense","id":"1"}"#);
    assert_eq!(synaps.json()["type"], "error");
}

#[test]
fn the_query_says_where_a_client_works() {
    let server = http_server("");
    server.world.file("else/where.txt", "");
    let folder = server.world.path("else").display().to_string();
    let mut omp = server.web_socket(&format!("/omp?arg=--no-session&cwd={folder}"));
    omp.json();
    omp.send(r#"{"id":"1","type":"bash","command":"ls"}"#);
    let frames = omp.until(r#""type":"response""#);
    assert!(frames.concat().contains("where.txt"), "{frames:#?}");
    let token = server.token("drive");
    let bearer = [("Authorization", format!("Bearer {token}"))];
    let bearer = bearer
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let refused = server.web_socket_with("/omp?cwd=here", &bearer);
    assert_eq!(refused.err(), Some(503));
}

#[test]
fn acp_begins_with_initialize() {
    let server = http_server("");
    for frame in [
        r#"{"jsonrpc":"2.0","id":1,"method":"session/list"}"#,
        "nonsense",
    ] {
        let mut acp = server.web_socket("/acp");
        acp.send(frame);
        assert_eq!(acp.closed(), 1002, "{frame}");
    }
    let mut acp = server.web_socket("/acp");
    acp.send("[]");
    assert_eq!(
        acp.json(),
        json!({ "jsonrpc": "2.0", "id": null, "error": {
            "code": -32600, "message": "JSON-RPC batches are not supported",
        } })
    );
    acp.send(INITIALIZE);
    assert_eq!(acp.json()["id"], 1);
    acp.send(INITIALIZE);
    assert_eq!(acp.json()["error"]["code"], -32600);
}

#[test]
fn a_frame_of_psi_is_one_line() {
    let server = http_server("");
    let mut psi = server.web_socket("/psi");
    psi.send("{:id \"1\"\n:kind :request}");
    assert_eq!(psi.closed(), 1007);
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let server = http_server("");
    let mut socket = server.web_socket("/omp?arg=--no-session");
    assert_eq!(socket.json()["type"], "ready");
    socket.begin_text((64 << 20) + 1);
    assert_eq!(socket.closed(), 1009);
}

#[test]
fn a_text_frame_that_is_no_utf_8_is_refused() {
    let server = http_server("");
    let mut socket = server.web_socket("/omp?arg=--no-session");
    assert_eq!(socket.json()["type"], "ready");
    // A text of two bytes, with a mask that changes none.
    let frame = [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe];
    socket.socket.get_mut().write_all(&frame).unwrap();
    assert_eq!(socket.closed(), 1007);
}

#[test]
fn a_server_stops_though_clients_leave_requests_and_closing_half_done() {
    let server = http_server("");
    let half = |text: &str| {
        let mut stream = TcpStream::connect(server.host()).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let request = half("GET / HT");
    let (host, bearer) = (server.host(), server.bearer());
    let body = half(&format!(
        "POST /acp HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\nContent-Length: 100\r\n\r\n{{"
    ));
    let mut silent = server.web_socket("/omp?arg=--no-session");
    assert_eq!(silent.json()["type"], "ready");
    server.talk("{\"stentor\":1,\"control\":\"stop\"}\n");
    let Server { process, .. } = server;
    let err = process.end_and_stderr();
    assert!(!err.contains("not all connections ended in time"), "{err}");
    drop((request, body, silent));
}

#[test]
fn a_server_that_stops_says_so() {
    let mut server = http_server("");
    let mut omp = server.web_socket("/omp");
    assert_eq!(omp.json()["type"], "ready");
    let pid = server.process.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(omp.closed(), 1001);
    server.process.close_stdin();
    assert_eq!(server.process.exit_code(), Some(143));
}

#[test]
fn the_program_prints_the_address_of_the_page_and_starts_a_server_for_it() {
    let world = crate::world::World::new("", "");
    let socket = world.path("p").display().to_string();
    let page = |words: &[&str]| {
        let words = [&["page", "--print", "--socket", &socket], words].concat();
        world.asked(&words)
    };
    let address = page(&[]);
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert!(address.contains("/#token="), "{address}");
    assert!(address.trim_end().ends_with("work"), "{address}");
    assert_eq!(page(&[]), address);
    assert_ne!(page(&["--observe"]), address);
    let status = world.asked(&["serve", "status", "--json", "--socket", &socket]);
    let status: Value = serde_json::from_str(&status).unwrap();
    let http = status["http"]["address"].as_str().unwrap();
    assert!(address.starts_with(http), "{status}");
    world.asked(&["serve", "stop", "--socket", &socket]);
}

#[test]
fn a_server_without_http_opens_it_for_the_page_with_a_token_and_on_loopback() {
    let server = crate::server::Server::new("");
    assert_eq!(server.ready.get("http"), None);
    let socket = server.socket().display().to_string();
    let page = || {
        server
            .world
            .asked(&["page", "--print", "--socket", &socket])
    };
    let address = page();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert!(address.contains("/#token="), "{address}");
    assert_eq!(page(), address);
    let status = server
        .world
        .asked(&["serve", "status", "--json", "--socket", &socket]);
    let status: Value = serde_json::from_str(&status).unwrap();
    let http = status["http"]["address"].as_str().unwrap();
    assert!(address.starts_with(http), "{status}");
    let host = http.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let request = format!("GET /omp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    server.world.asked(&["serve", "stop", "--socket", &socket]);
}

#[test]
fn an_older_server_without_http_has_no_page() {
    let world = crate::world::World::new("", "");
    let socket = world.path("older");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        let status = r#"{"epoch":"1","pid":1,"clients":[],"sessions":[]}"#;
        let refused = r#"{"stentor":1,"refused":{"message":"what?","status":1}}"#;
        for (stream, answer) in listener.incoming().zip([status, refused]) {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            std::io::BufReader::new(&stream)
                .read_line(&mut line)
                .unwrap();
            writeln!(stream, "{answer}").unwrap();
        }
    });
    let socket = socket.display().to_string();
    let ran = world
        .command(&["page", "--socket", &socket])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!(
        world.without_folder(&String::from_utf8_lossy(&ran.stderr)),
        "stentor: the server on ~~/older does not serve HTTP: the server refuses: what?; stop it with \
         `stentor serve stop`, or start one with `stentor serve --http PORT`\n"
    );
}
