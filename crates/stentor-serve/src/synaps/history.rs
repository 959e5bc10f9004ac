//! The conversation as `get_messages` gives it (section 8.1): in the provider's format.

use std::sync::Arc;

use serde_json::{Value, json};
use stentor_journal::conversation;
use stentor_journal::message::{
    ContentBlock, KnownBlock, KnownMessage, Message, UserContent, text_of,
};

/// The messages, oldest first. Results of one answer's calls are in one message.
pub(super) fn render(messages: &[Arc<Message>]) -> Vec<Value> {
    let mut rendered: Vec<Value> = Vec::new();
    for message in conversation::lower(messages.iter()) {
        match &*message {
            Message::Known(KnownMessage::User(user)) => {
                rendered.push(json!({ "role": "user", "content": user_content(&user.content) }));
            }
            Message::Known(KnownMessage::Assistant(answer)) => {
                let content: Vec<Value> = answer.content.iter().filter_map(block).collect();
                rendered.push(json!({ "role": "assistant", "content": content }));
            }
            Message::Known(KnownMessage::ToolResult(result)) => {
                let block = json!({
                    "type": "tool_result",
                    "tool_use_id": result.tool_call_id,
                    "content": text_of(&result.content, "\n"),
                });
                push_result(&mut rendered, block);
            }
            Message::Known(_) | Message::Other(_) => {}
        }
    }
    rendered
}

fn user_content(content: &UserContent) -> Value {
    match content {
        UserContent::Text(text) => json!(text),
        UserContent::Blocks(blocks) => match blocks.as_slice() {
            [only] if only.as_text().is_some() => json!(only.as_text()),
            blocks => blocks.iter().filter_map(block).collect(),
        },
    }
}

fn block(block: &ContentBlock) -> Option<Value> {
    let ContentBlock::Known(block) = block else {
        return None;
    };
    Some(match block {
        KnownBlock::Text(text) => json!({ "type": "text", "text": text.text }),
        KnownBlock::Thinking(thinking) => {
            json!({ "type": "thinking", "thinking": thinking.thinking })
        }
        KnownBlock::RedactedThinking(_) => return None,
        KnownBlock::ToolCall(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
        }),
        KnownBlock::Image(image) => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": image.mime_type, "data": &*image.data },
        }),
        KnownBlock::Document(document) => {
            let kind = if document.mime_type == "text/plain" {
                "text"
            } else {
                "base64"
            };
            json!({
                "type": "document",
                "title": document.name,
                "source": {
                    "type": kind, "media_type": document.mime_type, "data": &*document.data,
                },
            })
        }
    })
}

fn push_result(rendered: &mut Vec<Value>, result: Value) {
    if let Some(last) = rendered.last_mut()
        && let Some(content) = last.get_mut("content").and_then(Value::as_array_mut)
        && content
            .first()
            .is_some_and(|block| block["type"] == "tool_result")
    {
        content.push(result);
        return;
    }
    rendered.push(json!({ "role": "user", "content": [result] }));
}
