//! Slash commands: the server owns them (section 13).
//!
//! [`grammar`] says which command a text is, [`builtins`] and [`texts`] what the built-in ones do,
//! [`background`] what those do that may take long, [`pickers`] what the user is asked to choose
//! from, [`actions`] what becomes of the choice.

pub(super) mod actions;
mod background;
mod builtins;
mod grammar;
mod pickers;
mod texts;

use std::sync::Arc;

use stentor_agent::hooks::CommandRan;
use stentor_agent::tasks;
use stentor_wire::edn::Keyword;
use stentor_wire::psi::Topic;

use super::connection::Connection;
use super::error::OpError;
use super::item::{Cause, Part};
use super::live::Live;
use super::ops::{navigation, prompting};
use super::payload;
use super::payload::message::transcript_text;
use super::request::{Answered, Answerer, Call, Done, Handled};

pub(super) use grammar::BUILTINS;
pub(super) use pickers::SELECT_STORED;

use grammar::{Command, Slash};

/// What a command did.
pub(super) enum Effect {
    Text(String),
    /// A result of another type, with its message.
    Typed(&'static str, String),
    /// A model that is known and cannot be used.
    UnusableModel {
        message: String,
        provider: String,
        id: String,
    },
    Quit,
    /// The focus moved. The message is shown after the navigation's events.
    Moved {
        parts: Vec<Part>,
        live: Arc<Live>,
        message: Option<&'static str>,
    },
    /// Its events are these.
    Published(Vec<Part>),
    /// The user is asked to choose: the payload of the request.
    Picker(Vec<u8>),
}

/// The `command` operation (section 9.4).
pub(super) async fn command(call: &mut Call<'_>) -> Handled {
    let text = call.params.filled("text")?;
    let live = call.target().await?;
    let cause = call.answerer.cause();
    let slash = resolve(&live, text).await;
    let effect = match slash {
        Some(Slash::Prompt) => {
            return prompting::run_to_its_end(&call.answerer, &live, text.to_owned());
        }
        Some(Slash::Extension) => {
            let starter = call.answerer.clone();
            let running = extension(starter, live, text.to_owned());
            return call.answerer.later(running);
        }
        Some(Slash::Builtin(command, arguments)) if command.takes_long(&arguments) => {
            let shared = Arc::clone(&call.connection.shared);
            return call.answerer.later(async move {
                let done = background::perform(&shared, &live, command, arguments, &cause);
                Ok(command_done(done.await, &live, cause))
            });
        }
        Some(Slash::Unknown) => match live.session.slash().to_come(text) {
            Some(to_come) => {
                let starter = call.answerer.clone();
                let text = text.to_owned();
                return call.answerer.later(async move {
                    to_come.await;
                    if let Some(Slash::Extension) = resolve(&live, &text).await {
                        return extension(starter, live, text).await;
                    }
                    Ok(command_done(no_command(&text), &live, cause))
                });
            }
            None => no_command(text),
        },
        None => no_command(text),
        Some(Slash::Builtin(command, arguments)) => {
            if command == Command::Delegate
                && let Some(called) = agent_called(&live, &arguments).await
            {
                return prompting::run_to_its_end(&call.answerer, &live, called);
            }
            // The result comes before the snapshots that show what it changed.
            live.hold_snapshots();
            let effect =
                builtins::perform(call.connection, &live, command, &arguments, &cause).await;
            let mut parts = effect_parts(effect, &cause);
            parts.push(Part::SnapshotsHeld(Arc::clone(&live)));
            return behind(parts, &live, cause).into();
        }
    };
    command_done(effect, &live, cause).into()
}

/// What the session is asked so that an agent gets a task. `None` when there is no such agent, or
/// nothing for it to do.
async fn agent_called(live: &Live, task: &str) -> Option<String> {
    let (name, task) = task.split_once(char::is_whitespace)?;
    let agents = live.agents().await;
    let agent = agents.iter().find(|agent| agent.name == name)?;
    Some(agent.given(task.trim()))
}

/// What is answered to a text that calls nothing.
fn no_command(text: &str) -> Effect {
    Effect::Text(format!("[not a command] {text}"))
}

/// The command of an extension: what it returns is the result, and it may have the agent asked.
async fn extension(starter: Answerer, live: Arc<Live>, text: String) -> Result<Done, OpError> {
    let command = text.trim().trim_start_matches('/');
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let cause = starter.cause();
    let preparing = live.preparing();
    let effect = match live.session.run_command(name, rest.trim()).await {
        Some(CommandRan::Said(Some(said))) => Effect::Text(said),
        Some(CommandRan::Said(None)) => Effect::Published(Vec::new()),
        Some(CommandRan::Ask(prompt)) => {
            prompting::run_through(&starter, &live, prompt, preparing).await?;
            return Ok(Done::data(handled(false)).of(&live));
        }
        Some(CommandRan::Failed(why)) => Effect::Text(format!("[extension command error: {why}]")),
        None => Effect::Text(format!("[extension command error: /{name} is gone]")),
    };
    Ok(command_done(effect, &live, cause))
}

/// The events of a command, the snapshots of the session that is focused then, the answer.
fn command_done(effect: Effect, live: &Arc<Live>, cause: Cause) -> Done {
    behind(effect_parts(effect, &cause), live, cause)
}

fn behind(mut parts: Vec<Part>, live: &Arc<Live>, cause: Cause) -> Done {
    parts.push(Part::FocusedSnapshots(cause));
    Done::data(handled(false)).of(live).behind(parts)
}

/// A slash command that came as a prompt: its result goes into the transcript (section 13.2).
/// `None` when it is for the model.
pub(super) async fn through_prompt(
    call: &mut Call<'_>,
    live: &Arc<Live>,
    text: &str,
) -> Option<Handled> {
    let Some(Slash::Builtin(command, arguments)) = resolve(live, text).await else {
        return None;
    };
    let cause = call.answerer.cause();
    let is_bare = arguments.is_empty();
    let effect = match command {
        Command::Quit => not_over_prompt("/quit"),
        Command::Resume => not_over_prompt("/resume"),
        Command::Delegate if !is_bare && arguments != "list" => not_over_prompt("/delegate"),
        Command::Tree => Effect::Text("/tree is for terminals only.".to_owned()),
        Command::Model if is_bare => Effect::Text(builtins::MODEL_USAGE.to_owned()),
        Command::Thinking if is_bare => Effect::Text(builtins::thinking_usage()),
        _ if command.takes_long(&arguments) => {
            let (shared, live) = (Arc::clone(&call.connection.shared), Arc::clone(live));
            let answerer = call.answerer.clone();
            tasks::spawn(async move {
                answerer.done(Done::accepted().of(&live)).await;
                let done = background::perform(&shared, &live, command, arguments, &cause);
                shared.write(in_transcript(done.await, &live, cause)).await;
            });
            return Some(Ok(Answered::Later));
        }
        _ => builtins::perform(call.connection, live, command, &arguments, &cause).await,
    };
    let mut done = Done::accepted().of(live);
    done.after = in_transcript(effect, live, cause);
    Some(done.into())
}

fn not_over_prompt(command: &str) -> Effect {
    Effect::Text(format!("{command} is not supported over RPC prompt."))
}

/// What a command did, in the transcript, and the snapshots.
fn in_transcript(effect: Effect, live: &Arc<Live>, cause: Cause) -> Vec<Part> {
    let mut parts = match effect {
        Effect::Text(text)
        | Effect::Typed(_, text)
        | Effect::UnusableModel { message: text, .. } => {
            vec![transcript_text(live, &text, cause.clone())]
        }
        Effect::Quit | Effect::Picker(_) => Vec::new(),
        Effect::Moved {
            mut parts,
            live,
            message,
        } => {
            parts.extend(message.map(|message| transcript_text(&live, message, cause.clone())));
            parts
        }
        Effect::Published(parts) => parts,
    };
    parts.push(Part::FocusedSnapshots(cause));
    parts
}

async fn resolve(live: &Live, text: &str) -> Option<Slash> {
    if text.trim_start().starts_with('/') {
        // A file that was written a moment ago counts.
        live.book().await;
    }
    let called = live.session.slash().called(text);
    grammar::parse(text, called.map(|called| called.source))
}

fn effect_parts(effect: Effect, cause: &Cause) -> Vec<Part> {
    match effect {
        Effect::Text(message) => vec![result("text", Some(&message), cause)],
        Effect::Typed(kind, message) => vec![result(kind, Some(&message), cause)],
        Effect::UnusableModel {
            message,
            provider,
            id,
        } => vec![Part::Event {
            topic: Topic::CommandResult,
            session: None,
            cause: cause.clone(),
            data: payload::map(|data| {
                data.field("type", "unsupported_model")
                    .field("message", &message)
                    .field("provider", &provider)
                    .field("model-id", &id);
            }),
        }],
        Effect::Quit => vec![result("quit", None, cause)],
        Effect::Moved {
            mut parts, message, ..
        } => {
            parts.extend(message.map(|message| result("new_session", Some(message), cause)));
            parts
        }
        Effect::Published(parts) => parts,
        Effect::Picker(data) => vec![Part::Event {
            topic: Topic::FrontendActionRequested,
            session: None,
            cause: cause.clone(),
            data,
        }],
    }
}

/// A `command-result` (section 10.17).
fn result(kind: &str, message: Option<&str>, cause: &Cause) -> Part {
    Part::Event {
        topic: Topic::CommandResult,
        session: None,
        cause: cause.clone(),
        data: payload::map(|data| {
            data.field("type", kind).field_if_some("message", message);
        }),
    }
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
    connection: &mut Connection,
    live: Arc<Live>,
    is_new: bool,
    cause: &Cause,
    message: Option<&'static str>,
) -> Effect {
    match navigation::move_focus(connection, &live, is_new).await {
        Ok(mut parts) => {
            parts.extend(navigation::arrival(&live, cause));
            Effect::Moved {
                parts,
                live,
                message,
            }
        }
        Err(error) => Effect::Text(error.message),
    }
}
