//! Cursors, which are ours: where a parent is in the events of a session that it shares, and how it
//! goes on from there in another process. Only a parent that asks for them sees any.

use std::collections::HashSet;
use std::str::FromStr;

use serde_json::{Value, json};
use stentor_agent::event::{Event, EventKind};
use stentor_agent::hub::{Cursor, CursorMissed, Subscription};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::session::Session;
use stentor_journal::message::{AssistantMessage, ContentBlock, KnownBlock};

use super::events;

/// What `--cursor[=EPOCH:NUMBER]` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorFlag {
    /// The parent has everything up to here; else every frame is only to say where it is.
    pub after: Option<Cursor>,
}

impl CursorFlag {
    /// What the flag means without a value.
    pub const HERE: &str = "here";
}

/// Text that names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected EPOCH:NUMBER, as in the `cursor` of a frame")]
pub struct InvalidCursor;

impl FromStr for CursorFlag {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        if text == Self::HERE {
            return Ok(Self { after: None });
        }
        let (epoch, number) = text.rsplit_once(':').ok_or(InvalidCursor)?;
        if epoch.is_empty() {
            return Err(InvalidCursor);
        }
        let number = number.parse().map_err(|_| InvalidCursor)?;
        let epoch = epoch.into();
        Ok(Self {
            after: Some(Cursor { epoch, number }),
        })
    }
}

/// The events of a session for a parent that wants them from its cursor on, and what became of that.
pub(super) fn subscribe(
    session: &Session,
    after: Option<&Cursor>,
) -> (Subscription, Option<Result<(), CursorMissed>>) {
    // A session publishes before anybody subscribes as well: warnings about its file.
    let from_now_on = || session.subscribe_first();
    match after.map(|cursor| session.subscribe_at(cursor)) {
        None => (from_now_on(), None),
        Some(Ok(events)) => (events, Some(Ok(()))),
        Some(Err(missed)) => (from_now_on(), Some(Err(missed))),
    }
}

/// A place, as frames have it.
pub(super) fn to_json(cursor: &Cursor) -> Value {
    json!({ "epoch": &*cursor.epoch, "number": cursor.number })
}

/// The same for the first frame: what became of the cursor that the parent gave, too.
pub(super) fn first(events: &Subscription, outcome: Option<Result<(), CursorMissed>>) -> Value {
    let mut place = to_json(&events.cursor());
    if events.begins_with_what_goes_on() {
        place["more"] = true.into();
    }
    let missed = match outcome {
        None => return place,
        Some(Ok(())) => {
            place["outcome"] = "resumed".into();
            return place;
        }
        Some(Err(missed)) => missed,
    };
    place["outcome"] = match missed {
        CursorMissed::OtherEpoch => "other-epoch".into(),
        CursorMissed::TooOld => "too-old".into(),
    };
    place["catch_up"] = "get_messages".into();
    place
}

/// Puts the place into the one frame that `frame` is.
pub(super) fn put_into(frame: &mut Vec<u8>, place: &Value) {
    if frame.ends_with(b"}\n") {
        frame.truncate(frame.len() - 2);
        frame.extend_from_slice(format!(",\"cursor\":{place}}}\n").as_bytes());
    }
}

/// Says in every frame where it is.
///
/// The log of a session forgets how a complete answer was written. Who comes later gets its text
/// whole; where its calls were announced is not known any more. So a parent's place is never among
/// them: from the first call of an answer on its frames say that `more` follows, and whoever goes on
/// gets all of its calls.
pub(super) struct FrameNumbering {
    /// Where the events begin. What goes on then comes with that number, and is more than one.
    begin: Cursor,
    /// The calls of the answer that is being written.
    announced: HashSet<String>,
    is_among_calls: bool,
}

impl FrameNumbering {
    pub fn new(begin: Cursor) -> Self {
        Self {
            begin,
            announced: HashSet::new(),
            is_among_calls: false,
        }
    }

    /// Completes the frames that an event became, which begin at `start`.
    pub fn number(&mut self, event: &Event, frames: &mut Vec<u8>, start: usize) {
        self.note(&event.kind, frames);
        let written = frames.split_off(start.min(frames.len()));
        let mut lines = written.split_inclusive(|byte| *byte == b'\n').peekable();
        let goes_on = event.seq <= self.begin.number;
        while let Some(line) = lines.next() {
            let mut place = json!({ "epoch": &*self.begin.epoch, "number": event.seq });
            if goes_on || self.is_among_calls || lines.peek().is_some() {
                place["more"] = true.into();
            }
            let mut frame = line.to_vec();
            put_into(&mut frame, &place);
            frames.extend_from_slice(&frame);
        }
    }

    fn note(&mut self, kind: &EventKind, frames: &mut Vec<u8>) {
        match kind {
            EventKind::BlockStarted { block, .. } => {
                if let LiveBlockKind::ToolCall { id, .. } = &block.kind {
                    self.announced.insert(id.clone());
                    self.is_among_calls = true;
                }
            }
            EventKind::MessageStarted { message, .. } => {
                if let Some(answer) = message.as_assistant() {
                    self.whole(answer, frames);
                }
            }
            EventKind::MessageEnded { message, .. } => {
                if let Some(answer) = message.as_assistant() {
                    self.calls(answer, frames);
                    self.answer_is_over();
                }
            }
            EventKind::RunEnded(_) => self.answer_is_over(),
            _ => {}
        }
    }

    fn answer_is_over(&mut self) {
        self.announced.clear();
        self.is_among_calls = false;
    }

    /// An answer that was written while the parent was away.
    fn whole(&mut self, answer: &AssistantMessage, frames: &mut Vec<u8>) {
        for block in &answer.content {
            match block {
                ContentBlock::Known(KnownBlock::Text(text)) => events::text(frames, &text.text),
                ContentBlock::Known(KnownBlock::Thinking(thinking)) => {
                    events::thinking(frames, &thinking.thinking);
                }
                _ => {}
            }
        }
        self.calls(answer, frames);
    }

    /// The calls of an answer that the parent has not seen.
    fn calls(&mut self, answer: &AssistantMessage, frames: &mut Vec<u8>) {
        for block in &answer.content {
            if let ContentBlock::Known(KnownBlock::ToolCall(call)) = block
                && self.announced.insert(call.id.clone())
            {
                events::call(frames, call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_a_place_or_none() {
        let after = |epoch: &str, number| CursorFlag {
            after: Some(Cursor {
                epoch: epoch.into(),
                number,
            }),
        };
        for (text, wanted) in [
            ("here", Ok(CursorFlag { after: None })),
            ("", Err(InvalidCursor)),
            (":1", Err(InvalidCursor)),
            ("19a8-5c1d:41", Ok(after("19a8-5c1d", 41))),
            ("19a8-5c1d", Err(InvalidCursor)),
            ("19a8-5c1d:-1", Err(InvalidCursor)),
            ("19a8-5c1d:", Err(InvalidCursor)),
        ] {
            assert_eq!(text.parse(), wanted, "{text}");
        }
    }
}
