//! The commands whose result is a text about what is there.

use std::sync::Arc;

use stentor_agent::commands::{AgentDefinition, CommandBook};
use stentor_agent::event::CommandSource;
use stentor_agent::repository;
use stentor_journal::message::{KnownMessage, Message, text_of};

use super::BUILTINS;
use crate::psi::error::OpError;
use crate::psi::limits::HISTORY_LINE_CHARS;
use crate::psi::live::{Commands, PsiSession};
use crate::psi::text;

pub(super) async fn status(live: &PsiSession) -> Result<String, OpError> {
    let view = live.view(false).await?;
    let entries = live.session.entries().await?.1.len();
    let model = view.state.model.as_ref().map(|model| model.full_name());
    let context = view.context_fraction();
    let context = context.map_or("?".to_owned(), |fraction| {
        format!("{:.1}%", fraction * 100.0)
    });
    Ok(format!(
        "Phase: {}\nSession: {}\nModel: {}\nEntries: {entries}\nContext: {context}\nWorktree: {}",
        live.phase().name(),
        live.id,
        model.as_deref().unwrap_or("none"),
        live.origin.cwd.display(),
    ))
}

pub(super) fn history(messages: &[Arc<Message>]) -> String {
    let mut lines = vec![format!("Message history ({} messages)", messages.len())];
    for message in messages {
        let (role, said) = in_words(message);
        let line = format!("{role}: {said}");
        lines.push(text::one_line(&line, HISTORY_LINE_CHARS));
    }
    lines.join("\n")
}

/// Who said what, in one line's worth of words.
pub fn in_words(message: &Message) -> (&'static str, String) {
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

pub(super) fn help(commands: &Commands) -> String {
    let mut text = "Commands:".to_owned();
    for builtin in BUILTINS {
        text.push_str(&format!("\n  /{} — {}", builtin.name, builtin.about));
    }
    section(&mut text, "Prompt templates:", templates(&commands.book));
    section(&mut text, "Skills:", named_skills(&commands.book));
    for (title, source) in [
        ("Agents:", CommandSource::Agent),
        ("Prompts of servers:", CommandSource::McpPrompt),
        ("Extension commands:", CommandSource::Extension),
    ] {
        let named = commands.of(source).map(|one| {
            let about = one.description.as_deref().unwrap_or_default();
            (one.name.clone(), about)
        });
        section(&mut text, title, named);
    }
    text
}

pub(super) fn prompts(book: &CommandBook) -> String {
    let nothing = "There are no prompt templates.";
    alone("Prompt templates:", templates(book), nothing)
}

pub(super) fn skills(book: &CommandBook) -> String {
    alone("Skills:", named_skills(book), "There are no skills.")
}

fn templates(book: &CommandBook) -> impl Iterator<Item = (String, &str)> {
    let templates = book.templates.iter();
    templates.map(|one| (one.name.clone(), one.description.as_str()))
}

fn named_skills(book: &CommandBook) -> impl Iterator<Item = (String, &str)> {
    let skills = book.skills.iter();
    skills.map(|one| (format!("skill:{}", one.name), one.description.as_str()))
}

/// Whom tasks can be given to, and how.
pub(super) fn agents(agents: &[AgentDefinition]) -> String {
    if agents.is_empty() {
        return "There are no agents to give a task to.".to_owned();
    }
    let mut text = "Usage: /delegate AGENT TASK. The agents are:".to_owned();
    for agent in agents {
        text.push_str(&format!("\n  {}", agent.name));
        if !agent.description.is_empty() {
            text.push_str(&format!(" — {}", agent.description));
        }
    }
    text
}

/// Extensions belong to a session from its beginning on.
pub(super) fn extensions(commands: &Commands) -> String {
    let mut text = "Extensions are loaded when a session starts: /new starts one with the extensions that are installed now."
        .to_owned();
    let commands = commands.of(CommandSource::Extension);
    let named = commands.map(|command| (command.name.clone(), ""));
    let title = "Commands of the extensions of this session:";
    section(&mut text, title, named);
    text
}

pub(super) async fn worktree(live: &PsiSession) -> String {
    let mut text = format!("Worktree: {}", live.origin.cwd.display());
    let repository = repository::repository(live.project()).await;
    for tree in repository.into_iter().flat_map(|found| found.trees) {
        let head = tree.head.label();
        text.push_str(&format!("\n  {} ({head})", tree.path.display()));
    }
    text
}

/// A list that is the whole text.
fn alone<'a>(
    title: &str,
    entries: impl Iterator<Item = (String, &'a str)>,
    nothing: &str,
) -> String {
    let mut text = String::new();
    section(&mut text, title, entries);
    let text = if text.is_empty() { nothing } else { &text };
    text.trim_start().to_owned()
}

fn section<'a>(text: &mut String, title: &str, entries: impl Iterator<Item = (String, &'a str)>) {
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
