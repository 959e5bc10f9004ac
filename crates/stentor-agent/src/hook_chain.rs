//! Several hooks as one: those of extensions and those of tool servers.

use std::sync::Arc;

use futures_util::future::join_all;
use stentor_journal::message::ToolCall;

use crate::event::CommandInfo;
use crate::hooks::{CallHooks, CallVerdict, CommandRan, HookFuture, Hooks, PromptVerdict};
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

impl CallHooks for HookChain {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.iter().flat_map(|hooks| hooks.tools()).collect()
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
}

impl Hooks for HookChain {
    fn commands(&self) -> Vec<CommandInfo> {
        let mut commands: Vec<CommandInfo> = Vec::new();
        for command in self.0.iter().flat_map(|hooks| hooks.commands()) {
            if commands.iter().all(|have| have.name != command.name) {
                commands.push(command);
            }
        }
        commands
    }

    fn command_to_come(&self, name: &str) -> Option<HookFuture<()>> {
        let mut to_come: Vec<_> = self
            .0
            .iter()
            .filter_map(|hooks| hooks.command_to_come(name))
            .collect();
        match to_come.len() {
            0 | 1 => to_come.pop(),
            _ => Some(Box::pin(async move {
                join_all(to_come).await;
            })),
        }
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

    fn session_ended(&self) -> HookFuture<()> {
        let ended: Vec<_> = self.0.iter().map(|hooks| hooks.session_ended()).collect();
        Box::pin(async move {
            join_all(ended).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::event::CommandSource;
    use crate::hooks::AddedContext;

    /// Adds its letter to everything, or denies what is already there.
    struct Letter(&'static str);

    impl CallHooks for Letter {
        fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
            let mut arguments = call.arguments.clone();
            let verdict = match arguments.contains_key("stop") {
                true => CallVerdict::Denied(self.0.to_owned()),
                false => {
                    arguments.insert(self.0.to_owned(), json!(arguments.len()));
                    CallVerdict::Changed(arguments)
                }
            };
            Box::pin(std::future::ready(verdict))
        }

        fn after_tool_call(
            &self,
            _: Arc<ToolCall>,
            mut output: ToolOutput,
        ) -> HookFuture<ToolOutput> {
            let so_far = output.details.take().unwrap_or(json!(""));
            let text = format!("{}{}", so_far.as_str().unwrap_or_default(), self.0);
            output.details = Some(json!(text));
            Box::pin(std::future::ready(output))
        }
    }

    impl Hooks for Letter {
        fn commands(&self) -> Vec<CommandInfo> {
            let named = |name: &str| CommandInfo {
                name: name.to_owned(),
                description: Some(self.0.to_owned()),
                hint: None,
                source: CommandSource::Extension,
                path: None,
            };
            vec![named("shared"), named(self.0)]
        }

        fn run_command(&self, name: &str, _: &str) -> HookFuture<Option<CommandRan>> {
            let said = CommandRan::Said(Some(format!("{} ran {name}", self.0)));
            Box::pin(std::future::ready(Some(said)))
        }

        fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
            let verdict = match text.contains(self.0) {
                true => PromptVerdict::Denied {
                    reason: self.0.to_owned(),
                },
                false => PromptVerdict::Answer {
                    context: vec![AddedContext {
                        source: self.0.to_owned(),
                        text: String::new(),
                    }],
                },
            };
            Box::pin(std::future::ready(verdict))
        }
    }

    fn chain() -> Arc<dyn Hooks> {
        all_in_one(vec![Arc::new(Letter("a")), Arc::new(Letter("b"))]).unwrap()
    }

    fn call(arguments: Map<String, serde_json::Value>) -> Arc<ToolCall> {
        Arc::new(ToolCall {
            id: "1".to_owned(),
            name: "t".to_owned(),
            arguments,
            thought_signature: None,
            intent: None,
        })
    }

    #[test]
    fn nothing_stands_for_no_hooks() {
        assert!(all_in_one(Vec::new()).is_none());
    }

    #[tokio::test]
    async fn each_is_asked_about_what_the_one_before_made_of_a_call() {
        let changed = chain().before_tool_call(call(Map::new())).await;
        let expected = json!({ "a": 0, "b": 1 }).as_object().unwrap().clone();
        assert_eq!(changed, CallVerdict::Changed(expected));
        let stop = json!({ "stop": 1 }).as_object().unwrap().clone();
        let denied = chain().before_tool_call(call(stop)).await;
        assert_eq!(denied, CallVerdict::Denied("a".to_owned()));
        let output = ToolOutput {
            content: Vec::new(),
            details: None,
            is_error: false,
        };
        let output = chain().after_tool_call(call(Map::new()), output).await;
        assert_eq!(output.details, Some(json!("ab")));
    }

    #[tokio::test]
    async fn a_prompt_passes_when_all_let_it_and_the_first_that_does_not_decides() {
        let PromptVerdict::Answer { context } = chain().before_prompt("x".into()).await else {
            panic!("it should pass")
        };
        let sources: Vec<&str> = context.iter().map(|one| one.source.as_str()).collect();
        assert_eq!(sources, ["a", "b"]);
        let denied = |reason: &str| PromptVerdict::Denied {
            reason: reason.to_owned(),
        };
        assert_eq!(chain().before_prompt("b".into()).await, denied("b"));
        assert_eq!(chain().before_prompt("ba".into()).await, denied("a"));
    }

    #[tokio::test]
    async fn a_command_is_run_by_the_first_that_has_it() {
        let chain = chain();
        let names: Vec<String> = chain.commands().into_iter().map(|info| info.name).collect();
        assert_eq!(names, ["shared", "a", "b"]);
        for (name, said) in [
            ("shared", Some("a ran shared")),
            ("b", Some("b ran b")),
            ("none", None),
        ] {
            let said = said.map(|said| CommandRan::Said(Some(said.to_owned())));
            assert_eq!(chain.run_command(name, "").await, said);
        }
    }
}
