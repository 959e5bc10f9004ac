//! What an agent does, the same for every dialect.

use std::path::PathBuf;

use serde_json::Value;

/// One thing that an agent did.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// It began to work.
    TurnStarted(TurnOrigin),
    /// More of its answer.
    Text(String),
    /// More of its thinking.
    Thinking(String),
    /// The answer of its model is complete; tools or another answer may follow. Not every dialect
    /// has a word for it, so it may be missing.
    AnswerEnded,
    /// It calls a tool. The arguments are complete; nothing runs yet.
    ToolCalled(AgentCall),
    /// The call runs from now on.
    ToolStarted {
        /// The call.
        id: String,
    },
    /// How far the call is. Replaces what was reported before.
    ToolProgress {
        /// The call.
        id: String,
        /// All of its output so far, or the end of it.
        output: CallOutput,
    },
    /// The call is over.
    ToolEnded {
        /// The call.
        id: String,
        /// What it gave.
        output: CallOutput,
        /// It failed, was denied or was stopped.
        is_error: bool,
    },
    /// A message that was queued has reached its model.
    UserMessage(String),
    /// Its plan, as a whole.
    Plan(Vec<PlanEntry>),
    /// What the answer that is being written, or was just written, has consumed.
    Usage(TurnUsage),
    /// How full its context is.
    Context(AgentContextUse),
    /// What it calls the conversation.
    Title(String),
    /// It chose another model.
    Model(String),
    /// It chose another mode.
    Mode(String),
    /// Something a person should know.
    Notice {
        /// How important it is.
        level: AgentNoticeLevel,
        /// What it is.
        text: String,
    },
    /// It stopped working. Comes once for each [`AgentEvent::TurnStarted`].
    TurnEnded(TurnEnd),
    /// A line could not be used; how many that happened to is counted by
    /// [`ChildAgent::lost`](crate::ChildAgent::lost). Only the first in a row is announced.
    Lost {
        /// What was wrong with it.
        why: String,
    },
    /// It is gone. Nothing follows.
    Exited(Exit),
}

/// Why a turn began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOrigin {
    /// It was given a prompt.
    Prompt,
    /// By itself: a job of its own ended, or a message was queued that it takes up now.
    Own,
}

/// A call of a tool that the agent runs itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentCall {
    /// Unique in the session.
    pub id: String,
    /// The tool. Where the agent names none, what kind of tool it is (`edit`, `execute`, …).
    pub name: String,
    /// What the call does, for people.
    pub title: Option<String>,
    /// The kind of tool, where the agent has kinds.
    pub kind: Option<String>,
    /// Its arguments.
    pub input: Value,
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOutput {
    /// Text for people and models.
    pub text: String,
    /// Pictures: media type and base64.
    pub pictures: Vec<(String, String)>,
    /// The files it changed.
    pub diffs: Vec<FileDiff>,
    /// The places in files that it is about, as far as the agent tells.
    pub locations: Vec<AgentLocation>,
    /// Terminals of the host whose output is part of it.
    pub terminals: Vec<String>,
    /// What else the agent reports of it, as it wrote it.
    pub details: Option<Value>,
}

/// A place that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLocation {
    /// The file.
    pub path: PathBuf,
    /// The line, from one on.
    pub line: Option<u64>,
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file.
    pub path: PathBuf,
    /// What was in it; none for a new file.
    pub old: Option<String>,
    /// What is in it now.
    pub new: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: AgentPlanStatus,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPlanStatus {
    /// To be done.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// What was consumed. Input does not include what a cache gave or took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TurnUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens written to a cache.
    pub cache_write_tokens: u64,
    /// What it cost, where the agent knows.
    pub cost_usd: Option<f64>,
}

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentContextUse {
    /// Tokens in it; 0 where only the size is told.
    pub used: u64,
    /// Tokens that fit; 0 where that is not told.
    pub size: u64,
    /// What the session has cost so far, where the agent tells.
    pub cost_usd: Option<f64>,
}

/// How important a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentNoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// Why it ended.
    pub reason: TurnEndReason,
    /// What the whole turn consumed, where the agent tells.
    pub usage: Option<TurnUsage>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEndReason {
    /// The agent was done.
    Completed,
    /// Its model's output limit was hit, or its own limit of requests.
    Limit,
    /// It declined to answer.
    Refused,
    /// Somebody stopped it.
    Aborted,
    /// It failed; why, for people.
    Failed(String),
}

/// How an agent ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code or signal, for people; none where nobody waited for it.
    pub status: Option<String>,
    /// Why it was given up, if that was our doing.
    pub given_up: Option<String>,
    /// The last lines it wrote to stderr, oldest first.
    pub stderr: Vec<String>,
}

impl TurnUsage {
    /// Adds what another answer consumed.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self
            .cache_read_tokens
            .saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
    }
}

impl CallOutput {
    /// Only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.given_up, &self.status) {
            (Some(why), _) => write!(f, "the agent was given up: {why}")?,
            (None, Some(status)) => write!(f, "the agent ended ({status})")?,
            (None, None) => write!(f, "the agent ended")?,
        }
        if !self.stderr.is_empty() {
            write!(f, "; its last lines: {}", self.stderr.join(" | "))?;
        }
        Ok(())
    }
}
