//! How a child ends (section 14).

use std::io::Read;
use std::process::Stdio;

use stentor_test_support::{when_dead, when_written};

use crate::child::{Child, Home};

const SLEEPS: &str = "[[turn]]\nsteps = [{ text = \"Wait. \" }, { tool = \"bash\", id = \"t\", arguments = { command = \"echo $$ > pid; mv pid there; sleep 1000\" } }]\n";

#[test]
fn shutdown_when_idle_ends_with_0_and_without_a_frame() {
    let home = Home::new("");
    let mut child = home.child();
    child.send(
        "{\"type\":\"shutdown\",\"id\":\"ignored\"}\n{\"type\":\"abort\",\"id\":\"never read\"}",
    );
    assert_eq!(child.rest(), Vec::<String>::new());
    let (status, errors) = child.end();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn shutdown_lets_a_turn_finish_that_is_nearly_done() {
    let home =
        Home::new("[[turn]]\nsteps = [{ text = \"a\" }, { wait_ms = 100 }, { text = \"b\" }]");
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    child.send(r#"{"type":"shutdown"}"#);
    let frames = child.rest();
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true}"#
    );
    assert_eq!(child.end().0.code(), Some(0));
}

#[test]
fn shutdown_stops_a_turn_that_does_not_end() {
    let home = Home::new(SLEEPS);
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    let pid = when_written(&home.path("there"));
    child.send(r#"{"type":"shutdown"}"#);
    let frames = child.rest();
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#
    );
    assert_eq!(child.end().0.code(), Some(0));
    when_dead(&pid);
}

#[test]
fn the_end_of_input_stops_the_turn_and_its_tools_and_tells_how_it_ended() {
    let home = Home::new(SLEEPS);
    let mut child = home.child();
    child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
    let pid = when_written(&home.path("there"));
    child.close_stdin();
    let frames = child.rest();
    assert_eq!(
        frames.last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true,"cancelled":true}"#
    );
    let session = child.session.clone();
    assert_eq!(child.end().0.code(), Some(0));
    when_dead(&pid);
    let mut again = home.child_with(&["--continue", &session]);
    let messages = again.ask(r#"{"type":"get_messages","id":"m"}"#);
    assert!(
        messages.contains("Wait. ") && messages.contains("tool_result"),
        "{messages}"
    );
}

#[test]
fn every_signal_that_asks_for_an_end_saves_stops_the_tools_and_exits_0() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let home = Home::new(SLEEPS);
        let mut child = home.child();
        child.send(r#"{"type":"prompt","id":"p","message":"x"}"#);
        let pid = when_written(&home.path("there"));
        child.signal(signal);
        let session = child.session.clone();
        assert_eq!(child.end().0.code(), Some(0), "{signal}");
        when_dead(&pid);
        let mut again = home.child_with(&["--continue", &session]);
        let messages = again.ask(r#"{"type":"get_messages","id":"m"}"#);
        assert!(messages.contains("Wait. "), "{messages}");
    }
}

#[test]
fn a_closed_stdout_is_like_the_end_of_input() {
    let home = Home::new(SLEEPS);
    let mut process = home
        .command(&["rpc", "--model", "script/play.toml"])
        .spawn()
        .unwrap();
    let mut stdout = process.stdout.take().unwrap();
    let mut first = [0];
    stdout.read_exact(&mut first).unwrap();
    let mut stdin = process.stdin.take().unwrap();
    std::io::Write::write_all(
        &mut stdin,
        b"{\"type\":\"prompt\",\"id\":\"p\",\"message\":\"x\"}\n",
    )
    .unwrap();
    let pid = when_written(&home.path("there"));
    drop(stdout);
    // It notices with the next frame.
    std::io::Write::write_all(&mut stdin, b"{\"type\":\"get_state\",\"id\":\"s\"}\n").unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0));
    when_dead(&pid);
}

#[test]
fn a_reader_that_sleeps_holds_up_neither_shutdown_nor_a_signal() {
    for end in ["shutdown", "signal", "end of input"] {
        let home = Home::new("[[turn]]\ntext = \"words and words {{n}} \"\nrepeat = 200000\n");
        let mut process = home
            .command(&["rpc", "--model", "script/play.toml"])
            .spawn()
            .unwrap();
        let stdout = process.stdout.take().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        let prompt = b"{\"type\":\"prompt\",\"id\":\"p\",\"message\":\"x\"}\n";
        std::io::Write::write_all(&mut stdin, prompt).unwrap();
        // There is far more to come than the pipe holds.
        while !is_half_full(&stdout) {
            std::thread::yield_now();
        }
        match end {
            "shutdown" => {
                std::io::Write::write_all(&mut stdin, b"{\"type\":\"shutdown\"}\n").unwrap();
            }
            "signal" => {
                let pid = process.id().to_string();
                let killed = std::process::Command::new("kill").arg(pid).status();
                assert!(killed.unwrap().success());
            }
            _ => drop(stdin),
        }
        assert_eq!(process.wait().unwrap().code(), Some(0), "{end}");
        drop(stdout);
    }
}

fn is_half_full(pipe: &impl std::os::fd::AsFd) -> bool {
    rustix::io::ioctl_fionread(pipe).unwrap() >= 32 * 1024
}

#[test]
fn a_bad_command_line_is_2_and_a_session_that_is_not_there_is_1() {
    let home = Home::new("");
    for (args, code, says) in [
        (&["rpc", "--nonsense"][..], 2, "--nonsense"),
        (
            &["rpc", "--continue", "20200101-000000-abcd"],
            1,
            "20200101-000000-abcd",
        ),
        (&["rpc", "--dialect", "latin"], 2, "latin"),
    ] {
        let output = home.command(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(output.stdout, b"", "{args:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(says), "{errors}");
    }
}

#[test]
fn a_broken_configuration_is_1_before_ready() {
    let home = Home::new("");
    home.write("home/.config/stentor/config.toml", "mdoel = 7\n");
    let child = Child::spawn(home.command(&["rpc"]));
    assert_eq!(child.rest(), Vec::<String>::new());
    let (status, errors) = child.end();
    assert_eq!(status.code(), Some(1));
    assert!(errors.contains("mdoel"), "{errors}");
}
