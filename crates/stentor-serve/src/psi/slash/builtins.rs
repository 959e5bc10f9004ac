//! What the built-in commands do (section 13.2).

use std::sync::Arc;

use stentor_agent::jobs::JobStatus;
use stentor_agent::model::ThinkingLevel;
use stentor_agent::session::SessionError;

use super::grammar::{Command, Tree, tree};
use super::{Effect, go_to, pickers, texts};
use crate::psi::connection::Connection;
use crate::psi::error::OpError;
use crate::psi::item::Cause;
use crate::psi::live::Live;
use crate::psi::ops::settings::{self, ModelScope, NotChosen};
use crate::psi::ops::{jobs, navigation};
use crate::psi::payload::job::list_line;

pub(super) const MODEL_USAGE: &str = "Usage: /model PROVIDER ID [session|project|user]";
const TREE_USAGE: &str = "Usage: /tree [ID] or /tree name ID NAME";
const NEW_SESSION: &str = "[New session started]";

pub(super) fn thinking_usage() -> String {
    format!("Usage: /thinking {}", settings::level_names().join("|"))
}

/// Does it. Whatever goes wrong is a text.
pub(super) async fn perform(
    connection: &mut Connection,
    live: &Arc<Live>,
    command: Command,
    arguments: &str,
    cause: &Cause,
) -> Effect {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    match command {
        Command::Quit => Effect::Quit,
        Command::New => match navigation::new_like(&connection.shared, live).await {
            Ok(new) => go_to(connection, new, true, cause, Some(NEW_SESSION)).await,
            Err(error) => Effect::Text(error.message),
        },
        Command::Resume => match navigation::resume(connection, arguments).await {
            Ok((found, is_new)) => go_to(connection, found, is_new, cause, None).await,
            Err(error) => Effect::Text(error.message),
        },
        Command::Tree => walk(connection, live, tree(arguments), cause).await,
        Command::Model => model(connection, live, &words, cause).await,
        Command::Thinking if arguments.is_empty() => pickers::thinking_levels(cause),
        Command::Thinking => Effect::Text(set_thinking(live, arguments).await),
        Command::Plan => Effect::Text(match live.session.plan_command(arguments).await {
            Ok(text) => text,
            Err(error) => error.to_string(),
        }),
        Command::Status => texts::status(live).await,
        Command::History => texts::history(live).await,
        Command::Help => texts::help(&live.commands().await),
        Command::Prompts => texts::prompts(&*live.book().await),
        Command::Skills => texts::skills(&*live.book().await),
        Command::Worktree => texts::worktree(live).await,
        Command::Delegate => texts::agents(&live.agents().await),
        Command::Jobs => list_jobs(live, &words),
        Command::Job => show_job(live, arguments, false),
        Command::CancelJob => show_job(live, arguments, true),
        Command::ReloadPrompts => {
            let book = live.book().await;
            Effect::Text(format!(
                "✓ Prompts reloaded: {} templates, {} skills.",
                book.templates.len(),
                book.skills.len()
            ))
        }
        Command::ReloadExtensions => texts::extensions(&live.commands().await),
        Command::ProjectRepl => Effect::Text("There is no project REPL here.".to_owned()),
        // The caller takes these.
        Command::Rewind
        | Command::Remember
        | Command::Login
        | Command::Logout
        | Command::ReloadModels => Effect::Text("[not a command]".to_owned()),
    }
}

async fn walk(connection: &mut Connection, live: &Arc<Live>, tree: Tree, cause: &Cause) -> Effect {
    match tree {
        Tree::Choose => pickers::live_sessions(connection, live, cause).await,
        Tree::Wrong => Effect::Text(TREE_USAGE.to_owned()),
        Tree::Switch(wanted) => {
            let found = match by_prefix(connection, &wanted).await {
                Ok(Some(found)) => found,
                Ok(None) => return not_found(&wanted),
                Err(error) => return Effect::Text(error.message),
            };
            let is_there = connection
                .focus
                .as_ref()
                .is_some_and(|now| now.id == found.id);
            if is_there {
                return Effect::Text(format!("Already active session: {}", found.id));
            }
            go_to(connection, found, false, cause, None).await
        }
        Tree::Rename { session, name } => {
            let found = match by_prefix(connection, &session).await {
                Ok(Some(found)) => found,
                Ok(None) => return not_found(&session),
                Err(error) => return Effect::Text(error.message),
            };
            match found.session.set_name(&name).await {
                Ok(()) => Effect::Text(format!("Renamed session {} to \"{name}\"", found.id)),
                Err(error) => Effect::Text(OpError::from(error).message),
            }
        }
    }
}

fn not_found(wanted: &str) -> Effect {
    Effect::Text(format!("Session not found in context: {wanted}"))
}

/// The session whose id is, or alone begins with, `wanted`.
async fn by_prefix(connection: &Connection, wanted: &str) -> Result<Option<Arc<Live>>, OpError> {
    let mut ids = connection.shared.ids();
    ids.extend(connection.shared.ids_elsewhere());
    let id = match ids.iter().find(|id| &***id == wanted) {
        Some(exact) => exact,
        None => {
            let mut found = ids.iter().filter(|id| id.starts_with(wanted));
            match (found.next(), found.next()) {
                (Some(only), None) => only,
                _ => return Ok(None),
            }
        }
    };
    connection.shared.live(id).await
}

async fn model(
    connection: &mut Connection,
    live: &Arc<Live>,
    words: &[&str],
    cause: &Cause,
) -> Effect {
    match words {
        [] => pickers::models(connection, cause),
        [provider, id] => set_model(connection, live, provider, id, ModelScope::Session).await,
        [provider, id, scope] => match ModelScope::parse(scope) {
            Some(scope) => set_model(connection, live, provider, id, scope).await,
            None => Effect::Text(MODEL_USAGE.to_owned()),
        },
        _ => Effect::Text(MODEL_USAGE.to_owned()),
    }
}

/// Sets the model and says so.
async fn set_model(
    connection: &Connection,
    live: &Live,
    provider: &str,
    id: &str,
    scope: ModelScope,
) -> Effect {
    match settings::choose_model(&connection.shared, live, provider, id, scope).await {
        Ok(chosen) => {
            let model = &chosen.model;
            let mut text = format!("✓ Model set to {} {}", model.provider, model.id);
            if let Some(stored) = chosen.stored {
                text.push_str(&format!("\nKept in {}.", stored.file.display()));
                if let Some(why) = stored.without_effect {
                    text.push_str(&format!(" ⚠ New sessions do not begin with it: {why}"));
                }
            }
            Effect::Text(text)
        }
        Err(NotChosen::Session(SessionError::Model(why))) => Effect::UnusableModel {
            message: why.to_string(),
            provider: provider.to_owned(),
            id: id.to_owned(),
        },
        Err(NotChosen::Session(error)) => Effect::Text(OpError::from(error).message),
        Err(NotChosen::NotStored(why)) => Effect::Text(format!("The model stays as it was: {why}")),
    }
}

async fn set_thinking(live: &Live, wanted: &str) -> String {
    let Ok(level) = wanted.parse::<ThinkingLevel>() else {
        return format!(
            "Unknown thinking level: {wanted}. The levels are {}.",
            settings::level_names().join(", ")
        );
    };
    match live.session.set_thinking(level).await {
        Ok(level) => format!("✓ Thinking level set to {level}"),
        Err(error) => OpError::from(error).message,
    }
}

fn list_jobs(live: &Live, words: &[&str]) -> Effect {
    let mut statuses = Vec::new();
    for word in words {
        match JobStatus::parse(word) {
            Some(status) => statuses.push(status),
            None => {
                let names = JobStatus::ALL.map(JobStatus::as_str).join("|");
                return Effect::Text(format!("Usage: /jobs [{names}]…"));
            }
        }
    }
    if statuses.is_empty() {
        statuses.extend(jobs::USUAL);
    }
    let found = jobs::with_status(live.session.jobs().list(), &statuses);
    if found.is_empty() {
        return Effect::Text("No background jobs.".to_owned());
    }
    let lines: Vec<String> = found.iter().map(list_line).collect();
    Effect::Text(lines.join("\n"))
}

fn show_job(live: &Live, id: &str, cancel: bool) -> Effect {
    if id.is_empty() {
        let name = if cancel { "cancel-job" } else { "job" };
        return Effect::Text(format!("Usage: /{name} ID"));
    }
    let jobs = live.session.jobs();
    let job = if cancel {
        jobs.cancel(id)
    } else {
        jobs.find(id)
    };
    Effect::Text(match job {
        Some(job) => {
            let mut lines = vec![list_line(&job), job.work.what];
            lines.extend(jobs.shown_output(id));
            lines.join("\n")
        }
        None => format!("There is no job {id}."),
    })
}
