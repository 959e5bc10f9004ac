//! The built-in commands that may take long: they look at files, ask servers, wait for locks.
//! Nothing waits for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::memory::NewNote;
use stentor_agent::model::ModelRegistry;
use stentor_agent::tasks;

use super::grammar::SlashAction;
use super::{Effect, pickers};
use crate::psi::live::PsiSession;
use crate::psi::ops::login;
use crate::psi::request::RequestAnswerer;
use crate::psi::shared::PsiShared;

/// Names of models that are listed one by one.
const MOST_NAMES: usize = 8;

/// Does it.
pub(super) async fn perform(
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
            Err(error) => Effect::Typed("login-error", error.to_string(), None),
        },
        SlashAction::Logout => logout(shared).await,
        SlashAction::ReloadModels => reload_models(shared).await.into(),
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

/// Looks for models again, and says which came and went.
async fn reload_models(shared: &PsiShared) -> String {
    if let Err(why) = shared.agent.may_drive() {
        return format!("The models stay as they are: {why}.");
    }
    let models = Arc::clone(shared.agent.models());
    let reloading = tasks::spawn_blocking(move || {
        let before = names(&*models);
        let warnings = models.reload()?;
        Ok::<_, BoxError>((before, names(&*models), warnings))
    });
    match reloading.await.unwrap_or_else(|error| Err(error.into())) {
        Ok((before, now, warnings)) => report(&before, &now, &warnings),
        Err(why) => format!("The models stay as they were: {why}"),
    }
}

fn names(models: &dyn ModelRegistry) -> BTreeSet<String> {
    let available = models.available();
    available.iter().map(|model| model.full_name()).collect()
}

fn report(before: &BTreeSet<String>, now: &BTreeSet<String>, warnings: &[String]) -> String {
    let mut text = format!("✓ Models reloaded: {} available.", now.len());
    for (title, names) in [
        ("New", now.difference(before)),
        ("Gone", before.difference(now)),
    ] {
        let names: Vec<&str> = names.map(String::as_str).collect();
        if names.is_empty() {
            continue;
        }
        let shown = names.get(..MOST_NAMES).unwrap_or(&names);
        text.push_str(&format!("\n{title}: {}", shown.join(", ")));
        if names.len() > shown.len() {
            text.push_str(&format!(" and {} more", names.len() - shown.len()));
        }
    }
    for warning in warnings {
        text.push_str(&format!("\n⚠ {warning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_says_what_came_and_what_went() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let many: BTreeSet<String> = (0..10).map(|n| format!("p/{n}")).collect();
        for (before, now, expected) in [
            (
                set(&["a/1"]),
                set(&["a/1"]),
                "✓ Models reloaded: 1 available.",
            ),
            (
                set(&["a/1", "a/2"]),
                set(&["a/2", "b/3"]),
                "✓ Models reloaded: 2 available.\nNew: b/3\nGone: a/1",
            ),
            (
                set(&[]),
                many,
                "✓ Models reloaded: 10 available.\nNew: p/0, p/1, p/2, p/3, p/4, p/5, p/6, p/7 and 2 more",
            ),
        ] {
            assert_eq!(report(&before, &now, &[]), expected);
        }
        let warned = report(&set(&[]), &set(&[]), &["a.json: no".to_owned()]);
        assert_eq!(warned, "✓ Models reloaded: 0 available.\n⚠ a.json: no");
    }
}
