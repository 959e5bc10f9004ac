//! A client: writes lines, reads frames, and checks each of them as the frontend would.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use expect_test::Expect;
use regex::Regex;
use stentor_psi_check::check;
use stentor_serve::connection::Connection;
use stentor_serve::psi;
use stentor_serve::stdio::Pipes;
use stentor_wire::edn::{self, EdnWriter, Map, Value};

use super::world::World;

/// The topics the real client subscribes to (section 18.1).
pub const EMACS_TOPICS: &str = r#"["assistant/delta" "assistant/thinking-delta" "assistant/message" "tool/start" "tool/executing" "tool/update" "tool/result" "session/updated" "session/resumed" "session/rehydrated" "context/updated" "footer/updated" "command-result" "error" "ui/dialog-requested" "ui/frontend-action-requested" "ui/widgets-updated" "ui/widget-specs-updated" "ui/status-updated" "ui/notification"]"#;

/// Nothing takes this long unless it never comes.
const NEVER: Duration = Duration::from_secs(120);

type Rule = (Regex, &'static str);

/// What differs from run to run, and what stands for it.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
        (r"ROOT/sessions/[^ \x22]*", "FILE"),
        (r"\d\d:\d\d / \d\d:\d\d", "HH:MM / HH:MM"),
        (r"— \d\d:\d\d —", "— HH:MM —"),
        (r":seq \d+", ":seq N"),
        (r":resume-at \d+", ":resume-at MS"),
        (r#""durationMs" \d+"#, r#""durationMs" MS"#),
        (r#""id" \d+ "agent""#, r#""id" N "agent""#),
        (r":retry-deadline-ms \d+", ":retry-deadline-ms MS"),
        // The same in every snapshot; a query shows them.
        (
            r" :builtin-command-specs \[[^\]]*\]\} :",
            " :builtin-command-specs [BUILTINS]} :",
        ),
    ])
});

/// What differs in a footer while a run goes on.
static LATE_RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        (r#":stats-line "[^"]*""#, ":stats-line STATS"),
        (r":usage-parts \[[^\]]*\]", ":usage-parts STATS"),
    ])
});

static SESSION_ID: LazyLock<Regex> = LazyLock::new(|| {
    let hex = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    Regex::new(&format!("(?P<before>)(?P<id>{hex})")).unwrap()
});

static ENTRY_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?P<before>[" ])(?P<id>[0-9a-f]{8})\b"#).unwrap());

fn rules(rules: &[(&str, &'static str)]) -> Vec<Rule> {
    let compiled = rules
        .iter()
        .map(|(pattern, name)| (Regex::new(pattern).unwrap(), *name));
    compiled.collect()
}

pub struct Client {
    pub world: World,
    input: Option<File>,
    frames: Receiver<String>,
    serving: Option<JoinHandle<u8>>,
    seq: i64,
    names: Names,
    /// A run was told of that has not been told to be over.
    in_run: bool,
    /// Held open so that what waits at the gate goes on waiting.
    gate: Option<File>,
    /// The test sees to it that nothing is consumed while a footer is under way.
    pub consumption_is_known: bool,
    /// Snapshots are shown whole, not only what changed.
    pub shows_whole_snapshots: bool,
    /// The payload of the last snapshot of each topic.
    snapshots: HashMap<String, Map<'static>>,
}

/// What differs from run to run, by the names that stand for it.
#[derive(Default)]
struct Names {
    sessions: Vec<String>,
    entries: Vec<String>,
}

impl Client {
    pub fn start(world: World) -> Self {
        let (their_input, input) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (output, their_output) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (agent, options) = (world.agent(), world.options());
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let pipes = Pipes {
                stdin: their_input,
                stdout: their_output,
            };
            runtime.block_on(async { psi::serve(agent, Connection::stdio(pipes), options).await })
        });
        let (sender, frames) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(File::from(output)).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            world,
            input: Some(File::from(input)),
            frames,
            serving: Some(serving),
            seq: 0,
            names: Names::default(),
            in_run: false,
            gate: None,
            consumption_is_known: false,
            shows_whole_snapshots: false,
            snapshots: HashMap::new(),
        }
    }

    /// Handshake made, nothing subscribed.
    pub fn shaken(world: World) -> Self {
        let mut client = Self::start(world);
        client.ask(
            r#"{:id "h" :kind :request :op "handshake" :params {:client-info {:name "t" :version "0" :protocol-version "1.0"}}}"#,
        );
        client
    }

    /// Handshake made and everything subscribed that the real client subscribes to.
    pub fn ready(world: World) -> Self {
        let mut client = Self::shaken(world);
        client.request("sub", "subscribe", &format!("{{:topics {EMACS_TOPICS}}}"));
        client
    }

    pub fn send(&mut self, line: &str) {
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        self.send_bytes(&bytes);
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Our end, for another thread to write to.
    pub fn clone_input(&self) -> File {
        self.input.as_ref().unwrap().try_clone().unwrap()
    }

    pub fn send_request(&mut self, id: &str, op: &str, params: &str) {
        self.send(&format!(
            "{{:id {id:?} :kind :request :op {op:?} :params {params}}}"
        ));
    }

    /// The next frame, checked, as it came.
    pub fn raw(&mut self) -> String {
        let line = self.frames.recv_timeout(NEVER).expect("a frame");
        self.check(&line);
        line
    }

    /// The next frame with everything that differs from run to run replaced.
    pub fn frame(&mut self) -> String {
        let line = self.raw();
        self.shown(&line)
    }

    /// Sends a line and returns the frames up to the answer to it.
    pub fn ask(&mut self, line: &str) -> Vec<String> {
        self.send(line);
        let id = edn::read_one(line)
            .ok()
            .and_then(|form| Some(form.get("id")?.as_str()?.to_owned()));
        self.until_answer(id.as_deref())
    }

    /// Makes a request and returns the frames up to the answer to it.
    pub fn request(&mut self, id: &str, op: &str, params: &str) -> Vec<String> {
        self.send_request(id, op, params);
        self.until_answer(Some(id))
    }

    /// Makes a request and returns only its answer.
    pub fn answer(&mut self, op: &str, params: &str) -> String {
        self.request("x", op, params).pop().unwrap()
    }

    /// The same, as it came.
    pub fn raw_answer(&mut self, op: &str, params: &str) -> String {
        self.send_request("x", op, params);
        loop {
            let line = self.raw();
            if is_answer(&line, Some("x")) {
                return line;
            }
        }
    }

    /// Makes requests one after the other: each with its answer below it, events left out.
    pub fn table(&mut self, requests: &[(&str, &str)]) -> String {
        let mut table = String::new();
        for (op, params) in requests {
            let answer = self.answer(op, params);
            table.push_str(&format!("{op} {params}\n    {answer}\n"));
        }
        table
    }

    /// Makes requests one after the other: each with everything up to its answer below it.
    pub fn script(&mut self, requests: &[(&str, &str)]) -> String {
        let mut script = String::new();
        for (op, params) in requests {
            script.push_str(&format!("{op} {params}\n"));
            for frame in self.request("x", op, params) {
                script.push_str(&format!("    {frame}\n"));
            }
        }
        script
    }

    /// A named pipe in the working folder, through which a command waits for [`Client::open_gate`].
    pub fn with_gate(self) -> Self {
        let gate = self.world.work().join("gate");
        let made = std::process::Command::new("mkfifo").arg(gate).status();
        assert!(made.unwrap().success());
        self
    }

    /// Waits until something waits at the gate: a call is published before its command begins.
    pub fn wait_at_gate(&mut self) {
        let gate = self.world.work().join("gate");
        self.gate = Some(File::options().write(true).open(gate).unwrap());
    }

    /// Lets what waits at the gate go on.
    pub fn open_gate(&self) {
        std::fs::write(self.world.work().join("gate"), "go\n").unwrap();
    }

    /// The frames up to the first response or error that carries the id.
    pub fn until_answer(&mut self, id: Option<&str>) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let line = self.raw();
            frames.push(self.shown(&line));
            if is_answer(&line, id) {
                return collapsed(frames);
            }
        }
    }

    /// The frames up to the first that contains all of the texts.
    pub fn until(&mut self, texts: &[&str]) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let line = self.raw();
            frames.push(self.shown(&line));
            let line = self.normal(&line);
            let is_last = texts.iter().all(|text| line.contains(text));
            if is_last {
                return collapsed(frames);
            }
        }
    }

    /// The frames of a run: up to the footer after the session is idle again.
    pub fn until_idle(&mut self) -> Vec<String> {
        let mut frames = self.until(&["session/updated", ":phase \"idle\""]);
        frames.extend(self.until(&["footer/updated"]));
        frames
    }

    /// Prompts, and returns the frames of the run after the answer.
    pub fn run(&mut self, message: &str) -> Vec<String> {
        let answer = self.request("run", "prompt", &format!("{{:message {message:?}}}"));
        let answer = answer.last().map_or("", String::as_str);
        assert!(answer.contains(":accepted true"), "{answer}");
        self.until_idle()
    }

    /// Stops the run with an operation. The frames up to its end, without the answer.
    pub fn stop(&mut self, op: &str) -> Vec<String> {
        let (answer, frames) = self.request_until_idle(op, "{}");
        assert!(answer.ends_with(":data {:accepted true}}"), "{answer}");
        frames
    }

    /// Makes a request that lets a run end, which may be before or after the answer: the answer,
    /// and the other frames up to the end of both.
    pub fn request_until_idle(&mut self, op: &str, params: &str) -> (String, Vec<String>) {
        self.send_request("x", op, params);
        let (mut answer, mut frames) = (None, Vec::new());
        let (mut idle, mut over) = (false, false);
        while answer.is_none() || !over {
            let line = self.raw();
            let shown = self.shown(&line);
            if is_answer(&line, Some("x")) {
                answer = Some(shown);
                continue;
            }
            frames.push(shown);
            let is = |topic: &str| line.contains(&format!(":event {topic:?}"));
            idle |= is("session/updated") && line.contains(":phase \"idle\"");
            over |= idle && is("footer/updated");
        }
        (answer.unwrap_or_default(), collapsed(frames))
    }

    /// The id of the n-th session that was seen, from 1.
    pub fn session(&self, n: usize) -> String {
        self.names.sessions[n - 1].clone()
    }

    /// Closes our end, and returns what still came and the exit code.
    pub fn close(mut self) -> (Vec<String>, u8) {
        self.input = None;
        let mut frames = Vec::new();
        while let Ok(line) = self.frames.recv_timeout(NEVER) {
            self.check(&line);
            frames.push(self.shown(&line));
        }
        let code = self.serving.take().unwrap().join().unwrap();
        (collapsed(frames), code)
    }

    /// Nothing but what the frontend understands, in numbers that grow by one.
    fn check(&mut self, line: &str) {
        let frame = check(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        if let Some(seq) = frame.get("seq").and_then(Value::as_i64) {
            assert_eq!(seq, self.seq + 1, "{line}");
            self.seq = seq;
        }
    }

    /// The frame as tests compare it: with names for what differs from run to run, and of the
    /// snapshots only what differs from the one before.
    fn shown(&mut self, line: &str) -> String {
        let line = self.normal(line);
        if self.shows_whole_snapshots {
            return line;
        }
        let frame = edn::read_one(&line).unwrap().into_owned();
        let topic = frame.get("event").and_then(Value::as_str);
        let Some(topic @ ("session/updated" | "footer/updated")) = topic else {
            return line;
        };
        let data = frame.get("data").unwrap().as_map().unwrap().clone();
        let before = self.snapshots.insert(topic.to_owned(), data.clone());
        let Some(before) = before else {
            return line;
        };
        let mut changed = "…".to_owned();
        for (key, value) in data.iter() {
            if before.get_value(key) != Some(value) {
                changed.push_str(&format!(" {} {}", written(key), written(value)));
            }
        }
        for (key, _) in before.iter() {
            assert!(data.get_value(key).is_some(), "{} is gone", written(key));
        }
        let whole = written(&Value::Map(data));
        assert!(line.contains(&whole), "{whole} in {line}");
        line.replacen(&whole, &format!("{{{changed}}}"), 1)
    }

    fn normal(&mut self, line: &str) -> String {
        let root = self.world.root().to_string_lossy().into_owned();
        let mut line = line.replace(&root, "ROOT");
        if line.contains(":event \"session/updated\"") {
            self.in_run = line.contains(":is-streaming true");
        }
        // What was consumed is looked up when a footer goes out. While a run goes on, that may be
        // more than it was when the event happened.
        let is_late = self.in_run && !self.consumption_is_known;
        let late = LATE_RULES.iter().filter(|_| is_late);
        for (pattern, name) in RULES.iter().chain(late) {
            line = pattern.replace_all(&line, *name).into_owned();
        }
        line = named(&line, &SESSION_ID, "S", &mut self.names.sessions);
        for (n, id) in self.names.sessions.iter().enumerate() {
            let short: String = id.chars().take(8).collect();
            line = line.replace(&short, &format!("S{}-short", n + 1));
        }
        named(&line, &ENTRY_ID, "E", &mut self.names.entries)
    }
}

/// A form as it is written on the wire.
fn written(value: &Value<'_>) -> String {
    let mut bytes = Vec::new();
    EdnWriter::for_query_result(&mut bytes).value(value);
    String::from_utf8(bytes).unwrap()
}

fn named(line: &str, pattern: &Regex, letter: &str, names: &mut Vec<String>) -> String {
    pattern
        .replace_all(line, |found: &regex::Captures<'_>| {
            let id = found["id"].to_owned();
            let n = names
                .iter()
                .position(|name| *name == id)
                .unwrap_or_else(|| {
                    names.push(id);
                    names.len() - 1
                });
            format!("{}{letter}{}", &found["before"], n + 1)
        })
        .into_owned()
}

fn is_answer(line: &str, id: Option<&str>) -> bool {
    let frame = edn::read_one(line).unwrap();
    let kind = frame.get("kind").and_then(Value::as_keyword);
    matches!(kind, Some("response" | "error")) && frame.get("id").and_then(Value::as_str) == id
}

/// How many cumulative deltas or states of a tool come in a row depends on how fast they are read;
/// the last of them says it all.
fn collapsed(frames: Vec<String>) -> Vec<String> {
    let topic = |frame: &String| {
        [
            "assistant/delta",
            "assistant/thinking-delta",
            "tool/update",
            "tool/delta",
        ]
        .into_iter()
        .find(|topic| frame.contains(&format!(":event {topic:?}")))
    };
    let mut kept: Vec<String> = Vec::new();
    for frame in frames {
        if let (Some(last), Some(next)) = (kept.last().and_then(topic), topic(&frame))
            && last == next
        {
            kept.pop();
        }
        kept.push(frame);
    }
    kept
}

/// Compares frames, one a line.
pub fn shows(frames: &[String], expected: &Expect) {
    expected.assert_eq(&frames.join("\n"));
}
