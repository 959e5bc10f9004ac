//! A server as a program of this machine, spoken to through its pipes, a line for each message.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use stentor_wire::framing::{Line, LineReader};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::limits::{
    GRACE, LAST_WORDS_WAIT, MESSAGE_BYTES, PATIENCE_BEFORE_KILL, READ_BYTES, STDERR_BYTES,
};
use super::wire::{Ending, FarEnd, Inbox, Outgoing, Over, Wire, wire};
use crate::process::{Launcher, Program as Start, Running, ServerPipes};

/// What is started.
#[derive(Clone)]
pub(super) struct ProgramSpec {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub launcher: Launcher,
}

/// A program that runs. Dropping it kills it and everything it started.
pub(super) struct Program {
    running: Running,
}

/// Starts a program under a supervisor of its own.
pub(super) async fn start(
    spec: ProgramSpec,
    last_words: &LastWords,
    ending: Ending,
) -> io::Result<(Program, Wire)> {
    let runtime = tokio::runtime::Handle::current();
    // Starting a process takes milliseconds in which this thread could do nothing else.
    let started = tokio::task::spawn_blocking(move || {
        let _runtime = runtime.enter();
        spawn(&spec)
    });
    let (mut running, pipes) = started.await.map_err(io::Error::other)??;
    running.started().await?;
    let ServerPipes {
        stdin: input,
        stdout: output,
        stderr: errors,
    } = pipes;
    tokio::spawn(last_words.listen(errors));
    let line = wire(ending, |FarEnd { outgoing, inbox }| {
        [
            Box::pin(read(output, inbox)),
            Box::pin(write(outgoing, input)),
        ]
    });
    Ok((Program { running }, line))
}

impl Program {
    /// How it ended, if it does within a moment.
    pub async fn how_it_ended(&mut self) -> Option<String> {
        let ended = timeout(PATIENCE_BEFORE_KILL, self.running.wait()).await;
        let ended = ended.ok()?.ok()?;
        Some(format!("its program ended ({ended})"))
    }

    /// Lets it end by itself for a moment, its input being closed, then ends it.
    pub async fn end(mut self) {
        if timeout(GRACE, self.running.wait()).await.is_err() {
            self.running.terminate();
            // Whether it went by itself or not, what is left of it is killed.
            let _ = timeout(PATIENCE_BEFORE_KILL, self.running.wait()).await;
        }
        self.running.kill().await;
    }
}

fn spawn(spec: &ProgramSpec) -> io::Result<(Running, ServerPipes)> {
    spec.launcher.start_server(&Start {
        program: &spec.program,
        args: spec.args.iter().map(Into::into).collect(),
        cwd: existing(&spec.cwd)?,
        env: &spec.env,
    })
}

/// The folder, or an error that is about it and not about the program.
fn existing(folder: &Path) -> io::Result<&Path> {
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(io::Error::other(format!(
            "its folder {} is not there",
            folder.display()
        ))),
    }
}

async fn read(mut output: pipe::Receiver, mut inbox: Inbox) {
    let mut lines = LineReader::new(MESSAGE_BYTES);
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let mut chunk = buffer.get(..count).unwrap_or_default();
        while let Some(line) = lines.next_line(&mut chunk) {
            let taken = match line {
                Line::Text(text) => inbox.take(text).await,
                // Whatever it answers would never be answered.
                Line::TooLong => Err(too_long(&inbox)),
                Line::InvalidUtf8 => inbox.garbage(),
            };
            if taken.is_err() {
                return;
            }
        }
        // A line without an end would be waited for in vain.
        if lines.is_skipping() {
            too_long(&inbox);
            return;
        }
    }
    if let Some(Line::Text(text)) = lines.finish() {
        // It is the end in any case.
        let _ = inbox.take(text).await;
    }
}

fn too_long(inbox: &Inbox) -> Over {
    inbox.end(format!(
        "it wrote a line of more than {} MiB",
        MESSAGE_BYTES >> 20
    ))
}

async fn write(mut outgoing: mpsc::Receiver<Outgoing>, mut input: pipe::Sender) {
    while let Some(Outgoing { mut text, .. }) = outgoing.recv().await {
        text.push(b'\n');
        // One that does not read is noticed when its queue is full, one that is gone by its end.
        if input.write_all(&text).await.is_err() {
            return;
        }
    }
}

/// The end of what a program said on stderr, for whoever wonders why it failed.
#[derive(Clone)]
pub(super) struct LastWords {
    text: Arc<Mutex<Vec<u8>>>,
    is_over: watch::Sender<bool>,
}

impl Default for LastWords {
    fn default() -> Self {
        Self {
            text: Arc::default(),
            is_over: watch::Sender::new(true),
        }
    }
}

impl LastWords {
    /// What was said so far.
    pub fn text(&self) -> Option<String> {
        let bytes = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// `; it said: …` when the program has said all it will, or has had time enough.
    pub async fn told_at_end(&self) -> String {
        let mut over = self.is_over.subscribe();
        let all = over.wait_for(|over| *over);
        // Whatever came of the waiting, what was said is told.
        let _ = timeout(LAST_WORDS_WAIT, all).await;
        match self.text() {
            Some(text) => format!("; it said: {text}"),
            None => String::new(),
        }
    }

    /// Listens until the program has said all it will. It counts as speaking from now on.
    fn listen(&self, mut errors: pipe::Receiver) -> impl Future<Output = ()> + Send + 'static {
        let words = self.clone();
        words.is_over.send_replace(false);
        async move {
            let mut chunk = [0; 1024];
            while let Ok(read @ 1..) = errors.read(&mut chunk).await {
                let fresh = chunk.get(..read).unwrap_or_default();
                tracing::debug!(stderr = %String::from_utf8_lossy(fresh).trim_end(), "an MCP server says");
                let mut text = words.text.lock().unwrap_or_else(PoisonError::into_inner);
                text.extend_from_slice(fresh);
                let extra = text.len().saturating_sub(STDERR_BYTES);
                text.drain(..extra);
            }
            words.is_over.send_replace(true);
        }
    }
}
