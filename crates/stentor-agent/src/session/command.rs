//! What a handle asks of the actor.

use std::sync::Arc;

use serde_json::Value;
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::{Entry, Header, Opened};
use stentor_policy::{PermissionAnswer, PermissionMode};
use tokio::sync::oneshot;

use super::error::SessionError;
use super::injected::{Delivery, Injected};
use super::options::RunOptions;
use super::queues::QueueKind;
use super::state::{BashResult, ForkPoint, Interrupted, ModelChoice, SessionState, SessionStats};
use crate::dialog::DialogAnswer;
use crate::event::{CompactionReason, CompactionResult, InterruptMode, QueueMode, Queues};
use crate::model::ThinkingLevel;
use crate::tool::{Plan, Tool, ToolSpec};
use crate::turn::CompactionError;

/// Commands a session may have waiting. A caller waits when it is full.
pub(super) const COMMANDS: usize = 64;

/// Where the answer to a command goes.
pub(super) type Reply<T> = oneshot::Sender<T>;

/// What a handle asks of the actor.
pub(super) enum Command {
    Run(RunCommand),
    Queue(QueueCommand),
    Model(ModelCommand),
    Setting(SettingCommand),
    Query(Query),
    AnswerPermission {
        id: u64,
        answer: PermissionAnswer,
        reply: Reply<Result<(), SessionError>>,
    },
    AnswerDialog {
        id: u64,
        answer: DialogAnswer,
        reply: Reply<bool>,
    },
    AppendCustom {
        custom_type: String,
        data: Option<Value>,
        reply: Reply<Result<String, SessionError>>,
    },
    Close {
        reply: Reply<()>,
    },
}

/// What begins and stops activities.
pub(super) enum RunCommand {
    Prompt {
        content: Vec<ContentBlock>,
        options: RunOptions,
        reply: Reply<Result<Started, SessionError>>,
    },
    Inject {
        injected: Injected,
        delivery: Delivery,
        reply: Reply<Result<(), SessionError>>,
    },
    Abort {
        reply: Reply<()>,
    },
    /// Only if this run is still going on.
    AbortRun {
        run: u64,
        reply: Reply<()>,
    },
    Interrupt {
        reply: Reply<Interrupted>,
    },
    /// Both in one, so that nobody else's prompt can come in between.
    AbortAndPrompt {
        content: Vec<ContentBlock>,
        reply: Reply<Result<Started, SessionError>>,
    },
    AbortRetry,
    Compact {
        reason: CompactionReason,
        instructions: Option<String>,
        reply: Reply<Result<CompactionResult, CompactionError>>,
    },
    Bash {
        command: String,
        exclude_from_context: bool,
        reply: Reply<Result<BashResult, SessionError>>,
    },
    AbortBash,
    AskForShutdown,
}

/// What changes the queues.
pub(super) enum QueueCommand {
    Enqueue {
        queue: QueueKind,
        content: Vec<ContentBlock>,
        reply: Reply<Result<(), SessionError>>,
    },
    Clear {
        reply: Reply<Queues>,
    },
    Remove {
        queue: QueueKind,
        text: String,
        reply: Reply<bool>,
    },
    Promote {
        text: String,
        reply: Reply<Result<bool, SessionError>>,
    },
}

/// What chooses the model and how long it thinks.
pub(super) enum ModelCommand {
    Set {
        provider: String,
        id: String,
        reply: Reply<Result<ModelChoice, SessionError>>,
    },
    Cycle {
        backward: bool,
        reply: Reply<Result<Option<ModelChoice>, SessionError>>,
    },
    SetThinking {
        level: ThinkingLevel,
        reply: Reply<Result<ThinkingLevel, SessionError>>,
    },
    CycleThinking {
        reply: Reply<Result<Option<ThinkingLevel>, SessionError>>,
    },
}

/// What changes other settings.
pub(super) enum SettingCommand {
    SteeringMode(QueueMode),
    FollowUpMode(QueueMode),
    InterruptMode(InterruptMode),
    AutoCompaction(bool),
    AutoRetry(bool),
    PermissionMode(PermissionMode),
    Name {
        name: String,
        reply: Reply<Result<(), SessionError>>,
    },
    Plan(Plan),
    Tools(Vec<Arc<dyn Tool>>),
}

/// What changes nothing.
pub(super) enum Query {
    State {
        reply: Reply<Box<SessionState>>,
    },
    Stats {
        reply: Reply<Result<Box<SessionStats>, SessionError>>,
    },
    Messages {
        reply: Reply<Vec<Arc<Message>>>,
    },
    Tools {
        reply: Reply<Arc<[ToolSpec]>>,
    },
    LastText {
        reply: Reply<Option<String>>,
    },
    ActivePath {
        reply: Reply<Result<StoredEntries, SessionError>>,
    },
    Entries {
        reply: Reply<Result<StoredEntries, SessionError>>,
    },
    UserMessages {
        reply: Reply<Result<Vec<(String, String)>, SessionError>>,
    },
    Fork {
        point: ForkPoint,
        /// The id of the new session, if it must have a certain one.
        id: Option<String>,
        reply: Reply<Result<Forked, SessionError>>,
    },
}

/// Entries of a session, with its header.
pub(super) type StoredEntries = (Header, Vec<Entry>);

/// A session made of a part of another, and the text of the message it stops before.
pub(super) type Forked = (Opened, Option<String>);

impl From<RunCommand> for Command {
    fn from(command: RunCommand) -> Self {
        Self::Run(command)
    }
}

impl From<QueueCommand> for Command {
    fn from(command: QueueCommand) -> Self {
        Self::Queue(command)
    }
}

impl From<ModelCommand> for Command {
    fn from(command: ModelCommand) -> Self {
        Self::Model(command)
    }
}

impl From<SettingCommand> for Command {
    fn from(command: SettingCommand) -> Self {
        Self::Setting(command)
    }
}

impl From<Query> for Command {
    fn from(query: Query) -> Self {
        Self::Query(query)
    }
}

/// A prompt that is on disk. The run begins when `go` is used or dropped.
pub(super) struct Started {
    pub go: oneshot::Sender<()>,
    /// Which run it is.
    pub run: u64,
    /// The newest event when it was accepted.
    pub after: u64,
}
