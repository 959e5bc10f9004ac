//! An extension's process: how it starts, what it says on stderr, and how it ends.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::limits::{PATIENCE_BEFORE_KILL, STDERR_BYTES, fit};
use super::spec::ExtensionSpec;
use crate::process::{Ended, Program, Running, ServerPipes};

/// A process that was started. Dropping it kills it and everything it started.
pub(super) struct Process {
    running: Running,
    stderr: StderrTail,
}

/// The two ends of its pipes that matter.
pub(super) struct ProcessPipes {
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
}

impl Process {
    /// Starts the extension under a supervisor of its own.
    pub async fn start(spec: &Arc<ExtensionSpec>, cwd: &Path) -> io::Result<(Self, ProcessPipes)> {
        let (spec, cwd) = (Arc::clone(spec), cwd.to_owned());
        let runtime = tokio::runtime::Handle::current();
        // Starting a process takes milliseconds in which this thread could do nothing else.
        let started = tokio::task::spawn_blocking(move || {
            let _runtime = runtime.enter();
            spawn(&spec, &cwd)
        });
        let (mut running, pipes) = started.await.map_err(io::Error::other)??;
        running.started().await?;
        let ServerPipes {
            stdin,
            stdout,
            stderr: errors,
        } = pipes;
        let stderr = StderrTail::default();
        tokio::spawn(stderr.clone().read(errors));
        Ok((Self { running, stderr }, ProcessPipes { stdin, stdout }))
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> io::Result<Ended> {
        self.running.wait().await
    }

    /// Ends it and everything it started.
    pub async fn end(mut self) {
        self.running.terminate();
        // Whether it went by itself or not, what is left of it is killed.
        let _ = timeout(PATIENCE_BEFORE_KILL, self.running.wait()).await;
        self.running.kill().await;
    }

    /// The end of what it wrote to stderr.
    pub fn last_words(&self) -> Option<String> {
        self.stderr.text()
    }
}

fn spawn(spec: &ExtensionSpec, cwd: &Path) -> io::Result<(Running, ServerPipes)> {
    let mut words = spec.command.iter();
    let program = words
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "its command is empty"))?;
    let mut env = spec.env.clone();
    env.push(("STENTOR_EXTENSION".to_owned(), spec.name.clone()));
    spec.launcher.start_server(&Program {
        program: Path::new(program),
        args: words.map(Into::into).collect(),
        cwd: spec.cwd.as_deref().unwrap_or(cwd),
        env: &env,
    })
}

/// The end of a process's stderr. The rest of it goes to the log.
#[derive(Clone, Default)]
struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    async fn read(self, mut pipe: pipe::Receiver) {
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
