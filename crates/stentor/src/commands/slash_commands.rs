//! `stentor commands`: the slash commands of this folder and its user.

use std::io::{self, Write};

use serde_json::{Value, json};
use stentor_agent::commands::CommandBook;
use stentor_agent::event::{CommandInfo, CommandSource};

use crate::config::Config;
use crate::user_folders::command_folders;

/// The templates, skills and agents that sessions in the folder have.
pub fn listed(config: &Config) -> Vec<CommandInfo> {
    CommandBook::load(&command_folders(config)).infos()
}

/// Prints them by their kind.
pub fn run(commands: &[CommandInfo], json: bool, out: &mut impl Write) -> io::Result<()> {
    if json {
        let list: Vec<Value> = commands.iter().map(as_json).collect();
        serde_json::to_writer_pretty(&mut *out, &list)?;
        return writeln!(out);
    }
    if commands.is_empty() {
        return writeln!(
            out,
            "no commands: write a prompt template to .stentor/prompts/NAME.md"
        );
    }
    let kinds = [
        (CommandSource::Prompt, "Prompt templates"),
        (CommandSource::Skill, "Skills"),
        (CommandSource::Agent, "Agents"),
    ];
    let width = commands.iter().map(|one| usage(one).chars().count()).max();
    let width = width.unwrap_or(0);
    let mut is_first = true;
    for (source, title) in kinds {
        let mut of_kind = commands
            .iter()
            .filter(|one| one.source == source)
            .peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            writeln!(out)?;
        }
        writeln!(out, "{title}")?;
        for one in of_kind {
            let about = one.description.as_deref().unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            writeln!(out, "  {:<width$}  {about}", usage(one))?;
        }
    }
    Ok(())
}

fn usage(command: &CommandInfo) -> String {
    match &command.hint {
        Some(hint) => format!("/{} {hint}", command.name),
        None => format!("/{}", command.name),
    }
}

fn as_json(command: &CommandInfo) -> Value {
    json!({
        "name": command.name,
        "description": command.description,
        "hint": command.hint,
        "kind": match command.source {
            CommandSource::Builtin => "builtin",
            CommandSource::Extension => "extension",
            CommandSource::Prompt => "prompt",
            CommandSource::Skill => "skill",
            CommandSource::Agent => "agent",
            CommandSource::McpPrompt => "mcp",
        },
        "path": command.path,
    })
}
