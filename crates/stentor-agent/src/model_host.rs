//! What a model that is an agent of its own may ask of the session it answers in.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use stentor_journal::message::ToolCall;
use stentor_policy::{PermissionMode, Touches};
use tokio_util::sync::CancellationToken;

use crate::arguments::InvalidArguments;
use crate::box_error::BoxError;
use crate::dialog::{Dialog, DialogAnswer};
use crate::permission::{CallRefused, PermitFuture};
use crate::plan::Plan;
use crate::sandbox::SandboxState;
use crate::tool_spec::ToolSpec;

/// The session a model answers in, for a model that works by itself: one that runs tools of its own
/// has questions of its own. A model that only answers has no use for it.
pub trait ModelHost: Send + Sync {
    /// The folder of the session.
    fn cwd(&self) -> Arc<Path>;

    /// Asks the session's permission policy, and through it perhaps a person, whether a call may
    /// run. The error is the reason, for the model.
    fn permit(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture;

    /// The same about a call that somebody is asked about elsewhere: what the policy denies is denied,
    /// and nobody is asked here.
    fn permit_again(&self, call: Arc<ToolCall>, spec: ToolSpec, touches: Touches) -> PermitFuture;

    /// Whether the session has a tool of this name.
    fn has_tool(&self, name: &str) -> bool;

    /// Runs one of the session's tools and returns the text it gave. It is judged as a call of the
    /// session's own: by its hooks, its policy and perhaps a person. The error is the reason, for the
    /// model.
    fn run_tool(&self, call: HostCall) -> ModelHostFuture<Result<String, HostCallError>>;

    /// The same for a tool that reads a file: all of the text it reads.
    fn read_text(&self, call: HostCall) -> ModelHostFuture<Result<String, HostCallError>>;

    /// The same for a tool that runs a command. Returns when the command may run; what is returned
    /// then runs it. It ends early when it is cancelled, or the run of the session is.
    fn run_command(
        &self,
        call: HostCall,
        watch: CommandWatch,
    ) -> ModelHostFuture<Result<CommandFuture, HostCallError>>;

    /// What may run in the session now.
    fn permission_mode(&self) -> PermissionMode;

    /// What the commands of the session are held back from.
    fn sandbox(&self) -> Arc<SandboxState>;

    /// Asks a person. [`DialogAnswer::Nothing`] when nobody can be asked.
    fn ask(&self, dialog: Dialog) -> ModelHostFuture<DialogAnswer>;

    /// Replaces the plan of the session.
    fn set_plan(&self, plan: Plan);

    /// Warns whoever watches the session.
    fn warn(&self, text: String);

    /// Whether the newest answer that was recorded with this response id belongs to the conversation.
    /// It does not when the session has gone back behind it: then whoever gave it knows more than was
    /// said here.
    fn has_newest_answer(&self, response_id: String) -> ModelHostFuture<bool>;

    /// With what a model that goes on by itself begins a run, when the one that asked it is over.
    fn waker(&self) -> SessionWaker;
}

/// Begins a run of a session whose model has something to show though nobody asked it. The run begins
/// with [`OWN_TURN`]. False when there is none: another one goes on, or nobody wants to be woken. Does
/// not keep the session.
pub type SessionWaker = Arc<dyn Fn() -> ModelHostFuture<bool> + Send + Sync>;

/// The message with which a run begins that its model began. It is for whoever watches: the model
/// needs no telling.
pub const OWN_TURN: &str = "[The agent goes on by itself.]";

/// A call of one of the session's tools that a model makes for itself.
#[derive(Debug, Clone)]
pub struct HostCall {
    /// The call, with the arguments of the session's tool.
    pub call: Arc<ToolCall>,
    /// It was permitted already in other words: nobody is asked once more, but what the policy denies
    /// stays denied.
    pub is_approved: bool,
}

/// Why such a call gave nothing, in words for the model.
#[derive(Debug, thiserror::Error)]
pub enum HostCallError {
    #[error("Tool {0} not found")]
    NoSuchTool(String),
    #[error("{0} reads no files")]
    ReadsNoFiles(String),
    #[error("{0} runs no commands")]
    RunsNoCommands(String),
    #[error(transparent)]
    Arguments(#[from] InvalidArguments),
    #[error(transparent)]
    Refused(#[from] CallRefused),
    /// The tool says why.
    #[error(transparent)]
    Failed(#[from] BoxError),
}

/// Whoever looks on while a command runs.
#[derive(Clone)]
pub struct CommandWatch {
    /// Ends the command.
    pub cancel: CancellationToken,
    /// Takes output as it comes, free of escape sequences.
    pub output: Arc<dyn Fn(&str) + Send + Sync>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Absent when it was cancelled or died of a signal.
    pub exit_code: Option<i32>,
    /// The signal it died of, if that did not come from here.
    pub signal: Option<i32>,
    /// What hooks made of its output, where they changed it.
    pub changed_output: Option<String>,
}

/// A command that runs while this is awaited.
pub type CommandFuture = ModelHostFuture<Result<CommandEnd, HostCallError>>;

/// An answer of a session that is being found.
pub type ModelHostFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl fmt::Debug for dyn ModelHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelHost")
    }
}
