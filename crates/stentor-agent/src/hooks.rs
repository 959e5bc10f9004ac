//! The seam for what looks on and steps in while a session works, such as extensions.
//!
//! A session without hooks pays nothing for them. A session with hooks asks them from its run,
//! never from the task that owns its state, so a slow hook delays only what it was asked about;
//! aborting the run ends the waiting. How long a hook may take at most is up to the hooks.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::event::CommandInfo;
use crate::message::ToolCall;
use crate::session::WeakSession;
use crate::tool::{Tool, ToolOutput};

/// Gives each session its hooks.
pub trait HookSource: Send + Sync {
    /// Attaches to a session that begins. Returns at once; what takes long happens beside.
    fn attach(&self, session: HookedSession) -> Arc<dyn Hooks>;
}

/// The session that hooks are attached to.
#[derive(Clone)]
pub struct HookedSession {
    /// Does not keep the session alive.
    pub session: WeakSession,
    pub cwd: Arc<Path>,
    /// True when the session goes on from a file.
    pub resumed: bool,
    /// The names of the servers that bring it tools.
    pub servers: Arc<[String]>,
}

/// What is asked while a session works.
pub trait Hooks: Send + Sync {
    /// The tools the hooks bring, as they are now. Asked before each model call.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// The slash commands the hooks bring, as they are now.
    fn commands(&self) -> Vec<CommandInfo>;

    /// Somebody called a command that nobody has: what to wait for until it is known whether it
    /// is one of these. `None` when that is known already. How long it takes is up to the hooks.
    fn command_to_come(&self, name: &str) -> Option<HookFuture<()>> {
        let _ = name;
        None
    }

    /// Runs one of these commands beside the conversation. `None` when it is nobody's.
    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>>;

    /// The user said something that is in the conversation and has not been answered.
    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict>;

    /// The model calls a tool. The permission policy is asked afterwards.
    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict>;

    /// A tool ran. Returns its output, perhaps changed. `call` has the arguments it ran with.
    fn after_tool_call(&self, call: Arc<ToolCall>, output: ToolOutput) -> HookFuture<ToolOutput>;

    /// The session ends. Returns soon.
    fn session_ended(&self) -> HookFuture<()>;
}

/// What a hook says, once it does. Dropping it means that nobody wants to know any more.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a command that an extension brings did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRan {
    /// It is done, and says this.
    Said(Option<String>),
    /// The agent is to be asked this.
    Ask(String),
    /// It failed, for this reason.
    Failed(String),
}

/// What becomes of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptVerdict {
    /// A model answers it, told these things too.
    Answer { context: Vec<AddedContext> },
    /// It was a command and is answered with this; no model is asked.
    Answered { text: String },
    /// It is not answered, for this reason.
    Denied { reason: String },
}

/// Something a hook adds to the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedContext {
    /// Who added it.
    pub source: String,
    pub text: String,
}

/// What becomes of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallVerdict {
    Allowed,
    /// It goes on with other arguments.
    Changed(Map<String, Value>),
    /// It does not run; the model is told why.
    Denied(String),
}
