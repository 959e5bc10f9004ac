//! What servers say, as a model is told it: bounded, and what cannot be shown named.

use rmcp::model::{CallToolResult, ContentBlock as Block, ResourceContents};
use stentor_agent::message::ContentBlock;
use stentor_agent::tool::ToolOutput;

use crate::truncation::MAX_BYTES;

/// How much text is still shown.
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(usize::try_from(MAX_BYTES).unwrap_or(usize::MAX))
    }
}

/// The result of a call.
pub(super) fn output(result: CallToolResult) -> ToolOutput {
    let mut room = Room::default();
    let mut content: Vec<ContentBlock> = result
        .content
        .into_iter()
        .map(|block| shown(block, &mut room))
        .collect();
    if content.is_empty() {
        let text = match &result.structured_content {
            Some(value) => value.to_string(),
            None => "(no output)".to_owned(),
        };
        content.push(room.text(&text));
    }
    ToolOutput {
        content,
        details: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
    }
}

/// A piece of content.
pub(super) fn shown(block: Block, room: &mut Room) -> ContentBlock {
    match block {
        Block::Text(text) => room.text(&text.text),
        Block::Image(image) => ContentBlock::image(image.data, image.mime_type),
        Block::Resource(resource) => resource_shown(resource.resource, room),
        Block::ResourceLink(link) => room.text(&format!("[{}]({})", link.name, link.uri)),
        Block::Audio(audio) => room.text(&format!("[{}, not shown]", audio.mime_type)),
        _ => room.text("[content of an unknown form]"),
    }
}

/// The content of a resource.
pub(super) fn resource_shown(resource: ResourceContents, room: &mut Room) -> ContentBlock {
    match resource {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            room.text(&format!("{uri}:\n{text}"))
        }
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => match mime_type {
            Some(kind) if is_picture(&kind) => ContentBlock::image(blob, kind),
            kind => {
                let kind = kind.unwrap_or_else(|| "data".to_owned());
                room.text(&format!("[{uri}: {kind}, not shown]"))
            }
        },
        _ => room.text("[a resource of an unknown form]"),
    }
}

impl Room {
    /// The text as far as there is room, with a note of what is missing.
    pub fn text(&mut self, text: &str) -> ContentBlock {
        let kept = text.get(..text.floor_char_boundary(self.0)).unwrap_or(text);
        self.0 -= kept.len();
        ContentBlock::text(match text.len() - kept.len() {
            0 => text.to_owned(),
            missing => format!("{kept}\n\n[{missing} more bytes were left out.]"),
        })
    }
}

/// The kinds of pictures that models look at.
fn is_picture(kind: &str) -> bool {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let text = "x".repeat(60 * 1024);
        let answer = json!({ "content": [{ "type": "text", "text": text }] });
        let output = output(serde_json::from_value(answer).unwrap());
        let Value::String(shown) =
            serde_json::to_value(&output).unwrap()["content"][0]["text"].take()
        else {
            panic!("text expected")
        };
        assert!(shown.ends_with("[10240 more bytes were left out.]"));
    }

    #[test]
    fn what_cannot_be_shown_is_named() {
        let answer = json!({ "content": [
            { "type": "audio", "data": "AA==", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "blob": "AA==" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "AA==", "mimeType": "image/png" } },
            { "type": "resource", "resource": { "uri": "x:3", "text": "t" } },
            { "type": "resource_link", "uri": "x:4", "name": "four" },
        ]});
        let output = output(serde_json::from_value(answer).unwrap());
        assert_eq!(
            serde_json::to_value(&output.content).unwrap(),
            json!([
                { "type": "text", "text": "[audio/wav, not shown]" },
                { "type": "text", "text": "[x:1: data, not shown]" },
                { "type": "image", "data": "AA==", "mimeType": "image/png" },
                { "type": "text", "text": "x:3:\nt" },
                { "type": "text", "text": "[four](x:4)" },
            ])
        );
    }
}
