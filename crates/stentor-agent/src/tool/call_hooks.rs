//! What guards, changes and watches calls, and brings tools of its own: the part of a session's
//! hooks that a tool needs that makes calls on its own account.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_journal::message::ToolCall;

use super::{Tool, ToolOutput};

/// What is asked about tools and their calls. The defaults bring nothing and let everything pass.
pub trait CallHooks: Send + Sync {
    /// The tools the hooks bring, as they are now. Asked before each model call.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// The model calls a tool. The permission policy is asked afterwards.
    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        drop(call);
        Box::pin(std::future::ready(CallVerdict::Allowed))
    }

    /// A tool ran. Returns its output, perhaps changed. `call` has the arguments it ran with.
    fn after_tool_call(&self, call: Arc<ToolCall>, output: ToolOutput) -> HookFuture<ToolOutput> {
        drop(call);
        Box::pin(std::future::ready(output))
    }
}

/// What a hook says, once it does. Dropping it means that nobody wants to know any more.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What becomes of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallVerdict {
    Allowed,
    /// It goes on with other arguments.
    Changed(Map<String, Value>),
    /// It does not run; the model is told why.
    Denied(String),
}
