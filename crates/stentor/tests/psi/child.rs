//! A backend that was started as the frontend starts one.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};

use regex::Regex;
use stentor_psi_check::check;
use stentor_test_support::{KillOnDrop, isolated_command};
use stentor_wire::edn::{self, Value};

/// A running backend in a home of its own.
pub struct Backend {
    child: KillOnDrop,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    home: PathBuf,
    seq: i64,
    rules: Vec<(Regex, String)>,
}

/// What differs from run to run, and what stands for it.
const RULES: [(&str, &str); 10] = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "SESSION",
    ),
    (r"HOME/\.local/share/stentor/sessions/[^ \x22]*", "FILE"),
    (r":seq \d+", ":seq N"),
    (r"127\.0\.0\.1:\d+", "HERE"),
    (r"localhost%3A\d+", "localhost%3APORT"),
    (r"state=[A-Za-z0-9_-]+", "state=STATE"),
    (r"code_challenge=[A-Za-z0-9_-]+", "code_challenge=CHALLENGE"),
    // Servers of models on this machine are found, too.
    (r"\d+ available", "N available"),
    (
        r" :builtin-command-specs \[[^\]]*\]\} :",
        " :builtin-command-specs [BUILTINS]} :",
    ),
];

impl Backend {
    /// Starts the program with these words in a home, which is also where it works.
    pub fn start(home: &Path, words: &[&str]) -> Self {
        let mut child = isolated_command(env!("CARGO_BIN_EXE_stentor"), home, home)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let rules = RULES
            .iter()
            .map(|(pattern, name)| (Regex::new(pattern).unwrap(), (*name).to_owned()));
        Self {
            input: child.stdin.take(),
            child: KillOnDrop(child),
            lines,
            home: home.canonicalize().unwrap(),
            seq: 0,
            rules: rules.collect(),
        }
    }

    /// The same, shaken hands with.
    pub fn ready(home: &Path, words: &[&str]) -> Self {
        let mut backend = Self::start(home, words);
        backend.handshake();
        backend
    }

    pub fn handshake(&mut self) -> String {
        self.ask("h", "handshake", r#"{:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}"#)
    }

    pub fn send(&mut self, id: &str, op: &str, params: &str) {
        let line = format!("{{:id {id:?} :kind :request :op {op:?} :params {params}}}");
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends requests in one piece, so that they are all there when the first is read.
    pub fn send_together(&mut self, requests: &[(&str, &str, &str)]) {
        let lines = requests.iter().map(|(id, op, params)| {
            format!("{{:id {id:?} :kind :request :op {op:?} :params {params}}}\n")
        });
        let lines: String = lines.collect();
        self.input
            .as_mut()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
    }

    /// Makes a request and returns its answer.
    pub fn ask(&mut self, id: &str, op: &str, params: &str) -> String {
        self.request(id, op, params).pop().unwrap()
    }

    /// Makes a request and returns every frame up to its answer.
    pub fn request(&mut self, id: &str, op: &str, params: &str) -> Vec<String> {
        self.send(id, op, params);
        self.until_answer(id)
    }

    /// Every frame up to the answer to a request.
    pub fn until_answer(&mut self, id: &str) -> Vec<String> {
        self.until(|frame| {
            frame.get("id").and_then(Value::as_str) == Some(id) && frame.get("event").is_none()
        })
    }

    /// The answer to a request as it came.
    pub fn raw_answer(&mut self, id: &str) -> String {
        loop {
            let line = self.lines.next().expect("a frame").unwrap();
            self.check(&line);
            let frame = edn::read_one(&line).unwrap();
            if frame.get("id").and_then(Value::as_str) == Some(id) && frame.get("event").is_none() {
                return line;
            }
        }
    }

    /// The next frame that has this in it, as it came.
    pub fn raw_with(&mut self, part: &str) -> String {
        loop {
            let line = self.lines.next().expect("a frame").unwrap();
            self.check(&line);
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Every frame up to the next event of a topic.
    pub fn until_event(&mut self, name: &str) -> Vec<String> {
        self.until(|frame| frame.get("event").and_then(Value::as_str) == Some(name))
    }

    /// Closes stdin and returns what is left on stdout, what stderr said, and the status.
    pub fn end(mut self) -> (Vec<String>, String, Option<i32>) {
        self.input = None;
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next() {
            let line = line.unwrap();
            self.check(&line);
            rest.push(self.normal(&line));
        }
        let mut err = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        (rest, err, self.child.wait().unwrap().code())
    }

    fn until(&mut self, is_last: impl Fn(&Value<'_>) -> bool) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let line = self.lines.next().expect("a frame").unwrap();
            self.check(&line);
            frames.push(self.normal(&line));
            if is_last(&edn::read_one(&line).unwrap()) {
                return frames;
            }
        }
    }

    fn check(&mut self, line: &str) {
        let frame = check(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        if let Some(seq) = frame.get("seq").and_then(Value::as_i64) {
            assert_eq!(seq, self.seq + 1, "{line}");
            self.seq = seq;
        }
    }

    pub fn normal(&self, line: &str) -> String {
        let mut line = line.replace(&*self.home.to_string_lossy(), "HOME");
        for (pattern, name) in &self.rules {
            line = pattern.replace_all(&line, name.as_str()).into_owned();
        }
        line
    }
}

/// Writes a file below a home.
pub fn write(home: &Path, name: &str, text: &str) {
    stentor_test_support::write(&home.join(name), text);
}
