//! The line between a run and the actor that owns the session's state.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use serde_json::Value;
use stentor_checkpoint::CheckpointId;
use stentor_journal::clock::SharedClock;
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{Message, ToolCall, UserContent};
use stentor_journal::store::StoreError;
use stentor_journal::usage::Usage;
use stentor_policy::PermissionMode;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::commands::SlashCommands;
use crate::event::{BudgetLimit, CompactionReason, CompactionResult, Fallback};
use crate::hooks::Hooks;
use crate::hub::Hub;
use crate::jobs::JobReport;
use crate::model::{Model, ModelError, ModelInfo, ThinkingLevel};
use crate::rules::RuleBook;
use crate::sandbox::SandboxState;
use crate::tool::{Place, Tool, ToolHost, ToolSpec, Touches};
use crate::turn::compaction::{CompactionError, CompactionPlan};
use crate::turn::retry::RetryPolicy;
use crate::undo::Undo;

/// Requests a run may have waiting for the actor. The run waits when it is full.
pub(crate) const LINK_REQUESTS: usize = 16;

/// Everything a run needs of its session. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RunLink {
    pub hub: Hub,
    pub clock: SharedClock,
    pub requests: mpsc::Sender<RunRequest>,
    pub signals: Arc<Signals>,
    pub retry: RetryPolicy,
    pub cwd: Arc<Path>,
    pub spill_dir: Arc<Path>,
    /// What the commands of the session are held back from.
    pub sandbox: Arc<SandboxState>,
    pub session_id: Arc<str>,
    pub session_file: Option<Arc<Path>>,
    pub watch: Arc<RunWatch>,
    /// What is asked about prompts and calls.
    pub hooks: Option<Arc<dyn Hooks>>,
    pub slash: Arc<SlashCommands>,
    /// Records what calls change.
    pub undo: Option<Arc<Undo>>,
    /// Fires when the run must stop.
    pub cancel: CancellationToken,
    /// Told when only the waiting for a retry must stop; says nothing to a later one.
    pub cancel_retry: Arc<Notify>,
}

/// What a run has an eye on besides its work.
#[derive(Debug, Default)]
pub(crate) struct RunWatch {
    /// How often a run that stops with things to do is reminded of them.
    pub plan_reminders: u32,
    /// How long one answer of a model may become.
    pub max_answer_bytes: u64,
    /// The JSON schema that answers are to match.
    pub output_schema: Option<Arc<Value>>,
    /// The first model call of a run takes no steering messages.
    pub steering_waits_for_first_call: bool,
}

/// What the actor lets a run see without asking.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// True when a steering message waits that must not wait for the end of the turn.
    pub steering_now: AtomicBool,
    /// Told when steering messages wait.
    pub steering_waits: Notify,
    /// True when messages may wait for the run: it asks for them only then.
    pub queued: AtomicBool,
    /// True when messages were taken out of a queue that no turn has announced.
    pub unannounced: AtomicBool,
    /// The retry that is being waited for or made; zero when there is none.
    pub retry_attempt: AtomicU32,
    pub compacting: AtomicBool,
    /// True when the run must stop once the model call that is going on has ended.
    pub interrupted: AtomicBool,
    /// True between the start and the end of a run.
    pub in_run: AtomicBool,
    /// True when the last run has ended for good and only tidying up follows.
    pub winding_up: AtomicBool,
    numbers: AtomicU64,
}

impl Signals {
    /// True when the run must stop after the current model call.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// The numbers go on behind this one.
    pub fn count_from(&self, number: u64) {
        self.numbers.fetch_max(number, Ordering::Relaxed);
    }

    /// The next message number of the session.
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// What a run asks of the actor. A plain answer takes four: [`RunRequest::BeginRun`],
/// [`RunRequest::NextCall`], [`RunRequest::Append`] and [`RunRequest::Finish`].
pub(crate) enum RunRequest {
    /// A run begins, unless the context must be compacted first. With `take_steering` the answer
    /// has the waiting steering messages, appended and on disk.
    BeginRun {
        may_compact: bool,
        take_steering: bool,
        reply: Reply<Result<RunStart, StoreError>>,
    },
    /// Puts messages into the conversation and on disk, in one go. With `sync` the answer comes
    /// when they would survive a power cut.
    Append {
        messages: Vec<Arc<Message>>,
        sync: bool,
        /// True when the (one) message is what a model call brought: it counts as one.
        model_call: bool,
        /// The entry that the (one) message becomes, if that is known; see [`ModelCall::entry_id`].
        entry_id: Option<Arc<str>>,
        reply: Reply<Result<Vec<ConversationItem>, StoreError>>,
    },
    /// Takes a failed answer, and the results of its calls, out of the context; both stay on disk.
    Forget { entry_id: String, reply: Reply<()> },
    /// Which model could step in for the one that failed with this error, and is none of `tried`.
    FindFallback {
        error: ModelError,
        tried: Vec<String>,
        reply: Reply<Option<FallbackPlan>>,
    },
    /// Lets it. The answer has the name of the model, too; it is none when somebody chose another.
    ApplyFallback {
        plan: FallbackPlan,
        reason: String,
        reply: Reply<Option<(Fallback, String)>>,
    },
    /// The next model call, or why there must be none.
    NextCall {
        reply: Reply<Result<ModelCall, RunRefusal>>,
    },
    /// Something has changed that can be undone. The answer is the checkpoint it is recorded in.
    BeginCheckpoint { reply: Reply<CheckpointId> },
    /// Counts what a model call consumed that leaves no message.
    Consumed { model: String, usage: Usage },
    /// Records what a tool has just consumed: what was spent is not lost with the process.
    RecordTools,
    /// Counts what the tools of a round consumed, such as subagents, and says how much it was.
    ConsumedByTools { reply: Reply<Usage> },
    /// Takes waiting messages, as many as the mode says, appended and on disk: steering messages,
    /// or else, for a run that would stop, follow-ups.
    TakeQueued {
        or_follow_ups: bool,
        reply: Reply<Result<Vec<ConversationItem>, StoreError>>,
    },
    /// A turn announces a message now: if it came out of a queue, it waits no more.
    Announcing {
        message: Arc<Message>,
        reply: Reply<()>,
    },
    /// May this call run?
    Permit {
        call: Arc<ToolCall>,
        /// The session runs it itself: it is a call of its newest answer.
        is_own: bool,
        /// What wants it goes on when the run ends.
        is_background: bool,
        spec: ToolSpec,
        touches: Touches,
        /// It was permitted already in other words: nobody is asked once more.
        is_approved: bool,
        reply: Reply<Verdict>,
    },
    /// A person has accepted a plan: the session and its run go on in this mode.
    LeavePlanMode {
        mode: PermissionMode,
        reply: Reply<bool>,
    },
    /// What may be done without being asked?
    Automatic { reply: Reply<AutomaticSteps> },
    /// Why the budget allows no further call, if it does not.
    LimitReached { reply: Reply<Option<String>> },
    /// What to summarise, if the context should be compacted now.
    PlanCompaction {
        reason: CompactionReason,
        reply: Reply<Result<Option<Box<CompactionPlan>>, CompactionError>>,
    },
    /// Records a compaction.
    Compacted {
        result: CompactionResult,
        reply: Reply<Result<CompactionResult, StoreError>>,
    },
    /// Whether the newest answer with this response id is on the branch the session is at.
    HasNewestAnswer {
        response_id: String,
        reply: Reply<bool>,
    },
    /// The steering messages that the run is given next. They go on waiting.
    PeekSteering { reply: Reply<Vec<UserContent>> },
    /// A job began or ended in the background.
    Job(Box<JobReport>),
    /// The session's model has begun to work by itself. True when a run begins that shows it.
    ModelGoesOn { reply: Reply<bool> },
    /// The session's model has become this form of itself.
    ModelBecame {
        info: Arc<ModelInfo>,
        reply: Reply<()>,
    },
    /// What the session's model calls the conversation.
    Titled { title: String, reply: Reply<()> },
    /// The activity would end. The actor marks the session idle, unless there is something to go
    /// on with.
    Finish {
        may_compact: bool,
        /// Messages that arrived meanwhile keep it going.
        go_on: bool,
        reply: Reply<AfterRun>,
    },
}

/// What a run begins with.
pub(crate) enum RunStart {
    /// The context is compacted first, or the reason why it should be and cannot.
    CompactFirst(Result<Box<CompactionPlan>, CompactionError>),
    /// It has begun, with these steering messages.
    Begun(Vec<ConversationItem>),
}

/// What follows a run that would be the last.
pub(crate) enum AfterRun {
    /// The session is idle.
    Idle,
    /// The context is compacted, or the reason why it should be and cannot.
    Compact(Result<Box<CompactionPlan>, CompactionError>),
    /// Another run, with these messages out of a queue.
    GoOn(Vec<ConversationItem>),
}

/// A model that could step in.
pub(crate) struct FallbackPlan {
    /// The chain it is of.
    pub role: String,
    /// The model that failed, as chains name it.
    pub from: String,
    /// What the chain calls it.
    pub name: String,
    pub info: Arc<ModelInfo>,
    pub level: Option<ThinkingLevel>,
}

/// What a session does without being asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AutomaticSteps {
    pub retry: bool,
    pub compaction: bool,
}

/// Where the answer to a request or a command goes.
pub(crate) type Reply<T> = oneshot::Sender<T>;

/// Everything one model call needs.
pub(crate) struct ModelCall {
    /// The entry that the answer becomes.
    pub entry_id: Arc<str>,
    pub model: Arc<dyn Model>,
    pub thinking: ThinkingLevel,
    pub system: Arc<str>,
    pub messages: Vec<Arc<Message>>,
    pub specs: Arc<[ToolSpec]>,
    pub tools: Arc<[Arc<dyn Tool>]>,
    pub place: Arc<dyn Place>,
    pub host: Arc<dyn ToolHost>,
    /// Rules that watch what the model writes.
    pub rules: Arc<RuleBook>,
}

/// No model is called.
pub(crate) struct RunRefusal {
    pub model: Option<Arc<ModelInfo>>,
    /// The entry that an answer in its place becomes, if that is known.
    pub entry_id: Option<Arc<str>>,
    pub why: RefusalReason,
}

/// Why no model is called.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusalReason {
    #[error("{message}")]
    Budget { limit: BudgetLimit, message: String },
    #[error("{0}")]
    Hook(String),
    #[error(transparent)]
    Model(ModelError),
}

/// Whether a call may run.
pub(crate) enum Verdict {
    Allowed,
    /// The text goes to the model.
    Denied(String),
    /// The session ends, and goes on with the question when it is opened again.
    Suspended,
}

/// The actor is gone: the session was closed under the run.
#[derive(Debug)]
pub(crate) struct ActorGone;

impl RunLink {
    /// Asks the actor and waits for its answer.
    pub async fn ask<T>(&self, make: impl FnOnce(Reply<T>) -> RunRequest) -> Result<T, ActorGone> {
        let (reply, answer) = oneshot::channel();
        self.requests
            .send(make(reply))
            .await
            .map_err(|_| ActorGone)?;
        answer.await.map_err(|_| ActorGone)
    }

    /// Hands the actor something it need not answer.
    pub async fn send(&self, request: RunRequest) -> Result<(), ActorGone> {
        self.requests.send(request).await.map_err(|_| ActorGone)
    }

    /// Waits until slow subscribers have room, or the run is stopped.
    pub async fn wait_for_capacity(&self) {
        tokio::select! {
            () = self.hub.wait_for_capacity() => {}
            () = self.cancel.cancelled() => {}
        }
    }
}
