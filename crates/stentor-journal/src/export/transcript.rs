//! A session as Markdown and as JSON: for other tools, notes and diffs.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::ExportHeader;
use super::summary::{Summary, moment};
use crate::message::{
    AssistantMessage, ContentBlock, KnownBlock, KnownMessage, Message, StopReason,
    ToolResultMessage, UserContent, text_of,
};

/// Lines of a tool's output that Markdown shows; JSON has all of it.
const MAX_OUTPUT_LINES: usize = 40;

/// The conversation as Markdown.
pub(super) fn markdown(header: &ExportHeader, title: &str, messages: &[Arc<Message>]) -> String {
    let mut text = format!("# {title}\n");
    for (name, value) in Summary::of(messages).facts(header) {
        let _ = write!(text, "\n- {name}: {value}");
    }
    text.push('\n');
    for message in messages {
        match message.as_ref() {
            Message::Known(KnownMessage::User(user)) => {
                section(&mut text, "You", user.timestamp, &content(&user.content));
            }
            Message::Known(KnownMessage::Assistant(answer)) => {
                section(&mut text, &answer.model, answer.timestamp, &said(answer));
            }
            Message::Known(KnownMessage::ToolResult(result)) => {
                let _ = write!(text, "\n{}\n", output(result));
            }
            Message::Known(KnownMessage::BashExecution(run)) => {
                let shown = fenced(&format!("$ {}\n{}", run.command, run.output), "sh");
                section(&mut text, "You ran", run.timestamp, &shown);
            }
            Message::Known(KnownMessage::CompactionSummary(summary)) => {
                section(&mut text, "Summary", summary.timestamp, &summary.summary);
            }
            Message::Known(KnownMessage::BranchSummary(branch)) => {
                section(
                    &mut text,
                    "Another branch",
                    branch.timestamp,
                    &branch.summary,
                );
            }
            Message::Known(KnownMessage::Custom(custom)) if custom.display => {
                let shown = content(&custom.content);
                section(&mut text, &custom.custom_type, custom.timestamp, &shown);
            }
            Message::Known(KnownMessage::Custom(_) | KnownMessage::Developer(_))
            | Message::Other(_) => {}
        }
    }
    text
}

/// The conversation as one JSON document: what is known of the session, and its messages as they
/// are stored, pictures included.
pub(super) fn json(header: &ExportHeader, messages: &[Arc<Message>]) -> Value {
    json!({
        "id": header.id,
        "name": header.title,
        "cwd": header.cwd,
        "created": header.created_ms.map(crate::clock::iso_time),
        "model": header.model,
        "usage": Summary::of(messages).usage(),
        "messages": messages.iter().map(AsRef::as_ref).collect::<Vec<&Message>>(),
    })
}

fn section(text: &mut String, who: &str, when_ms: u64, what: &str) {
    let when = match when_ms {
        0 => String::new(),
        ms => format!(" · {}", moment(ms)),
    };
    let _ = write!(text, "\n## {who}{when}\n\n{}\n", what.trim());
}

fn content(content: &UserContent) -> String {
    match content {
        UserContent::Text(text) => text.clone(),
        UserContent::Blocks(blocks) => {
            let parts: Vec<String> = blocks.iter().filter_map(block).collect();
            parts.join("\n\n")
        }
    }
}

fn said(answer: &AssistantMessage) -> String {
    let mut parts: Vec<String> = answer.content.iter().filter_map(block).collect();
    let trouble = match answer.stop_reason {
        StopReason::Error => "failed",
        StopReason::Aborted => "stopped",
        StopReason::Length => "cut at the output limit",
        StopReason::Stop | StopReason::ToolUse | StopReason::Unknown => "",
    };
    if !trouble.is_empty() {
        let why = answer.error_message.as_deref().unwrap_or_default();
        parts.push(format!("*{trouble} {why}*"));
    }
    parts.join("\n\n")
}

fn block(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Known(KnownBlock::Text(text)) => Some(text.text.clone()),
        ContentBlock::Known(KnownBlock::ToolCall(call)) => {
            let only = match call.name.as_str() {
                "bash" => call.arguments.get("command").and_then(Value::as_str),
                _ => None,
            };
            let arguments = match only {
                Some(command) => fenced(&format!("$ {command}"), "sh"),
                None => fenced(&Value::Object(call.arguments.clone()).to_string(), "json"),
            };
            Some(format!("**{}**\n\n{arguments}", call.name))
        }
        ContentBlock::Known(KnownBlock::Image(image)) => {
            Some(format!("*[picture: {}]*", image.mime_type))
        }
        ContentBlock::Known(_) | ContentBlock::Other(_) => None,
    }
}

fn output(result: &ToolResultMessage) -> String {
    let text = text_of(&result.content, "\n");
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let left_out = lines.len().saturating_sub(MAX_OUTPUT_LINES);
    // The end of failed output says why.
    let shown = match (left_out, result.is_error) {
        (0, _) => lines.join("\n"),
        (_, true) => format!("… {left_out} lines\n{}", tail(&lines, left_out)),
        (_, false) => format!("{}\n… {left_out} more lines", head(&lines)),
    };
    let failed = if result.is_error { " (failed)" } else { "" };
    format!(
        "Result of {}{failed}:\n\n{}",
        result.tool_name,
        fenced(&shown, "")
    )
}

fn head(lines: &[&str]) -> String {
    lines.get(..MAX_OUTPUT_LINES).unwrap_or(lines).join("\n")
}

fn tail(lines: &[&str], from: usize) -> String {
    lines.get(from..).unwrap_or(lines).join("\n")
}

/// A code block with a fence that is not in the text.
fn fenced(text: &str, language: &str) -> String {
    let ticks = |line: &str| line.len() - line.trim_start_matches('`').len();
    let longest = text.lines().map(|line| ticks(line.trim_start())).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
