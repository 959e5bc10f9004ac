//! What a scenario consists of, and the methods with which a test builds one.

use serde_json::{Map, Value};
use std::path::PathBuf;
use stentor_agent::model::{InputKind, ModelErrorKind, RateLimit, ThinkingLevel};
use stentor_journal::message::StopReason;
use stentor_journal::usage::{Prices, Usage};

use super::condition::Condition;

/// Everything a scripted model says and is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scenario {
    pub model: ModelFacts,
    /// What a turn consumes that does not say it itself.
    pub usage: UsageRule,
    pub turns: Vec<ScriptTurn>,
    pub on_exhausted: Exhausted,
    pub compaction: ScriptedCompaction,
}

/// What the scripted model claims to be.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// Replaces the id, which is otherwise the path of the file.
    pub id: Option<String>,
    pub name: Option<String>,
    pub context_window: u64,
    pub max_tokens: u64,
    pub reasoning: bool,
    pub input: Vec<InputKind>,
    pub prices: Prices,
    pub thinking_levels: Vec<ThinkingLevel>,
}

/// The answer to one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptTurn {
    /// Makes it an answer to certain messages instead of the next one in order.
    pub when: Option<Condition>,
    /// How often it is played. Default: once if in order, without limit if conditional.
    pub times: Option<u32>,
    pub response_id: Option<String>,
    pub steps: Vec<ScriptStep>,
    pub usage: Option<UsageRule>,
    /// Default: `ToolUse` when it calls a tool, else `Stop`.
    pub stop: Option<StopReason>,
    /// True when the model declines to answer.
    pub refused: bool,
}

/// One thing that happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptStep {
    Wait {
        ms: u64,
    },
    /// Waits until somebody makes this file.
    WaitFor {
        file: PathBuf,
    },
    /// Nothing more comes until the request is cancelled.
    Hang,
    /// Continues the text block before it, waits and usage in between aside.
    Text(Speech),
    /// Continues the thinking before it unless that was signed.
    Thinking {
        speech: Speech,
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    Tool(ToolStep),
    /// Says what was consumed so far.
    Usage(Usage),
    /// Completes the block before an error or a hang, which would otherwise leave it open.
    EndBlock,
    /// Breaks the answer off in the middle of the block before it.
    Error(ErrorStep),
}

/// Text and how it is cut into deltas.
#[derive(Debug, Clone, PartialEq)]
pub struct Speech {
    pub text: ScriptedText,
    /// A pause before each delta.
    pub chunk_wait_ms: u64,
    /// Starts a block of its own even after one of the same kind.
    pub new_block: bool,
}

/// The deltas of a text. They are made one at a time, when they are due.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedText {
    /// One delta.
    Whole(String),
    /// Deltas of at most so many characters.
    Cut { text: String, chars: usize },
    /// Exactly these deltas.
    Chunks(Vec<String>),
    /// The same delta so many times, with `{{n}}` counting.
    Repeat { text: String, times: u64 },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// Made up when absent: `call_TURN_INDEX`.
    pub id: Option<String>,
    pub name: String,
    pub arguments: ScriptArguments,
    pub chunk_wait_ms: u64,
}

/// The arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptArguments {
    /// An object, sent in deltas of at most `chars` characters.
    Object {
        object: Map<String, Value>,
        chars: Option<usize>,
    },
    /// Text sent as it is, which need not be JSON.
    Raw(ScriptedText),
}

/// An error instead of (the rest of) an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorStep {
    pub kind: ModelErrorKind,
    pub message: Option<String>,
    pub status: Option<u16>,
    pub retry_after_ms: Option<u64>,
    pub rate_limit: Option<RateLimit>,
}

/// What a turn says it consumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UsageRule {
    Fixed(Usage),
    /// A quarter of the characters of the messages and of the answer.
    Estimate,
}

/// What happens when no turn is left.
#[derive(Debug, Clone, PartialEq)]
pub enum Exhausted {
    RepeatLast,
    Error,
    Text(String),
}

/// How requests for a summary are answered. They use up no turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptedCompaction {
    /// Made from the conversation when absent.
    pub summary: Option<String>,
    pub chunk_chars: Option<usize>,
    pub wait_ms: u64,
    /// A file that must be there first.
    pub wait_for: Option<PathBuf>,
    pub usage: Option<UsageRule>,
    pub error: Option<ErrorStep>,
    /// How often the error comes before a summary does. Default: always.
    pub error_times: Option<u32>,
}

impl Scenario {
    /// A scenario without turns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a turn.
    #[must_use]
    pub fn turn(mut self, turn: ScriptTurn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Adds a turn that says `text`.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.turn(ScriptTurn::new().text(text))
    }

    /// Adds a turn that calls one tool. `arguments` that are no object are sent as they are.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, arguments: Value) -> Self {
        self.turn(ScriptTurn::new().tool(name, arguments))
    }

    /// Adds a turn that fails before it says anything.
    #[must_use]
    pub fn error(self, kind: ModelErrorKind) -> Self {
        self.turn(ScriptTurn::new().error(kind))
    }

    /// Sets what happens when no turn is left.
    #[must_use]
    pub fn on_exhausted(mut self, what: Exhausted) -> Self {
        self.on_exhausted = what;
        self
    }

    /// Sets how requests for a summary are answered.
    #[must_use]
    pub fn compaction(mut self, compaction: ScriptedCompaction) -> Self {
        self.compaction = compaction;
        self
    }

    /// Sets what the model claims to be.
    #[must_use]
    pub fn model(mut self, facts: ModelFacts) -> Self {
        self.model = facts;
        self
    }

    /// Sets what a turn consumes that does not say it itself.
    #[must_use]
    pub fn usage(mut self, usage: UsageRule) -> Self {
        self.usage = usage;
        self
    }
}

impl ScriptTurn {
    /// A turn that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Plays it only when `condition` holds.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.when = Some(condition);
        self
    }

    /// Limits (or, for one in order, raises) how often it is played.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Adds any step.
    #[must_use]
    pub fn step(mut self, step: ScriptStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Says `text` in one delta.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(ScriptStep::Text(Speech::new(ScriptedText::Whole(
            text.into(),
        ))))
    }

    /// Says exactly these deltas.
    #[must_use]
    pub fn chunks<T: Into<String>>(self, chunks: impl IntoIterator<Item = T>) -> Self {
        let chunks = chunks.into_iter().map(Into::into).collect();
        self.step(ScriptStep::Text(Speech::new(ScriptedText::Chunks(chunks))))
    }

    /// Says `text` so many times, a delta each.
    #[must_use]
    pub fn repeat(self, text: impl Into<String>, times: u64) -> Self {
        let text = text.into();
        self.step(ScriptStep::Text(Speech::new(ScriptedText::Repeat {
            text,
            times,
        })))
    }

    /// Thinks `text` in one delta.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.step(ScriptStep::Thinking {
            speech: Speech::new(ScriptedText::Whole(text.into())),
            signature: None,
        })
    }

    /// Calls a tool. `arguments` that are no object are sent as they are.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, arguments: Value) -> Self {
        self.step(ScriptStep::Tool(ToolStep::new(name, arguments)))
    }

    /// Waits.
    #[must_use]
    pub fn wait(self, ms: u64) -> Self {
        self.step(ScriptStep::Wait { ms })
    }

    /// Says nothing more until the request is cancelled.
    #[must_use]
    pub fn hang(self) -> Self {
        self.step(ScriptStep::Hang)
    }

    /// Breaks off with an error.
    #[must_use]
    pub fn error(self, kind: ModelErrorKind) -> Self {
        self.step(ScriptStep::Error(ErrorStep::new(kind)))
    }

    /// Sets what it consumes.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(UsageRule::Fixed(usage));
        self
    }

    /// Sets why it stops.
    #[must_use]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.stop = Some(reason);
        self
    }

    /// True when it breaks off with an error instead of finishing.
    pub fn fails(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, ScriptStep::Error(_)))
    }

    /// How often it may be played.
    pub(super) fn limit(&self) -> u32 {
        let default = if self.when.is_some() { u32::MAX } else { 1 };
        self.times.unwrap_or(default)
    }
}

impl Speech {
    /// Text without pauses.
    pub fn new(text: ScriptedText) -> Self {
        Self {
            text,
            chunk_wait_ms: 0,
            new_block: false,
        }
    }
}

impl ToolStep {
    /// A call with an id that is made up. `arguments` that are no object are sent as they are.
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(object) => ScriptArguments::Object {
                object,
                chars: None,
            },
            Value::String(text) => ScriptArguments::Raw(ScriptedText::Whole(text)),
            other => ScriptArguments::Raw(ScriptedText::Whole(other.to_string())),
        };
        Self {
            id: None,
            name: name.into(),
            arguments,
            chunk_wait_ms: 0,
        }
    }
}

impl ErrorStep {
    /// An error with the usual message and status of its kind.
    pub fn new(kind: ModelErrorKind) -> Self {
        Self {
            kind,
            message: None,
            status: None,
            retry_after_ms: None,
            rate_limit: None,
        }
    }
}

impl Default for ModelFacts {
    fn default() -> Self {
        Self {
            id: None,
            name: None,
            context_window: 200_000,
            max_tokens: 32_000,
            reasoning: true,
            input: vec![InputKind::Text, InputKind::Image],
            prices: Prices::default(),
            thinking_levels: Vec::new(),
        }
    }
}

impl Default for UsageRule {
    fn default() -> Self {
        Self::Fixed(Usage::default())
    }
}

impl Default for Exhausted {
    fn default() -> Self {
        Self::Text("The scenario has no more turns.".to_owned())
    }
}
