//! What the built-in commands do (section 13.2).

use std::sync::Arc;

use stentor_agent::jobs::JobStatus;
use stentor_agent::memory::NewNote;
use stentor_agent::model::ThinkingLevel;
use stentor_agent::session::SessionError;
use stentor_agent::tasks;

use super::grammar::{SlashAction, TreeAction, tree};
use super::{Effect, Performed, go_to, pickers, texts};
use crate::model_reload::reload_models;
use crate::psi::error::OpError;
use crate::psi::jobs::{self, list_line};
use crate::psi::live::PsiSession;
use crate::psi::login;
use crate::psi::ops::navigation;
use crate::psi::ops::settings::{self, ModelScope, NotChosen, StoredChoice};
use crate::psi::request::{OpCall, RequestAnswerer};
use crate::psi::shared::PsiShared;

pub(super) const MODEL_USAGE: &str = "Usage: /model PROVIDER ID [session|project|user]";
const TREE_USAGE: &str = "Usage: /tree [ID] or /tree name ID NAME";
const NEW_SESSION: &str = "[New session started]";

/// Does it.
pub(super) async fn perform(
    call: &mut OpCall<'_>,
    live: &Arc<PsiSession>,
    command: SlashAction,
    arguments: &str,
) -> Performed {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    Ok(match command {
        SlashAction::Quit => Effect::Quit,
        SlashAction::New => {
            let new = navigation::new_like(call.shared(), live).await?;
            go_to(call, new, true, Some(NEW_SESSION)).await?
        }
        SlashAction::Resume => {
            let (found, is_new) = navigation::resume(call.shared(), arguments).await?;
            go_to(call, found, is_new, None).await?
        }
        SlashAction::Tree => walk(call, live, tree(arguments)).await?,
        SlashAction::Model => model(call, live, &words).await?,
        SlashAction::Thinking if arguments.is_empty() => pickers::thinking_levels(&call.answerer),
        SlashAction::Thinking => match arguments.parse() {
            Ok(level) => set_thinking(live, level).await?,
            Err(_) => {
                let names = settings::level_names().join(", ");
                format!("Unknown thinking level: {arguments}. The levels are {names}.").into()
            }
        },
        SlashAction::Plan => match live.session.plan_command(arguments).await {
            Ok(text) => text.into(),
            Err(error) => error.to_string().into(),
        },
        SlashAction::Status => texts::status(live).await?.into(),
        SlashAction::History => texts::history(&live.session.messages().await?).into(),
        SlashAction::Help => texts::help(&live.commands().await).into(),
        SlashAction::Prompts => texts::prompts(&*live.book().await).into(),
        SlashAction::Skills => texts::skills(&*live.book().await).into(),
        SlashAction::Worktree => texts::worktree(live).await.into(),
        SlashAction::Delegate => texts::agents(&live.agents().await).into(),
        SlashAction::Jobs => list_jobs(live, &words).into(),
        SlashAction::Job => show_job(live, arguments, false).into(),
        SlashAction::CancelJob => show_job(live, arguments, true).into(),
        SlashAction::ReloadPrompts => {
            let book = live.book().await;
            let (templates, skills) = (book.templates.len(), book.skills.len());
            format!("✓ Prompts reloaded: {templates} templates, {skills} skills.").into()
        }
        SlashAction::ReloadExtensions => texts::extensions(&live.commands().await).into(),
        SlashAction::ProjectRepl => "There is no project REPL here.".into(),
        // These take long, and the caller knows.
        SlashAction::Rewind
        | SlashAction::Remember
        | SlashAction::Login
        | SlashAction::Logout
        | SlashAction::ReloadModels => "[not a command]".into(),
    })
}

async fn walk(call: &mut OpCall<'_>, live: &Arc<PsiSession>, tree: TreeAction) -> Performed {
    Ok(match tree {
        TreeAction::Choose => pickers::live_sessions(call, live).await,
        TreeAction::Wrong => TREE_USAGE.into(),
        TreeAction::Switch(wanted) => {
            let found = by_prefix(call.shared(), &wanted).await?;
            let focus = call.connection.focus.as_ref();
            if focus.is_some_and(|now| now.id == found.id) {
                return Ok(format!("Already active session: {}", found.id).into());
            }
            go_to(call, found, false, None).await?
        }
        TreeAction::Rename { session, name } => {
            let found = by_prefix(call.shared(), &session).await?;
            found.session.set_name(&name).await?;
            format!("Renamed session {} to \"{name}\"", found.id).into()
        }
    })
}

/// The session whose id is, or alone begins with, `wanted`.
async fn by_prefix(shared: &PsiShared, wanted: &str) -> Result<Arc<PsiSession>, OpError> {
    let mut ids = shared.ids();
    ids.extend(shared.ids_elsewhere());
    let mut begin = ids.iter().filter(|id| id.starts_with(wanted));
    let id = match ids.iter().find(|id| &***id == wanted) {
        Some(exact) => Some(exact),
        None => begin.next().filter(|_| begin.next().is_none()),
    };
    let live = match id {
        Some(id) => shared.live(id).await?,
        None => None,
    };
    live.ok_or_else(|| OpError::failed(format!("Session not found in context: {wanted}")))
}

async fn model(call: &OpCall<'_>, live: &PsiSession, words: &[&str]) -> Performed {
    let (provider, id, scope) = match words {
        [] => return Ok(pickers::models(&call.answerer)),
        [provider, id] => (*provider, *id, Some(ModelScope::Session)),
        [provider, id, scope] => (*provider, *id, ModelScope::parse(scope)),
        _ => ("", "", None),
    };
    let Some(scope) = scope else {
        return Ok(MODEL_USAGE.into());
    };
    match settings::choose_model(call.shared(), live, provider, id, scope).await {
        Ok(chosen) => Ok(model_set(chosen)),
        Err(NotChosen::Session(SessionError::Model(why))) => {
            let model = (provider.to_owned(), id.to_owned());
            let kind = "unsupported_model";
            Ok(Effect::Typed(kind, why.to_string(), Some(model)))
        }
        Err(NotChosen::Session(error)) => Err(error.into()),
        Err(NotChosen::NotStored(why)) => Ok(format!("The model stays as it was: {why}").into()),
    }
}

/// What is said of a model that was set.
pub(super) fn model_set(chosen: StoredChoice) -> Effect {
    let model = &chosen.model;
    let mut text = format!("✓ Model set to {} {}", model.provider, model.id);
    if let Some(stored) = chosen.stored {
        text.push_str(&format!("\nKept in {}.", stored.file.display()));
        if let Some(why) = stored.without_effect {
            text.push_str(&format!(" ⚠ New sessions do not begin with it: {why}"));
        }
    }
    text.into()
}

pub(super) async fn set_thinking(live: &PsiSession, level: ThinkingLevel) -> Performed {
    let level = live.session.set_thinking(level).await?;
    Ok(format!("✓ Thinking level set to {level}").into())
}

fn list_jobs(live: &PsiSession, words: &[&str]) -> String {
    let statuses: Option<Vec<_>> = words.iter().map(|word| JobStatus::parse(word)).collect();
    let Some(statuses) = statuses else {
        let names = JobStatus::ALL.map(JobStatus::as_str).join("|");
        return format!("Usage: /jobs [{names}]…");
    };
    let statuses = match statuses.as_slice() {
        [] => &jobs::USUAL,
        named => named,
    };
    let found = jobs::with_status(live.session.jobs().list(), statuses);
    if found.is_empty() {
        return "No background jobs.".to_owned();
    }
    let lines: Vec<String> = found.iter().map(list_line).collect();
    lines.join("\n")
}

fn show_job(live: &PsiSession, id: &str, cancel: bool) -> String {
    if id.is_empty() {
        let name = if cancel { "cancel-job" } else { "job" };
        return format!("Usage: /{name} ID");
    }
    let jobs = live.session.jobs();
    let job = match cancel {
        true => live.session.cancel_job(id),
        false => Ok(jobs.find(id)),
    };
    let job = match job {
        Ok(Some(job)) => job,
        Ok(None) => return format!("There is no job {id}."),
        Err(error) => return error.to_string(),
    };
    let mut lines = vec![list_line(&job), job.work.what];
    lines.extend(jobs.shown_output(id));
    lines.join("\n")
}

/// Does one of those that may take long: they look at files, ask servers, wait for locks. Nothing
/// waits for them.
pub(super) async fn perform_long(
    answerer: &RequestAnswerer,
    live: &Arc<PsiSession>,
    command: SlashAction,
    arguments: &str,
) -> Effect {
    let shared = &answerer.shared;
    let given = (!arguments.is_empty()).then(|| arguments.to_owned());
    match command {
        SlashAction::Resume => pickers::stored_sessions(answerer, live).await,
        // The client's transcript follows the conversation by itself.
        SlashAction::Rewind => match live.session.rewind_command(arguments).await {
            Ok(answer) => answer.text.into(),
            Err(error) => error.to_string().into(),
        },
        SlashAction::Remember => remember(shared, live, given).await.into(),
        SlashAction::Login => match login::slash_login(shared, live, given).await {
            Ok(parts) => Effect::Published(parts),
            Err(error) => Effect::Typed("login-error", error.message, None),
        },
        SlashAction::Logout => logout(shared).await,
        SlashAction::ReloadModels => reload_models(&shared.agent).await.into(),
        // The others take no time, and the caller knows.
        _ => "[not a command]".into(),
    }
}

async fn remember(shared: &PsiShared, live: &PsiSession, text: Option<String>) -> String {
    if let Err(why) = shared.agent.may_drive() {
        return format!("Nothing is remembered: {why}.");
    }
    let Some(memory) = shared.options.memory.clone() else {
        return "Nothing is remembered: no memory is configured.".to_owned();
    };
    let text = match text {
        Some(text) => text,
        None => match live.session.last_assistant_text().await {
            Ok(Some(text)) => text,
            _ => return "Usage: /remember TEXT".to_owned(),
        },
    };
    let note = NewNote {
        text,
        tags: Vec::new(),
        session: Some(live.id.to_string()),
        folder: Some(live.origin.cwd.to_string_lossy().into_owned()),
    };
    match tasks::spawn_blocking(move || memory.remember(note)).await {
        Ok(Ok(note)) => format!("✓ Remembered as {}.", note.id),
        Ok(Err(error)) => format!("Remembering is blocked: {error}"),
        Err(error) => format!("Remembering is blocked: {error}"),
    }
}

async fn logout(shared: &PsiShared) -> Effect {
    let Some(login) = shared.options.login.clone() else {
        return "Nobody is logged in.".into();
    };
    match login.forget_all().await {
        Ok(forgotten) => match forgotten.in_words() {
            Some(words) => Effect::Typed("logout", format!("✓ {words}"), None),
            None => "Nobody is logged in.".into(),
        },
        Err(why) => format!("Logging out failed: {why}").into(),
    }
}
