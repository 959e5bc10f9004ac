//! An answer in the making: what a wire's decoder writes into, events in order come out of.

use std::collections::VecDeque;

use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, ModelEvent};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;
use stentor_wire::sse::SseError;

/// How many sources of an answer are shown, and how long they may be.
const SOURCES: usize = 30;
const SOURCE_BYTES: usize = 2_000;
const SOURCE_WORDS: usize = 30;

/// The most events that wait for the result of a call before them.
const WAITING_EVENTS: usize = 10_000;
/// The most bytes of text in them.
const WAITING_BYTES: usize = 4 << 20;

/// Turns a provider's stream into events, one wire each.
pub trait Decoder: Send {
    /// Takes one server-sent event.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault>;

    /// The connection was closed by the provider. Completes the answer if nothing is missing.
    fn closed(&mut self, answer: &mut AnswerBuilder) -> Result<(), StreamFault>;

    /// About how many bytes it holds that are no events yet.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFault {
    /// The provider reports an error in the middle of its answer.
    Provider(ProviderFault),
    /// An event that makes no sense, in words.
    Malformed(String),
    /// More than is taken at a time, in words.
    TooLong(String),
    /// The connection ended before the answer did.
    CutShort,
}

/// An error as a provider words it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderFault {
    /// The provider's own kind or code, such as `overloaded_error`.
    pub code: String,
    pub message: String,
    /// An HTTP status named inside the stream.
    pub status: Option<u16>,
}

/// Collects events and keeps the promise that blocks come one after the other.
///
/// A provider that runs tools of its own goes on with its answer when they are done. That is an
/// answer in several parts: each ends with a call that the provider runs, and the next begins as if it
/// had been asked again with the result.
#[derive(Debug, Default)]
pub struct AnswerBuilder {
    events: VecDeque<ModelEvent>,
    /// What they hold of text, in bytes.
    waiting_bytes: usize,
    open: Option<OpenBlock>,
    usage: Usage,
    /// The pages a provider names that it has searched, by title and address.
    sources: Vec<(String, String)>,
    /// The answer is what a search finds: it ends with its sources.
    lists_sources: bool,
    /// What the provider runs is not shown: nobody would follow it.
    hides_server_calls: bool,
    /// The calls of this part that the provider runs.
    server_calls: Vec<String>,
    /// The same of each part that has ended and was not taken yet.
    ended_parts: VecDeque<Vec<String>>,
    /// The calls that have no result yet.
    unanswered: Vec<String>,
    /// Results that nobody has taken.
    results: Vec<ServerResult>,
    response_id: Option<String>,
    /// True when the session has calls to run.
    has_tool_call: bool,
    started: bool,
    finished: bool,
}

/// A call that the provider has run: what goes back with it, and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct RanCall {
    pub signature: String,
    pub output: ToolOutput,
}

/// What an event holds of a provider's text.
fn text_bytes(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Delta(text) | ModelEvent::Intent(text) | ModelEvent::Titled(text) => text.len(),
        ModelEvent::BlockEnded { signature } => signature.as_ref().map_or(0, String::len),
        ModelEvent::Started { .. }
        | ModelEvent::BlockStarted(_)
        | ModelEvent::Usage(_)
        | ModelEvent::Became(_)
        | ModelEvent::Nothing
        | ModelEvent::Finished(_) => 0,
    }
}

#[derive(Debug)]
struct ServerResult {
    call_id: String,
    output: ToolOutput,
}

#[derive(Debug)]
struct OpenBlock {
    kind: LiveBlockKind,
    /// A call that the provider runs, after which this part is over.
    ends_part: bool,
    is_empty: bool,
}

impl AnswerBuilder {
    /// An answer of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// An answer that is no turn of a conversation.
    pub fn hiding_server_calls() -> Self {
        Self {
            hides_server_calls: true,
            ..Self::default()
        }
    }

    /// An answer that is what a search finds.
    pub fn listing_sources() -> Self {
        Self {
            lists_sources: true,
            ..Self::hiding_server_calls()
        }
    }

    /// The next event, if one is complete.
    pub fn pop(&mut self) -> Option<ModelEvent> {
        let event = self.events.pop_front()?;
        self.waiting_bytes -= text_bytes(&event);
        Some(event)
    }

    /// The result of a call that the provider runs, if it has come.
    pub fn take_result(&mut self, call_id: &str) -> Option<ToolOutput> {
        let mut results = self.results.iter();
        let place = results.position(|result| result.call_id == call_id)?;
        Some(self.results.swap_remove(place).output)
    }

    /// True for a call whose result may still come. What comes before it waits, but not without end.
    pub fn may_be_answered(&self, call_id: &str) -> bool {
        let is_unanswered = self.unanswered.iter().any(|call| call == call_id);
        is_unanswered
            && !self.finished
            && self.events.len() < WAITING_EVENTS
            && self.waiting_bytes < WAITING_BYTES
    }

    /// True when all events have been taken.
    pub fn is_drained(&self) -> bool {
        self.events.is_empty()
    }

    /// The provider sent something that is no part of the answer.
    pub fn nothing(&mut self) {
        self.put(ModelEvent::Nothing);
    }

    fn put(&mut self, event: ModelEvent) {
        self.waiting_bytes += text_bytes(&event);
        self.events.push_back(event);
    }

    /// True once the answer has ended.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The provider accepted the request. Only the first call counts.
    pub fn start(&mut self, response_id: Option<String>) {
        if !std::mem::replace(&mut self.started, true) {
            self.response_id = response_id.or(self.response_id.take());
            let response_id = self.response_id.clone();
            self.put(ModelEvent::Started { response_id });
        }
    }

    /// The block that is open.
    pub fn open_kind(&self) -> Option<&LiveBlockKind> {
        self.open.as_ref().map(|open| &open.kind)
    }

    /// Opens a block, ending the one before.
    pub fn open(&mut self, kind: LiveBlockKind) {
        self.has_tool_call |= matches!(kind, LiveBlockKind::ToolCall { .. });
        self.begin_block(kind, false);
        // The model goes on: it does not wait for a result any more.
        if self.server_calls.is_empty() {
            self.unanswered.clear();
        }
    }

    fn begin_block(&mut self, kind: LiveBlockKind, ends_part: bool) {
        self.start(None);
        self.close(None);
        self.put(ModelEvent::BlockStarted(kind.clone()));
        self.open = Some(OpenBlock {
            kind,
            ends_part,
            is_empty: true,
        });
    }

    /// True when the tools that the provider runs are shown.
    pub fn shows_server_calls(&self) -> bool {
        !self.hides_server_calls
    }

    /// Opens the block of a call that the provider runs itself. This part of the answer ends with it,
    /// unless the session has calls of it to run: those can only be answered when all of it is there.
    pub fn open_server_call(&mut self, id: String, name: String) {
        let ends_part = !self.has_tool_call;
        self.begin_server_call(id, name, ends_part);
    }

    /// Writes a call that the provider has run before it ended its answer.
    pub fn last_server_call(&mut self, id: String, name: &str, arguments: String, ran: RanCall) {
        self.begin_server_call(id.clone(), name.to_owned(), false);
        self.delta(arguments);
        self.close(Some(ran.signature));
        self.server_result(&id, ran.output);
    }

    fn begin_server_call(&mut self, id: String, name: String, ends_part: bool) {
        let call = id.clone();
        self.begin_block(LiveBlockKind::ToolCall { id, name }, ends_part);
        self.unanswered.push(call.clone());
        self.server_calls.push(call);
    }

    /// The provider has run a call.
    pub fn server_result(&mut self, call_id: &str, output: ToolOutput) {
        let mut unanswered = self.unanswered.iter();
        if let Some(place) = unanswered.position(|call| call == call_id) {
            let call_id = self.unanswered.swap_remove(place);
            self.results.push(ServerResult { call_id, output });
        }
    }

    /// The calls of the part that was taken last that the provider runs.
    pub fn take_server_calls(&mut self) -> Vec<String> {
        self.ended_parts.pop_front().unwrap_or_default()
    }

    /// Ends the part of the answer that is under way. What was consumed counts with the last one.
    fn end_part(&mut self) {
        self.started = false;
        self.put_end(StopReason::ToolUse, false, Usage::default());
    }

    fn put_end(&mut self, stop_reason: StopReason, refused: bool, usage: Usage) {
        self.ended_parts
            .push_back(std::mem::take(&mut self.server_calls));
        self.put(ModelEvent::Finished(Finish {
            stop_reason,
            refused,
            usage,
        }));
    }

    /// Opens a block of this kind unless one is open already.
    pub fn open_unless_open(&mut self, kind: LiveBlockKind) {
        if self.open_kind() != Some(&kind) {
            self.open(kind);
        }
    }

    /// Adds to the open block. Without one, the text begins a text block, so it is not lost.
    pub fn delta(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        if self.open.is_none() {
            self.open(LiveBlockKind::Text);
        }
        if let Some(open) = &mut self.open {
            open.is_empty = false;
        }
        self.put(ModelEvent::Delta(text));
    }

    /// Ends the open block, if there is one. Arguments that never came are an empty object.
    pub fn close(&mut self, signature: Option<String>) {
        let Some(open) = self.open.take() else {
            return;
        };
        if open.is_empty && matches!(open.kind, LiveBlockKind::ToolCall { .. }) {
            self.put(ModelEvent::Delta("{}".to_owned()));
        }
        self.put(ModelEvent::BlockEnded { signature });
        if open.ends_part {
            self.end_part();
        }
    }

    /// Notes a page that the provider has searched. All of them follow the answer, if it is what a
    /// search finds.
    pub fn source(&mut self, title: &str, url: &str) {
        if !self.lists_sources {
            return;
        }
        let is_new = self.sources.iter().all(|(_, known)| known != url);
        if is_new && self.sources.len() < SOURCES && !url.is_empty() && url.len() <= SOURCE_BYTES {
            let words = title.split_whitespace().take(SOURCE_WORDS);
            let title = words.collect::<Vec<_>>().join(" ").replace(['[', ']'], "");
            self.sources.push((title, url.to_owned()));
        }
    }

    /// Writes the sources as a list.
    fn write_sources(&mut self) {
        if self.sources.is_empty() {
            return;
        }
        let mut list = "\n\nSources:".to_owned();
        for (title, url) in std::mem::take(&mut self.sources) {
            list.push_str(&match title.is_empty() {
                true => format!("\n- <{url}>"),
                false => format!("\n- [{title}]({url})"),
            });
        }
        self.open(LiveBlockKind::Text);
        self.delta(list);
    }

    /// What has been consumed as far as it is known.
    pub fn usage(&mut self) -> &mut Usage {
        &mut self.usage
    }

    /// Tells what has been consumed so far.
    pub fn report_usage(&mut self) {
        self.put(ModelEvent::Usage(self.usage));
    }

    /// True when the model called a tool that the session runs.
    pub fn has_tool_call(&self) -> bool {
        self.has_tool_call
    }

    /// Ends the answer. Whatever the provider's word for it, an answer with tool calls that was
    /// not cut off wants them run.
    pub fn finish(&mut self, stop_reason: StopReason, refused: bool) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.start(None);
        self.write_sources();
        self.close(None);
        let stop_reason = match stop_reason {
            StopReason::Stop if self.has_tool_call => StopReason::ToolUse,
            StopReason::ToolUse if !self.has_tool_call => StopReason::Stop,
            other => other,
        };
        self.put_end(stop_reason, refused, self.usage);
    }
}

impl StreamFault {
    /// An event that could not be read.
    pub fn unreadable(event: &str, error: &serde_json::Error) -> Self {
        let name = if event.is_empty() { "an event" } else { event };
        Self::Malformed(format!("{name} does not match the protocol: {error}"))
    }
}

impl From<SseError> for StreamFault {
    fn from(error: SseError) -> Self {
        match error {
            SseError::TooLong { .. } => Self::TooLong(error.to_string()),
            SseError::NotUtf8 => Self::Malformed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(answer: &mut AnswerBuilder) -> Vec<ModelEvent> {
        std::iter::from_fn(|| answer.pop()).collect()
    }

    #[test]
    fn sources_follow_the_answer_each_once() {
        let mut answer = AnswerBuilder::listing_sources();
        answer.delta("a".into());
        answer.source("One [1]", "https://one.example/");
        answer.source("", "https://two.example/");
        answer.source("One again", "https://one.example/");
        answer.source("Long", &"x".repeat(SOURCE_BYTES + 1));
        answer.finish(StopReason::Stop, false);
        let deltas = drain(&mut answer)
            .into_iter()
            .filter_map(|event| match event {
                ModelEvent::Delta(text) => Some(text),
                _ => None,
            });
        let text: String = deltas.collect();
        assert_eq!(
            text,
            "a\n\nSources:\n- [One 1](https://one.example/)\n- <https://two.example/>"
        );
    }

    #[test]
    fn a_block_that_opens_ends_the_one_before_and_nothing_follows_the_end() {
        let mut answer = AnswerBuilder::new();
        answer.delta("a".into());
        answer.open(LiveBlockKind::ToolCall {
            id: "1".into(),
            name: "ls".into(),
        });
        answer.finish(StopReason::Stop, false);
        answer.finish(StopReason::Length, true);
        assert_eq!(
            drain(&mut answer),
            [
                ModelEvent::Started { response_id: None },
                ModelEvent::BlockStarted(LiveBlockKind::Text),
                ModelEvent::Delta("a".into()),
                ModelEvent::BlockEnded { signature: None },
                ModelEvent::BlockStarted(LiveBlockKind::ToolCall {
                    id: "1".into(),
                    name: "ls".into()
                }),
                ModelEvent::Delta("{}".into()),
                ModelEvent::BlockEnded { signature: None },
                ModelEvent::Finished(Finish {
                    stop_reason: StopReason::ToolUse,
                    refused: false,
                    usage: Usage::default(),
                }),
            ]
        );
    }
}
