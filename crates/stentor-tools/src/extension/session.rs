//! The extensions of one session, as the session's hooks.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stentor_agent::event::CommandInfo;
use stentor_agent::hooks::{
    AddedContext, CallHooks, CallVerdict, CommandRan, HookFuture, Hooks, PromptVerdict,
};
use stentor_agent::session::HookedSession;
use stentor_agent::tasks;
use stentor_agent::tool::{Tool, ToolOutput};
use stentor_journal::message::ToolCall;
use stentor_wire::extension::{
    AfterToolParams, AfterToolResult, BeforePromptParams, BeforePromptResult, BeforeToolParams,
    BeforeToolResult, CommandRunParams, CommandRunResult, HookName, method,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::content;
use super::events::EventToJson;
use super::handle::{Extension, HookReply};
use super::limits::{COMMAND_PATIENCE, TEXT_BYTES};
use super::port::SessionPort;
use super::runner;
use super::spec::{ExtensionSpec, WhenBroken};
use super::tool::ExtensionTool;
use crate::truncation::cut;

/// The extensions of one session. They end with it, or when this is dropped.
pub(super) struct SessionExtensions {
    extensions: Arc<[Arc<Extension>]>,
    over: CancellationToken,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl SessionExtensions {
    /// Attaches extensions to a session. They are started a moment later, or when needed.
    pub fn attach(
        specs: &[Arc<ExtensionSpec>],
        encode: EventToJson,
        session: HookedSession,
    ) -> Self {
        let over = CancellationToken::new();
        let changed = Arc::new(Notify::new());
        let port = SessionPort::to_session(session.session, session.cwd, session.resumed);
        let port = Arc::new(port);
        let extensions: Arc<[Arc<Extension>]> = specs
            .iter()
            .map(|spec| {
                Arc::new(Extension::new(
                    Arc::clone(spec),
                    Arc::clone(&port),
                    encode,
                    over.child_token(),
                    Arc::clone(&changed),
                ))
            })
            .collect();
        let running = extensions
            .iter()
            .map(|extension| tasks::spawn(runner::run(Arc::clone(extension))))
            .collect();
        tasks::spawn(tell_commands(port, changed, over.clone()));
        Self {
            extensions,
            over,
            running: Mutex::new(running),
        }
    }
}

impl Drop for SessionExtensions {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

impl CallHooks for SessionExtensions {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for extension in self.extensions.iter() {
            let Some(live) = extension.live() else {
                continue;
            };
            for spec in &live.registered().tools {
                tools.push(Arc::new(ExtensionTool {
                    extension: Arc::clone(extension),
                    spec: spec.clone(),
                }));
            }
        }
        tools
    }

    fn before_tool_call(&self, call: Arc<ToolCall>) -> HookFuture<CallVerdict> {
        let extensions = Arc::clone(&self.extensions);
        Box::pin(async move {
            let mut params = BeforeToolParams {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
            };
            let mut changed = false;
            for extension in extensions.iter() {
                let asked = extension.ask::<BeforeToolResult>(HookName::ToolBefore, &params);
                match (asked.await, extension.spec.when_broken) {
                    (HookReply::NotAsked, _) | (HookReply::Broken(_), WhenBroken::Allow) => {}
                    (HookReply::Broken(why), WhenBroken::Deny) => {
                        let name = extension.name();
                        return CallVerdict::Denied(format!(
                            "The extension `{name}` must be asked about this and cannot be: {why}"
                        ));
                    }
                    (
                        HookReply::Answer(BeforeToolResult {
                            deny: Some(why), ..
                        }),
                        _,
                    ) => {
                        return CallVerdict::Denied(reason(extension, why));
                    }
                    (HookReply::Answer(BeforeToolResult { arguments, .. }), _) => {
                        if let Some(arguments) = arguments {
                            params.arguments = arguments;
                            changed = true;
                        }
                    }
                }
            }
            if changed {
                CallVerdict::Changed(params.arguments)
            } else {
                CallVerdict::Allowed
            }
        })
    }

    fn after_tool_call(
        &self,
        call: Arc<ToolCall>,
        mut output: ToolOutput,
    ) -> HookFuture<ToolOutput> {
        let extensions = Arc::clone(&self.extensions);
        Box::pin(async move {
            for extension in extensions.iter() {
                if !extension.wants(HookName::ToolAfter) {
                    continue;
                }
                let params = AfterToolParams {
                    call_id: call.id.clone(),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                    content: content::pieces(&output.content),
                    details: output.details.clone(),
                    is_error: output.is_error,
                };
                let asked = extension.ask::<AfterToolResult>(HookName::ToolAfter, &params);
                if let HookReply::Answer(answer) = asked.await {
                    change(&mut output, answer);
                }
            }
            output
        })
    }
}

impl Hooks for SessionExtensions {
    fn commands(&self) -> Vec<CommandInfo> {
        commands(&self.extensions)
    }

    fn command_to_come(&self, name: &str) -> Option<HookFuture<()>> {
        if self.extensions.iter().all(|one| !one.is_starting()) {
            return None;
        }
        let extensions = Arc::clone(&self.extensions);
        let name = name.to_owned();
        Some(Box::pin(async move {
            // All are told at once that they are needed; the first that brings it ends the waiting.
            let mut settling: FuturesUnordered<_> =
                extensions.iter().map(|one| one.settled()).collect();
            let known = async {
                while settling.next().await.is_some() {
                    if owner_of(&extensions, &name).is_some() {
                        return;
                    }
                }
            };
            // Whoever has not registered by then is not waited for.
            let _ = timeout(COMMAND_PATIENCE, known).await;
        }))
    }

    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>> {
        let params = CommandRunParams {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let owner = owner_of(&self.extensions, name);
        Box::pin(async move {
            let owner = owner?;
            Some(run_command(&owner, &params).await)
        })
    }

    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        let extensions = Arc::clone(&self.extensions);
        Box::pin(async move {
            for extension in extensions.iter() {
                // All are started at once, so waiting for one after the other takes no longer.
                extension.needed.notify_one();
            }
            for extension in extensions.iter() {
                extension.settled().await;
            }
            match command_of(&extensions, &text) {
                Some((extension, params)) => {
                    let ran = run_command(&extension, &params).await;
                    verdict(&extension, &params.name, ran)
                }
                None => ask_about_prompt(&extensions, &text).await,
            }
        })
    }

    fn session_ended(&self) -> HookFuture<()> {
        self.over.cancel();
        let running =
            std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(async move {
            for runner in running {
                // One that panicked has ended, too.
                let _ = runner.await;
            }
        })
    }
}

fn change(output: &mut ToolOutput, answer: AfterToolResult) {
    if let Some(words) = answer.content {
        output.content = content::blocks(words, TEXT_BYTES);
    }
    if let Some(details) = answer.details {
        output.details = Some(details);
    }
    if let Some(is_error) = answer.is_error {
        output.is_error = is_error;
    }
}

fn commands(extensions: &[Arc<Extension>]) -> Vec<CommandInfo> {
    let mut commands: Vec<CommandInfo> = Vec::new();
    for live in extensions.iter().filter_map(|extension| extension.live()) {
        for command in &live.registered().commands {
            if commands.iter().all(|have| have.name != command.name) {
                commands.push(command.clone());
            }
        }
    }
    commands
}

/// The command a prompt calls, and whose it is.
fn command_of(
    extensions: &[Arc<Extension>],
    text: &str,
) -> Option<(Arc<Extension>, CommandRunParams)> {
    let command = text.trim().strip_prefix('/')?;
    let (name, arguments) = match command.split_once(char::is_whitespace) {
        Some((name, arguments)) => (name, arguments.trim()),
        None => (command, ""),
    };
    let owner = owner_of(extensions, name)?;
    let params = CommandRunParams {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Some((owner, params))
}

fn owner_of(extensions: &[Arc<Extension>], name: &str) -> Option<Arc<Extension>> {
    let owner = extensions.iter().find(|extension| {
        extension.live().is_some_and(|live| {
            let registered = live.registered();
            registered.commands.iter().any(|info| info.name == name)
        })
    });
    owner.cloned()
}

/// Runs a command. It takes as long as it takes; the user can abort it.
async fn run_command(extension: &Extension, params: &CommandRunParams) -> CommandRan {
    let Some(live) = extension.live() else {
        return CommandRan::Failed("its extension is not running".to_owned());
    };
    let asked = live
        .connection
        .request::<CommandRunResult>(method::COMMAND_RUN, params, None);
    match asked.await {
        Ok(CommandRunResult {
            prompt: Some(prompt),
            ..
        }) => CommandRan::Ask(cut(prompt, TEXT_BYTES)),
        Ok(CommandRunResult { text, prompt: None }) => {
            let text = text.filter(|text| !text.trim().is_empty());
            CommandRan::Said(text.map(|text| cut(text, TEXT_BYTES)))
        }
        Err(fault) => {
            let why = fault.to_string();
            let doing = format!("{} {}", method::COMMAND_RUN, params.name);
            extension.failed(&doing, &why);
            CommandRan::Failed(why)
        }
    }
}

/// What a command that was said in the conversation means for it.
fn verdict(extension: &Extension, name: &str, ran: CommandRan) -> PromptVerdict {
    match ran {
        CommandRan::Ask(prompt) => PromptVerdict::Answer {
            context: vec![added(extension, prompt)],
        },
        CommandRan::Said(text) => PromptVerdict::Answered {
            text: text.unwrap_or_else(|| format!("/{name}: done.")),
        },
        CommandRan::Failed(why) => PromptVerdict::Denied {
            reason: format!("/{name} failed: {why}"),
        },
    }
}

async fn ask_about_prompt(extensions: &[Arc<Extension>], text: &str) -> PromptVerdict {
    let params = BeforePromptParams {
        text: text.to_owned(),
    };
    let mut context = Vec::new();
    for extension in extensions {
        let asked = extension.ask::<BeforePromptResult>(HookName::PromptBefore, &params);
        if let HookReply::Answer(answer) = asked.await {
            if let Some(why) = answer.deny {
                return PromptVerdict::Denied {
                    reason: reason(extension, why),
                };
            }
            context.extend(answer.context.map(|text| added(extension, text)));
        }
    }
    PromptVerdict::Answer { context }
}

/// Why an extension denies something. Nobody is left with an empty answer.
fn reason(extension: &Extension, why: String) -> String {
    match why.trim().is_empty() {
        true => format!(
            "The extension `{}` does not allow this and gave no reason.",
            extension.name()
        ),
        false => cut(why, TEXT_BYTES),
    }
}

fn added(extension: &Extension, text: String) -> AddedContext {
    AddedContext {
        source: extension.name().to_owned(),
        text: cut(text, TEXT_BYTES),
    }
}

/// Tells clients when the commands change; extensions that start together are told of together.
async fn tell_commands(port: Arc<SessionPort>, changed: Arc<Notify>, over: CancellationToken) {
    loop {
        tokio::select! {
            () = changed.notified() => {}
            () = over.cancelled() => return,
        }
        port.commands_changed().await;
    }
}
