//! Pieces of a page: what is shown of a conversation while it goes on. A page that is live is made of
//! the same pieces as one that is exported.

use std::sync::Arc;

use super::block::{self, ResultDisplay, ShownPart};
use super::escape::Html;
use super::markdown;
use super::message::{Card, ExportedConversation, trouble};
use super::summary::spent;
use super::tool;
use crate::message::{
    AssistantMessage, ContentBlock, KnownBlock, Message, ToolCall, ToolResultMessage,
};

/// How an element of a live page shows what a call does.
#[derive(Debug, Clone, Copy)]
pub enum ShownOutcome<'a> {
    /// It has not begun, or has shown nothing yet.
    None,
    /// What a running call has shown so far.
    Partial(&'a [ContentBlock]),
    Result(&'a ToolResultMessage),
}

/// A message that is no answer of a model, with the anchor `m` and its number.
pub fn message(number: usize, message: &Arc<Message>) -> String {
    let mut page = Html::new();
    ExportedConversation::new(std::slice::from_ref(message)).render_from(number, &mut page);
    page.finish()
}

/// An answer, each of its blocks in an element of its own ([`block_id`]), so that it can be replaced.
pub fn answer<'a>(
    number: usize,
    answer: &AssistantMessage,
    outcome: impl Fn(&ToolCall) -> ShownOutcome<'a>,
) -> String {
    let card = Card { anchor: number };
    let mut page = Html::new();
    let spent = spent(&answer.usage, answer.duration);
    card.open_with(
        "assistant",
        &answer.model,
        &spent,
        answer.timestamp,
        &mut page,
    );
    for (index, block) in answer.content.iter().enumerate() {
        page.raw(&format!("<div id=\"{}\">", block_id(number, index)));
        match block {
            ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                page.raw(&tool_call(call, outcome(call)));
            }
            other => block::prose(other, &mut page),
        }
        page.raw("</div>\n");
    }
    if let Some(trouble) = trouble(answer) {
        page.element("p", "trouble", &trouble).raw("\n");
    }
    card.close(&mut page);
    page.finish()
}

/// An answer in the making, still without blocks.
pub fn begun_answer(number: usize, model: &str, timestamp: u64) -> String {
    let card = Card { anchor: number };
    let mut page = Html::new();
    card.open("assistant", model, timestamp, &mut page);
    card.close(&mut page);
    page.finish()
}

/// The id of the element of a block.
pub fn block_id(number: usize, index: usize) -> String {
    format!("m{number}b{index}")
}

/// Markdown.
pub fn prose(text: &str) -> String {
    let mut page = Html::new();
    markdown::render(text, &mut page);
    page.finish()
}

/// What a model thinks while it does: unfolded, so that it is seen.
pub fn thinking(text: &str) -> String {
    let mut page = Html::new();
    page.raw("<details class=\"thinking\" open><summary>Thinking</summary>");
    markdown::render(text, &mut page);
    page.raw("</details>\n");
    page.finish()
}

/// A call and what came of it.
pub fn tool_call(call: &ToolCall, outcome: ShownOutcome<'_>) -> String {
    let mut page = Html::new();
    let class = match outcome {
        ShownOutcome::None | ShownOutcome::Partial(_) => "tool running",
        ShownOutcome::Result(result) if result.is_error => "tool failed",
        ShownOutcome::Result(_) => "tool",
    };
    page.open("section", class);
    let result = match outcome {
        ShownOutcome::Result(result) => Some(result),
        ShownOutcome::None | ShownOutcome::Partial(_) => None,
    };
    tool::title(call, &mut page);
    page.raw("</h3>\n");
    tool::changes(call, result, &mut page);
    match outcome {
        ShownOutcome::None => {}
        ShownOutcome::Partial(content) => {
            page.raw("<div class=\"output\">");
            let shown = ResultDisplay {
                language: "",
                part: ShownPart::End,
                from: &tool::origin(call),
            };
            for block in content {
                block::output(block, shown, &mut page);
            }
            page.raw("</div>\n");
        }
        ShownOutcome::Result(result) => {
            tool::outcome(result, tool::language(call), &tool::origin(call), &mut page);
        }
    }
    page.raw("</section>\n");
    page.finish()
}

/// A call whose arguments are being written.
pub fn begun_call(name: &str) -> String {
    let mut page = Html::new();
    page.raw("<section class=\"tool running\"><h3>")
        .element("span", "name", name)
        .raw("</h3></section>\n");
    page.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_are_escaped_wherever_text_of_others_stands() {
        let evil = "<script>alert(1)</script>";
        let call: ToolCall = serde_json::from_value(json!({
            "id": evil, "name": evil, "arguments": { "command": evil },
        }))
        .unwrap();
        let result: ToolResultMessage = serde_json::from_value(json!({
            "toolCallId": evil, "toolName": evil, "isError": true, "timestamp": 0,
            "content": [{ "type": "text", "text": evil }], "details": { "diff": format!("+{evil}") },
        }))
        .unwrap();
        let content = result.content.clone();
        let message: Arc<Message> = serde_json::from_value(json!({
            "role": "user", "content": evil, "timestamp": 0,
        }))
        .unwrap();
        for piece in [
            super::message(1, &message),
            begun_answer(1, evil, 0),
            prose(evil),
            thinking(evil),
            begun_call(evil),
            tool_call(&call, ShownOutcome::None),
            tool_call(&call, ShownOutcome::Partial(&content)),
            tool_call(&call, ShownOutcome::Result(&result)),
        ] {
            assert!(!piece.contains("<script"), "{piece}");
            assert!(piece.contains("&lt;script"), "{piece}");
        }
    }
}
