//! The commands that only say something.

use stentor_agent::event::CommandSource;
use stentor_journal::message::{KnownMessage, Message, text_of};

use super::{BUILTINS, Effect};
use crate::psi::connection::session_error;
use crate::psi::limits::HISTORY_LINE_CHARS;
use crate::psi::live::Live;
use crate::psi::ops::reading::context_fraction;
use crate::psi::{git, text};

pub(super) async fn status(live: &Live) -> Effect {
    let (state, entries) = match (live.session.state().await, live.session.entries().await) {
        (Ok(state), Ok((_, entries))) => (state, entries.len()),
        (Err(error), _) | (_, Err(error)) => return Effect::Text(session_error(error).message),
    };
    let model = state.model.as_ref().map(|model| model.full_name());
    let context = context_fraction(&state).map_or("?".to_owned(), |fraction| {
        format!("{:.1}%", fraction * 100.0)
    });
    Effect::Text(format!(
        "Phase: {}\nSession: {}\nModel: {}\nEntries: {entries}\nContext: {context}\nWorktree: {}",
        live.phase().name(),
        live.id,
        model.as_deref().unwrap_or("none"),
        live.cwd.display(),
    ))
}

pub(super) async fn history(live: &Live) -> Effect {
    let messages = match live.session.messages().await {
        Ok(messages) => messages,
        Err(error) => return Effect::Text(session_error(error).message),
    };
    let mut lines = vec![format!("Message history ({} messages)", messages.len())];
    for message in &messages {
        let (role, said) = in_words(message);
        lines.push(text::one_line(
            &format!("{role}: {said}"),
            HISTORY_LINE_CHARS,
        ));
    }
    Effect::Text(lines.join("\n"))
}

/// Who said what, in one line's worth of words.
pub(in crate::psi) fn in_words(message: &Message) -> (&'static str, String) {
    match message {
        Message::Known(KnownMessage::User(message) | KnownMessage::Developer(message)) => {
            ("user", message.content.text())
        }
        Message::Known(KnownMessage::Assistant(message)) => {
            let mut said = message.text();
            if said.trim().is_empty() {
                let calls: Vec<&str> = message.tool_calls().map(|call| &*call.name).collect();
                said = format!("[{}]", calls.join(", "));
            }
            ("assistant", said)
        }
        Message::Known(KnownMessage::ToolResult(message)) => {
            ("tool", text_of(&message.content, " "))
        }
        Message::Known(KnownMessage::BashExecution(run)) => ("bash", run.command.clone()),
        Message::Known(KnownMessage::Custom(message)) => ("extension", message.content.text()),
        Message::Known(KnownMessage::BranchSummary(branch)) => ("summary", branch.summary.clone()),
        Message::Known(KnownMessage::CompactionSummary(summary)) => {
            ("summary", summary.summary.clone())
        }
        Message::Other(_) => ("other", String::new()),
    }
}

pub(super) fn help(live: &Live) -> Effect {
    let none = String::new();
    let mut text = "Commands:".to_owned();
    for (name, description) in BUILTINS {
        text.push_str(&format!("\n  /{name} — {description}"));
    }
    let book = live.session.slash().book();
    let templates = book
        .templates
        .iter()
        .map(|one| (one.name.clone(), &one.description));
    let skills = book
        .skills
        .iter()
        .map(|one| (format!("skill:{}", one.name), &one.description));
    section(&mut text, "Prompt templates:", templates);
    section(&mut text, "Skills:", skills);
    for (title, source) in [
        ("Agents:", CommandSource::Agent),
        ("Prompts of servers:", CommandSource::McpPrompt),
        ("Extension commands:", CommandSource::Extension),
    ] {
        let commands = live.commands_of(source);
        let named = commands
            .iter()
            .map(|one| (one.name.clone(), one.description.as_ref()));
        section(
            &mut text,
            title,
            named.map(|(name, about)| (name, about.unwrap_or(&none))),
        );
    }
    Effect::Text(text)
}

pub(super) fn prompts(live: &Live) -> Effect {
    let book = live.session.slash().book();
    if book.templates.is_empty() {
        return Effect::Text("There are no prompt templates.".to_owned());
    }
    let mut text = String::new();
    let templates = book
        .templates
        .iter()
        .map(|one| (one.name.clone(), &one.description));
    section(&mut text, "Prompt templates:", templates);
    Effect::Text(text.trim_start().to_owned())
}

pub(super) fn skills(live: &Live) -> Effect {
    let book = live.session.slash().book();
    if book.skills.is_empty() {
        return Effect::Text("There are no skills.".to_owned());
    }
    let mut text = String::new();
    let skills = book
        .skills
        .iter()
        .map(|one| (format!("skill:{}", one.name), &one.description));
    section(&mut text, "Skills:", skills);
    Effect::Text(text.trim_start().to_owned())
}

/// Whom tasks can be given to, and how.
pub(super) fn agents(live: &Live) -> Effect {
    let agents = live.session.slash().agents();
    if agents.is_empty() {
        return Effect::Text("There are no agents to give a task to.".to_owned());
    }
    let mut text = "Usage: /delegate AGENT TASK. The agents are:".to_owned();
    for agent in &agents {
        text.push_str(&format!("\n  {}", agent.name));
        if !agent.description.is_empty() {
            text.push_str(&format!(" — {}", agent.description));
        }
    }
    Effect::Text(text)
}

/// Extensions belong to a session from its beginning on.
pub(super) fn extensions(live: &Live) -> Effect {
    let mut text = "Extensions are looked for when a session begins: /new begins one with those \
        that are installed now."
        .to_owned();
    let commands = live.commands_of(CommandSource::Extension);
    let none = String::new();
    let commands = commands.into_iter().map(|command| (command.name, &none));
    section(
        &mut text,
        "Commands of the extensions of this session:",
        commands,
    );
    Effect::Text(text)
}

pub(super) async fn worktree(live: &Live) -> Effect {
    let mut text = format!("Worktree: {}", live.cwd.display());
    let repository = git::repository(git::project_of(&live.session, &live.cwd)).await;
    for tree in repository.into_iter().flat_map(|found| found.trees) {
        let head = tree.head.label();
        text.push_str(&format!("\n  {} ({head})", tree.path.display()));
    }
    Effect::Text(text)
}

fn section<'a>(
    text: &mut String,
    title: &str,
    entries: impl Iterator<Item = (String, &'a String)>,
) {
    let mut is_first = true;
    for (name, description) in entries {
        if std::mem::take(&mut is_first) {
            text.push_str("\n\n");
            text.push_str(title);
        }
        text.push_str(&format!("\n  /{name}"));
        if !description.is_empty() {
            text.push_str(&format!(" — {description}"));
        }
    }
}
