//! What happens in a run: ask the model, stream, run its tools, look at the queues, go round again.
//!
//! A run is a task of its own. It owns no state: the session's actor does, and answers the
//! [`RunRequest`]s the run sends through its [`RunLink`]. Only deltas bypass the actor, straight into
//! the hub, because there are many of them.

mod activity;
mod answer;
mod answer_limit;
mod calls_of_model;
mod compaction;
mod link;
mod reminders;
mod retry;
mod run;
mod run_hooks;
mod session_of_model;
mod tools;

pub(crate) use activity::{OpenCalls, RunWork, perform};
pub use compaction::CompactionError;
pub(crate) use compaction::{CompactionPlan, find_cut};
pub(crate) use link::{
    AfterRun, AutomaticSteps, FallbackPlan, LINK_REQUESTS, ModelCall, RefusalReason, Reply,
    RunLink, RunRefusal, RunRequest, RunStart, RunWatch, Signals, Verdict,
};
pub use retry::RetryPolicy;

pub use crate::permission::NOT_RUN_ABORTED;

/// Text of an answer that was cut off by an abort.
pub const ABORTED: &str = "Request was aborted";

/// Result of a call that was skipped because a steering message waits.
pub const SKIPPED: &str = "Skipped due to queued user message.";

/// Result of a call that was skipped because somebody asked the run to stop after the answer.
pub const STOPPED: &str = "Skipped: the user asked the agent to stop here.";

/// Result of a call whose answer broke off before the call could run.
pub const NOT_RUN_FAILED: &str = "Tool execution failed due to an error in the model's answer.";

/// Result of a call that was running when an earlier process died.
pub const INTERRUPTED: &str = "Interrupted: the process running this tool ended before it finished. \
     What it did is unknown; it was not run again. Check before repeating it.";

/// Result of a call that somebody was asked about when an earlier process ended, and that nobody was
/// asked about again.
pub const NEVER_ANSWERED: &str = "Not run: whether it may was asked when the agent ended, and never \
     answered.";
