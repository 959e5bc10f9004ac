//! Frontends that are served by a server and notice nothing of it.

use crate::server::Server;
use crate::world::{Child, World};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
const HANDSHAKE: &str =
    r#"{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#;

#[test]
fn every_dialect_is_the_same_through_a_relay() {
    let server = Server::new("");
    // What each session has of its own.
    let uuid = regex::Regex::new(r"[0-9a-f]{8}-[0-9a-f-]{27}").unwrap();
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\d?T[\d:.-]+Z").unwrap();
    for (words, line) in [
        (&["acp"][..], INITIALIZE),
        (&["rpc", "--dialect", "acp"], INITIALIZE),
        (
            &["--mode", "rpc"],
            r#"{"id":"1","type":"get_session_stats"}"#,
        ),
        (&["--rpc-edn"], HANDSHAKE),
        (&["rpc"], r#"{"type":"nonsense","id":"1"}"#),
    ] {
        let said = |mut child: Child| {
            child.send(line);
            child.close_stdin();
            let lines = child.ended();
            assert!(!lines.is_empty(), "{words:?}");
            let shown = lines.iter().map(|line| {
                let line = uuid.replace_all(line, "ID").into_owned();
                time.replace_all(&line, "TIME").into_owned()
            });
            shown.collect::<Vec<_>>()
        };
        let direct = said(server.world.child(words));
        assert_eq!(said(server.relay(words)), direct, "{words:?}");
    }
}

#[test]
fn a_client_works_where_it_was_started_and_in_its_environment() {
    let server = Server::new("");
    server.world.file("else/where.txt", "");
    let attach = server.attach();
    let mut command = server
        .world
        .command(&["--mode", "rpc", "--no-session", &attach]);
    command
        .current_dir(server.world.path("else"))
        .env("STENTOR_THINKING", "off")
        .env("MARK", "of the client");
    let root = server.world.path("");
    let mut child = Child::of(command.spawn().unwrap(), root);
    child.send(r#"{"id":"1","type":"bash","command":"pwd; echo $MARK; echo $LATER"}"#);
    let frames = child.until_type("response");
    let output = frames.last().unwrap()["data"]["output"].as_str().unwrap();
    let output = server.world.without_folder(output);
    assert_eq!(output, "~~/else\nof the client\n\n");
    child.end();
}

#[test]
fn flags_that_are_wrong_are_told_where_the_frontend_was_started() {
    let server = Server::new("");
    let attach = server.attach();
    let run = |words: &[&str]| {
        let words = [words, &[&attach]].concat();
        let ran = server.world.command(&words).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (status, err) = run(&["acp", "--frobnicate"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("unexpected argument '--frobnicate'"), "{err}");
    let (status, err) = run(&["acp", "--model", ""]);
    assert_eq!(status, Some(2), "{err}");
    assert_eq!(err, "--model: `model` is \"\", expected a name\n");
    let (status, err) = run(&["--mode", "rpc", "@file"]);
    assert_eq!(status, Some(1), "{err}");
    assert_eq!(
        err,
        "Error: @file arguments are not supported in RPC mode\n"
    );
}

#[test]
fn a_relay_without_a_server_says_how_to_start_one() {
    let world = World::new("", "");
    for words in [&["acp"][..], &["--mode", "rpc"], &["--rpc-edn"], &["rpc"]] {
        let words = [words, &["--attach=nowhere"]].concat();
        let ran = world.command(&words).output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(
            (ran.status.code(), err.as_str()),
            (
                Some(1),
                "stentor: no server listens on nowhere: No such file or directory (os error 2); \
                 start one with `stentor serve`\n"
            )
        );
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
fn a_server_of_another_user_is_told_nothing() {
    use std::os::unix::fs::{PermissionsExt, chown};
    const ANOTHER: u32 = 65534;
    let world = World::new("", "");
    let folder = world.path("shared");
    std::fs::create_dir(&folder).unwrap();
    if chown(&folder, Some(ANOTHER), None).is_err() {
        eprintln!("SKIPPED: acting as another user needs root");
        return;
    }
    std::fs::set_permissions(world.root(), PermissionsExt::from_mode(0o755)).unwrap();
    let listen = "import os,socket,sys\nos.setuid(int(sys.argv[2]))\ns=socket.socket(socket.AF_UNIX)\n\
                  s.bind(sys.argv[1])\ns.listen()\nprint('ready',flush=True)\nc,_=s.accept()\n\
                  print(c.recv(9),flush=True)";
    let socket = folder.join("serve.sock").display().to_string();
    let planted = std::process::Command::new("python3")
        .args(["-c", listen, &socket, &ANOTHER.to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut planted) = planted else {
        eprintln!("SKIPPED: there is no Python");
        return;
    };
    let mut heard = std::io::BufReader::new(planted.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut heard, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let ran = world
        .command(&["acp", &format!("--attach={socket}")])
        .output()
        .unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(err.contains("its process belongs to another user"), "{err}");
    line.clear();
    std::io::BufRead::read_line(&mut heard, &mut line).unwrap();
    assert_eq!(line, "b''\n");
    planted.wait().unwrap();
}

#[test]
fn the_users_file_can_ask_for_a_server_that_runs_or_for_one_to_be_started() {
    let run = |world: &World, socket: &str| {
        let mut command = world.command(&["acp"]);
        command.env("STENTOR_SOCKET", world.path(socket));
        let root = world.path("");
        let mut child = Child::of(command.spawn().unwrap(), root);
        child.send(INITIALIZE);
        child.close_stdin();
        let lines = child.ended();
        assert!(lines[0].contains("agentInfo"), "{lines:#?}");
    };
    let status = |world: &World| {
        let mut command = world.command(&["serve", "status"]);
        command.env("STENTOR_SOCKET", world.path("s"));
        command.output().unwrap().status.code()
    };
    // With nobody there it serves by itself.
    let world = World::new("", "attach = \"if-running\"\n");
    run(&world, "s");
    assert_eq!(status(&world), Some(1));

    let world = World::new("", "attach = \"start\"\n");
    run(&world, "s");
    assert_eq!(status(&world), Some(0));
    run(&world, "s");
    let mut stop = world.command(&["serve", "stop"]);
    let stopped = stop.env("STENTOR_SOCKET", world.path("s")).status();
    assert!(stopped.unwrap().success());
}

#[test]
fn frontends_that_come_at_once_start_one_server_and_all_are_served() {
    let world = World::new("", "attach = \"start\"\n");
    let relay = |_| {
        let mut command = world.command(&["acp"]);
        command.env("STENTOR_SOCKET", world.path("s"));
        Child::of(command.spawn().unwrap(), world.path(""))
    };
    let mut relays: Vec<Child> = (0..12).map(relay).collect();
    for relay in &mut relays {
        relay.send(INITIALIZE);
        assert!(relay.json()["result"]["agentInfo"].is_object());
    }
    let mut stop = world.command(&["serve", "stop"]);
    let stopped = stop.env("STENTOR_SOCKET", world.path("s")).status();
    assert!(stopped.unwrap().success());
}

#[test]
fn the_reason_is_shown_when_a_server_cannot_be_started() {
    let world = World::new("", "attach = \"start\"\n");
    world.file("run", "a file");
    let ran = world
        .command(&["--mode", "rpc"])
        .env("XDG_RUNTIME_DIR", world.path("run"))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(
        world.without_folder(&said),
        "the server ended when it was started: cannot listen on \
         ~~/run/stentor/serve.sock: Not a directory (os error 20)\n"
    );
}
