//! A parent that behaves as the bridge does (section 16).
//!
//! The first response or error with an id is final. Each chunk is decoded by itself, and chunks are
//! small here, so that a character of several bytes would not survive. An error that belongs to no
//! waiting command, and a line that is no JSON, are fatal. A reply must come within a minute.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use stentor_test_support::KillOnDrop;

const REPLY: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(60);
const CHUNK_BYTES: usize = 11;

/// One child as the bridge knows it.
pub struct Bridge {
    process: KillOnDrop,
    stdin: Option<ChildStdin>,
    shared: Arc<Shared>,
    reading: Option<JoinHandle<()>>,
    next_id: u64,
    pub session: String,
}

#[derive(Default)]
struct Shared {
    pending: Mutex<HashMap<String, Sender<Result<Value, String>>>>,
    events: Mutex<Vec<Value>>,
    fatal: Mutex<Vec<String>>,
    ready: Mutex<Option<Sender<Value>>>,
}

/// A reply that is awaited.
pub struct Reply(Receiver<Result<Value, String>>);

impl Reply {
    pub fn wait(self) -> Result<Value, String> {
        match self.0.recv_timeout(REPLY) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Timeout) => panic!("no reply within a minute"),
            Err(RecvTimeoutError::Disconnected) => Err("the child exited".to_owned()),
        }
    }
}

impl Bridge {
    /// Spawns a child and waits for `ready`.
    pub fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let (sender, ready) = channel();
        let shared = Arc::new(Shared {
            ready: Mutex::new(Some(sender)),
            ..Shared::default()
        });
        let mut stdout = process.stdout.take().unwrap();
        let mut stderr = process.stderr.take().unwrap();
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let readers = Arc::clone(&shared);
        let reading = thread::spawn(move || {
            let mut text = String::new();
            let mut chunk = [0; CHUNK_BYTES];
            loop {
                let read = stdout.read(&mut chunk).unwrap_or(0);
                text.push_str(&String::from_utf8_lossy(&chunk[..read]));
                while let Some((line, rest)) = text.split_once('\n') {
                    readers.take(line);
                    text = rest.to_owned();
                }
                if read == 0 {
                    readers.take(&text);
                    readers.pending.lock().unwrap().clear();
                    return;
                }
            }
        });
        let ready = ready.recv_timeout(START).unwrap();
        assert_eq!(ready["protocol_version"], 1);
        Self {
            stdin: process.stdin.take(),
            process: KillOnDrop(process),
            shared,
            reading: Some(reading),
            next_id: 0,
            session: ready["session_id"].as_str().unwrap().to_owned(),
        }
    }

    /// Writes a command with a new id.
    pub fn send(&mut self, mut command: Value) -> Reply {
        self.next_id += 1;
        let id = format!("00000000-0000-4000-8000-{:012}", self.next_id);
        command["id"] = id.clone().into();
        let (sender, reply) = channel();
        self.shared.pending.lock().unwrap().insert(id, sender);
        let mut line = command.to_string();
        line.push('\n');
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        Reply(reply)
    }

    /// Prompts. The error is what a user of the bridge would never see.
    pub fn prompt(&mut self, message: &str) -> Reply {
        self.send(serde_json::json!({ "type": "prompt", "message": message }))
    }

    /// The text of all deltas so far.
    pub fn text(&self) -> String {
        let events = self.shared.events.lock().unwrap();
        let deltas = events.iter().filter_map(|frame| {
            let event = &frame["event"];
            (event["type"] == "text_delta").then(|| event["delta"].as_str().unwrap().to_owned())
        });
        deltas.collect()
    }

    /// How many events there are of a type, assistant events included.
    pub fn count(&self, kind: &str) -> usize {
        let events = self.shared.events.lock().unwrap();
        let of_kind = |frame: &&Value| frame["type"] == kind || frame["event"]["type"] == kind;
        events.iter().filter(of_kind).count()
    }

    pub fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.session.clone()
    }

    /// Writes `shutdown` and waits for the exit; nothing fatal may have happened.
    pub fn stop(mut self) -> ExitStatus {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(b"{\"type\":\"shutdown\"}\n").unwrap();
        let status = self.process.wait().unwrap();
        self.reading.take().unwrap().join().unwrap();
        assert_eq!(*self.shared.fatal.lock().unwrap(), Vec::<String>::new());
        status
    }
}

impl Shared {
    fn take(&self, line: &str) {
        if line.is_empty() {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(line) else {
            self.fatal.lock().unwrap().push(format!("no JSON: {line}"));
            return;
        };
        let id = frame["id"].as_str().unwrap_or_default();
        let waiting = || self.pending.lock().unwrap().remove(id);
        match frame["type"].as_str().unwrap_or_default() {
            "ready" => {
                if let Some(ready) = self.ready.lock().unwrap().take() {
                    ready.send(frame).ok();
                }
            }
            "response" => {
                // One for a command that is no longer waited for is ignored.
                if let Some(waiting) = waiting() {
                    let reply = match frame["ok"].as_bool() {
                        Some(false) => Err(frame["error"].as_str().unwrap().to_owned()),
                        _ => Ok(frame),
                    };
                    waiting.send(reply).ok();
                }
            }
            "error" => match waiting() {
                Some(waiting) => {
                    let message = frame["message"].as_str().unwrap();
                    waiting.send(Err(message.to_owned())).ok();
                }
                None => self.fatal.lock().unwrap().push(line.to_owned()),
            },
            _ => self.events.lock().unwrap().push(frame),
        }
    }
}
