//! The message that is being written, kept as the bytes of its JSON.
//!
//! A `message_update` carries the message so far, twice. Making its JSON anew for each delta would
//! cost more with every delta; so the JSON is kept as it was, the new text is appended to it
//! escaped, and a frame is made of two copies of those bytes. A long message is left open in its
//! frames instead ([`FrameGaps`]), to be put in while they go out. For a tool call the arguments so far are
//! shown as an object (see [`PartialObject`]).

use std::io::Write;
use std::ops::Range;

use serde::Serialize;

use super::command::MessageUpdates;
use super::escape::escape_into;
use super::partial_object::PartialObject;

/// From this length on a message is left open in its frames.
const LONG_BYTES: usize = 512 * 1024;

/// The places of a frame that were left open, in their order: where, and which bytes of the message
/// belong there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FrameGaps(Vec<(usize, Range<usize>)>);

impl FrameGaps {
    /// True when the frame is complete as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes are left out.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// The parts of a message that do not grow.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The number in `messageId`.
    pub number: u64,
    pub api: &'a str,
    pub provider: &'a str,
    pub model: &'a str,
    pub timestamp: u64,
}

/// The kind of a block whose text grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    Text,
    Thinking,
}

/// A message in the making.
#[derive(Debug, Default)]
pub struct Snapshot {
    number: u64,
    /// The JSON up to the end of what has arrived.
    grown: Vec<u8>,
    /// The JSON from behind the content to the usage.
    middle: Vec<u8>,
    usage: Vec<u8>,
    /// The JSON behind the usage.
    end: Vec<u8>,
    blocks: usize,
    open: Option<GrowingBlock>,
}

#[derive(Debug)]
struct GrowingBlock {
    index: usize,
    /// Where it begins in `grown`.
    block_start: usize,
    /// Where its growing text begins in `grown`.
    start: usize,
    kind: GrowingKind,
}

#[derive(Debug)]
enum GrowingKind {
    Text(TextKind),
    Call {
        arguments: PartialObject,
        /// What its start says of it, for clients that look at no snapshot.
        named: Vec<u8>,
    },
}

impl Snapshot {
    /// Starts a message without content.
    pub fn begin(&mut self, facts: Facts<'_>, usage: &impl Serialize) {
        self.number = facts.number;
        self.blocks = 0;
        self.open = None;
        self.grown.clear();
        self.grown
            .extend_from_slice(br#"{"role":"assistant","content":["#);
        self.middle.clear();
        self.middle.extend_from_slice(b"],\"api\":");
        json(&mut self.middle, &facts.api);
        self.middle.extend_from_slice(b",\"provider\":");
        json(&mut self.middle, &facts.provider);
        self.middle.extend_from_slice(b",\"model\":");
        json(&mut self.middle, &facts.model);
        self.middle.extend_from_slice(b",\"usage\":");
        self.end.clear();
        write(
            &mut self.end,
            format_args!(r#","stopReason":"stop","timestamp":{}"#, facts.timestamp),
        );
        self.end.push(b'}');
        self.set_usage(usage);
    }

    /// Replaces the usage.
    pub fn set_usage(&mut self, usage: &impl Serialize) {
        self.usage.clear();
        json(&mut self.usage, usage);
    }

    /// Gives back the memory of a long message.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Appends the bytes `range` of a frame that was written with gaps, as `around`, since the
    /// message last changed.
    pub fn fill(&self, around: &[u8], gaps: &FrameGaps, range: Range<usize>, out: &mut Vec<u8>) {
        // Where the piece that is looked at begins: in the frame, and in what is around the gaps.
        let (mut begin, mut around_from) = (0, 0);
        let mut piece = |bytes: &[u8]| {
            let from = range.start.max(begin) - begin;
            let to = range.end.max(begin) - begin;
            let bytes_in_range = bytes.get(from.min(bytes.len())..to.min(bytes.len()));
            out.extend_from_slice(bytes_in_range.unwrap_or_default());
            begin += bytes.len();
        };
        for (at, bytes) in &gaps.0 {
            piece(around.get(around_from..*at).unwrap_or_default());
            piece(self.grown.get(bytes.clone()).unwrap_or_default());
            around_from = *at;
        }
        piece(around.get(around_from..).unwrap_or_default());
    }

    /// `message_start`, with \[ours\] the entry that the message will be, if that is to be named.
    pub fn write_start(&self, entry_id: Option<&str>, frame: &mut Vec<u8>) {
        write(
            frame,
            format_args!(
                r#"{{"type":"message_start","messageId":"msg-{}","#,
                self.number
            ),
        );
        if let Some(entry_id) = entry_id {
            frame.extend_from_slice(br#""entryId":"#);
            json(frame, &entry_id);
            frame.push(b',');
        }
        frame.extend_from_slice(br#""message":"#);
        self.write_message(&mut FrameTarget::whole(frame));
        frame.push(b'}');
    }

    /// A text or thinking block opens.
    pub fn open_text(&mut self, index: usize, kind: TextKind) {
        let block_start = self.separate();
        self.grown.extend_from_slice(match kind {
            TextKind::Text => br#"{"type":"text","text":""#.as_slice(),
            TextKind::Thinking => br#"{"type":"thinking","thinking":""#.as_slice(),
        });
        self.opened(index, block_start, GrowingKind::Text(kind));
    }

    /// A tool call opens.
    pub fn open_call(&mut self, index: usize, id: &str, name: &str) {
        let block_start = self.separate();
        self.grown.extend_from_slice(br#"{"type":"toolCall","id":"#);
        json(&mut self.grown, &id);
        self.grown.extend_from_slice(b",\"name\":");
        json(&mut self.grown, &name);
        self.grown.extend_from_slice(b",\"arguments\":");
        let mut named = br#","id":"#.to_vec();
        json(&mut named, &id);
        named.extend_from_slice(b",\"toolName\":");
        json(&mut named, &name);
        let arguments = PartialObject::default();
        self.opened(index, block_start, GrowingKind::Call { arguments, named });
    }

    /// A block that is complete at once and of which no update tells.
    pub fn add_block(&mut self, block: &impl Serialize) {
        self.separate();
        json(&mut self.grown, block);
    }

    /// `message_update` of the block that has just been opened. This and the other updates return
    /// what they leave open.
    pub fn write_opened(&self, updates: MessageUpdates, frame: &mut Vec<u8>) -> FrameGaps {
        let Some(open) = &self.open else {
            return FrameGaps::default();
        };
        self.update(updates, frame, open, "start", |frame| {
            if let GrowingKind::Call { named, .. } = &open.kind {
                frame.bytes(named);
            }
        })
    }

    /// Takes a delta of the open block and writes its `message_update`.
    pub fn append(
        &mut self,
        delta: &str,
        updates: MessageUpdates,
        frame: &mut Vec<u8>,
    ) -> FrameGaps {
        let from = self.grown.len();
        match &mut self.open {
            Some(GrowingBlock {
                kind: GrowingKind::Text(_),
                ..
            }) => escape_into(delta, &mut self.grown),
            Some(GrowingBlock {
                kind: GrowingKind::Call { arguments, .. },
                ..
            }) => arguments.append(delta),
            None => return FrameGaps::default(),
        }
        let Some(open) = &self.open else {
            return FrameGaps::default();
        };
        self.update(updates, frame, open, "delta", |frame| {
            frame.bytes(b",\"delta\":\"");
            match &open.kind {
                GrowingKind::Text(_) => frame.repeat(&self.grown, from..self.grown.len()),
                GrowingKind::Call { .. } => escape_into(delta, frame.out),
            }
            frame.bytes(b"\"");
        })
    }

    /// Closes the open text block and writes its `message_update`.
    pub fn close_text(&mut self, updates: MessageUpdates, frame: &mut Vec<u8>) -> FrameGaps {
        let Some(open) = self.open.take() else {
            return FrameGaps::default();
        };
        let end = self.grown.len();
        self.grown.extend_from_slice(b"\"}");
        self.update(updates, frame, &open, "end", |frame| {
            frame.bytes(b",\"content\":\"");
            frame.repeat(&self.grown, open.start..end);
            frame.bytes(b"\"");
        })
    }

    /// Closes the open tool call; `block` is its complete block.
    pub fn close_call(
        &mut self,
        block: &impl Serialize,
        updates: MessageUpdates,
        frame: &mut Vec<u8>,
    ) -> FrameGaps {
        let Some(open) = self.open.take() else {
            return FrameGaps::default();
        };
        // The complete block takes the place of the one that showed partial arguments.
        let block_start = open.block_start;
        self.grown.truncate(block_start);
        json(&mut self.grown, block);
        self.update(updates, frame, &open, "end", |frame| {
            frame.bytes(b",\"toolCall\":");
            frame.repeat(&self.grown, block_start..self.grown.len());
        })
    }

    /// Makes room for a block; where it begins.
    fn separate(&mut self) -> usize {
        if self.blocks > 0 {
            self.grown.push(b',');
        }
        self.blocks += 1;
        self.grown.len()
    }

    fn opened(&mut self, index: usize, block_start: usize, kind: GrowingKind) {
        self.open = Some(GrowingBlock {
            index,
            block_start,
            start: self.grown.len(),
            kind,
        });
    }

    fn update(
        &self,
        updates: MessageUpdates,
        frame: &mut Vec<u8>,
        open: &GrowingBlock,
        step: &str,
        more: impl FnOnce(&mut FrameTarget<'_>),
    ) -> FrameGaps {
        let mut frame = FrameTarget::whole(frame);
        // Without snapshots a frame has little to repeat, and goes on to whom only whole frames help.
        frame.leaves_open = updates == MessageUpdates::Full && self.grown.len() >= LONG_BYTES;
        frame.bytes(br#"{"type":"message_update","#);
        if updates == MessageUpdates::Bare {
            frame.bytes(b"\"usage\":");
            frame.bytes(&self.usage);
        } else {
            write(
                frame.out,
                format_args!(r#""messageId":"msg-{}","message":"#, self.number),
            );
        }
        match updates {
            MessageUpdates::Full => self.write_message(&mut frame),
            MessageUpdates::Delta => frame.bytes(br#"{"role":"assistant"}"#),
            MessageUpdates::Bare => {}
        }
        let kind = match open.kind {
            GrowingKind::Text(TextKind::Text) => "text",
            GrowingKind::Text(TextKind::Thinking) => "thinking",
            GrowingKind::Call { .. } => "toolcall",
        };
        write(
            frame.out,
            format_args!(
                r#","assistantMessageEvent":{{"type":"{kind}_{step}","contentIndex":{}"#,
                open.index
            ),
        );
        more(&mut frame);
        if updates == MessageUpdates::Full {
            frame.bytes(b",\"partial\":");
            self.write_message(&mut frame);
            frame.bytes(b"},\"usage\":");
            frame.bytes(&self.usage);
            frame.bytes(b"}");
        } else {
            frame.bytes(b"}}");
        }
        frame.gaps
    }

    fn write_message(&self, frame: &mut FrameTarget<'_>) {
        frame.repeat(&self.grown, 0..self.grown.len());
        match &self.open {
            Some(GrowingBlock {
                kind: GrowingKind::Text(_),
                ..
            }) => frame.bytes(b"\"}"),
            Some(GrowingBlock {
                kind: GrowingKind::Call { arguments, .. },
                ..
            }) => {
                arguments.write(frame.out);
                frame.bytes(b"}");
            }
            None => {}
        }
        frame.bytes(&self.middle);
        frame.bytes(&self.usage);
        frame.bytes(&self.end);
    }
}

/// A frame in the making.
struct FrameTarget<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    leaves_open: bool,
    gaps: FrameGaps,
}

impl<'a> FrameTarget<'a> {
    fn whole(out: &'a mut Vec<u8>) -> Self {
        Self {
            start: out.len(),
            out,
            leaves_open: false,
            gaps: FrameGaps::default(),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// What the frame repeats of the message.
    fn repeat(&mut self, grown: &[u8], range: Range<usize>) {
        if self.leaves_open {
            self.gaps.0.push((self.out.len() - self.start, range));
        } else {
            self.bytes(grown.get(range).unwrap_or_default());
        }
    }
}

/// Appends a value that always can be written: strings and plain structs.
fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector does not fail.
    out.write_fmt(text).ok();
}

#[cfg(test)]
mod tests;
