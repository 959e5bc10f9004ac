//! Content on its way between the protocol and the conversation.

use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ContentBlock, KnownBlock};
use stentor_wire::extension::{Content, ContentInput, Image, Text, ToolRunResult};

use super::limits::{PROGRESS_BYTES, TEXT_BYTES};
use crate::content_budget::ContentBudget;

/// What an extension said, as blocks of at most `most` bytes of text, and a line that says what was
/// left out.
pub(super) fn blocks(input: ContentInput, most: usize) -> Vec<ContentBlock> {
    let mut budget = ContentBudget::new(most);
    let pieces = input.into_pieces().into_iter();
    let mut blocks: Vec<ContentBlock> = pieces
        .filter_map(|piece| match piece {
            Content::Text(Text { text }) => budget.text(&text),
            Content::Image(Image { data, .. }) => budget.picture(&data),
        })
        .collect();
    blocks.extend(budget.left_out());
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
pub(super) fn progress(input: ContentInput, details: Option<serde_json::Value>) -> ToolOutput {
    ToolOutput {
        content: blocks(input, PROGRESS_BYTES),
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
        let input = ContentInput::Pieces(vec![piece("abcd"), piece("efghij"), piece("k")]);
        let cut = blocks(input, 8);
        assert_eq!(
            cut,
            ["abcd", "efgh", "[3 more bytes were left out.]"].map(ContentBlock::text)
        );
    }

    #[test]
    fn of_a_flood_of_pictures_some_are_shown_and_the_rest_is_one_line() {
        let piece = |data: &str| {
            Content::Image(Image {
                data: data.to_owned(),
                mime_type: "image/png".to_owned(),
            })
        };
        let mut pieces = vec![piece("AAAA")];
        pieces.extend(vec![piece("iVBORw0KGgo="); 20_000]);
        let mut shown = blocks(ContentInput::Pieces(pieces), 8);
        assert_eq!(
            shown.pop(),
            Some(ContentBlock::text(
                "[Pictures left out beyond 20 or 4.5 MiB together: 19980. Pictures left out \
                 because they are not PNG, JPEG, GIF or WebP in base64: 1.]"
            ))
        );
        let picture = ContentBlock::image("iVBORw0KGgo=", "image/png");
        assert_eq!(shown, vec![picture; 20]);
    }
}
