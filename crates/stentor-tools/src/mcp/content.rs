//! What servers say, as a model is told it: bounded, and what cannot be shown named.

use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ContentBlock;

use super::protocol::{Block, CallToolResult, ResourceContents};
use crate::content_budget::ContentBudget;
use crate::truncation::MAX_BYTES;

/// What a server may say at once.
pub(super) fn budget() -> ContentBudget {
    ContentBudget::new(usize::try_from(MAX_BYTES).unwrap_or(usize::MAX))
}

/// The result of a call.
pub(super) fn output(result: CallToolResult) -> ToolOutput {
    let mut budget = budget();
    let blocks = result.content.into_iter();
    let mut content: Vec<ContentBlock> = blocks
        .filter_map(|block| shown(block, &mut budget))
        .collect();
    content.extend(budget.left_out());
    if content.is_empty() {
        content = match &result.structured_content {
            Some(value) => only(&value.to_string()),
            None => only("(no output)"),
        };
    }
    ToolOutput {
        content,
        details: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
    }
}

/// A text that is all there is to show.
pub(super) fn only(text: &str) -> Vec<ContentBlock> {
    let mut budget = budget();
    let mut content = Vec::from_iter(budget.text(text));
    content.extend(budget.left_out());
    content
}

/// A piece of content, as far as there is budget.
pub(super) fn shown(block: Block, budget: &mut ContentBudget) -> Option<ContentBlock> {
    match block {
        Block::Text { text } => budget.text(&text),
        Block::Image { data, .. } => budget.picture(&data),
        Block::Resource { resource } => resource_shown(resource, budget),
        Block::ResourceLink { name, uri } => budget.text(&format!("[{name}]({uri})")),
        Block::Audio { mime_type } => budget.text(&format!("[{mime_type}, not shown]")),
        Block::Unknown => budget.text("[content of an unknown form]"),
    }
}

/// The content of a resource, as far as the budget goes.
pub(super) fn resource_shown(
    resource: ResourceContents,
    budget: &mut ContentBudget,
) -> Option<ContentBlock> {
    let ResourceContents {
        uri,
        mime_type,
        text,
        blob,
    } = resource;
    match (text, blob, mime_type) {
        (Some(text), _, _) => budget.text(&format!("{uri}:\n{text}")),
        (None, Some(blob), Some(kind)) if is_picture(&kind) => budget.picture(&blob),
        (None, Some(_), kind) => {
            let kind = kind.unwrap_or_else(|| "data".to_owned());
            budget.text(&format!("[{uri}: {kind}, not shown]"))
        }
        (None, None, _) => budget.text("[a resource of an unknown form]"),
    }
}

/// The kinds of pictures that models look at.
fn is_picture(kind: &str) -> bool {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let text = "x".repeat(60 * 1024);
        let answer = json!({ "content": [{ "type": "text", "text": text }] });
        let output = output(serde_json::from_value(answer).unwrap());
        assert_eq!(
            output.content,
            [
                ContentBlock::text("x".repeat(50 * 1024)),
                ContentBlock::text("[10240 more bytes were left out.]"),
            ]
        );
    }

    #[test]
    fn a_flood_of_pieces_is_one_line() {
        let text = json!({ "type": "text", "text": "x".repeat(50 * 1024) });
        let short = json!({ "type": "text", "text": "x" });
        let picture = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let mut pieces = vec![text];
        pieces.extend(vec![short; 1_000]);
        pieces.extend(vec![picture; 1_000]);
        let output = output(serde_json::from_value(json!({ "content": pieces })).unwrap());
        assert_eq!(
            output.content.get(1..).unwrap(),
            [ContentBlock::text(
                "[1000 more bytes were left out. Pictures left out because they are not PNG, JPEG, GIF or \
                 WebP in base64: 1000.]"
            )]
        );
    }

    #[test]
    fn what_cannot_be_shown_is_named() {
        let answer = json!({ "content": [
            { "type": "audio", "data": "AA==", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "blob": "AA==" } },
            { "type": "resource", "resource": { "uri": "x:2", "blob": "iVBORw0KGgo=", "mimeType": "image/png" } },
            { "type": "resource", "resource": { "uri": "x:3", "text": "t" } },
            { "type": "resource_link", "uri": "x:4", "name": "four" },
        ]});
        let output = output(serde_json::from_value(answer).unwrap());
        assert_eq!(
            serde_json::to_value(&output.content).unwrap(),
            json!([
                { "type": "text", "text": "[audio/wav, not shown]" },
                { "type": "text", "text": "[x:1: data, not shown]" },
                { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
                { "type": "text", "text": "x:3:\nt" },
                { "type": "text", "text": "[four](x:4)" },
            ])
        );
    }
}
