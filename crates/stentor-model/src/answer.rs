//! An answer in the making: what a wire's decoder writes into, events in order come out of.

use std::collections::VecDeque;

use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, ModelEvent};
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;
use stentor_wire::sse::SseError;

/// How many sources of an answer are shown, and how long they may be.
const SOURCES: usize = 30;
const SOURCE_BYTES: usize = 2_000;
const SOURCE_WORDS: usize = 30;

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
#[derive(Debug, Default)]
pub struct AnswerBuilder {
    events: VecDeque<ModelEvent>,
    open: Option<OpenBlock>,
    usage: Usage,
    /// The pages a provider names that it has searched, by title and address.
    sources: Vec<(String, String)>,
    has_tool_call: bool,
    started: bool,
    finished: bool,
}

#[derive(Debug)]
struct OpenBlock {
    kind: LiveBlockKind,
    is_empty: bool,
}

impl AnswerBuilder {
    /// An answer of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next event, if one is complete.
    pub fn pop(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// True when all events have been taken.
    pub fn is_drained(&self) -> bool {
        self.events.is_empty()
    }

    /// The provider sent something that is no part of the answer.
    pub fn nothing(&mut self) {
        self.events.push_back(ModelEvent::Nothing);
    }

    /// True once the answer has ended.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// The provider accepted the request. Only the first call counts.
    pub fn start(&mut self, response_id: Option<String>) {
        if !std::mem::replace(&mut self.started, true) {
            self.events.push_back(ModelEvent::Started { response_id });
        }
    }

    /// The block that is open.
    pub fn open_kind(&self) -> Option<&LiveBlockKind> {
        self.open.as_ref().map(|open| &open.kind)
    }

    /// Opens a block, ending the one before.
    pub fn open(&mut self, kind: LiveBlockKind) {
        self.start(None);
        self.close(None);
        self.has_tool_call |= matches!(kind, LiveBlockKind::ToolCall { .. });
        self.events
            .push_back(ModelEvent::BlockStarted(kind.clone()));
        self.open = Some(OpenBlock {
            kind,
            is_empty: true,
        });
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
        self.events.push_back(ModelEvent::Delta(text));
    }

    /// Ends the open block, if there is one. Arguments that never came are an empty object.
    pub fn close(&mut self, signature: Option<String>) {
        let Some(open) = self.open.take() else {
            return;
        };
        if open.is_empty && matches!(open.kind, LiveBlockKind::ToolCall { .. }) {
            self.events.push_back(ModelEvent::Delta("{}".to_owned()));
        }
        self.events.push_back(ModelEvent::BlockEnded { signature });
    }

    /// Notes a page that the provider has searched. All of them follow the answer.
    pub fn source(&mut self, title: &str, url: &str) {
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
        self.events.push_back(ModelEvent::Usage(self.usage));
    }

    /// True when the model called a tool.
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
        self.events.push_back(ModelEvent::Finished(Finish {
            stop_reason,
            refused,
            usage: self.usage,
        }));
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
        let mut answer = AnswerBuilder::new();
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
