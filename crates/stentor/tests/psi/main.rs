//! The program as psi's frontend starts it: real processes, real pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use stentor_wire::edn::{Value, fallback};

struct Backend {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Backend {
    fn start(home: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stentor"))
            .args(words)
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            input: child.stdin.take(),
            child,
            lines,
        }
    }

    /// Sends a request and reads up to its answer, which is returned.
    fn ask(&mut self, id: &str, op: &str, params: &str) -> String {
        let line = format!("{{:id {id:?} :kind :request :op {op:?} :params {params}}}");
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        self.until(|frame| {
            frame.get("id").and_then(Value::as_str) == Some(id) && frame.get("event").is_none()
        })
    }

    /// Reads up to a frame, which is returned. Every frame is checked.
    fn until(&mut self, is_it: impl Fn(&Value<'_>) -> bool) -> String {
        loop {
            let line = self.lines.next().expect("a frame").unwrap();
            let frame =
                fallback::read_query_frame(&line).unwrap_or_else(|why| panic!("{why}: {line}"));
            if is_it(&frame) {
                return line;
            }
        }
    }

    fn handshake(&mut self) -> String {
        self.ask("h", "handshake", r#"{:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}"#)
    }

    /// Closes stdin and returns what is left on stdout, what stderr said, and the status.
    fn end(mut self) -> (Vec<String>, String, Option<i32>) {
        self.input = None;
        let rest = self.lines.map(Result::unwrap).collect();
        let out = self.child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr).into_owned();
        (rest, err, out.status.code())
    }
}

fn is_event<'a>(name: &'a str) -> impl Fn(&Value<'_>) -> bool + 'a {
    move |frame| frame.get("event").and_then(Value::as_str) == Some(name)
}

#[test]
fn the_originals_words_start_a_backend_that_ends_with_its_input() {
    for words in [
        &["--rpc-edn", "--nrepl", "7888", "--whatever"][..],
        &["rpc", "--dialect", "psi"],
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut backend = Backend::start(home.path(), words);
        let answer = backend.handshake();
        assert!(answer.contains(":model-id \"guide\""), "{answer}");
        let (rest, err, status) = backend.end();
        assert_eq!((rest, status), (vec![], Some(0)));
        assert_eq!(
            err.contains("unknown flag --whatever"),
            words.len() > 3,
            "{err}"
        );
    }
}

#[test]
fn a_note_is_written_by_the_tool_and_found_by_a_later_process() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"
[[turn]]
steps = [ { tool = "memory", arguments = { action = "remember", text = "tests run with just", tags = ["build"] } } ]
[[turn]]
steps = [ { text = "noted" } ]
"#;
    std::fs::write(home.path().join("s.toml"), script).unwrap();
    let words = ["--rpc-edn", "--model", "script/s.toml"];
    let mut backend = Backend::start(home.path(), &words);
    backend.handshake();
    backend.ask("p", "prompt", r#"{:message "remember"}"#);
    let message = backend.until(is_event("assistant/message"));
    assert!(message.contains("noted"), "{message}");
    backend.end();
    let mut backend = Backend::start(home.path(), &words);
    backend.handshake();
    let found = backend.ask(
        "q",
        "query_eql",
        r#"{:query "[{(:psi.memory/search-results {:query \"just\"}) [:text :tags]}]"}"#,
    );
    assert!(
        found.ends_with(
            r#"{:psi.memory/search-results [{:text "tests run with just" :tags ["build"]}]}}}"#
        ),
        "{found}"
    );
    let (_, _, status) = backend.end();
    assert_eq!(status, Some(0));
}

#[test]
fn a_session_is_resumed_in_another_process_by_the_file_it_named() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("s.toml"),
        "[[turn]]\nsteps = [ { text = \"hello\" } ]\n",
    )
    .unwrap();
    let words = ["--rpc-edn", "--model", "script/s.toml"];
    let mut backend = Backend::start(home.path(), &words);
    backend.handshake();
    backend.ask("p", "prompt", r#"{:message "first words"}"#);
    backend.until(is_event("assistant/message"));
    let state = backend.ask("g", "get_state", "{}");
    let at = state.find(":session-file \"").unwrap() + ":session-file \"".len();
    let file = state[at..].split('"').next().unwrap().to_owned();
    backend.end();
    let mut backend = Backend::start(home.path(), &words);
    backend.handshake();
    let answer = backend.ask(
        "s",
        "switch_session",
        &format!("{{:session-path {file:?}}}"),
    );
    assert!(answer.contains(&file), "{answer}");
    let messages = backend.ask("m", "get_messages", "{}");
    assert!(
        messages.contains("first words") && messages.contains("hello"),
        "{messages}"
    );
    backend.end();
}

#[test]
fn frames_are_traced_to_a_file() {
    let home = tempfile::tempdir().unwrap();
    let mut backend = Backend::start(home.path(), &["--rpc-edn", "--rpc-trace-file", "t.edn"]);
    backend.handshake();
    backend.end();
    let trace = std::fs::read_to_string(home.path().join("t.edn")).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 2, "{trace}");
    assert!(
        lines[0].contains(":dir :in") && lines[1].contains(":dir :out"),
        "{trace}"
    );
}
