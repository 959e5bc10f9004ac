//! A child, its folder, and its frames.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A test that waits longer for a frame has found a bug; no test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with everything a child needs.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// A folder whose model plays `turns`.
    pub fn new(turns: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder };
        home.play(turns);
        std::fs::create_dir(home.path("home")).unwrap();
        home
    }

    /// Replaces what the model plays.
    pub fn play(&self, turns: &str) {
        let scenario = format!("{turns}\n[model]\nid = \"play.toml\"\n");
        std::fs::write(self.path("play.toml"), scenario).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The program in this folder, with nothing of the tests' own surroundings.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stentor"));
        command
            .args(args)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
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
    process: std::process::Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
    pub session: String,
}

impl Child {
    /// Spawns it without waiting for anything.
    pub fn spawn(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let (sender, frames) = channel();
        let stdout = process.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let line = line.unwrap();
                assert!(line.is_ascii(), "a frame is not ASCII");
                assert!(line.len() <= 1_048_576, "a frame of {} bytes", line.len());
                if sender.send(String::from_utf8(line).unwrap()).is_err() {
                    break;
                }
            }
        });
        let errors = process.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut text = String::new();
                stderr.read_to_string(&mut text).unwrap();
                text
            })
        });
        Self {
            stdin: process.stdin.take(),
            process,
            frames,
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
        self.frames.recv_timeout(PATIENCE).unwrap()
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
        let mut frames = Vec::new();
        while let Ok(frame) = self.frames.recv_timeout(PATIENCE) {
            frames.push(self.normal(&frame));
        }
        frames
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

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
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

/// True when no process of that number runs, or only its remains are there.
pub fn is_dead(pid: &str) -> bool {
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    let state = std::fs::read_to_string(stat).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

/// Waits for a file that a tool makes.
pub fn when_written(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a process is gone.
pub fn when_dead(pid: &str) {
    while !is_dead(pid) {
        thread::sleep(Duration::from_millis(2));
    }
}
