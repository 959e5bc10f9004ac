//! Slash commands: the server owns them (section 13).
//!
//! [`grammar`] says which command a text is, [`builtins`] and [`texts`] what the built-in ones do,
//! [`pickers`] what the user is asked to choose from, [`actions`] what becomes of the choice.

pub(super) mod actions;
mod builtins;
mod grammar;
mod pickers;
mod texts;

use std::sync::Arc;

use stentor_wire::edn::Keyword;
use stentor_wire::psi::Topic;

use super::connection::{Ask, Connection, Done, Handled};
use super::item::{Cause, Part};
use super::live::Live;
use super::ops::{login, navigation, prompting};
use super::payload;

pub(super) use grammar::BUILTINS;

use grammar::{Slash, Tree};

/// What a command did.
pub(super) enum Effect {
    Text(String),
    /// A result of another type, with its message.
    Typed(&'static str, String),
    Quit,
    /// The focus moved. The message is shown after the navigation's events.
    Moved {
        parts: Vec<Part>,
        live: Arc<Live>,
        message: Option<&'static str>,
    },
    /// Texts in the transcript.
    Said(Vec<Part>),
    /// The user is asked to choose: the payload of the request.
    Picker(Vec<u8>),
}

/// The `command` operation (section 9.4).
pub(super) async fn command(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let text = ask.params.filled("text")?;
    let live = connection.target(ask)?;
    let cause = ask.answerer.cause();
    let slash = resolve(&live, text);
    let effect = match slash {
        Some(Slash::Prompt) => {
            let (text, data) = (text.to_owned(), handled(true));
            return prompting::run_to_its_end(&ask.answerer, &live, text, data);
        }
        // Its extension takes it before any model hears of it, and what it says is the answer.
        Some(Slash::Extension) => {
            let (text, data) = (text.trim().to_owned(), handled(false));
            return prompting::run_to_its_end(&ask.answerer, &live, text, data);
        }
        Some(Slash::Unknown) | None => Effect::Text(format!("[not a command] {text}")),
        Some(slash) => builtins::perform(connection, &live, slash, &cause).await,
    };
    let mut parts = effect_parts(effect, &cause);
    let focus = connection
        .focus
        .clone()
        .unwrap_or_else(|| Arc::clone(&live));
    parts.push(Part::Snapshots { live: focus, cause });
    Done::data(handled(false)).of(&live).behind(parts).into()
}

/// A slash command that came as a prompt: its result is said in the transcript (section 13.2).
/// `None` when it is for the model.
pub(super) async fn through_prompt(
    connection: &mut Connection,
    ask: &Ask<'_>,
    live: &Arc<Live>,
    text: &str,
) -> Option<Handled> {
    let slash = resolve(live, text)?;
    let cause = ask.answerer.cause();
    let effect = match slash {
        Slash::Prompt | Slash::Extension | Slash::Unknown => return None,
        Slash::Quit => Effect::Text("/quit is not supported over RPC prompt.".to_owned()),
        Slash::Resume(_) => Effect::Text("/resume is not supported over RPC prompt.".to_owned()),
        Slash::Tree(_) => Effect::Text("/tree is for terminals only.".to_owned()),
        Slash::Model(words) if words.is_empty() => Effect::Text(builtins::MODEL_USAGE.to_owned()),
        Slash::Thinking(None) => Effect::Text(builtins::thinking_usage()),
        slash => builtins::perform(connection, live, slash, &cause).await,
    };
    let focus = connection.focus.clone().unwrap_or_else(|| Arc::clone(live));
    let mut done = Done::accepted().of(live);
    done.after = match effect {
        Effect::Text(text) | Effect::Typed(_, text) => vec![login::say(live, &text, cause.clone())],
        Effect::Quit | Effect::Picker(_) => Vec::new(),
        Effect::Moved {
            mut parts,
            live,
            message,
        } => {
            parts.extend(message.map(|message| login::say(&live, message, cause.clone())));
            parts
        }
        Effect::Said(parts) => parts,
    };
    done.after.push(Part::Snapshots { live: focus, cause });
    Some(done.into())
}

pub(super) fn resolve(live: &Live, text: &str) -> Option<Slash> {
    let slash = live.session.slash();
    // A file that was written a moment ago counts.
    slash.book();
    let called = slash.called(text);
    grammar::parse(text, called.map(|called| called.source))
}

fn effect_parts(effect: Effect, cause: &Cause) -> Vec<Part> {
    match effect {
        Effect::Text(message) => vec![result("text", Some(&message), cause)],
        Effect::Typed(kind, message) => vec![result(kind, Some(&message), cause)],
        Effect::Quit => vec![result("quit", None, cause)],
        Effect::Moved {
            mut parts, message, ..
        } => {
            parts.extend(message.map(|message| result("new_session", Some(message), cause)));
            parts
        }
        Effect::Said(parts) => parts,
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

fn handled(by_template: bool) -> Vec<u8> {
    payload::map(|data| {
        data.field("accepted", &true).field("handled", &true);
        if by_template {
            data.field("fallback", &Keyword("template"));
        }
    })
}

/// Moves the focus and tells of it.
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
