//! How a server starts and stops.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::server::{Server, start};
use crate::world::{Child, World};

fn run(server: &Server, words: &[&str]) -> (Option<i32>, String, String) {
    let socket = server.socket().display().to_string();
    let words = [&["serve"], words, &["--socket", &socket]].concat();
    let ran = server.world.command(&words).output().unwrap();
    let text = |bytes: &[u8]| server.world.without_folder(&String::from_utf8_lossy(bytes));
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[test]
fn it_prints_one_line_when_it_is_ready_and_only_its_user_may_connect() {
    let server = Server::new("");
    let (pid, epoch) = (&server.ready["pid"], &server.ready["epoch"]);
    assert_eq!(*pid, server.process.pid().as_raw_nonzero().get());
    assert!(!epoch.as_str().unwrap().is_empty());
    let expected =
        json!({ "type": "ready", "socket": server.socket(), "pid": pid, "epoch": epoch });
    assert_eq!(server.ready, expected);
    let mode = server.socket().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn it_reports_its_clients_and_stops_when_asked() {
    let server = Server::new("");
    let mut relay = server.relay(&["--mode", "rpc", "--no-session"]);
    assert_eq!(relay.json()["type"], "ready");
    let (status, out, err) = run(&server, &["status", "--json"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        report["clients"],
        json!([{ "dialect": "omp", "cwd": "~~/work", "observes": false }])
    );
    let (status, out, _) = run(&server, &["status"]);
    assert_eq!(status, Some(0));
    let pid = server.process.pid().as_raw_nonzero();
    assert_eq!(
        out,
        format!("A server listens on ~~/s (process {pid}).\n  omp in ~~/work\n")
    );
    assert_eq!(
        run(&server, &["stop"]),
        (Some(0), String::new(), String::new())
    );
    assert!(!server.socket().exists());
    let Server { process, world, .. } = server;
    assert_eq!(process.exit_code(), Some(0));
    assert_eq!(relay.exit_code(), Some(143));
    let words = ["serve", "stop", "--socket", "s"];
    let ran = world.command(&words).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&ran.stderr),
        "stentor: no server listens on s: No such file or directory (os error 2); start one with \
         `stentor serve`\n"
    );
}

#[test]
fn a_second_one_on_its_socket_is_refused() {
    let server = Server::new("");
    assert_eq!(
        run(&server, &[]),
        (
            Some(1),
            String::new(),
            "stentor: a server already listens on ~~/s; stop it with `stentor serve stop`\n".into()
        )
    );
    assert_eq!(run(&server, &["status"]).0, Some(0));
}

#[test]
fn what_a_killed_one_left_behind_is_replaced() {
    let server = Server::new("");
    kill_process(server.process.pid(), Signal::KILL).unwrap();
    let Server { world, process, .. } = server;
    assert_eq!(process.exit_code(), None);
    assert!(world.path("s").exists());
    let (process, ready) = start(&world, &[]);
    assert_eq!(ready["type"], "ready");
    drop(process);
}

#[test]
#[cfg(target_os = "linux")]
fn the_lock_is_waited_for_when_only_something_has_it_that_a_killed_one_was_starting() {
    let world = World::new("", "");
    let mut killed = Command::new("true").spawn().unwrap();
    killed.wait().unwrap();
    world.file("s.lock", &format!("{}\n", killed.id()));
    let path = world.path("s.lock");
    let lock = std::fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    let socket = world.path("s").display().to_string();
    let mut process = world.child(&["serve", "--socket", &socket]);
    let pid = process.pid().as_raw_nonzero().to_string();
    let looks_at_it = || {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok();
        let mut open = open.into_iter().flatten().flatten();
        open.any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == path))
    };
    while !looks_at_it() && !stentor_test_support::is_dead(&pid) {
        std::thread::yield_now();
    }
    drop(lock);
    assert_eq!(process.json()["type"], "ready");
}

#[test]
fn a_file_that_is_no_socket_stays() {
    let world = World::new("", "");
    world.file("s", "precious");
    let socket = world.path("s").display().to_string();
    let ran = world.command(&["serve", "--socket", &socket]).output();
    let err = String::from_utf8(ran.unwrap().stderr).unwrap();
    assert_eq!(
        world.without_folder(&err),
        "stentor: ~~/s exists and is not a socket; choose another --socket\n"
    );
    assert_eq!(
        std::fs::read_to_string(world.path("s")).unwrap(),
        "precious"
    );
}

#[test]
fn a_signal_ends_it_and_what_runs_is_recorded_as_interrupted() {
    let scenario = "[[turn]]\nsteps = [{ thinking = \"hm\" }, { wait_for = \"never\" }]\n";
    let server = Server::new(scenario);
    let mut relay = server.relay(&["acp"]);
    let session = relay.shake_hands_acp(json!({}), &server.world.path("work"));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    relay.request_acp(3, "session/prompt", prompt);
    relay.until(|line| line.contains("agent_thought_chunk"));
    kill_process(server.process.pid(), Signal::TERM).unwrap();
    let answer = relay.until_answer(3).pop().unwrap();
    assert!(answer.contains(r#""stopReason":"cancelled""#), "{answer}");
    let Server { process, world, .. } = server;
    assert_eq!(process.exit_code(), Some(143));
    assert_eq!(relay.exit_code(), Some(143));
    let exported = world.asked(&["export", &session, "-o", "-"]);
    assert!(exported.contains("aborted"), "{exported}");
}

#[test]
fn it_ends_by_itself_when_nobody_is_connected() {
    let world = World::new("", "");
    let server = Server::with(world, &["--exit-when-idle", "0"]);
    assert_eq!(server.process.exit_code(), Some(0));
}

#[test]
fn one_that_ends_by_itself_admits_others_however_long_the_first_client_is_there() {
    /// Long enough for the first client to come.
    const PERIOD_S: u64 = 2;
    let flags = ["--exit-when-idle", &PERIOD_S.to_string(), "--http", "0"];
    let server = Server::with(World::new("", ""), &flags);
    let began = Instant::now();
    let mut first = server.relay(&["--mode", "rpc", "--no-session"]);
    assert_eq!(first.json()["type"], "ready");
    while began.elapsed() <= 2 * Duration::from_secs(PERIOD_S) {
        let mut second = server.relay(&["--mode", "rpc", "--no-session"]);
        assert_eq!(second.json()["type"], "ready");
        let mut third = server.web_socket("/omp?arg=--no-session");
        assert_eq!(third.json()["type"], "ready");
        // One that is killed could come back, and is waited for.
        second.close_stdin();
        assert_eq!(second.exit_code(), Some(0));
    }
    first.close_stdin();
    let Server { process, .. } = server;
    assert_eq!(process.exit_code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_socket_that_was_passed_to_it_is_used_and_stays() {
    const PASS: &str = "import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], sys.argv[2:])
";
    let world = World::new("", "");
    let program = world.command(&[]).get_program().to_owned();
    let mut command = {
        let mut passing = Command::new("python3");
        passing
            .args(["-c", PASS])
            .arg(world.path("s"))
            .arg(program)
            .arg("serve")
            .env_clear()
            .env("HOME", world.path("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(world.path("work"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        passing
    };
    let mut process = Child::of(command.spawn().unwrap(), world.path(""));
    assert_eq!(process.json()["socket"], world.path("s").to_str().unwrap());
    let mut stream = std::os::unix::net::UnixStream::connect(world.path("s")).unwrap();
    stream
        .write_all(b"{\"stentor\":1,\"control\":\"stop\"}\n")
        .unwrap();
    assert_eq!(process.exit_code(), Some(0));
    assert!(world.path("s").exists());
}

#[test]
fn its_lock_is_its_users_alone_and_goes_with_it() {
    let server = Server::new("");
    let lock = server.world.path("s.lock");
    assert_eq!(lock.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(run(&server, &["stop"]).0, Some(0));
    let Server { process, .. } = server;
    assert_eq!(process.exit_code(), Some(0));
    assert!(!lock.exists());
}
