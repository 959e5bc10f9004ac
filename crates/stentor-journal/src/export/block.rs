//! The blocks a message is made of.

use super::escape::Html;
use super::{highlight, markdown};
use crate::message::{ContentBlock, DocumentBlock, ImageBlock, KnownBlock, UserContent};

/// Output of more lines than this is folded.
const UNFOLDED_LINES: usize = 12;
/// Lines of a folded output that show without unfolding it.
const SHOWN_LINES: usize = 3;
/// The same at its end, where a program that failed says why in more than a few lines.
const SHOWN_AT_END: usize = 16;
/// The pictures a browser shows that cannot carry a script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What a person wrote, or an extension.
pub(super) fn user_content(content: &UserContent, page: &mut Html) {
    match content {
        UserContent::Text(text) => markdown::render(text, page),
        UserContent::Blocks(blocks) => {
            let mut pictures = 0;
            for block in blocks {
                pictures += usize::from(matches!(block, ContentBlock::Known(KnownBlock::Image(_))));
                match block {
                    ContentBlock::Known(KnownBlock::Text(block)) => {
                        markdown::render(&block.text, page);
                    }
                    other => special(other, &format!("Picture {pictures} of the message"), page),
                }
            }
        }
    }
}

/// A block of prose: text is Markdown.
pub(super) fn prose(block: &ContentBlock, page: &mut Html) {
    match block {
        ContentBlock::Known(KnownBlock::Text(block)) => markdown::render(&block.text, page),
        other => special(other, "Picture in the answer", page),
    }
}

/// Which part of a long output shows without unfolding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownPart {
    Beginning,
    /// Where a program reports why it failed.
    End,
}

/// The part to show of output that failed or not.
pub(super) fn shown_part(failed: bool) -> ShownPart {
    match failed {
        true => ShownPart::End,
        false => ShownPart::Beginning,
    }
}

/// How the text in a tool's result is shown, and what it is the result of.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultDisplay<'a> {
    pub(super) language: &'a str,
    pub(super) part: ShownPart,
    /// The tool and what it was about: what is known of a picture that it gave.
    pub(super) from: &'a str,
}

/// A block of a tool's result: text is shown as it is.
pub(super) fn output(block: &ContentBlock, shown: ResultDisplay<'_>, page: &mut Html) {
    match block {
        ContentBlock::Known(KnownBlock::Text(block)) => {
            preformatted(&block.text, shown.language, shown.part, page);
        }
        other => special(other, &format!("Picture from {}", shown.from), page),
    }
}

/// Text as it is, in the colours of its language; long text is folded.
pub(super) fn preformatted(text: &str, language: &str, part: ShownPart, page: &mut Html) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    let unfolded = match part {
        ShownPart::Beginning => UNFOLDED_LINES,
        ShownPart::End => UNFOLDED_LINES.max(SHOWN_AT_END + 1),
    };
    if lines.len() <= unfolded {
        code(text, language, page);
        return;
    }
    let hidden = match part {
        ShownPart::Beginning => lines.len() - SHOWN_LINES,
        ShownPart::End => lines.len() - SHOWN_AT_END,
    };
    let (first, last) = match part {
        ShownPart::Beginning => lines.split_at(SHOWN_LINES),
        ShownPart::End => lines.split_at(hidden),
    };
    page.raw("<details><summary>");
    match part {
        ShownPart::Beginning => {
            code(&first.join("\n"), language, page);
            page.element("span", "more", &format!("{hidden} more lines"));
            page.raw("</summary>");
            code(&last.join("\n"), language, page);
            page.raw("</details>\n");
        }
        ShownPart::End => {
            page.text(&format!("{hidden} lines before"));
            page.raw("</summary>");
            code(&first.join("\n"), language, page);
            page.raw("</details>\n");
            code(&last.join("\n"), language, page);
        }
    }
}

fn code(text: &str, language: &str, page: &mut Html) {
    page.raw("<pre>");
    highlight::render(text, language, page);
    page.raw("</pre>\n");
}

/// Text that is folded away behind `label`, whatever its length.
pub(super) fn folded(label: &str, text: &str, page: &mut Html) {
    page.raw("<details>")
        .element("summary", "", label)
        .element("pre", "", text.trim_end())
        .raw("</details>\n");
}

/// What is no text. `picture_label` stands for a picture where it is not seen.
fn special(block: &ContentBlock, picture_label: &str, page: &mut Html) {
    match block {
        ContentBlock::Known(KnownBlock::Text(_)) => {}
        ContentBlock::Known(KnownBlock::Thinking(block)) => {
            if !block.thinking.trim().is_empty() {
                page.raw("<details class=\"thinking\"><summary>Thinking</summary>");
                markdown::render(&block.thinking, page);
                page.raw("</details>\n");
            }
        }
        ContentBlock::Known(KnownBlock::RedactedThinking(_)) => {
            note("Thinking hidden by the provider", page);
        }
        ContentBlock::Known(KnownBlock::Image(image)) => picture(image, picture_label, page),
        ContentBlock::Known(KnownBlock::Document(document)) => paper(document, page),
        // Calls are shown with their results, by the message they stand in.
        ContentBlock::Known(KnownBlock::ToolCall(_)) => {}
        ContentBlock::Other(fields) => {
            let kind = fields.get("type").and_then(|kind| kind.as_str());
            note(
                &format!("A block of kind {}", kind.unwrap_or("unknown")),
                page,
            );
        }
    }
}

fn picture(image: &ImageBlock, label: &str, page: &mut Html) {
    let is_base64 = |data: &str| {
        let letters = data.trim_end_matches('=');
        !letters.is_empty()
            && letters
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
    };
    if PICTURES.contains(&image.mime_type.as_str()) && is_base64(&image.data) {
        page.raw("<figure><img alt=\"")
            .text(label)
            .raw("\" src=\"data:")
            .text(&image.mime_type)
            .raw(";base64,")
            .text(&image.data)
            .raw("\"></figure>\n");
    } else {
        note(&format!("A picture of type {}", image.mime_type), page);
    }
}

fn paper(document: &DocumentBlock, page: &mut Html) {
    let name = document.name.as_deref().unwrap_or("without a name");
    if document.mime_type == "text/plain" {
        folded(&format!("Document {name}"), &document.data, page);
    } else {
        note(&format!("A document {name} ({})", document.mime_type), page);
    }
}

fn note(text: &str, page: &mut Html) {
    page.element("p", "note", text).raw("\n");
}
