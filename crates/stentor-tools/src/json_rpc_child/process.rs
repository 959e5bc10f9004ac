//! The process: how it starts, what it writes to stderr, and how it ends.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::tasks;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

use super::limits::{GRACE, LAST_LINE_BYTES, PATIENCE_BEFORE_KILL, STDERR_BYTES, STDERR_WAIT};
use crate::process::{
    Launcher, Program, ProgramEnd, RunningProgram, ServerPipes, start_in_background,
};
use crate::truncation::cut;

/// What is started.
pub(crate) struct ChildSpec {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub launcher: Launcher,
}

/// A process that was started. Dropping it kills it and everything it started.
pub(crate) struct ChildProcess {
    running: RunningProgram,
}

impl ChildProcess {
    /// Starts a program. What it writes to stderr goes to `stderr`; the pipes are those to its
    /// stdin and from its stdout.
    pub async fn start(
        spec: ChildSpec,
        stderr: &StderrTail,
    ) -> io::Result<(Self, pipe::Sender, pipe::Receiver)> {
        let (mut running, pipes) = start_in_background(move || spawn(&spec)).await?;
        running.started().await?;
        tasks::spawn(stderr.read(pipes.stderr));
        Ok((Self { running }, pipes.stdin, pipes.stdout))
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> io::Result<ProgramEnd> {
        self.running.wait().await
    }

    /// How it ended, if it does within a moment.
    pub async fn ended_soon(&mut self) -> Option<ProgramEnd> {
        let ended = timeout(PATIENCE_BEFORE_KILL, self.running.wait()).await;
        ended.ok()?.ok()
    }

    /// Lets it end by itself for a moment, its input being closed, then ends it.
    pub async fn end_gently(mut self) {
        match timeout(GRACE, self.running.wait()).await {
            Ok(_) => self.running.kill().await,
            Err(_) => self.end().await,
        }
    }

    /// Ends it and everything it started.
    pub async fn end(mut self) {
        self.running.terminate();
        // Whether it went by itself or not, what is left of it is killed.
        let _ = timeout(PATIENCE_BEFORE_KILL, self.running.wait()).await;
        self.running.kill().await;
    }
}

fn spawn(spec: &ChildSpec) -> io::Result<(RunningProgram, ServerPipes)> {
    // An error that is about the folder, not about the program.
    if !spec.cwd.is_dir() {
        let folder = spec.cwd.display();
        return Err(io::Error::other(format!(
            "its folder {folder} is not there"
        )));
    }
    spec.launcher.start_server(&Program {
        program: &spec.program,
        args: spec.args.iter().map(Into::into).collect(),
        cwd: &spec.cwd,
        env: &spec.env,
    })
}

/// The end of a process's stderr, for whoever wonders why it failed. All of it goes to the log.
#[derive(Clone)]
pub(crate) struct StderrTail {
    tail: Arc<Mutex<Vec<u8>>>,
    is_closed: watch::Sender<bool>,
}

impl Default for StderrTail {
    fn default() -> Self {
        Self {
            tail: Arc::default(),
            is_closed: watch::Sender::new(true),
        }
    }
}

impl StderrTail {
    /// Waits until nothing more can come, but not for long.
    pub async fn closed(&self) {
        let mut closed = self.is_closed.subscribe();
        // Whatever came of the waiting, what was written so far counts.
        let _ = timeout(STDERR_WAIT, closed.wait_for(|closed| *closed)).await;
    }

    /// What was written so far.
    pub fn text(&self) -> Option<String> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The last line that was written so far.
    pub fn last_line(&self) -> Option<String> {
        let text = self.text()?;
        let last = text.lines().next_back()?;
        Some(cut(last.trim().to_owned(), LAST_LINE_BYTES))
    }

    /// Reads until it is closed. It counts as open from now on.
    fn read(&self, mut pipe: pipe::Receiver) -> impl Future<Output = ()> + Send + 'static {
        let stderr = self.clone();
        stderr.is_closed.send_replace(false);
        async move {
            let mut buffer = vec![0; STDERR_BYTES];
            while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
                let fresh = buffer.get(..count).unwrap_or_default();
                tracing::debug!(stderr = %String::from_utf8_lossy(fresh).trim_end(), "a program that was plugged in");
                let mut tail = stderr.tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(fresh);
                let excess = tail.len().saturating_sub(STDERR_BYTES);
                tail.drain(..excess);
            }
            stderr.is_closed.send_replace(true);
        }
    }
}
