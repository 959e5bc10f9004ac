//! Starting a program of our own accord, and the end of its stderr.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::connection::{ChildPipes, Process, ProcessFuture};
use crate::error::ChildAgentError;
use crate::options::StartOptions;

/// The longest line of stderr that is stored.
const STDERR_LINE_BYTES: usize = 2 * 1024;

/// How long the rest of stderr is awaited when the program is gone.
const STDERR_WAIT: Duration = Duration::from_millis(500);

/// Starts the program with pipes to it.
pub(crate) fn spawn(options: &StartOptions) -> Result<ChildPipes, ChildAgentError> {
    let (program, words) = options
        .command
        .split_first()
        .ok_or_else(|| ChildAgentError::NotReady("there is no command".to_owned()))?;
    let mut command = tokio::process::Command::new(program);
    command
        .args(words)
        .args(options.session_arguments())
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(cwd) = &options.cwd {
        command.current_dir(cwd);
    }
    let mut child = command.spawn().map_err(|error| ChildAgentError::Spawn {
        program: program.clone(),
        error: Arc::new(error),
    })?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(ChildAgentError::NotReady("it has no pipes".to_owned()));
    };
    Ok(ChildPipes {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Some(Box::new(stderr)),
        process: Some(Box::new(OwnChild(child))),
    })
}

struct OwnChild(Child);

impl Process for OwnChild {
    fn end(mut self: Box<Self>, patience: Duration) -> ProcessFuture {
        Box::pin(async move {
            let ended = match timeout(patience, self.0.wait()).await {
                Ok(ended) => ended,
                Err(_) => {
                    self.0.kill().await.ok()?;
                    self.0.wait().await
                }
            };
            ended.ok().map(|status| status.to_string())
        })
    }
}

/// The last lines of a program's stderr. All of it goes to the log.
#[derive(Clone)]
pub(crate) struct StderrLines {
    lines: Arc<Mutex<VecDeque<String>>>,
    closed: watch::Receiver<bool>,
}

impl StderrLines {
    /// Reads until it is closed, in a task of its own.
    pub fn of(stderr: Option<Box<dyn AsyncRead + Send + Unpin>>, limit: usize) -> Self {
        let (close, closed) = watch::channel(stderr.is_none());
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = stderr {
            let lines = Arc::clone(&lines);
            tokio::spawn(async move {
                read(stderr, &lines, limit).await;
                close.send_replace(true);
            });
        }
        Self { lines, closed }
    }

    /// The last lines, once nothing more comes or it has been waited for long enough.
    pub async fn last_lines(mut self) -> Vec<String> {
        // Whatever came of the waiting, what was written so far counts.
        let _ = timeout(STDERR_WAIT, self.closed.wait_for(|closed| *closed)).await;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

async fn read(
    mut stderr: Box<dyn AsyncRead + Send + Unpin>,
    lines: &Mutex<VecDeque<String>>,
    limit: usize,
) {
    let mut chunk = vec![0; 4096];
    let mut line = Vec::new();
    let store = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            return;
        }
        tracing::debug!(stderr = %text, "an agent");
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= limit {
            lines.pop_front();
        }
        lines.push_back(text);
    };
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        for byte in chunk.get(..count).unwrap_or_default() {
            if *byte == b'\n' {
                store(&mut line);
            } else if line.len() < STDERR_LINE_BYTES {
                line.push(*byte);
            }
        }
    }
    store(&mut line);
}
