//! What a session says about itself.

use std::path::PathBuf;
use std::sync::Arc;

use stentor_journal::message::Message;
use stentor_journal::usage::Usage;
use stentor_policy::PermissionMode;

use crate::event::{InterruptMode, QueueMode, Queues};
use crate::model::{Model, ModelInfo, ThinkingLevel};
use crate::sandbox::SandboxState;
use crate::tool::{Plan, ShellResult, ToolHost};

/// A session at one moment.
#[derive(Debug, Clone)]
pub struct SessionState {
    pub id: Arc<str>,
    /// Absent when the session is kept only in memory.
    pub file: Option<PathBuf>,
    pub name: Option<String>,
    pub cwd: PathBuf,
    pub model: Option<Arc<ModelInfo>>,
    pub thinking: ThinkingLevel,
    /// True from an accepted prompt until nothing automatic follows.
    pub is_running: bool,
    pub is_compacting: bool,
    /// The retry that is under way; zero when there is none.
    pub retry_attempt: u32,
    /// The run stops when the model call that is going on has ended.
    pub interrupt_pending: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
    pub auto_compaction: bool,
    pub auto_retry: bool,
    pub permission_mode: PermissionMode,
    /// The mode that was left for plan mode.
    pub mode_before_plan: Option<PermissionMode>,
    /// What really holds for commands.
    pub sandbox: Arc<SandboxState>,
    /// Messages in context; the one that is still streaming is not among them.
    pub message_count: usize,
    pub queues: Arc<Queues>,
    pub context: ContextUse,
    /// How fast the last answer was written, where that is known.
    pub tokens_per_second: Option<f64>,
    pub plan: Plan,
    /// The place in the conversation tree the next message goes to.
    pub leaf: Option<String>,
    pub is_scoped: bool,
    /// The models that cycling goes through; none means all there are.
    pub scoped_models: Vec<Arc<ModelInfo>>,
    /// The model of its file, where the session was opened with another instead.
    pub replaced_model: Option<Arc<ReplacedModel>>,
}

/// A model that a stored session cannot go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedModel {
    pub provider: String,
    pub id: String,
    /// Why not, in words that go on after its name: `is unknown`.
    pub why: String,
}

/// The model of a session, for what is asked of it beside the conversation.
pub struct ModelAccess {
    pub model: Arc<dyn Model>,
    /// Where what it consumes is counted, and what is left of the session's limits.
    pub host: Arc<dyn ToolHost>,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// Absent when nothing counted yet, as right after a compaction.
    pub tokens: Option<u64>,
    pub window: u64,
}

/// About how many tokens the next request takes without its prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextNeed {
    /// The system prompt and the tools, which no compaction makes shorter.
    pub instructions: u64,
    /// The conversation so far.
    pub conversation: u64,
}

/// Counts and sums of a session.
#[derive(Debug, Clone)]
pub struct SessionStats {
    pub id: Arc<str>,
    pub file: Option<PathBuf>,
    /// Counts over the messages in context.
    pub user_messages: usize,
    pub assistant_messages: usize,
    pub tool_calls: usize,
    pub tool_results: usize,
    pub total_messages: usize,
    /// Sum over the answers in context, and what results there say of the subagents of a call.
    pub context_usage: Usage,
    /// Sum over everything the session ever consumed, summaries included.
    pub total_usage: Usage,
    /// Model calls the session ever made.
    pub total_turns: u64,
    pub context: ContextUse,
}

/// A session at one moment, in one answer.
#[derive(Debug, Clone)]
pub struct SessionSnapshot {
    pub state: SessionState,
    /// The messages in context.
    pub messages: Vec<Arc<Message>>,
    /// Absent unless it was asked for, and when the session's file could not be read for it.
    pub stats: Option<SessionStats>,
}

/// A model and the thinking level that goes with it.
#[derive(Debug, Clone)]
pub struct ModelChoice {
    pub model: Arc<ModelInfo>,
    pub thinking: ThinkingLevel,
    /// True when the choice was among the session's own list of models.
    pub is_scoped: bool,
}

/// What a command of the user did, and the number by which its output events named it.
#[derive(Debug, Clone)]
pub struct BashResult {
    pub id: u64,
    pub result: ShellResult,
}

/// What asking a run to stop after its current model call did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterruptOutcome {
    /// True when this was the first to ask.
    pub accepted: bool,
    /// True when a run is going to stop.
    pub pending: bool,
    /// The steering messages that will not be delivered, oldest first.
    pub dropped_steering: Vec<String>,
}

/// Where a fork begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkPoint {
    /// Just before this user message; its text goes back to the user.
    Before(String),
    /// After this entry.
    After(String),
    /// After the newest entry.
    Leaf,
}
