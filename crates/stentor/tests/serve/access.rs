//! Who may reach the server over HTTP.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::http_client::http_server;
use crate::server::Server;
use crate::world::World;

const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

fn status(server: &Server, path: &str, headers: &[&str]) -> u16 {
    let headers = [headers, &UPGRADE].concat();
    server.send(&format!("GET {path}"), &headers, "").status
}

#[test]
fn it_says_where_it_listens_and_the_token_is_in_a_file_of_the_users() {
    let server = http_server("");
    assert!(server.host().starts_with("127.0.0.1:"), "{}", server.host());
    let file = server.world.path("serve.token");
    assert_eq!(server.ready["token_file"], file.to_str().unwrap());
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_ne!(server.token("drive"), server.token("observe"));
    let line = server.ready.to_string();
    assert!(!line.contains(&server.token("drive")), "{line}");
}

#[test]
fn nothing_but_the_page_is_had_without_a_token() {
    let server = http_server("");
    for path in ["/acp", "/omp", "/psi", "/synaps", "/page", "/nowhere"] {
        assert_eq!(status(&server, path, &[]), 401, "{path}");
    }
    assert_eq!(server.ask("POST /acp", &[], "{}").status, 401);
    assert_eq!(
        server.ask("GET /nowhere", &[&server.bearer()], "").status,
        404
    );
    assert_eq!(server.ask("GET /omp", &[&server.bearer()], "").status, 426);
    for path in ["/", "/page.js", "/page.css"] {
        let answer = server.ask(&format!("GET {path}"), &[], "");
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    assert_eq!(server.ask("POST /", &[], "{}").status, 405);
}

#[test]
fn a_token_is_taken_wherever_a_client_can_put_it() {
    let server = http_server("");
    let token = server.token("drive");
    assert_eq!(status(&server, "/omp", &[&server.bearer()]), 101);
    assert_eq!(status(&server, &format!("/{token}/omp"), &[]), 101);
    let protocols = format!("Sec-WebSocket-Protocol: stentor, stentor.token.{token}");
    let headers = [&[protocols.as_str()][..], &UPGRADE].concat();
    let answer = server.send("GET /omp", &headers, "");
    assert_eq!(answer.status, 101);
    let named = |line: &&String| line.to_lowercase().starts_with("sec-websocket-protocol");
    let named: Vec<&String> = answer.headers.iter().filter(named).collect();
    assert_eq!(named, ["sec-websocket-protocol: stentor"]);
}

#[test]
fn requests_of_foreign_pages_and_for_foreign_names_are_refused_even_with_the_token() {
    let server = http_server("");
    let bearer = server.bearer();
    let host = server.host();
    let own = format!("Origin: http://{host}");
    assert_eq!(status(&server, "/omp", &[&bearer, &own]), 101);
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "http://localhost",
    ] {
        let origin = format!("Origin: {origin}");
        assert_eq!(
            status(&server, "/omp", &[&bearer, &origin]),
            403,
            "{origin}"
        );
        let post = ["Content-Type: application/json", &bearer, &origin];
        assert_eq!(server.ask("POST /acp", &post, "{}").status, 403, "{origin}");
    }
    let site = "Sec-Fetch-Site: cross-site";
    assert_eq!(status(&server, "/omp", &[&bearer, site]), 403);
    for name in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
    ] {
        let name = format!("Host: {name}");
        assert_eq!(status(&server, "/omp", &[&bearer, &name]), 421, "{name}");
        assert_eq!(server.ask("GET /", &[&name], "").status, 421, "{name}");
    }
    // A form can be sent by any page, but says so, bears nothing and is no JSON.
    let form = ["Content-Type: application/x-www-form-urlencoded", &bearer];
    assert_eq!(server.ask("POST /acp", &form, "a=b").status, 415);
    assert_eq!(server.ask("OPTIONS /acp", &[], "").status, 401);
}

#[test]
fn a_proxy_in_front_has_an_origin_of_its_own() {
    let flags = ["--http", "0", "--origin", "https://stentor.example"];
    let server = Server::with(World::new("", ""), &flags);
    let headers = [
        &server.bearer(),
        "Host: stentor.example",
        "Origin: https://stentor.example",
    ];
    assert_eq!(status(&server, "/omp", &headers), 101);
    let foreign = [&server.bearer(), "Origin: https://other.example"];
    assert_eq!(status(&server, "/omp", &foreign), 403);
}

#[test]
fn who_sends_too_many_wrong_tokens_has_to_wait() {
    let server = http_server("");
    let wrong = format!("Authorization: Bearer {}", "x".repeat(43));
    let statuses: Vec<u16> = (0..12)
        .map(|_| status(&server, "/omp", &[&wrong]))
        .collect();
    assert_eq!(statuses[..10], [401; 10]);
    assert_eq!(statuses[11], 429);
    let answer = server.ask("POST /acp", &[&wrong], "{}");
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
    // Others at the same address do not keep out who has the right one.
    let answer = server.ask("GET /omp", &[&server.bearer()], "");
    assert_eq!(answer.status, 426);
    // The page itself is still there to say so.
    assert_eq!(server.ask("GET /", &[], "").status, 200);
}

#[test]
fn it_does_not_listen_beyond_this_machine_without_a_token_that_was_named() {
    let world = World::new("", "");
    let socket = world.path("s").display().to_string();
    let words = ["serve", "--socket", &socket, "--http", "0.0.0.0:0"];
    let ran = world.command(&words).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!(
        err,
        "stentor: 0.0.0.0:0 can be reached from other machines: that needs a token that is known \
         there, so name its file with --token-file. What is sent is not encrypted: put TLS in front, \
         as a proxy does, and listen on loopback\n"
    );
    assert!(!world.path("s").exists());
}

#[test]
fn a_token_file_that_others_can_read_is_not_used() {
    let world = World::new("", "");
    world.file("tokens", "drive x\n");
    let (socket, tokens) = (world.path("s").display().to_string(), world.path("tokens"));
    let run = |mode: u32| {
        std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(mode)).unwrap();
        let tokens = tokens.display().to_string();
        let words = [
            "serve",
            "--socket",
            &socket,
            "--http",
            "0",
            "--token-file",
            &tokens,
        ];
        let ran = world.command(&words).output().unwrap();
        assert_eq!(ran.status.code(), Some(1));
        world.without_folder(&String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(
        run(0o644),
        "stentor: ~~/tokens can be read by others; `chmod 600` it, or remove it and get a new one\n"
    );
    assert_eq!(
        run(0o600),
        "stentor: ~~/tokens: a token is at least 32 letters, digits, `-` or `_`\n"
    );
    // Nobody writes to this one; it is not waited for.
    std::fs::remove_file(&tokens).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&tokens).status();
    assert!(made.unwrap().success());
    assert_eq!(
        run(0o600),
        "stentor: ~~/tokens: it must have a line `drive TOKEN` and a line `observe TOKEN`; remove it \
         and get a new one\n"
    );
}

#[test]
fn a_request_with_too_many_headers_is_refused() {
    let server = http_server("");
    let many: Vec<String> = (0..70).map(|number| format!("X-{number}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(server.ask("GET /", &many, "").status, 431);
    assert_eq!(server.ask("GET /", &[], "").status, 200);
}

#[test]
fn connections_without_a_token_keep_nobody_out_who_has_one() {
    /// More than there are places.
    const STRANGERS: usize = 600;
    /// Those of them that had to go at most.
    const GONE: usize = 100;
    let server = http_server("");
    let mut owner = server.web_socket("/omp?arg=--no-session");
    assert_eq!(owner.json()["type"], "ready");
    let connect = |_| TcpStream::connect(server.host()).unwrap();
    let mut strangers: Vec<TcpStream> = (0..STRANGERS).map(connect).collect();
    let mut another = server.web_socket("/omp?arg=--no-session");
    assert_eq!(another.json()["type"], "ready");
    owner.send(r#"{"id":"g","type":"get_state"}"#);
    owner.until(r#""id":"g""#);
    // The oldest have made way, no more than had to: nobody waited until they were all given up.
    assert_eq!(strangers[0].read(&mut [0]).unwrap_or(0), 0);
    for stranger in &mut strangers[GONE..] {
        stranger.set_nonblocking(true).unwrap();
        let nothing = stranger.read(&mut [0]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    }
}
