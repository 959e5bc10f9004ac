//! Slash commands: the server owns them (section 13).
//!
//! [`grammar`] says which command a text is, [`builtins`] and [`texts`] what the built-in ones do,
//! [`pickers`] what the user is asked to choose from and what becomes of the choice.

mod builtins;
mod grammar;
pub(super) mod pickers;
mod texts;

use std::sync::Arc;

use stentor_agent::hooks::CommandRan;
use stentor_agent::tasks;
use stentor_wire::edn::Keyword;
use stentor_wire::psi::Topic;

use super::error::OpError;
use super::item::ItemPart;
use super::live::PsiSession;
use super::ops::{navigation, prompting, settings};
use super::payload;
use super::payload::message::transcript_text;
use super::request::{OpCall, OpDone, OpResult, RequestAnswerer};

pub(super) use grammar::BUILTINS;
pub(super) use pickers::SELECT_STORED;

use grammar::{Slash, SlashAction};

/// What a command did.
pub(super) enum Effect {
    Text(String),
    /// A result of another type, with its message, and the model that it is about.
    Typed(&'static str, String, Option<(String, String)>),
    Quit,
    /// The focus moved. The message is shown after the navigation's events.
    Moved {
        parts: Vec<ItemPart>,
        live: Arc<PsiSession>,
        message: Option<&'static str>,
    },
    /// Its events are these.
    Published(Vec<ItemPart>),
    /// The user is asked to choose: the payload of the request.
    Picker(Vec<u8>),
}

impl<T: Into<String>> From<T> for Effect {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// What a command did, or why it did not.
type Performed = Result<Effect, OpError>;

/// Whatever goes wrong is a text.
fn effect_of(performed: Performed) -> Effect {
    performed.unwrap_or_else(|error| error.message.into())
}

/// The `command` operation (section 9.4).
pub(super) async fn command(call: &mut OpCall<'_>) -> OpResult {
    let text = call.params.filled("text")?;
    let live = call.target().await?;
    let effect = match resolve(&live, text).await {
        Some(Slash::Prompt) => {
            return prompting::run_to_its_end(&call.answerer, &live, text.to_owned());
        }
        Some(Slash::Extension) => {
            let running = extension(call.answerer.clone(), live, text.to_owned());
            return call.answerer.later(running);
        }
        Some(Slash::Builtin(command, arguments)) if command.takes_long(&arguments) => {
            let answerer = call.answerer.clone();
            return call.answerer.later(async move {
                let done = builtins::perform_long(&answerer, &live, command, &arguments);
                Ok(command_done(done.await, &live))
            });
        }
        Some(Slash::Builtin(command, arguments)) => {
            if command == SlashAction::Delegate
                && let Some(called) = agent_called(&live, &arguments).await
            {
                return prompting::run_to_its_end(&call.answerer, &live, called);
            }
            // The result comes before the snapshots that show what it changed.
            live.locked().holding_snapshots += 1;
            let done = builtins::perform(call, &live, command, &arguments);
            let mut parts = effect_parts(effect_of(done.await));
            parts.push(ItemPart::SnapshotsHeld(Arc::clone(&live)));
            return behind(parts, &live).into();
        }
        Some(Slash::Unknown) => match live.session.slash().to_come(text) {
            Some(to_come) => {
                let (starter, text) = (call.answerer.clone(), text.to_owned());
                return call.answerer.later(async move {
                    to_come.await;
                    if let Some(Slash::Extension) = resolve(&live, &text).await {
                        return extension(starter, live, text).await;
                    }
                    Ok(command_done(no_command(&text), &live))
                });
            }
            None => no_command(text),
        },
        None => no_command(text),
    };
    command_done(effect, &live).into()
}

/// What the session is asked so that an agent gets a task. `None` when there is no such agent, or
/// nothing for it to do.
async fn agent_called(live: &PsiSession, task: &str) -> Option<String> {
    let (name, task) = task.split_once(char::is_whitespace)?;
    let agents = live.agents().await;
    let agent = agents.iter().find(|agent| agent.name == name)?;
    Some(agent.given(task.trim()))
}

/// What is answered to a text that calls nothing.
fn no_command(text: &str) -> Effect {
    format!("[not a command] {text}").into()
}

/// The command of an extension: what it returns is the result, and it may have the agent asked.
async fn extension(
    starter: RequestAnswerer,
    live: Arc<PsiSession>,
    text: String,
) -> Result<OpDone, OpError> {
    let command = text.trim().trim_start_matches('/');
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let preparing = live.preparing();
    let effect = match live.session.run_command(name, rest.trim()).await {
        Some(CommandRan::Said(Some(said))) => said.into(),
        Some(CommandRan::Said(None)) => Effect::Published(Vec::new()),
        Some(CommandRan::Ask(prompt)) => {
            prompting::run_through(&starter, &live, prompt, preparing).await?;
            return Ok(OpDone::data(handled(false)).of(&live));
        }
        Some(CommandRan::Failed(why)) => format!("[extension command error: {why}]").into(),
        None => format!("[extension command error: /{name} is gone]").into(),
    };
    Ok(command_done(effect, &live))
}

/// The events of a command, the snapshots of the session that is focused then, the answer.
fn command_done(effect: Effect, live: &Arc<PsiSession>) -> OpDone {
    behind(effect_parts(effect), live)
}

fn behind(mut parts: Vec<ItemPart>, live: &Arc<PsiSession>) -> OpDone {
    parts.push(ItemPart::FocusedSnapshots);
    OpDone::data(handled(false)).of(live).behind(parts)
}

/// A slash command that came as a prompt: its result goes into the transcript (section 13.2).
/// `None` when it is for the model.
pub(super) async fn through_prompt(
    call: &mut OpCall<'_>,
    live: &Arc<PsiSession>,
    text: &str,
) -> Option<OpResult> {
    let Some(Slash::Builtin(command, arguments)) = resolve(live, text).await else {
        return None;
    };
    let is_bare = arguments.is_empty();
    let effect = match command {
        SlashAction::Quit => not_over_prompt("/quit"),
        SlashAction::Resume => not_over_prompt("/resume"),
        SlashAction::Delegate if !is_bare && arguments != "list" => not_over_prompt("/delegate"),
        SlashAction::Tree => "/tree is for terminals only.".into(),
        SlashAction::Model if is_bare => builtins::MODEL_USAGE.into(),
        SlashAction::Thinking if is_bare => {
            format!("Usage: /thinking {}", settings::level_names().join("|")).into()
        }
        _ if command.takes_long(&arguments) => {
            let (answerer, live) = (call.answerer.clone(), Arc::clone(live));
            tasks::spawn(async move {
                answerer.done(OpDone::accepted().of(&live)).await;
                let done = builtins::perform_long(&answerer, &live, command, &arguments).await;
                answerer.write(None, in_transcript(done, &live)).await;
            });
            return Some(Ok(None));
        }
        _ => effect_of(builtins::perform(call, live, command, &arguments).await),
    };
    let mut done = OpDone::accepted().of(live);
    done.after = in_transcript(effect, live);
    Some(done.into())
}

fn not_over_prompt(command: &str) -> Effect {
    format!("{command} is not supported over RPC prompt.").into()
}

/// What a command did, in the transcript, and the snapshots.
fn in_transcript(effect: Effect, live: &Arc<PsiSession>) -> Vec<ItemPart> {
    let mut parts = match effect {
        Effect::Text(text) | Effect::Typed(_, text, _) => vec![transcript_text(live, &text)],
        Effect::Quit | Effect::Picker(_) => Vec::new(),
        Effect::Moved {
            mut parts,
            live,
            message,
        } => {
            parts.extend(message.map(|message| transcript_text(&live, message)));
            parts
        }
        Effect::Published(parts) => parts,
    };
    parts.push(ItemPart::FocusedSnapshots);
    parts
}

async fn resolve(live: &PsiSession, text: &str) -> Option<Slash> {
    if text.trim_start().starts_with('/') {
        // A file that was written a moment ago counts.
        live.book().await;
    }
    let called = live.session.slash().called(text);
    grammar::parse(text, called.map(|called| called.source))
}

fn effect_parts(effect: Effect) -> Vec<ItemPart> {
    match effect {
        Effect::Text(message) => vec![result("text", Some(&message))],
        Effect::Typed(kind, message, model) => {
            let data = payload::map(|data| {
                data.field("type", kind).field("message", &message);
                if let Some((provider, id)) = &model {
                    data.field("provider", provider).field("model-id", id);
                }
            });
            vec![ItemPart::event(Topic::CommandResult, data)]
        }
        Effect::Quit => vec![result("quit", None)],
        Effect::Moved {
            mut parts, message, ..
        } => {
            parts.extend(message.map(|message| result("new_session", Some(message))));
            parts
        }
        Effect::Published(parts) => parts,
        Effect::Picker(data) => vec![ItemPart::event(Topic::FrontendActionRequested, data)],
    }
}

/// A `command-result` (section 10.17).
fn result(kind: &str, message: Option<&str>) -> ItemPart {
    let data = payload::map(|data| {
        data.field("type", kind).field_if_some("message", message);
    });
    ItemPart::event(Topic::CommandResult, data)
}

pub(super) fn handled(by_template: bool) -> Vec<u8> {
    payload::map(|data| {
        data.field("accepted", &true).field("handled", &true);
        if by_template {
            data.field("fallback", &Keyword("template"));
        }
    })
}

/// Moves the focus and publishes it.
async fn go_to(
    call: &mut OpCall<'_>,
    live: Arc<PsiSession>,
    is_new: bool,
    message: Option<&'static str>,
) -> Performed {
    let attached = is_new.then(|| ItemPart::attach(&live));
    let mut parts = navigation::move_focus(call.connection, &live, attached).await?;
    parts.extend(navigation::arrival(&live));
    Ok(Effect::Moved {
        parts,
        live,
        message,
    })
}
