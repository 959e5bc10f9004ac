//! A summary of a conversation made of its own words: what was asked, which files and commands
//! were touched, what came back last. The same conversation always gives the same summary.

use std::fmt::Write;
use std::sync::Arc;

use stentor_journal::message::{KnownMessage, Message, text_of};

/// So many goals, files or commands are named; the latest ones, because they matter most.
const MAX_NAMED: usize = 20;
const MAX_LINE_CHARS: usize = 200;
const MAX_RESULTS: usize = 3;

/// The summary of a conversation.
pub fn summarise(messages: &[Arc<Message>]) -> String {
    let mut goals = Vec::new();
    let mut read = Vec::new();
    let mut changed = Vec::new();
    let mut commands = Vec::new();
    let mut results = Vec::new();
    let mut last_answer = String::new();
    for message in messages {
        match message.as_ref() {
            Message::Known(KnownMessage::User(user)) if user.synthetic != Some(true) => {
                note(&mut goals, &user.content.text());
            }
            Message::Known(KnownMessage::CompactionSummary(earlier)) => {
                note(&mut goals, &earlier.summary);
            }
            Message::Known(KnownMessage::Assistant(answer)) => {
                for call in answer.tool_calls() {
                    let argument =
                        |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
                    match (call.name.as_str(), argument("path"), argument("command")) {
                        (_, _, Some(command)) => note(&mut commands, command),
                        ("write" | "edit", Some(path), _) => note(&mut changed, path),
                        (_, Some(path), _) => note(&mut read, path),
                        _ => {}
                    }
                }
                let text = answer.text();
                if !text.trim().is_empty() {
                    last_answer = first_line(&text);
                }
            }
            Message::Known(KnownMessage::ToolResult(result)) => {
                let failed = if result.is_error { " (failed)" } else { "" };
                let text = first_line(&text_of(&result.content, "\n"));
                results.push(format!("{}{failed}: {text}", result.tool_name));
            }
            Message::Known(_) | Message::Other(_) => {}
        }
    }
    let last_results = results.split_off(results.len().saturating_sub(MAX_RESULTS));
    let mut summary = format!("Summary of {} earlier messages.\n", messages.len());
    section(&mut summary, "What the user asked for", &goals);
    section(&mut summary, "Files changed", &changed);
    section(&mut summary, "Files and folders looked at", &read);
    section(&mut summary, "Commands run", &commands);
    section(&mut summary, "Last results", &last_results);
    if !last_answer.is_empty() {
        section(&mut summary, "Last answer", &[last_answer]);
    }
    summary
}

/// Keeps the first line of `text`, once.
fn note(list: &mut Vec<String>, text: &str) {
    let line = first_line(text);
    if !line.is_empty() && !list.contains(&line) {
        list.push(line);
    }
    if list.len() > MAX_NAMED {
        list.remove(0);
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

fn section(summary: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(summary, "\n## {title}\n");
    for item in items {
        let _ = writeln!(summary, "- {item}");
    }
}
