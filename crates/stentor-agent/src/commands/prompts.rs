//! The seam for prompts that others keep, such as MCP servers.

use std::pin::Pin;

use stentor_journal::message::ContentBlock;

use crate::box_error::BoxError;
use crate::event::CommandInfo;

/// Whoever keeps prompts that people can call by name.
///
/// It is given to a session with `Session::add_prompts`, and calls `Session::commands_changed` when
/// its list has changed.
pub trait PromptSource: Send + Sync {
    /// The prompts there are now, each with its name as a command. Returns at once: asked whenever
    /// commands are listed or used.
    fn prompts(&self) -> Vec<CommandInfo>;

    /// What the agent is asked for one of them. `arguments` is what followed the name, as it was
    /// typed. How long it may take is up to the source.
    fn fetch(&self, name: &str, arguments: &str) -> PromptFuture;

    /// Somebody called a command that nobody has: waits until it is known whether it is one of
    /// these, for a source that takes time to know. How long is up to the source.
    fn await_prompt(&self, name: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let _ = name;
        Box::pin(std::future::ready(()))
    }
}

/// A prompt that is being fetched.
pub type PromptFuture = Pin<Box<dyn Future<Output = Result<Vec<ContentBlock>, BoxError>> + Send>>;
