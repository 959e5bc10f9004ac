//! Plays a recorded run of an original again, with the same model, and compares whole frames.

mod fields;
mod model;
mod normal;
mod recording;
mod snapshots;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child::{Child, Folder};
use fields::Original;
use model::Model;
use normal::Normal;
use recording::{Line, is_answer};
use snapshots::Snapshots;

/// Plays the recording of that name. With `UPDATE_RECORDINGS` set the differences are marked anew.
pub fn replay(name: &str) {
    let original = Original::of(name);
    let recorded = std::fs::read_to_string(file(name)).unwrap();
    let lines = recorded_lines(&recorded, original);
    let turns = lines.iter().filter_map(|line| match line {
        Line::Turn(turn) => Some(turn.clone()),
        _ => None,
    });
    let model = Model::saying(turns.collect());
    let folder = folder_with(&model, original);
    let mut seen = Seen {
        child: start(&folder, name, original),
        normal: Normal::ours(original, &folder.work("").to_string_lossy(), &model.url()),
        snapshots: Snapshots::default(),
        frames: Vec::new(),
        delta: None,
        steps: 0,
        names: Names::of(&folder),
        update: std::env::var_os("UPDATE_RECORDINGS").is_some(),
        quiet: Duration::from_millis(if name.ends_with("auto-retry") {
            4000
        } else {
            1600
        }),
    };
    let mut expected = Expected::default();
    for line in &lines {
        match line {
            Line::Input(text) => {
                seen.step(&expected);
                seen.write(text);
            }
            Line::Open(gate) => {
                seen.step(&expected);
                folder.file(&format!("../{gate}"), "");
                model.open(gate);
            }
            Line::Until(kind) => {
                seen.step(&expected);
                seen.read_until(kind);
            }
            Line::Same(frame) => expected.add(frame),
            Line::Theirs(frame) if seen.update => expected.add(frame),
            Line::Ours(frame) if !seen.update => expected.add(frame),
            Line::SoFar(frame) => expected.delta = Some(frame.clone()),
            Line::Theirs(_) | Line::Ours(_) | Line::Turn(_) | Line::Reason(_) => {}
        }
    }
    seen.catch_up(&expected);
    let update = seen.update;
    let frames = seen.rest();
    if update {
        let lines = recording::marked_anew(lines, &frames);
        let text: Vec<String> = lines.iter().map(Line::written).collect();
        std::fs::write(file(name), text.join("\n") + "\n").unwrap();
        return;
    }
    for answers in [false, true] {
        let seen = frames.iter().map(|(_, frame)| frame);
        let seen: Vec<&Value> = seen.filter(|frame| is_answer(frame) == answers).collect();
        let expected = if answers {
            &expected.answers
        } else {
            &expected.events
        };
        for (n, (seen, expected)) in seen.iter().zip(expected).enumerate() {
            assert!(
                **seen == *expected,
                "frame {n} is\n{seen}\nand not\n{expected}"
            );
        }
        assert_eq!(seen.len(), expected.len(), "{seen:#?}");
    }
}

fn file(name: &str) -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join(format!("omp/originals/{name}.txt"))
}

/// The lines of a recording, its frames made comparable.
fn recorded_lines(recorded: &str, original: Original) -> Vec<Line> {
    let mut normal = Normal::theirs(original);
    let lines = recording::lines(recorded).into_iter();
    let normal = lines.filter_map(|line| {
        Some(match line {
            Line::Same(frame) => Line::Same(normal.frame(&frame)?),
            Line::Theirs(frame) => Line::Theirs(normal.frame(&frame)?),
            other => other,
        })
    });
    normal.collect()
}

/// A working folder as in the recordings, with the model configured as for the original.
fn folder_with(model: &Model, original: Original) -> Folder {
    let folder = Folder::with("");
    folder.file("notes.txt", "alpha\nbeta\ngamma\n");
    folder.file("new.txt", "hello\nworld\n");
    folder.file(
        "../extension.py",
        include_str!("../../extensions/recorded.py"),
    );
    let url = model.url();
    let second = json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0});
    let models = json!({"providers": {
        "mock": {"baseUrl": url, "api": "anthropic-messages", "apiKey": "mock-key", "models": [
            {"id": "mock-1", "name": "Mock One", "reasoning": true, "input": ["text", "image"],
             "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
             "contextWindow": 200_000, "maxTokens": 16_384},
            {"id": "mock-2", "name": "Mock Two", "reasoning": false, "input": ["text"],
             "cost": second, "contextWindow": 128_000, "maxTokens": 8192},
        ]},
        "mockoai": {"baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": "mock-key", "models": [
            {"id": "mock-oai", "name": "Mock OAI", "reasoning": false, "input": ["text"],
             "cost": second, "contextWindow": 128_000, "maxTokens": 8192},
        ]},
    }});
    // YAML is more than JSON.
    let name = if original.is_pi() {
        "models.json"
    } else {
        "models.yml"
    };
    folder.file(&format!("../agent/{name}"), &models.to_string());
    folder
}

fn start(folder: &Folder, name: &str, original: Original) -> Child {
    let level = if original.is_pi() { "medium" } else { "high" };
    let mut words = vec![
        "--provider",
        "mock",
        "--model",
        "mock-1",
        "--thinking",
        level,
    ];
    words.extend(["--session-dir", "../sessions"]);
    if name.contains("extension-ui") {
        words.extend(["--extension", "../extension.py"]);
    }
    let mut command = folder.command(&words);
    command.env("PI_CODING_AGENT_DIR", folder.work("../agent"));
    Child::of(command.spawn().unwrap())
}

/// What should have come so far.
#[derive(Default)]
struct Expected {
    events: Vec<Value>,
    answers: Vec<Value>,
    /// A delta that goes on.
    delta: Option<Value>,
}

impl Expected {
    fn add(&mut self, frame: &Value) {
        if is_answer(frame) {
            self.answers.push(frame.clone());
        } else {
            self.delta = None;
            self.events.push(frame.clone());
        }
    }
}

/// The child and what it wrote.
struct Seen {
    child: Child,
    normal: Normal,
    snapshots: Snapshots,
    /// Each with the number of steps that had been done before it came.
    frames: Vec<(usize, Value)>,
    /// A delta that may go on.
    delta: Option<Value>,
    /// How often something was done.
    steps: usize,
    names: Names,
    update: bool,
    /// How long nothing comes when nothing will, while the differences are marked anew.
    quiet: Duration,
}

impl Seen {
    fn write(&mut self, line: &str) {
        let line = self.names.filled_in(line);
        self.child.line(&line);
    }

    /// Something is done after all that is expected so far has come.
    fn step(&mut self, expected: &Expected) {
        self.catch_up(expected);
        self.steps += 1;
    }

    /// Reads frames until as much has come as is expected so far.
    fn catch_up(&mut self, expected: &Expected) {
        if self.update {
            return self.read_until_quiet();
        }
        while !self.has_come(expected) {
            let frame = self.child.next();
            self.add(&frame);
        }
    }

    /// Reads frames until none that is compared comes for a while.
    fn read_until_quiet(&mut self) {
        let mut last = Instant::now();
        while let Some(left) = self.quiet.checked_sub(last.elapsed()) {
            let Some(frame) = self.child.next_within(left) else {
                return;
            };
            if self.add(&frame) {
                last = Instant::now();
            }
        }
    }

    fn has_come(&self, expected: &Expected) -> bool {
        let answers = self.frames.iter().filter(|(_, frame)| is_answer(frame));
        let answers = answers.count();
        let events = self.frames.len() - answers;
        let delta = match (&expected.delta, &self.delta) {
            // The original may have begun to write it in another frame before.
            (Some(wanted), Some(have)) => {
                events > expected.events.len() || delta(have).contains(delta(wanted))
            }
            (Some(_), None) => events > expected.events.len(),
            (None, _) => true,
        };
        events >= expected.events.len() && answers >= expected.answers.len() && delta
    }

    /// Reads frames up to the first of this type.
    fn read_until(&mut self, kind: &str) {
        loop {
            let frame = self.child.next();
            self.add(&frame);
            if frame["type"] == kind {
                return;
            }
        }
    }

    /// Takes a frame. False when it is not compared.
    fn add(&mut self, frame: &Value) -> bool {
        self.snapshots.check(frame);
        self.names.note(frame);
        let Some(frame) = self.normal.frame(frame) else {
            return false;
        };
        if is_answer(&frame) {
            self.frames.push((self.steps, frame));
        } else if goes_on(self.delta.as_ref(), &frame) {
            let open = self.delta.as_mut().unwrap();
            let text = format!("{}{}", delta(open), delta(&frame));
            open["assistantMessageEvent"]["delta"] = json!(text);
        } else {
            self.end_delta();
            if frame["assistantMessageEvent"]["delta"].is_string() {
                self.delta = Some(frame);
            } else {
                self.frames.push((self.steps, frame));
            }
        }
        true
    }

    fn end_delta(&mut self) {
        let ended = self.delta.take().map(|delta| (self.steps, delta));
        self.frames.extend(ended);
    }

    /// All frames, with those that come when stdin closes.
    fn rest(mut self) -> Vec<(usize, Value)> {
        self.child.close_stdin();
        while let Some(frame) = self.child.try_next() {
            self.add(&frame);
        }
        self.end_delta();
        self.frames
    }
}

fn delta(frame: &Value) -> &str {
    frame["assistantMessageEvent"]["delta"].as_str().unwrap()
}

/// Deltas of one block that follow each other are one.
fn goes_on(open: Option<&Value>, frame: &Value) -> bool {
    let of = |frame: &Value| {
        let event = &frame["assistantMessageEvent"];
        (event["type"].clone(), event["contentIndex"].clone())
    };
    frame["assistantMessageEvent"]["delta"].is_string()
        && open.is_some_and(|open| of(open) == of(frame))
}

/// What a client has to know of earlier frames to write the next line: `ENTRY1` stands for the id of
/// the first entry that was listed, `SESSIONFILE` for the file that was told first, `QUESTION1` for
/// the id of the first question, `HOSTCALL` for the last call of a tool of the client, and `/home/user/project` for the folder.
struct Names {
    here: String,
    entries: Vec<String>,
    questions: Vec<String>,
    session_file: Option<String>,
    host_call: Option<String>,
}

impl Names {
    fn of(folder: &Folder) -> Self {
        let here = folder.work("").to_string_lossy().into_owned();
        Self {
            here: here.trim_end_matches('/').to_owned(),
            entries: Vec::new(),
            questions: Vec::new(),
            session_file: None,
            host_call: None,
        }
    }

    fn note(&mut self, frame: &Value) {
        let id = || frame["id"].as_str().unwrap().to_owned();
        match frame["type"].as_str().unwrap() {
            "host_tool_call" => self.host_call = Some(id()),
            "extension_ui_request" => {
                let method = frame["method"].as_str().unwrap();
                if ["confirm", "select", "input", "editor"].contains(&method) {
                    self.questions.push(id());
                }
            }
            "response" => self.note_data(&frame["data"]),
            _ => {}
        }
    }

    fn note_data(&mut self, data: &Value) {
        if let Some(file) = data["sessionFile"].as_str() {
            self.session_file.get_or_insert_with(|| file.to_owned());
        }
        let listed = data["messages"].as_array().into_iter().flatten();
        let ids = listed.filter_map(|one| one["entryId"].as_str());
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        if !ids.is_empty() {
            self.entries = ids;
        }
    }

    fn filled_in(&self, line: &str) -> String {
        let mut line = line.replace("/home/user/project", &self.here);
        for (n, id) in self.entries.iter().enumerate() {
            line = line.replace(&format!("\"ENTRY{}\"", n + 1), &format!("\"{id}\""));
        }
        for (n, id) in self.questions.iter().enumerate() {
            line = line.replace(&format!("\"QUESTION{}\"", n + 1), &format!("\"{id}\""));
        }
        if let Some(file) = &self.session_file {
            line = line.replace("SESSIONFILE", file);
        }
        match &self.host_call {
            Some(call) => line.replace("HOSTCALL", call),
            None => line,
        }
    }
}
