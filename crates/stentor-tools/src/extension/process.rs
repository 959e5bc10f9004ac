//! An extension's process: how it starts, what it says on stderr, and how it ends.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::limits::{PATIENCE_BEFORE_KILL, STDERR_BYTES, fit};
use super::spec::ExtensionSpec;
use crate::process::Group;

/// A process that was started. Dropping it kills it and everything it started.
pub(super) struct Process {
    child: Child,
    group: Group,
    stderr: StderrTail,
}

/// The two ends of its pipes that matter.
pub(super) struct ProcessPipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
}

impl Process {
    /// Starts the extension in a process group of its own.
    pub async fn start(spec: &Arc<ExtensionSpec>, cwd: &Path) -> io::Result<(Self, ProcessPipes)> {
        let (spec, cwd) = (Arc::clone(spec), cwd.to_owned());
        let runtime = tokio::runtime::Handle::current();
        // Starting a process takes milliseconds in which this thread could do nothing else.
        let started = tokio::task::spawn_blocking(move || {
            let _runtime = runtime.enter();
            spawn(&spec, &cwd)
        });
        let (mut child, group) = started.await.map_err(io::Error::other)??;
        let stderr = StderrTail::default();
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its pipes are missing"));
        };
        if let Some(pipe) = child.stderr.take() {
            tokio::spawn(stderr.clone().read(pipe));
        }
        let process = Self {
            child,
            group,
            stderr,
        };
        Ok((process, ProcessPipes { stdin, stdout }))
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it and everything it started.
    pub async fn end(mut self) {
        self.group.signal(Signal::TERM).await;
        // Whether it went by itself or not, what is left of its group is killed.
        let _ = timeout(PATIENCE_BEFORE_KILL, self.child.wait()).await;
        self.group.signal(Signal::KILL).await;
        let _ = timeout(PATIENCE_BEFORE_KILL, self.child.wait()).await;
    }

    /// The end of what it wrote to stderr.
    pub fn last_words(&self) -> Option<String> {
        self.stderr.text()
    }
}

fn spawn(spec: &ExtensionSpec, cwd: &Path) -> io::Result<(Child, Group)> {
    let mut words = spec.command.iter();
    let program = words
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "its command is empty"))?;
    let cwd = spec.cwd.as_deref().unwrap_or(cwd);
    let mut command = match &spec.sandbox {
        None => Command::new(program),
        Some(sandbox) => {
            let (helper, before) = sandbox.wrap(Path::new(program), cwd);
            let mut command = Command::new(helper);
            command.args(before);
            command
        }
    };
    command
        .args(words)
        .current_dir(cwd)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env("STENTOR_EXTENSION", &spec.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Group::spawn(&mut command)
}

/// The end of a process's stderr. The rest of it goes to the log.
#[derive(Clone, Default)]
struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    async fn read(self, mut pipe: ChildStderr) {
        let mut buffer = vec![0; STDERR_BYTES];
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            let fresh = buffer.get(..count).unwrap_or_default();
            tracing::debug!(stderr = %String::from_utf8_lossy(fresh).trim_end(), "an extension says");
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend_from_slice(fresh);
            let excess = tail.len().saturating_sub(STDERR_BYTES);
            tail.drain(..excess);
        }
    }

    fn text(&self) -> Option<String> {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(fit(last.trim().to_owned(), 400))
    }
}
