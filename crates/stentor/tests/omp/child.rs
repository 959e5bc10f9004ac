//! A child process, and the frames it writes.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use stentor_test_support::{KillOnDrop, Lines, TemporaryFolder, isolated_command};

/// A home, a working folder and a scenario of their own.
pub struct Folder {
    folder: TemporaryFolder,
}

impl Folder {
    /// A folder whose model plays `scenario`.
    pub fn with(scenario: &str) -> Self {
        let folder = TemporaryFolder::with(&["home", "work"]);
        folder.file("scenario.toml", scenario);
        Self { folder }
    }

    /// A path in the working folder.
    pub fn work(&self, name: &str) -> PathBuf {
        self.folder.path("work").join(name)
    }

    /// A path in the home.
    pub fn home(&self, name: &str) -> PathBuf {
        self.folder.path("home").join(name)
    }

    /// Writes a file in the working folder.
    pub fn file(&self, name: &str, text: &str) -> &Self {
        stentor_test_support::write(&self.work(name), text);
        self
    }

    /// Writes the user's configuration.
    pub fn config(&self, text: &str) -> &Self {
        self.file("../home/.config/stentor/config.toml", text)
    }

    /// Lets a model or a command go on that waits for `../gate`.
    pub fn open_gate(&self) {
        self.file("../gate", "");
    }

    /// The program with these words.
    pub fn program(&self, words: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_stentor");
        let mut command = isolated_command(program, &self.home(""), &self.work(""));
        command
            .args(words)
            // What else runs on the machine is none of a test's business.
            .env("STENTOR_USE_LOCAL_SERVERS", "false")
            // Whoever wrote the test wrote its folder.
            .env("STENTOR_TRUSTED_PROJECTS", self.folder.root());
        command
    }

    /// The program with these words more than the usual ones.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.program(&["--mode", "rpc"]);
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A child that has said it is ready.
    pub fn child(&self, words: &[&str]) -> Child {
        let mut all = vec!["--model", "script/../scenario.toml"];
        all.extend_from_slice(words);
        let mut child = Child::of(self.command(&all).spawn().unwrap());
        let ready = json!({
            "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2],
            "maxFrameBytes": 1_048_576, "maxReassembledFrameBytes": 67_108_864,
        });
        assert_eq!(child.next(), ready);
        child
    }
}

/// A child process.
pub struct Child {
    pub process: KillOnDrop,
    stdin: Option<ChildStdin>,
    frames: Lines,
}

impl Child {
    pub fn of(mut process: Process) -> Self {
        Self {
            frames: Lines::of(process.stdout.take().unwrap()),
            stdin: process.stdin.take(),
            process: KillOnDrop(process),
        }
    }

    /// Writes one line.
    pub fn line(&mut self, line: &str) -> &mut Self {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
        self
    }

    /// Writes one frame.
    pub fn send(&mut self, frame: Value) -> &mut Self {
        self.line(&frame.to_string())
    }

    /// The next frame.
    pub fn next(&mut self) -> Value {
        self.try_next().expect("a further frame")
    }

    /// The next line as it came.
    pub fn next_line(&mut self) -> String {
        self.frames.recv().expect("a further line")
    }

    /// The next frame; `None` when there is no further one.
    pub fn try_next(&mut self) -> Option<Value> {
        self.frames.recv().map(|line| parsed(&line))
    }

    /// The next frame; `None` when there is no further one, or none in that time.
    pub fn next_within(&mut self, time: Duration) -> Option<Value> {
        self.frames.recv_within(time).map(|line| parsed(&line))
    }

    /// All frames up to and with the first that fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next();
            let last = fits(&frame);
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    /// All frames until each of these was among them, in whatever order they come.
    pub fn until_all(&mut self, wanted: &[&dyn Fn(&Value) -> bool]) -> Vec<Value> {
        let mut frames: Vec<Value> = Vec::new();
        while !wanted.iter().all(|fits| frames.iter().any(fits)) {
            frames.push(self.next());
        }
        frames
    }

    /// All frames up to and with the first of that type.
    pub fn until_type(&mut self, name: &str) -> Vec<Value> {
        self.until(|frame| frame["type"] == name)
    }

    /// The answer to a command, whatever comes before it aside.
    pub fn ask(&mut self, command: Value) -> Value {
        let mut command = command;
        command["id"] = json!("asked");
        self.send(command);
        let frames = self.until(|frame| frame["id"] == "asked" && frame["type"] == "response");
        frames.into_iter().next_back().unwrap()
    }

    /// All frames up to and with the answer to a command that has an id.
    pub fn done(&mut self, command: Value) -> Vec<Value> {
        let id = command["id"].clone();
        self.send(command);
        self.until(|frame| frame["type"] == "response" && frame["id"] == id)
    }

    /// The data of a successful answer.
    pub fn data(&mut self, command: Value) -> Value {
        let mut answer = self.ask(command);
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].take()
    }

    /// Says something and waits until nothing follows.
    pub fn prompt(&mut self, text: &str) -> Vec<Value> {
        self.send(json!({"id": "prompt", "type": "prompt", "message": text}));
        self.until_type("agent_settled")
    }

    /// Its stdin and the lines of its stdout, for who uses both at the same time.
    pub fn split(&mut self) -> (ChildStdin, &Lines) {
        (self.stdin.take().unwrap(), &self.frames)
    }

    /// Closes stdin.
    pub fn close_stdin(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes stdin. Returns the frames that still came and the exit code.
    pub fn close(mut self) -> (Vec<Value>, Option<i32>) {
        self.close_stdin();
        let mut frames = Vec::new();
        while let Some(frame) = self.try_next() {
            frames.push(frame);
        }
        (frames, self.process.wait().unwrap().code())
    }
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))
}

/// Frames as text, one a line, without what differs from run to run: times, ids that are made up,
/// durations and paths of the test's own folder.
pub fn shown(frames: &[Value], folder: &Folder) -> String {
    normalised(frames, folder, &mut Ids::Alike)
}

/// How ids that are made up are written.
pub enum Ids {
    /// Each as `ID`.
    Alike,
    /// As `ID1`, `ID2`, in the order in which they appear, so that what refers to what is seen.
    Numbered(Vec<String>),
}

impl Ids {
    fn name(&mut self, id: &str) -> Value {
        let Self::Numbered(seen) = self else {
            return json!("ID");
        };
        let place = seen.iter().position(|one| one == id).unwrap_or_else(|| {
            seen.push(id.to_owned());
            seen.len() - 1
        });
        json!(format!("ID{}", place + 1))
    }
}

/// The same with ids as `ids` says.
pub fn normalised(frames: &[Value], folder: &Folder, ids: &mut Ids) -> String {
    let mut lines = String::new();
    let root = folder
        .work("")
        .parent()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    for frame in frames {
        let mut frame = frame.clone();
        normalise(&mut frame, None, &root, ids);
        lines.push_str(&frame.to_string());
        lines.push('\n');
    }
    lines
}

fn normalise(value: &mut Value, key: Option<&str>, root: &str, ids: &mut Ids) {
    match value {
        Value::Object(fields) => {
            let entry = fields.contains_key("parentId") || fields.contains_key("version");
            for (key, value) in fields.iter_mut() {
                match key.as_str() {
                    "timestamp" | "labelTimestamp" | "lastUpdate" | "endMs"
                    | "currentToolStartMs" => *value = json!("TIME"),
                    // How long a line is depends on the folder of the test.
                    "fromByte" | "nextByte" if *value != json!(0) => *value = json!("BYTE"),
                    // A number only where the answer took long enough, which the machine decides.
                    "tokensPerSecond" => *value = Value::Null,
                    "durationMs" | "duration" | "ttft" if value.is_number() => *value = json!("MS"),
                    "entryId" | "leafId" | "parentId" | "firstKeptEntryId" | "sessionId"
                        if value.is_string() =>
                    {
                        *value = ids.name(value.as_str().unwrap());
                    }
                    "id" | "targetId" if entry => *value = ids.name(value.as_str().unwrap()),
                    _ => normalise(value, Some(key), root, ids),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                normalise(item, key, root, ids);
            }
        }
        Value::String(text) => {
            if text.contains(root) {
                *text = text.replace(root, "ROOT");
            }
            if matches!(key, Some("sessionFile" | "parentSession")) {
                *text = session_file(text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name of a session file holds a time and an id; so does the folder of its subagents.
fn session_file(path: &str) -> String {
    let part = |part: &str| match (part.contains('_'), part.ends_with(".jsonl")) {
        (true, true) => "TIME_ID.jsonl".to_owned(),
        (true, false) => "TIME_ID".to_owned(),
        (false, _) => part.to_owned(),
    };
    let parts: Vec<String> = path.split('/').map(part).collect();
    parts.join("/")
}
