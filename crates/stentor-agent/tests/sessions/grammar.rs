//! The grammar of a session's events, as a machine that accepts nothing else.

use std::collections::HashMap;

use stentor_agent::event::{Event, EventKind};
use stentor_journal::message::{KnownMessage, Message};

/// Takes one event after the other and panics at the first that must not come.
///
/// ```text
/// session := (run | retry | compaction | settled)*
/// run     := RunStarted turn+ RunEnded
/// turn    := TurnStarted message* answer (tool | result)* TurnEnded
/// answer  := AnswerStarted (BlockStarted BlockDelta* BlockEnded)* MessageEnded
///          | MessageStarted MessageEnded
/// ```
#[derive(Default)]
pub struct Grammar {
    place: Place,
    seq: u64,
    /// The message that has started and not ended.
    open: Option<u64>,
    open_block: bool,
    /// For each call: how often it was made, started, ended, and had a result.
    pub calls: HashMap<String, [u32; 4]>,
    /// The texts of the user messages, in the order they were told.
    pub told: Vec<String>,
    pub settled: u32,
}

#[derive(Default, Debug, Clone, Copy, PartialEq)]
enum Place {
    #[default]
    Between,
    Run,
    /// In a turn, before the answer.
    Turn,
    Answer,
    /// In a turn, after the answer.
    Tools,
}

impl Grammar {
    pub fn accept(&mut self, event: &Event) {
        let is_delta = matches!(event.kind, EventKind::BlockDelta { .. });
        assert!(
            event.seq == self.seq + 1 || (is_delta && event.seq > self.seq),
            "{event:?} after {}",
            self.seq
        );
        self.seq = event.seq;
        let place = self.place;
        let must = |ok: bool| assert!(ok, "{:?} must not come in {place:?}", event.kind);
        match &event.kind {
            EventKind::RunStarted => self.go(Place::Between, Place::Run, event),
            EventKind::RunEnded(_) => self.go(Place::Run, Place::Between, event),
            EventKind::TurnStarted => self.go(Place::Run, Place::Turn, event),
            EventKind::TurnEnded { .. } => {
                must(self.open.is_none());
                self.go(Place::Tools, Place::Run, event);
            }
            EventKind::AnswerStarted(live) => {
                must(self.open.replace(live.number()).is_none());
                self.go(Place::Turn, Place::Answer, event);
            }
            EventKind::BlockStarted { .. } => {
                must(place == Place::Answer && !self.open_block);
                self.open_block = true;
            }
            EventKind::BlockDelta { .. } => must(self.open_block),
            EventKind::BlockEnded { .. } => {
                must(self.open_block);
                self.open_block = false;
            }
            EventKind::MessageStarted {
                number, message, ..
            } => {
                must(self.open.replace(*number).is_none());
                match message_kind(message) {
                    Kind::Answer => self.go(Place::Turn, Place::Answer, event),
                    Kind::Result => must(place == Place::Tools),
                    Kind::Other => must(place == Place::Turn),
                }
            }
            EventKind::MessageEnded { number, message } => {
                must(self.open.take() == Some(*number) && !self.open_block);
                self.note(message);
                if message_kind(message) == Kind::Answer {
                    self.go(Place::Answer, Place::Tools, event);
                }
            }
            EventKind::ToolStarted { call } => {
                must(place == Place::Tools);
                self.count(&call.id, 1);
            }
            EventKind::ToolEnded { call, .. } => {
                must(place == Place::Tools);
                self.count(&call.id, 2);
            }
            EventKind::RetryStarted { .. } | EventKind::CompactionStarted { .. } => {
                must(place == Place::Between);
            }
            EventKind::Settled { .. } => {
                must(place == Place::Between);
                self.settled += 1;
            }
            _ => {}
        }
    }

    fn go(&mut self, from: Place, to: Place, event: &Event) {
        assert_eq!(self.place, from, "at {event:?}");
        self.place = to;
    }

    fn note(&mut self, message: &Message) {
        if let Some(user) = message.as_user() {
            self.told.push(user.content.text());
        }
        if let Some(result) = message.as_tool_result() {
            self.count(&result.tool_call_id, 3);
        }
        if let Some(answer) = message.as_assistant() {
            for call in answer.tool_calls() {
                self.count(&call.id, 0);
            }
        }
    }

    fn count(&mut self, call: &str, what: usize) {
        self.calls.entry(call.to_owned()).or_default()[what] += 1;
    }
}

#[derive(PartialEq)]
enum Kind {
    Answer,
    Result,
    Other,
}

fn message_kind(message: &Message) -> Kind {
    match message {
        Message::Known(KnownMessage::Assistant(_)) => Kind::Answer,
        Message::Known(KnownMessage::ToolResult(_)) => Kind::Result,
        _ => Kind::Other,
    }
}
