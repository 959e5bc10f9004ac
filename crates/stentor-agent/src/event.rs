//! What a session tells its subscribers: the superset of what the dialects tell their clients.
//!
//! A dialect matches on [`EventKind`] without a wildcard, so that a new event makes the compiler
//! visit every dialect. A dialect that has no word for an event says nothing.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use stentor_journal::message::{Message, ToolCall};
use stentor_journal::store::Entry;
use stentor_journal::usage::Usage;
use stentor_policy::{PermissionAnswer, PermissionMode};

use crate::dialog::{Dialog, DialogClose, WidgetPlacement};
use crate::live::{LiveBlock, LiveMessage};
use crate::model::{ModelErrorKind, ModelInfo, RateLimit, ThinkingLevel};
use crate::permission::PermissionRequest;
use crate::plan::Plan;
use crate::tool_output::ToolOutput;

/// One thing that happened in a session.
#[derive(Debug, Clone)]
pub struct Event {
    /// The session it happened in.
    pub session: Arc<str>,
    /// Grows by one with each event of the session. A delta that was merged with others has the
    /// number of the last of them.
    pub seq: u64,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    pub kind: EventKind,
}

/// What happened. Large payloads are shared, not copied.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// The agent began to work on something.
    RunStarted,
    /// The agent stopped.
    RunEnded(Arc<RunEnd>),
    /// One model call and its tools begin.
    TurnStarted,
    TurnEnded {
        message: Arc<Message>,
        tool_results: Arc<[Arc<Message>]>,
    },
    /// A complete message entered the conversation: a prompt, a queued message, a tool result.
    /// No deltas follow, [`EventKind::MessageEnded`] does.
    MessageStarted {
        number: u64,
        /// The entry it is recorded as.
        entry_id: Arc<str>,
        message: Arc<Message>,
    },
    /// A model began to answer.
    AnswerStarted(LiveMessage),
    BlockStarted {
        live: LiveMessage,
        block: Arc<LiveBlock>,
    },
    /// More text in a block. Adjacent deltas of one block merge while they wait.
    BlockDelta {
        live: LiveMessage,
        block: Arc<LiveBlock>,
        range: Range<usize>,
    },
    /// A block is complete. For a tool call its arguments have been read.
    BlockEnded {
        live: LiveMessage,
        block: Arc<LiveBlock>,
        call: Option<Arc<ToolCall>>,
        /// True when the answer was stopped or failed in the middle of it.
        cut: bool,
    },
    /// A message is complete and on disk.
    MessageEnded {
        number: u64,
        message: Arc<Message>,
    },
    ToolStarted {
        call: Arc<ToolCall>,
    },
    /// The state of a running call. Replaces the one before.
    ToolProgress {
        call: Arc<ToolCall>,
        partial: Arc<ToolOutput>,
    },
    ToolEnded {
        call: Arc<ToolCall>,
        output: Arc<ToolOutput>,
        duration_ms: u64,
    },
    QueueChanged(Arc<Queues>),
    StateChanged(StateChange),
    /// An entry was appended to the session file.
    EntryAppended {
        id: String,
        /// The entry, if an extension had it appended, it changes the context, or it is a shell
        /// command of the user. Latecomers read it from the file.
        entry: Option<Arc<Entry>>,
    },
    CompactionStarted {
        reason: CompactionReason,
    },
    CompactionEnded(Arc<CompactionEnd>),
    /// The model that summarises failed and is asked again.
    SummaryRetry(SummaryRetry),
    RetryStarted {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        /// The provider asked for this wait; else it is ours.
        asked_for: bool,
        /// What the provider said about its limits.
        rate_limit: Option<RateLimit>,
        error: String,
    },
    RetryEnded {
        success: bool,
        attempt: u32,
        final_error: Option<String>,
    },
    /// A model that failed gives way to another one of its chain.
    FallbackApplied(Arc<Fallback>),
    /// The model that stepped in has answered.
    FallbackSucceeded {
        /// `provider/id`.
        model: String,
        /// The chain it is of.
        role: String,
    },
    /// Nothing automatic follows any more: no retry, no compaction, no queued message.
    Settled {
        aborted: bool,
    },
    PlanChanged(Arc<Plan>),
    /// What is done was taken out of the plan. [`EventKind::PlanChanged`] said before what is left.
    PlanTidied,
    /// A shell command that the user runs beside the conversation began.
    BashStarted {
        id: u64,
        /// The entry it is recorded as when it has ended.
        entry_id: Arc<str>,
        command: Arc<str>,
    },
    /// Output of a shell command the user runs beside the conversation.
    BashOutput {
        id: u64,
        delta: Arc<str>,
    },
    /// A shell command of the user is over.
    BashEnded {
        id: u64,
        entry_id: Arc<str>,
        end: BashEnd,
    },
    PermissionAsked {
        id: u64,
        request: Arc<PermissionRequest>,
    },
    PermissionAnswered {
        id: u64,
        answer: PermissionAnswer,
    },
    /// Something a person should know that belongs to no message.
    Notice {
        level: NoticeLevel,
        message: String,
        from: NoticeSource,
    },
    /// A question to a person that is no permission.
    DialogAsked {
        id: u64,
        dialog: Arc<Dialog>,
    },
    DialogClosed {
        id: u64,
        close: DialogClose,
    },
    /// A line about something that goes on. Without text the line goes away.
    Status {
        key: String,
        text: Option<String>,
    },
    /// Lines shown beside the editor. Without lines the widget goes away.
    Widget {
        key: String,
        lines: Option<Vec<String>>,
        placement: WidgetPlacement,
    },
    /// The title of the client's window.
    Title(String),
    /// Text for the client's input box.
    EditorText(String),
    /// All slash commands of the session, when they are others than its client was last given.
    CommandsChanged(Arc<[CommandInfo]>),
    SubagentStarted(Arc<Subagent>),
    /// What a subagent is doing, for people, and what it did so far.
    SubagentProgress {
        agent: Arc<Subagent>,
        status: String,
        work: Arc<SubagentWork>,
    },
    /// What happened in a subagent's own session, while somebody wants to know it
    /// (`Subagents::watch`). Deltas merge like those of the session.
    SubagentEvent {
        agent: Arc<Subagent>,
        event: Box<Event>,
    },
    SubagentEnded {
        agent: Arc<Subagent>,
        end: Arc<SubagentEnd>,
    },
    /// Other jobs run in the background than before; `Session::jobs` has them.
    JobsChanged,
    /// Rules matched what the model was writing: the stream was stopped, the rules go in, and it
    /// goes on.
    RulesTriggered(Arc<[AnswerRule]>),
    /// The agent stopped with things still to do and is reminded of them.
    PlanReminder {
        plan: Arc<Plan>,
        attempt: u32,
        max_attempts: u32,
    },
    /// An extension wants the program to end. Nothing runs in the session any more.
    ShutdownAsked,
    ExtensionFailed {
        extension: String,
        /// What it was doing.
        event: String,
        error: String,
    },
}

/// How a shell command of the user ended.
#[derive(Debug, Clone)]
pub enum BashEnd {
    /// The message it enters the conversation with: now, or when the run is over.
    Ran(Arc<Message>),
    /// It could not be run, and leaves nothing.
    Failed(String),
}

/// How it goes on with a summary that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryRetry {
    /// The model is asked again after this time.
    Scheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error: String,
    },
    /// It is asked again.
    Started { reason: CompactionReason },
    /// There is a summary, or none will come.
    Ended,
}

/// Another model steps in for one that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// `provider/id`, perhaps with `:level`.
    pub from: String,
    pub to: String,
    /// The chain it is of.
    pub role: String,
    pub reason: String,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// As it is said, without the slash.
    pub name: String,
    pub description: Option<String>,
    /// What may follow the name, for people.
    pub hint: Option<String>,
    pub source: CommandSource,
    /// The file it comes from.
    pub path: Option<PathBuf>,
}

/// Where a slash command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandSource {
    Builtin,
    Extension,
    Prompt,
    Skill,
    /// Gives a task to an agent.
    Agent,
    McpPrompt,
}

/// A subagent at work for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    /// Unique and growing within the process.
    pub id: u64,
    pub name: String,
    pub source: SubagentSource,
    pub task: String,
    /// The call that delegates to it.
    pub call_id: String,
    /// Which of the tasks of its call it works on, from zero.
    pub index: usize,
    /// The id of its own session.
    pub session_id: Arc<str>,
    /// Where its conversation is kept; absent when that of its session is not kept either.
    pub session_file: Option<PathBuf>,
}

/// Where the definition of a subagent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentSource {
    Builtin,
    User,
    Project,
}

/// What a subagent did so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubagentWork {
    /// The call that runs; the newest of several.
    pub current: Option<SubagentCall>,
    /// The last calls that ended, the newest first, with the time they ended.
    pub recent: Vec<SubagentCall>,
    /// The last lines it wrote, the newest first.
    pub output: Vec<String>,
    /// Calls it made.
    pub calls: u64,
    /// Answers its model gave.
    pub requests: u64,
    pub usage: Usage,
    pub duration_ms: u64,
}

/// A call of a subagent, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentCall {
    pub id: String,
    pub tool: String,
    /// The argument that says most.
    pub about: String,
    pub time_ms: u64,
}

/// How a subagent ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentEnd {
    /// What it reported, or why it failed.
    pub result: String,
    pub failed: bool,
    /// It failed because somebody stopped it.
    pub cancelled: bool,
    pub duration_ms: u64,
    pub usage: Usage,
}

/// A rule that watches what a model writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRule {
    pub name: String,
    pub path: PathBuf,
    /// What the model is told when the rule matches.
    pub content: String,
    pub description: Option<String>,
    /// The patterns that trigger it.
    pub condition: Vec<String>,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// The messages this run added, in order.
    pub messages: Vec<Arc<Message>>,
    /// The sum over all model calls of the run.
    pub usage: Usage,
    pub outcome: RunOutcome,
    /// True when an automatic retry or compaction goes on with it.
    pub will_retry: bool,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// The model was done.
    Completed,
    /// The model declined to answer.
    Refused,
    /// The model's output limit was hit.
    OutputLimit,
    /// Somebody stopped it.
    Aborted,
    /// The model failed.
    Failed {
        kind: ModelErrorKind,
        message: String,
        status: Option<u16>,
    },
    /// A limit of the session was reached; the text says which.
    BudgetReached { limit: BudgetLimit, message: String },
}

/// The limits a session can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetLimit {
    Tokens,
    Cost,
    Turns,
}

/// The messages that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queues {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// A setting or position that changed.
#[derive(Debug, Clone)]
pub enum StateChange {
    Model(Arc<ModelInfo>),
    ThinkingLevel(ThinkingLevel),
    Name(Option<String>),
    SteeringMode(QueueMode),
    FollowUpMode(QueueMode),
    InterruptMode(InterruptMode),
    AutoCompaction(bool),
    AutoRetry(bool),
    PermissionMode(PermissionMode),
    /// The place in the conversation tree the next message goes to.
    Leaf(Option<String>),
}

/// How many waiting messages are delivered at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    All,
    #[default]
    OneAtATime,
}

/// When a steering message gets through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InterruptMode {
    /// After the tool call that is running; the calls that have not started are skipped.
    #[default]
    Immediate,
    /// When the turn has ended.
    Wait,
}

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// Somebody asked for it.
    Manual,
    /// The context came near the window.
    Threshold,
    /// The model said the context is too long.
    Overflow,
    /// Somebody wants to go on from a summary of everything.
    Handoff,
}

/// How a compaction ended.
#[derive(Debug, Clone)]
pub struct CompactionEnd {
    pub reason: CompactionReason,
    pub result: Option<CompactionResult>,
    pub aborted: bool,
    /// True when the run that overflowed goes on.
    pub will_retry: bool,
    pub error: Option<String>,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    pub summary: String,
    /// The first entry that was kept as it was.
    pub first_kept_entry_id: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
}

/// Who tells something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoticeSource {
    /// The agent, of its own accord.
    #[default]
    Agent,
    Extension,
    /// Something that a client asked for, such as a login.
    Asked,
}

/// How important a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

impl NoticeLevel {
    /// Its name in a frame.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl CommandSource {
    /// Its name in a frame.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Extension => "extension",
            Self::Prompt => "prompt",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::McpPrompt => "mcp_prompt",
        }
    }
}

impl CompactionReason {
    /// True when somebody asked for it; else it began by itself.
    pub fn is_asked_for(self) -> bool {
        match self {
            Self::Manual | Self::Handoff => true,
            Self::Threshold | Self::Overflow => false,
        }
    }
}

impl QueueMode {
    /// Its name on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::OneAtATime => "one-at-a-time",
        }
    }

    /// The mode of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::All, Self::OneAtATime]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }
}

impl InterruptMode {
    /// Its name on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Wait => "wait",
        }
    }

    /// The mode of that name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Immediate, Self::Wait]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }
}
