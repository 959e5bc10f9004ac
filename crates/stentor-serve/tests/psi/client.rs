//! A client: writes lines, reads frames, and checks each of them.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use regex::Regex;
use stentor_serve::psi;
use stentor_serve::stdio::Pipes;
use stentor_wire::edn::{self, Value, fallback};
use stentor_wire::psi::Topic;

use super::world::World;

/// The topics the real client subscribes to (section 18.1).
pub const EMACS_TOPICS: &str = r#"["assistant/delta" "assistant/thinking-delta" "assistant/message" "tool/start" "tool/executing" "tool/update" "tool/result" "session/updated" "session/resumed" "session/rehydrated" "context/updated" "footer/updated" "command-result" "error" "ui/dialog-requested" "ui/frontend-action-requested" "ui/widgets-updated" "ui/widget-specs-updated" "ui/status-updated" "ui/notification"]"#;

/// Nothing takes this long unless it never comes.
const NEVER: Duration = Duration::from_secs(20);

pub struct Client {
    pub world: World,
    input: Option<File>,
    frames: Receiver<String>,
    serving: Option<JoinHandle<u8>>,
    seq: i64,
    names: Names,
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
            runtime.block_on(async { psi::serve(agent, pipes, options).await })
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
        self.normal(&line)
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

    /// The frames up to the first response or error that carries the id.
    pub fn until_answer(&mut self, id: Option<&str>) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let line = self.raw();
            frames.push(self.normal(&line));
            if is_answer(&line, id) {
                return collapsed(frames);
            }
        }
    }

    /// The frames up to the first that contains all of the texts.
    pub fn until(&mut self, texts: &[&str]) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            let is_last = texts.iter().all(|text| frame.contains(text));
            frames.push(frame);
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
        self.request("run", "prompt", &format!("{{:message {message:?}}}"));
        self.until_idle()
    }

    /// The id of the n-th session that was seen, from 1.
    pub fn session(&self, n: usize) -> String {
        self.names.sessions[n - 1].clone()
    }

    pub fn entry(&self, n: usize) -> String {
        self.names.entries[n - 1].clone()
    }

    /// Closes our end, and returns what still came and the exit code.
    pub fn close(mut self) -> (Vec<String>, u8) {
        self.input = None;
        let mut frames = Vec::new();
        while let Ok(line) = self.frames.recv_timeout(NEVER) {
            self.check(&line);
            frames.push(self.normal(&line));
        }
        let code = self.serving.take().unwrap().join().unwrap();
        (collapsed(frames), code)
    }

    /// Nothing but what the frontend's parser reads, the closed sets of keys, numbers that grow,
    /// the required keys of the topic.
    fn check(&mut self, line: &str) {
        let frame = if line.contains(":op \"query_eql\"") {
            fallback::read_query_frame(line)
        } else {
            fallback::read_frame(line)
        };
        let frame = frame.unwrap_or_else(|why| panic!("{why} in {line}"));
        let kind = frame.get("kind").and_then(Value::as_keyword);
        let (required, allowed): (&[&str], &[&str]) = match kind {
            Some("response") => (
                &["id", "kind", "op", "ok"],
                &["id", "kind", "op", "ok", "data"],
            ),
            Some("error") => (
                &["kind", "error-code", "error-message"],
                &[
                    "kind",
                    "id",
                    "op",
                    "error-code",
                    "error-message",
                    "retryable",
                    "data",
                ],
            ),
            Some("event") => (
                &["kind", "event", "data", "seq", "ts"],
                &["kind", "event", "data", "id", "seq", "ts"],
            ),
            other => panic!("a frame of kind {other:?}: {line}"),
        };
        let map = frame.as_map().unwrap();
        for key in required {
            assert!(map.get(key).is_some(), "no :{key} in {line}");
        }
        for (key, _) in map.iter() {
            let name = key.as_keyword().unwrap_or("?");
            assert!(allowed.contains(&name), ":{name} in {line}");
        }
        assert!(!line.contains(":data nil"), "{line}");
        if kind == Some("event") {
            let seq = frame.get("seq").and_then(Value::as_i64).unwrap();
            assert_eq!(seq, self.seq + 1, "{line}");
            self.seq = seq;
            let name = frame.get("event").and_then(Value::as_str).unwrap();
            let topic = Topic::parse(name).unwrap_or_else(|| panic!("topic {name}"));
            let data = frame.get("data").unwrap();
            for key in topic.required_keys() {
                assert!(data.get(key).is_some(), "no :{key} in {line}");
            }
            if topic.is_gated() {
                assert!(data.get("session-id").is_some(), "{line}");
            }
        }
    }

    fn normal(&mut self, line: &str) -> String {
        let root = self.world.root().to_string_lossy().into_owned();
        let mut line = line.replace(&root, "ROOT");
        let rules = [
            (r#"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"#, "TIME"),
            (r"ROOT/sessions/[^ \x22]*", "FILE"),
            (r"\d\d:\d\d / \d\d:\d\d", "HH:MM / HH:MM"),
            (r"— \d\d:\d\d —", "— HH:MM —"),
            (r":seq \d+", ":seq N"),
            // What was consumed so far is looked up when a footer goes out, which may be late.
            (r#":stats-line "[^"]*""#, ":stats-line STATS"),
            (r":usage-parts \[[^\]]*\]", ":usage-parts STATS"),
            (
                r":builtin-command-specs \[[^\]]*\]",
                ":builtin-command-specs [BUILTINS]",
            ),
        ];
        for (pattern, name) in rules {
            line = Regex::new(pattern)
                .unwrap()
                .replace_all(&line, name)
                .into_owned();
        }
        let uuid = Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
        line = named(&line, &uuid.unwrap(), "S", &mut self.names.sessions);
        for (n, id) in self.names.sessions.iter().enumerate() {
            let short: String = id.chars().take(8).collect();
            line = line.replace(&short, &format!("S{}-short", n + 1));
        }
        let entry = Regex::new(r"\b[0-9a-f]{8}\b").unwrap();
        named(&line, &entry, "E", &mut self.names.entries)
    }
}

fn named(line: &str, pattern: &Regex, letter: &str, names: &mut Vec<String>) -> String {
    pattern
        .replace_all(line, |found: &regex::Captures<'_>| {
            let id = found[0].to_owned();
            let n = names
                .iter()
                .position(|name| *name == id)
                .unwrap_or_else(|| {
                    names.push(id);
                    names.len() - 1
                });
            format!("{letter}{}", n + 1)
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

/// Only the names of events, and the kinds of other frames.
pub fn outline(frames: &[String]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| {
            let form = edn::read_one(frame).unwrap();
            match form.get("event").and_then(Value::as_str) {
                Some(event) => event.to_owned(),
                None => form
                    .get("kind")
                    .and_then(Value::as_keyword)
                    .unwrap()
                    .to_owned(),
            }
        })
        .collect()
}
