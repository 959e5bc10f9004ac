//! Content on its way between the protocol and the conversation.

use stentor_agent::message::{ContentBlock, KnownBlock};
use stentor_agent::tool::ToolOutput;
use stentor_wire::extension::{Content, Image, Text, ToolRunResult, Words};

use super::limits::{PROGRESS_BYTES, TEXT_BYTES, fit};

/// What an extension said, as blocks of at most `most` bytes of text.
pub(super) fn blocks(words: Words, most: usize) -> Vec<ContentBlock> {
    let mut left = most;
    let mut blocks = Vec::new();
    for piece in words.into_pieces() {
        match piece {
            Content::Text(Text { text }) if left > 0 => {
                let text = fit(text, left);
                left = left.saturating_sub(text.len());
                blocks.push(ContentBlock::text(text));
            }
            Content::Text(_) => {}
            Content::Image(Image { data, mime_type }) => {
                blocks.push(ContentBlock::image(data, mime_type));
            }
        }
    }
    blocks
}

/// The blocks of a result, as an extension sees them. What it has no words for is left out.
pub(super) fn pieces(blocks: &[ContentBlock]) -> Vec<Content> {
    let pieces = blocks.iter().filter_map(|block| match block {
        ContentBlock::Known(KnownBlock::Text(text)) => Some(Content::Text(Text {
            text: text.text.clone(),
        })),
        ContentBlock::Known(KnownBlock::Image(image)) => Some(Content::Image(Image {
            data: image.data.to_string(),
            mime_type: image.mime_type.clone(),
        })),
        ContentBlock::Known(
            KnownBlock::Thinking(_)
            | KnownBlock::RedactedThinking(_)
            | KnownBlock::ToolCall(_)
            | KnownBlock::Document(_),
        )
        | ContentBlock::Other(_) => None,
    });
    pieces.collect()
}

/// The output of a tool of an extension.
pub(super) fn output(result: ToolRunResult) -> ToolOutput {
    ToolOutput {
        content: blocks(result.content, TEXT_BYTES),
        details: result.details,
        is_error: result.is_error,
    }
}

/// The state of a running tool of an extension.
pub(super) fn progress(words: Words, details: Option<serde_json::Value>) -> ToolOutput {
    ToolOutput {
        content: blocks(words, PROGRESS_BYTES),
        details: details.filter(|details| details.to_string().len() <= PROGRESS_BYTES),
        is_error: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_over_all_pieces() {
        let piece = |text: &str| Content::Text(Text { text: text.into() });
        let words = Words::Pieces(vec![piece("abcd"), piece("efghij"), piece("k")]);
        let cut = blocks(words, 8);
        assert_eq!(cut, [ContentBlock::text("abcd"), ContentBlock::text("e…")]);
    }
}
