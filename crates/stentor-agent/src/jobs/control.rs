//! How a job in the background is reached: what it puts out, and what it is sent.

use std::pin::Pin;

use stentor_journal::message::ContentBlock;

/// A job in the background.
pub trait JobControl: Send + Sync {
    /// What it has put out after this many bytes, as far as that is kept.
    fn output(&self, after: u64) -> JobOutput;

    /// What it was sent so far. `None` for a job that is sent no commands.
    fn sent(&self) -> Option<SentText>;

    /// Sends it something.
    fn send(&self, input: JobInput) -> InputFuture;
}

/// What a job put out since somebody last looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobOutput {
    /// Free of escape sequences.
    pub text: String,
    /// Bytes before it that nobody has read and that are not kept.
    pub dropped_bytes: u64,
    /// Where the next look goes on.
    pub next: u64,
    /// Where the whole of it is, in words; empty while nothing was dropped.
    pub whole: String,
}

/// What a command was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentText {
    /// The end of it: what comes next is judged together with it.
    pub text: String,
    /// It has a terminal, in which keys can change what was typed before.
    pub is_terminal: bool,
}

/// What a job is sent.
#[derive(Debug, Clone)]
pub enum JobInput {
    /// For the standard input of a command; with `ends` nothing follows.
    Text { text: String, ends: bool },
    /// For a subagent.
    Message(Vec<ContentBlock>),
}

/// Input on its way to a job.
pub type InputFuture = Pin<Box<dyn Future<Output = Result<(), InputError>> + Send>>;

/// Why a job was not sent something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("it has no input: start it with `stdin` or `pty` to write to it")]
    None,
    #[error("its input is closed")]
    Closed,
    #[error("it has ended")]
    Ended,
    #[error("it read only {written} of {length} bytes and then stopped reading")]
    NotRead { written: usize, length: usize },
    #[error("only a command can be written to; use `steer` for a subagent")]
    NoCommand,
    #[error("only a subagent can be steered; use `write` for a command")]
    NoSubagent,
    #[error("{0}")]
    Refused(String),
}
