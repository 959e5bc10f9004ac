//! How every dialect ends when the other side goes away or does not listen.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::channel;

use rustix::process::{Pid, Signal, kill_process};

use serde_json::{Value, json};

use crate::many_calls;
use crate::world::{Child as Spoken, World};

/// The words that start each dialect, and whether it begins with a frame of its own.
const DIALECTS: [(&[&str], bool); 4] = [
    (&["--mode", "rpc", "--no-session"], true),
    (&["rpc"], true),
    (&["--rpc-edn", "--no-session"], false),
    (&["acp"], false),
];

fn world() -> World {
    World::new("[[turn]]\ntext = \"word {{n}} \"\nrepeat = 200000\n", "")
}

/// Sends TERM.
fn terminate(process: &Child) {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::TERM).unwrap();
}

#[test]
fn a_reader_that_goes_away_is_the_end_though_nothing_is_written() {
    let world = world();
    for (words, speaks_first) in DIALECTS {
        let mut process = world.command(words).spawn().unwrap();
        // Its input stays open, so this is not the end of it.
        let stdin = process.stdin.take().unwrap();
        let mut stdout = process.stdout.take().unwrap();
        if speaks_first {
            stdout.read_exact(&mut [0]).unwrap();
        }
        drop(stdout);
        assert_eq!(process.wait().unwrap().code(), Some(0), "{words:?}");
        drop(stdin);
    }
}

/// Lines that are answered at once, over and over, without ever reading an answer.
#[test]
fn acp_ends_by_a_signal_while_an_answer_waits_for_a_reader_that_sleeps() {
    let world = world();
    let mut process = world.command(&["acp"]).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let (much, written) = channel();
    let asking = std::thread::spawn(move || {
        // Each is told that it is no JSON, in a frame fifty times as long.
        let lines = "x\n".repeat(100);
        let mut bytes = 0;
        // Until it is gone.
        while stdin.write_all(lines.as_bytes()).is_ok() {
            bytes += lines.len();
            if bytes > 75_000 {
                much.send(()).ok();
            }
        }
    });
    written.recv().unwrap();
    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(143));
    asking.join().unwrap();
}

#[test]
fn the_command_line_ends_by_the_second_signal_while_its_reader_sleeps() {
    let world = world();
    let words = ["-p", "hi", "--json", "--no-session"];
    let mut process = world.command(&words).spawn().unwrap();
    // It has begun to answer: from here on it listens to signals.
    let mut stdout = BufReader::with_capacity(1, process.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    terminate(&process);
    // A signal that comes before the first was taken is the same one.
    while process.try_wait().unwrap().is_none() {
        terminate(&process);
        std::thread::yield_now();
    }
    assert_eq!(process.wait().unwrap().code(), Some(143));
    stdout.read_to_end(&mut Vec::new()).unwrap();
}

/// What each dialect is told to begin a run, and its exit code after TERM, as its reference says.
#[derive(Debug, Clone, Copy)]
enum Dialect {
    Omp,
    Synaps,
    Psi,
    Acp,
}

impl Dialect {
    const ALL: [Self; 4] = [Self::Omp, Self::Synaps, Self::Psi, Self::Acp];

    /// A child that was prompted.
    fn prompted(self, world: &World) -> Spoken {
        let (mut child, session) = match self {
            Self::Omp => (world.omp(), String::new()),
            Self::Synaps => (world.synaps(), String::new()),
            Self::Psi => (world.psi(), String::new()),
            Self::Acp => world.acp(json!({})),
        };
        if let Self::Psi = self {
            let topics = r#"{:topics ["assistant/delta" "tool/executing" "tool/result"]}"#;
            child.ask_psi("t", "subscribe", topics);
        }
        child.send(&self.prompt(&session));
        child
    }

    /// The same of which nobody reads more than the beginning of the answer.
    fn prompted_and_left_alone(self, world: &World) -> (Child, ChildStdin, impl Read) {
        let words: &[&str] = match self {
            Self::Omp => &["--mode", "rpc"],
            Self::Synaps => &["rpc"],
            Self::Psi => &["--rpc-edn"],
            Self::Acp => &["acp"],
        };
        let mut process = world.command(words).spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        let mut stdout = BufReader::with_capacity(1, process.stdout.take().unwrap());
        let mut session = String::new();
        match self {
            Self::Omp | Self::Synaps => {}
            Self::Psi => {
                let client = r#"{:client-info {:name "c" :version "0" :protocol-version "1.0" :features []}}"#;
                let topics = r#"{:topics ["assistant/delta"]}"#;
                for (op, params) in [("handshake", client), ("subscribe", topics)] {
                    let request =
                        format!("{{:id {op:?} :kind :request :op {op:?} :params {params}}}");
                    writeln!(stdin, "{request}").unwrap();
                }
            }
            Self::Acp => {
                let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
                let hello = json!({ "protocolVersion": 1 });
                for (id, method, params) in [(1, "initialize", hello), (2, "session/new", new)] {
                    writeln!(stdin, "{}", acp_request(id, method, params)).unwrap();
                }
                let answer = line_with(&mut stdout, r#""id":2"#);
                let answer: Value = serde_json::from_str(&answer).unwrap();
                session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
            }
        }
        writeln!(stdin, "{}", self.prompt(&session)).unwrap();
        line_with(&mut stdout, "word 1");
        (process, stdin, stdout)
    }

    fn prompt(self, session: &str) -> String {
        match self {
            Self::Omp => r#"{"id":"p","type":"prompt","message":"hi"}"#.to_owned(),
            Self::Synaps => r#"{"type":"prompt","id":"p","message":"hi"}"#.to_owned(),
            Self::Psi => {
                r#"{:id "p" :kind :request :op "prompt" :params {:message "hi"}}"#.to_owned()
            }
            Self::Acp => {
                let text = json!([{ "type": "text", "text": "hi" }]);
                let params = json!({ "sessionId": session, "prompt": text });
                acp_request(3, "session/prompt", params).to_string()
            }
        }
    }

    /// What the line has in it that says that a tool runs.
    fn runs(self) -> &'static str {
        match self {
            Self::Omp => r#""type":"tool_execution_start""#,
            Self::Synaps => r#""type":"toolcall_input""#,
            Self::Psi => r#":event "tool/executing""#,
            Self::Acp => r#""status":"in_progress""#,
        }
    }

    /// The same for a tool that has run.
    fn has_run(self) -> &'static str {
        match self {
            Self::Omp => r#""type":"tool_execution_end""#,
            Self::Synaps => r#""type":"toolcall_result""#,
            Self::Psi => r#":event "tool/result""#,
            Self::Acp => r#""status":"completed""#,
        }
    }

    fn code_after_term(self) -> i32 {
        match self {
            Self::Omp | Self::Psi | Self::Acp => 143,
            Self::Synaps => 0,
        }
    }
}

fn acp_request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The next line that has `mark` in it.
fn line_with(lines: &mut impl BufRead, mark: &str) -> String {
    let mut line = String::new();
    while !line.contains(mark) {
        line.clear();
        assert!(
            lines.read_line(&mut line).unwrap() > 0,
            "no line with {mark}"
        );
    }
    line
}

/// Ends a program in every dialect, by TERM and by the end of its input, once a line has come that
/// has `mark` in it.
fn check_ends(world: &World, mark: impl Fn(Dialect) -> &'static str) {
    for dialect in Dialect::ALL {
        let mut child = dialect.prompted(world);
        child.until(|line| line.contains(mark(dialect)));
        kill_process(child.pid(), Signal::TERM).unwrap();
        assert_eq!(child.exit_code(), Some(dialect.code_after_term()));
        let mut child = dialect.prompted(world);
        child.until(|line| line.contains(mark(dialect)));
        child.close_stdin();
        assert_eq!(child.exit_code(), Some(0));
    }
}

#[test]
fn every_dialect_ends_while_a_tool_never_does() {
    let world = World::new(
        "[[turn]]\ntool = \"bash\"\narguments = { command = \"sleep 1000\" }\n",
        "permission_mode = \"all\"\n",
    );
    check_ends(&world, Dialect::runs);
}

#[test]
fn every_dialect_ends_while_a_model_never_goes_on() {
    let world = World::new(
        "[[turn]]\nsteps = [{ text = \"Well\" }, { wait_for = \"never\" }]\n",
        "",
    );
    check_ends(&world, |_| "Well");
}

#[test]
fn every_dialect_ends_in_the_middle_of_a_thousand_calls() {
    check_ends(&many_calls::world(), Dialect::has_run);
}

#[test]
fn every_dialect_ends_by_the_second_signal_while_its_reader_sleeps() {
    let world = world();
    for dialect in Dialect::ALL {
        let (mut process, stdin, stdout) = dialect.prompted_and_left_alone(&world);
        // A signal that comes before the first was taken is the same one.
        while process.try_wait().unwrap().is_none() {
            terminate(&process);
            std::thread::yield_now();
        }
        let code = process.wait().unwrap().code();
        assert_eq!(code, Some(dialect.code_after_term()), "{dialect:?}");
        drop((stdin, stdout));
    }
}
