//! A home and a folder of their own, and a child that is spoken to line by line, in whichever
//! dialect.

use std::io::{Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use rustix::process::Pid;
use serde_json::{Value, json};
use stentor_psi_check::fallback;

use crate::{KillOnDrop, Lines, TemporaryFolder, isolated_command};

/// A temporary home with a working folder beside it, and the program that runs there.
pub struct World {
    program: &'static str,
    folder: TemporaryFolder,
}

impl World {
    /// One whose model plays `scenario` and whose user has this configuration.
    pub fn new(program: &'static str, scenario: &str, config: &str) -> Self {
        let world = Self {
            program,
            folder: TemporaryFolder::with(&["home", "work"]),
        };
        world.file("work/plan.toml", scenario);
        let plan = world.path("work/plan.toml");
        let config = format!("model = \"script/{}\"\n{config}", plan.display());
        world.file("home/.config/stentor/config.toml", &config);
        world
    }

    /// The program with these words and an environment that has nothing but a home.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = isolated_command(self.program, &self.path("home"), &self.path("work"));
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The same, running.
    pub fn child(&self, words: &[&str]) -> Child {
        Child::of(self.command(words).spawn().unwrap(), self.path(""))
    }

    /// A child in the place of omp or pi that has said it is ready.
    pub fn omp(&self) -> Child {
        let mut child = self.child(&["--mode", "rpc", "--no-session"]);
        assert_eq!(child.json()["type"], "ready");
        child
    }

    /// An omp child that was started for dialogs and has said it is ready.
    pub fn omp_with_dialogs(&self) -> Child {
        let mut child = self.child(&["--mode", "rpc-ui", "--no-session"]);
        assert_eq!(child.json()["type"], "ready");
        child
    }

    /// A child of the synaps bridge that has said it is ready.
    pub fn synaps(&self) -> Child {
        let mut child = self.child(&["rpc"]);
        assert_eq!(child.json()["type"], "ready");
        child
    }

    /// A backend of psi's frontend that has shaken hands.
    pub fn psi(&self) -> Child {
        let mut child = self.child(&["--rpc-edn", "--no-session"]);
        child.shake_hands_psi();
        child
    }

    /// An ACP agent with one session, and the session's id.
    pub fn acp(&self, capabilities: Value) -> (Child, String) {
        let mut child = self.child(&["acp"]);
        let session = child.shake_hands_acp(capabilities, &self.path("work"));
        (child, session)
    }

    /// The answer of `stentor -p`.
    pub fn asked(&self, words: &[&str]) -> String {
        let out = self.command(words).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{err}");
        String::from_utf8(out.stdout).unwrap()
    }
}

impl Deref for World {
    type Target = TemporaryFolder;

    fn deref(&self) -> &TemporaryFolder {
        &self.folder
    }
}

/// A running program.
pub struct Child {
    process: KillOnDrop,
    stdin: Option<ChildStdin>,
    lines: Lines,
    root: PathBuf,
}

impl Child {
    /// A program that was started, whose frames name files below `root`.
    pub fn of(mut process: std::process::Child, root: PathBuf) -> Self {
        Self {
            lines: Lines::of(process.stdout.take().unwrap()),
            stdin: process.stdin.take(),
            process: KillOnDrop(process),
            root,
        }
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        let pid = i32::try_from(self.process.id()).ok();
        pid.and_then(Pid::from_raw).unwrap()
    }

    /// Says that nothing more is said to it.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end, by itself or by a signal, and returns its exit code.
    pub fn exit_code(mut self) -> Option<i32> {
        self.lines.rest();
        self.process.wait().unwrap().code()
    }

    /// Writes one line.
    pub fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line.
    #[expect(
        clippy::should_implement_trait,
        reason = "a test that gets no line has failed"
    )]
    pub fn next(&mut self) -> String {
        self.lines.recv().unwrap_or_else(|| {
            let mut said = String::new();
            if let Some(stderr) = &mut self.process.stderr {
                stderr.read_to_string(&mut said).ok();
            }
            let status = self.process.wait();
            panic!("the program ended with {status:?}: {said}")
        })
    }

    /// The next line, of a program that may have ended.
    pub fn try_next(&mut self) -> Option<String> {
        self.lines.recv()
    }

    /// The next frame.
    pub fn json(&mut self) -> Value {
        let line = self.next();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    /// Its resident memory, in bytes, without that of files: of the program itself more and more
    /// is there.
    #[cfg(target_os = "linux")]
    pub fn resident(&self) -> usize {
        self.memory("RssAnon:")
    }

    /// The same with that of files.
    #[cfg(target_os = "linux")]
    pub fn resident_with_files(&self) -> usize {
        self.memory("VmRSS:")
    }

    /// The most it ever had resident, with that of files.
    #[cfg(target_os = "linux")]
    pub fn most_resident(&self) -> usize {
        self.memory("VmHWM:")
    }

    #[cfg(target_os = "linux")]
    fn memory(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.unwrap().split_whitespace().next().unwrap();
        kib.parse::<usize>().unwrap() * 1024
    }

    /// All lines up to and with the first that fits.
    pub fn until(&mut self, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.next();
            let last = fits(&line);
            lines.push(line);
            if last {
                return lines;
            }
        }
    }

    /// All frames up to and with the first of that type.
    pub fn until_type(&mut self, name: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.json();
            let last = frame["type"] == name;
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    /// Begins as psi's frontend does.
    pub fn shake_hands_psi(&mut self) {
        let client = r#"{:client-info {:name "psi-emacs" :version "0.1.0" :protocol-version "1.0" :features []}}"#;
        self.ask_psi("h", "handshake", client);
        let topics =
            r#"{:topics ["assistant/message" "session/updated" "ui/dialog-requested" "error"]}"#;
        self.ask_psi("s", "subscribe", topics);
    }

    /// Begins as a client of ACP does; returns the id of the session it makes.
    pub fn shake_hands_acp(&mut self, capabilities: Value, cwd: &Path) -> String {
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.ask_acp(1, "initialize", hello);
        let new = json!({ "cwd": cwd, "mcpServers": [] });
        let answer = self.ask_acp(2, "session/new", new);
        let answer: Value = serde_json::from_str(answer.last().unwrap()).unwrap();
        answer["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a request and returns all lines up to its answer.
    pub fn ask_psi(&mut self, id: &str, op: &str, params: &str) -> Vec<String> {
        self.send(&format!(
            "{{:id {id:?} :kind :request :op {op:?} :params {params}}}"
        ));
        let mark = format!(":id {id:?}");
        self.until(|line| {
            fallback::read_query_frame(line).unwrap_or_else(|why| panic!("{why}: {line}"));
            line.contains(&mark) && !line.contains(":kind :event")
        })
    }

    /// Sends a request and returns all lines up to its answer.
    pub fn ask_acp(&mut self, id: u64, method: &str, params: Value) -> Vec<String> {
        self.request_acp(id, method, params);
        self.until_answer(id)
    }

    /// Sends a request.
    pub fn request_acp(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
    }

    /// All lines up to and with the answer to a request.
    pub fn until_answer(&mut self, id: u64) -> Vec<String> {
        self.until(|line| {
            let frame: Value = serde_json::from_str(line).unwrap();
            frame["id"] == id && frame.get("method").is_none()
        })
    }

    /// A line as it would be anywhere and at any time.
    pub fn shown(&self, line: &str) -> String {
        let line = line.replace(&self.root.display().to_string(), "~~/");
        let line = line.replace("~~//", "~~/");
        let line = with_hidden(&line, ":ts \"", '"', "TIME");
        let line = with_hidden(&line, ":seq ", ' ', "N");
        let line = with_hidden(&line, "\"messageId\":\"", '"', "ID");
        with_hidden(&line, "\"timestamp\":", '}', "TIME")
    }

    /// The same with the id of a session hidden.
    pub fn shown_in(&self, session: &str, line: &str) -> String {
        self.shown(line).replace(session, "SESSION")
    }

    /// All further lines, of a program that ends by itself and well.
    pub fn ended(mut self) -> Vec<String> {
        let lines = self.lines.rest();
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        lines
    }

    /// Closes stdin and waits for the end.
    pub fn end(self) {
        self.end_and_stderr();
    }

    /// The same, and what it wrote to stderr.
    pub fn end_and_stderr(mut self) -> String {
        self.stdin = None;
        self.lines.rest();
        let mut err = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{err}");
        err
    }
}

/// The text with what stands between `before` and `end` replaced.
fn with_hidden(text: &str, before: &str, end: char, by: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(before) {
        let (head, tail) = rest.split_at(at + before.len());
        shown.push_str(head);
        shown.push_str(by);
        rest = &tail[tail.find(end).unwrap_or(tail.len())..];
    }
    shown.push_str(rest);
    shown
}
