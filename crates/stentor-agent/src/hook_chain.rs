//! Several hooks as one: those of extensions and those of tool servers.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::event::CommandInfo;
use crate::hooks::{CallVerdict, CommandRan, HookFuture, Hooks, PromptVerdict};
use crate::message::ToolCall;
use crate::tool::{Tool, ToolOutput};

/// Hooks that are asked in order, each about what the one before it made of things.
struct HookChain(Arc<[Arc<dyn Hooks>]>);

/// One that stands for all of them; `None` when there are none.
pub(crate) fn all_in_one(mut hooks: Vec<Arc<dyn Hooks>>) -> Option<Arc<dyn Hooks>> {
    match hooks.len() {
        0 | 1 => hooks.pop(),
        _ => Some(Arc::new(HookChain(hooks.into()))),
    }
}

impl Hooks for HookChain {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.iter().flat_map(|hooks| hooks.tools()).collect()
    }

    fn commands(&self) -> Vec<CommandInfo> {
        let mut commands: Vec<CommandInfo> = Vec::new();
        for command in self.0.iter().flat_map(|hooks| hooks.commands()) {
            if commands.iter().all(|have| have.name != command.name) {
                commands.push(command);
            }
        }
        commands
    }

    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>> {
        let has = |hooks: &&Arc<dyn Hooks>| {
            let commands = hooks.commands();
            commands.iter().any(|command| command.name == name)
        };
        match self.0.iter().find(has) {
            Some(hooks) => hooks.run_command(name, arguments),
            None => Box::pin(std::future::ready(None)),
        }
    }

    /// All are asked at once, since each may wait for programs that start. The first that does not
    /// simply let the prompt pass decides.
    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        let asked: Vec<_> = self
            .0
            .iter()
            .map(|hooks| hooks.before_prompt(Arc::clone(&text)))
            .collect();
        Box::pin(async move {
            let mut all = Vec::new();
            for verdict in join_all(asked).await {
                match verdict {
                    PromptVerdict::Answer { context } => all.extend(context),
                    decided @ (PromptVerdict::Answered { .. } | PromptVerdict::Denied { .. }) => {
                        return decided;
                    }
                }
            }
            PromptVerdict::Answer { context: all }
        })
    }

    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        let chain = Arc::clone(&self.0);
        Box::pin(async move {
            let mut call = call;
            let mut changed = false;
            for hooks in chain.iter() {
                match hooks.before_tool_call(Arc::clone(&call)).await {
                    CallVerdict::Allowed => {}
                    CallVerdict::Changed(arguments) => {
                        let mut other = ToolCall::clone(&call);
                        other.arguments = arguments;
                        call = Arc::new(other);
                        changed = true;
                    }
                    denied @ CallVerdict::Denied(_) => return denied,
                }
            }
            match changed {
                true => CallVerdict::Changed(call.arguments.clone()),
                false => CallVerdict::Allowed,
            }
        })
    }

    fn after_tool_call(
        &self,
        call: Arc<ToolCall>,
        mut output: ToolOutput,
    ) -> HookFuture<ToolOutput> {
        let chain = Arc::clone(&self.0);
        Box::pin(async move {
            for hooks in chain.iter() {
                output = hooks.after_tool_call(Arc::clone(&call), output).await;
            }
            output
        })
    }

    fn session_ended(&self) -> HookFuture<()> {
        let ended: Vec<_> = self.0.iter().map(|hooks| hooks.session_ended()).collect();
        Box::pin(async move {
            join_all(ended).await;
        })
    }
}
