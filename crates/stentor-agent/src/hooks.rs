//! The seam for what looks on and steps in while a session works, such as extensions.
//!
//! A session without hooks pays nothing for them. A session with hooks asks them from its run,
//! never from the task that owns its state, so a slow hook delays only what it was asked about;
//! aborting the run ends the waiting. How long a hook may take at most is up to the hooks.

use std::sync::Arc;

use crate::event::CommandInfo;

pub use crate::tool::{CallHooks, CallVerdict, HookFuture};

/// What is asked while a session works. The defaults look on and step in nowhere.
pub trait Hooks: CallHooks {
    /// The slash commands the hooks bring, as they are now.
    fn commands(&self) -> Vec<CommandInfo> {
        Vec::new()
    }

    /// Somebody called a command that nobody has: what to wait for until it is known whether it
    /// is one of these. `None` when that is known already. How long it takes is up to the hooks.
    fn command_to_come(&self, name: &str) -> Option<HookFuture<()>> {
        let _ = name;
        None
    }

    /// Runs one of these commands beside the conversation. `None` when it is nobody's.
    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>> {
        let _ = (name, arguments);
        Box::pin(std::future::ready(None))
    }

    /// The user said something that is in the conversation and has not been answered.
    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        drop(text);
        Box::pin(std::future::ready(PromptVerdict::Answer {
            context: Vec::new(),
        }))
    }

    /// The session ends. Returns soon.
    fn session_ended(&self) -> HookFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

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
