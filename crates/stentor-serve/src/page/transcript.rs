//! The conversation on the page: which element shows what.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_agent::tool::ToolOutput;
use stentor_journal::export::Html;
use stentor_journal::export::fragment::{self, ShownOutcome, block_id};
use stentor_journal::message::{
    AssistantMessage, ContentBlock, KnownBlock, Message, ToolCall, ToolResultMessage,
};
use stentor_journal::store::Entry;

use super::frames::Op;
use super::spending::PageSpending;

/// The element that holds the conversation.
const TRANSCRIPT: &str = "transcript";

/// Text in the making is rendered as Markdown, each time anew, up to this length. What is longer
/// shows as it is until it is complete, so that a delta costs the same however long the text is.
const RENDERED_BYTES: usize = 16 << 10;

/// A title that is longer is cut.
const TITLE_BYTES: usize = 80;

/// Where the conversation is on the page.
#[derive(Default)]
pub(super) struct PageTranscript {
    /// The number of the last message.
    last: usize,
    /// The calls without a result, by their ids.
    calls: HashMap<String, ShownCall>,
    live: Option<LiveAnswer>,
    /// The beginning of the first prompt: what the session is about where it has no name.
    pub title: String,
    pub spending: PageSpending,
}

struct ShownCall {
    element: String,
    call: Arc<ToolCall>,
}

/// An answer in the making.
struct LiveAnswer {
    number: usize,
    /// The block that has become too long to be rendered.
    plain: Option<usize>,
}

impl PageTranscript {
    /// What was said so far, and how it looks.
    pub fn of(entries: &[Entry]) -> (Self, String) {
        let messages: Vec<Arc<Message>> = entries.iter().filter_map(Entry::to_message).collect();
        let results: HashMap<&str, &ToolResultMessage> = messages
            .iter()
            .filter_map(|message| message.as_tool_result())
            .map(|result| (result.tool_call_id.as_str(), result))
            .collect();
        let mut transcript = Self::default();
        let mut html = String::new();
        let mut called = std::collections::HashSet::new();
        for message in &messages {
            if let Some(answer) = message.as_assistant() {
                called.extend(answer.tool_calls().map(|call| call.id.as_str()));
                html.push_str(&transcript.answer(answer, |call| {
                    let result = results.get(call.id.as_str());
                    result.map_or(ShownOutcome::None, |result| ShownOutcome::Result(result))
                }));
                continue;
            }
            let result = message.as_tool_result();
            if result.is_some_and(|result| called.contains(result.tool_call_id.as_str())) {
                continue;
            }
            html.push_str(&transcript.message(message));
        }
        transcript
            .calls
            .retain(|id, _| !results.contains_key(id.as_str()));
        (transcript, html)
    }

    /// An answer with the next number.
    fn answer<'a>(
        &mut self,
        answer: &AssistantMessage,
        outcome: impl Fn(&ToolCall) -> ShownOutcome<'a>,
    ) -> String {
        self.last += 1;
        self.numbered_answer(self.last, answer, outcome)
    }

    fn numbered_answer<'a>(
        &mut self,
        number: usize,
        answer: &AssistantMessage,
        outcome: impl Fn(&ToolCall) -> ShownOutcome<'a>,
    ) -> String {
        self.spending.add(answer);
        for (index, block) in answer.content.iter().enumerate() {
            if let ContentBlock::Known(KnownBlock::ToolCall(call)) = block {
                let element = block_id(number, index);
                let call = Arc::new(call.clone());
                let shown = ShownCall { element, call };
                self.calls.insert(shown.call.id.clone(), shown);
            }
        }
        fragment::answer(number, answer, outcome)
    }

    /// A message that is complete came into the conversation.
    pub fn came(&mut self, message: &Arc<Message>, lines: &mut Vec<u8>) {
        if let Some(result) = message.as_tool_result()
            && let Some(shown) = self.calls.remove(&result.tool_call_id)
        {
            shown.show(ShownOutcome::Result(result), lines);
            return;
        }
        if message.as_assistant().is_some() {
            return;
        }
        append(&self.message(message), lines);
    }

    /// A message that is no answer, with the next number.
    fn message(&mut self, message: &Arc<Message>) -> String {
        if let Some(prompt) = message.as_user()
            && self.title.is_empty()
        {
            let text = prompt.content.text();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            let line = line.unwrap_or_default();
            let end = line.floor_char_boundary(TITLE_BYTES);
            self.title = line.get(..end).unwrap_or_default().to_owned();
        }
        self.last += 1;
        fragment::message(self.last, message)
    }

    /// A model began to answer.
    pub fn answer_started(&mut self, live: &LiveMessage, lines: &mut Vec<u8>) {
        self.last += 1;
        self.live = Some(LiveAnswer {
            number: self.last,
            plain: None,
        });
        append(
            &fragment::begun_answer(self.last, live.model(), live.timestamp()),
            lines,
        );
    }

    /// A block grew by some text, or began.
    pub fn block_grew(&mut self, block: &LiveBlock, added: Range<usize>, lines: &mut Vec<u8>) {
        let Some(live) = &mut self.live else { return };
        let id = block_id(live.number, block.index);
        let plain_id = format!("{id}t");
        if live.plain == Some(block.index) {
            let id = plain_id.as_str();
            return block.with(added, |text| Op::Text { id, text }.write(lines));
        }
        let is_long = block.len() > RENDERED_BYTES;
        let html = match (&block.kind, is_long) {
            (LiveBlockKind::Redacted, _) => return,
            (LiveBlockKind::ToolCall { .. }, _) if !added.is_empty() => return,
            (LiveBlockKind::ToolCall { name, .. }, _) => fragment::begun_call(name),
            (LiveBlockKind::Text, false) => block.with_all(fragment::prose),
            (LiveBlockKind::Thinking, false) => block.with_all(fragment::thinking),
            (LiveBlockKind::Text | LiveBlockKind::Thinking, true) => {
                live.plain = Some(block.index);
                let mut html = Html::new();
                html.raw(&format!("<pre id=\"{plain_id}\">"));
                block.with_all(|text| html.text(text).raw("</pre>").raw(""));
                html.finish()
            }
        };
        let within = format!("m{}", live.number);
        replace(&id, &within, &html, lines);
    }

    /// The arguments of a call are complete.
    pub fn call_ended(&mut self, block: &LiveBlock, call: &Arc<ToolCall>, lines: &mut Vec<u8>) {
        let Some(live) = &self.live else { return };
        let shown = ShownCall {
            element: block_id(live.number, block.index),
            call: Arc::clone(call),
        };
        shown.show(ShownOutcome::None, lines);
        self.calls.insert(call.id.clone(), shown);
    }

    /// An answer is complete: it is shown as it will be when the page is loaded again.
    pub fn answer_ended(&mut self, answer: &AssistantMessage, lines: &mut Vec<u8>) {
        let begun = self.live.take().map(|live| live.number);
        let number = begun.unwrap_or(self.last + 1);
        self.last = self.last.max(number);
        let html = self.numbered_answer(number, answer, |_| ShownOutcome::None);
        replace_whole(&format!("m{number}"), &html, lines);
    }

    /// A call shows something, or is done.
    pub fn call_shows(&self, call: &ToolCall, output: &ToolOutput, lines: &mut Vec<u8>) {
        if let Some(shown) = self.calls.get(&call.id) {
            shown.show(ShownOutcome::Partial(&output.content), lines);
        }
    }
}

impl ShownCall {
    fn show(&self, outcome: ShownOutcome<'_>, lines: &mut Vec<u8>) {
        let html = fragment::tool_call(&self.call, outcome);
        replace(&self.element, TRANSCRIPT, &html, lines);
    }
}

fn append(html: &str, lines: &mut Vec<u8>) {
    let id = TRANSCRIPT;
    Op::Append { id, html }.write(lines);
}

/// Replaces the element of a block.
fn replace(id: &str, within: &str, html: &str, lines: &mut Vec<u8>) {
    let html = format!("<div id=\"{id}\">{html}</div>");
    replace_in(id, within, &html, lines);
}

fn replace_whole(id: &str, html: &str, lines: &mut Vec<u8>) {
    replace_in(id, TRANSCRIPT, html, lines);
}

fn replace_in(id: &str, within: &str, html: &str, lines: &mut Vec<u8>) {
    Op::Replace { id, within, html }.write(lines);
}
