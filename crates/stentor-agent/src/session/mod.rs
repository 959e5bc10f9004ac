//! A session: a conversation, its settings and its queues, owned by one task.
//!
//! [`Session`] is the handle everybody else holds: cheap to clone, it sends commands to the task
//! and waits for their answers. What happens in the session is published as events.

mod actor;
mod attachment;
mod command;
mod cost;
mod dialogs;
mod error;
mod handle;
mod held_journal;
mod hook_source;
mod injected;
mod jobs_command;
mod options;
mod own_command;
mod plan_store;
mod queues;
mod record;
mod rewind;
mod servers;
mod state;
mod subagent;
mod tool_host;
mod weak;

pub use crate::budget::Budget;
pub use crate::turn::CompactionError;
pub use attachment::{AttachmentKind, JoinedSession};
pub use cost::CostMeter;
pub use error::SessionError;
pub use handle::{Accepted, RunId, Session};
pub use hook_source::{HookSource, HookedSession};
pub use injected::{DeliverAs, Delivery, Injected};
pub use jobs_command::{JOBS, JOBS_ABOUT, JOBS_HINT, JobsCommand, JobsUsage};
pub use options::{
    CompactionSettings, Environment, MAX_ANSWER_BYTES, PlanClearing, RunOptions, ScopedModel,
    SessionOptions, Storage,
};
pub use own_command::{CommandAnswer, OwnCommand, OwnCommandError, PLAN, PLAN_ABOUT, PLAN_HINT};
pub use queues::QueueKind;
pub use rewind::{
    REWIND, REWIND_ABOUT, REWIND_HINT, Rewind, RewindCommand, RewindError, RewindPoint,
    RewindReport, RewindScope, RewindTarget, RewindUsage, RewindWay,
};
pub use servers::{AttachedServers, SessionServers, ToolServers};
pub use state::{
    BashResult, ContextNeed, ContextUse, ForkPoint, InterruptOutcome, ModelAccess, ModelChoice,
    ReplacedModel, SessionSnapshot, SessionState, SessionStats,
};
pub use weak::WeakSession;
