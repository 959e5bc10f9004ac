//! A child, its folder, and its frames.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::thread;

use serde_json::Value;
use stentor_test_support::{KillOnDrop, Lines, TemporaryFolder, isolated_command};

/// A folder with everything a child needs.
pub struct Home {
    folder: TemporaryFolder,
}

impl Home {
    /// A folder whose model plays `turns`.
    pub fn new(turns: &str) -> Self {
        let folder = TemporaryFolder::with(&["home"]);
        let home = Self { folder };
        home.play(turns);
        home
    }

    /// Replaces what the model plays.
    pub fn play(&self, turns: &str) {
        let scenario = format!("{turns}\n[model]\nid = \"play.toml\"\n");
        self.folder.file("play.toml", &scenario);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.folder.file(name, &content);
        self.path(name)
    }

    /// The program in this folder, with nothing of the tests' own surroundings.
    pub fn command(&self, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_stentor");
        let mut command = isolated_command(program, &self.path("home"), &self.path(""));
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A child with the folder's model, past its `ready`.
    pub fn child(&self) -> Child {
        self.child_with(&[])
    }

    /// The same with more words.
    pub fn child_with(&self, args: &[&str]) -> Child {
        let mut words = vec!["rpc", "--model", "script/play.toml"];
        words.extend(args);
        Child::ready(self.command(&words))
    }
}

/// A running child.
pub struct Child {
    process: KillOnDrop,
    stdin: Option<ChildStdin>,
    frames: Lines,
    errors: Option<thread::JoinHandle<String>>,
    pub session: String,
}

impl Child {
    /// Spawns it without waiting for anything.
    pub fn spawn(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let errors = process.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut text = String::new();
                stderr.read_to_string(&mut text).unwrap();
                text
            })
        });
        Self {
            frames: Lines::of(process.stdout.take().unwrap()),
            stdin: process.stdin.take(),
            process: KillOnDrop(process),
            errors,
            session: String::new(),
        }
    }

    /// Spawns it and reads `ready`.
    pub fn ready(command: Command) -> Self {
        let mut child = Self::spawn(command);
        let ready: Value = serde_json::from_str(&child.raw()).unwrap();
        assert_eq!(ready["type"], "ready");
        child.session = ready["session_id"].as_str().unwrap().to_owned();
        child
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Writes one line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// The next frame as it is.
    pub fn raw(&self) -> String {
        let frame = self.frames.recv().expect("a further frame");
        check(&frame);
        frame
    }

    /// The next frame, with what differs from run to run replaced.
    pub fn frame(&self) -> String {
        self.normal(&self.raw())
    }

    /// Sends a line and returns the next frame.
    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.frame()
    }

    /// Frames up to the one that contains `part`. Adjacent deltas of a block are joined, since how
    /// they are cut depends on how fast they are read.
    pub fn until(&self, part: &str) -> Vec<String> {
        let mut frames: Vec<String> = Vec::new();
        loop {
            let frame = self.frame();
            let is_last = frame.contains(part);
            match frames.last_mut().and_then(|last| join(last, &frame)) {
                Some(joined) => *frames.last_mut().unwrap() = joined,
                None => frames.push(frame),
            }
            if is_last {
                return frames;
            }
        }
    }

    /// Prompts and returns the frames of the turn.
    pub fn prompt(&mut self, id: &str, message: &str) -> Vec<String> {
        self.send(&format!(
            r#"{{"type":"prompt","id":"{id}","message":"{message}"}}"#
        ));
        self.until(&format!(r#""response","id":"{id}""#))
    }

    /// All frames that are left, when the child has ended.
    pub fn rest(&self) -> Vec<String> {
        let rest = self.frames.rest();
        rest.iter().for_each(|frame| check(frame));
        rest.iter().map(|frame| self.normal(frame)).collect()
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes the end of stdout that the child writes to.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    /// Waits for its end: the exit status and what it said on stderr.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.stdin = None;
        let status = self.process.wait().unwrap();
        let errors = self.errors.take().map(|errors| errors.join().unwrap());
        (status, errors.unwrap_or_default())
    }

    fn normal(&self, frame: &str) -> String {
        let mut text = frame.to_owned();
        if !self.session.is_empty() {
            text = text.replace(&self.session, "SESSION");
        }
        text = text.replace(&format!("turn-{}-", self.id()), "turn-PID-");
        match text.split_once("\"duration_secs\":") {
            Some((before, _)) => format!("{before}\"duration_secs\":SECONDS}}"),
            None => text,
        }
    }
}

/// What is true of every frame.
fn check(frame: &str) {
    assert!(frame.is_ascii(), "a frame is not ASCII");
    assert!(frame.len() <= 1_048_576, "a frame of {} bytes", frame.len());
}

/// Two deltas of one block as one frame.
fn join(first: &str, second: &str) -> Option<String> {
    let head = |frame: &str| {
        let (head, _) = frame.split_once("\"delta\":\"")?;
        Some(head.to_owned())
    };
    let same = head(first)? == head(second)?;
    let text = second.split_once("\"delta\":\"")?.1;
    same.then(|| format!("{}{text}", first.strip_suffix("\"}}").unwrap()))
}
