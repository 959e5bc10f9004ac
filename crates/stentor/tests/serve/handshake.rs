//! The first lines of a connection.

use serde_json::{Value, json};

use crate::server::Server;
use crate::world::World;

fn refused(lines: &[String]) -> String {
    let [line] = lines else {
        panic!("{lines:#?}");
    };
    let answer: Value = serde_json::from_str(line).unwrap();
    assert_eq!(answer["stentor"], 1);
    answer["refused"]["message"].as_str().unwrap().to_owned()
}

const NO_HELLO: &str = "the first line must be a JSON object with `stentor`, the version, and one of \
                        `client`, `resume`, `release` and `control`";

#[test]
fn a_client_that_says_something_else_is_told_and_the_server_goes_on() {
    let server = Server::new("");
    for (line, why) in [
        ("hello\n", NO_HELLO),
        ("{}\n", NO_HELLO),
        ("{\"stentor\":1,\"control\":\"dance\"}\n", NO_HELLO),
        (
            "{\"stentor\":2}\n",
            "the handshake has version 2, this program speaks version 1",
        ),
        ("", "the first line is missing"),
        (
            "{\"stentor\":1,\"client\":{\"dialect\":\"klingon\",\"cwd\":\"/\"}}\n",
            "there is no dialect \"klingon\"",
        ),
        (
            "{\"stentor\":1,\"client\":{\"dialect\":\"acp\",\"cwd\":\"here\"}}\n",
            "the working folder \"here\" is not absolute",
        ),
    ] {
        let message = refused(&server.talk(line));
        assert!(message.starts_with(why), "{line}: {message}");
    }
    let long = format!("{{\"stentor\":1,\"x\":\"{}\"}}\n", "x".repeat(2 << 20));
    let lines = server.talk(&long);
    // What the kernel threw away with the rest of the line may include the answer.
    if !lines.is_empty() {
        assert!(refused(&lines).contains("longer than"));
    }
    assert_eq!(
        server
            .talk("{\"stentor\":1,\"control\":\"status\"}\n")
            .len(),
        1
    );
}

#[test]
fn frames_may_follow_the_first_line_at_once() {
    let server = Server::new("");
    let client = json!({ "stentor": 1, "client": {
        "dialect": "acp", "cwd": server.world.path("work"),
        "env": { "HOME": server.world.path("home") },
    } });
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let lines = server.talk(&format!("{client}\n{initialize}\n"));
    let welcome: Value = serde_json::from_str(&lines[0]).unwrap();
    let epoch = &server.ready["epoch"];
    assert_eq!(
        welcome,
        json!({ "stentor": 1, "served": { "epoch": epoch, "pid": server.ready["pid"] } })
    );
    assert!(lines[1].contains(r#""agentInfo""#), "{lines:#?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn one_connection_too_many_is_refused_with_the_limit() {
    let server = Server::with(World::new("", ""), &["--max-connections", "1"]);
    let mut first = server.relay(&["--mode", "rpc"]);
    assert_eq!(first.json()["type"], "ready");
    let attach = server.attach();
    let second = server.world.command(&["acp", &attach]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&second.stderr),
        "the server has 1 connections already, which is its limit\n"
    );
    first.end();
}
