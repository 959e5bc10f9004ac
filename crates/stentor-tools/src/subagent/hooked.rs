//! A subagent's hooks: those of the session it works for.
//!
//! What an extension guards, changes or watches in the calls of a session it guards, changes and
//! watches in those of the session's subagents, and its tools are theirs, too. What belongs to the
//! conversation with the user stays there: prompts and slash commands.

use std::sync::Arc;

use stentor_agent::commands::AgentDefinition;
use stentor_agent::hooks::{CallHooks, CallVerdict, HookFuture, Hooks, PromptVerdict};
use stentor_agent::session::{HookSource, HookedSession};
use stentor_agent::tool::{Tool, ToolHost, ToolOutput};
use stentor_journal::message::ToolCall;

use super::definition;
use super::permitted::PermittedTool;

/// The hooks of one subagent.
#[derive(Clone)]
pub(super) struct ParentsHooks {
    parents: Arc<dyn CallHooks>,
    agent: AgentDefinition,
    /// Who permits the calls.
    host: Arc<dyn ToolHost>,
}

impl ParentsHooks {
    /// The hooks of the session that `host` belongs to, if it has any, for one of its subagents.
    pub fn of(host: &Arc<dyn ToolHost>, agent: &AgentDefinition) -> Option<Arc<dyn HookSource>> {
        Some(Arc::new(Self {
            parents: host.hooks()?,
            agent: agent.clone(),
            host: Arc::clone(host),
        }))
    }
}

impl HookSource for ParentsHooks {
    fn attach(&self, _: HookedSession) -> Arc<dyn Hooks> {
        Arc::new(self.clone())
    }
}

impl CallHooks for ParentsHooks {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.parents.tools();
        tools.retain(|tool| definition::has(&self.agent, &tool.spec().name));
        PermittedTool::all(tools, &self.host)
    }

    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        self.parents.before_tool_call(call)
    }

    fn after_tool_call(&self, call: Arc<ToolCall>, output: ToolOutput) -> HookFuture<ToolOutput> {
        self.parents.after_tool_call(call, output)
    }
}

impl Hooks for ParentsHooks {
    fn before_prompt(&self, _: Arc<str>) -> HookFuture<PromptVerdict> {
        let context = Vec::new();
        Box::pin(std::future::ready(PromptVerdict::Answer { context }))
    }

    fn session_ended(&self) -> HookFuture<()> {
        // They go on with the session they belong to.
        Box::pin(std::future::ready(()))
    }
}
