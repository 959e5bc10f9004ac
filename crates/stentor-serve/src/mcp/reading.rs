//! A session as another agent reads it.

use serde_json::{Value, json};
use stentor_journal::message::{ContentBlock, KnownBlock, KnownMessage, Message, text_of};
use stentor_journal::store::SessionView;

use super::limits::MESSAGE_CHARS;

/// The last messages of a session, oldest first.
pub(super) fn messages(id: &str, view: &SessionView, last: usize) -> Value {
    let messages = view.entries.iter().filter_map(|entry| entry.to_message());
    let all: Vec<Value> = messages.filter_map(|message| shown(&message)).collect();
    let left_out = all.len().saturating_sub(last);
    json!({
        "session_id": id,
        "cwd": view.header.cwd,
        "earlier_messages": left_out,
        "messages": all.get(left_out..).unwrap_or_default(),
    })
}

/// A message; `None` for what is no part of the conversation.
fn shown(message: &Message) -> Option<Value> {
    let Message::Known(known) = message else {
        return None;
    };
    match known {
        KnownMessage::User(user) => {
            Some(json!({ "role": "user", "text": cut(user.content.text()) }))
        }
        KnownMessage::Assistant(answer) => {
            let calls = answer.content.iter().filter_map(|block| match block {
                ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                    Some(json!({ "tool": call.name, "arguments": call.arguments }))
                }
                _ => None,
            });
            Some(json!({
                "role": "assistant",
                "text": cut(answer.text()),
                "calls": calls.collect::<Vec<_>>(),
                "error": answer.error_message,
            }))
        }
        KnownMessage::ToolResult(result) => Some(json!({
            "role": "tool",
            "tool": result.tool_name,
            "is_error": result.is_error,
            "text": cut(text_of(&result.content, "\n")),
        })),
        _ => None,
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MESSAGE_CHARS) {
        None => text,
        Some((at, _)) => {
            let rest = text.len() - at;
            format!(
                "{}\n[{rest} more bytes are not shown]",
                text.get(..at).unwrap_or_default()
            )
        }
    }
}
