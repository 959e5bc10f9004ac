//! The message that is being written, kept as the bytes of its JSON.
//!
//! A `message_update` carries the message so far, twice. Making its JSON anew for each delta would
//! cost more with every delta; so the JSON is kept as it was, the new text is appended to it
//! escaped, and a frame is made of two copies of those bytes. For a tool call the arguments so far
//! are shown as an object (see [`PartialObject`]).

use std::io::Write;

use serde::Serialize;

use super::command::MessageUpdates;
use super::escape::escape_into;
use super::partial_object::PartialObject;

/// About what names and keys of a frame take.
const NAME_BYTES: usize = 512;

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
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    index: usize,
    /// Where it begins in `grown`.
    block_start: usize,
    /// Where its growing text begins in `grown`.
    start: usize,
    kind: OpenKind,
}

#[derive(Debug)]
enum OpenKind {
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

    /// `message_start`.
    pub fn write_start(&self, frame: &mut Vec<u8>) {
        write(
            frame,
            format_args!(
                r#"{{"type":"message_start","messageId":"msg-{}","message":"#,
                self.number
            ),
        );
        self.write_message(frame);
        frame.push(b'}');
    }

    /// A text or thinking block opens.
    pub fn open_text(&mut self, index: usize, kind: TextKind) {
        let block_start = self.separate();
        self.grown.extend_from_slice(match kind {
            TextKind::Text => br#"{"type":"text","text":""#.as_slice(),
            TextKind::Thinking => br#"{"type":"thinking","thinking":""#.as_slice(),
        });
        self.opened(index, block_start, OpenKind::Text(kind));
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
        self.opened(index, block_start, OpenKind::Call { arguments, named });
    }

    /// A block that is complete at once and of which no update tells.
    pub fn add_block(&mut self, block: &impl Serialize) {
        self.separate();
        json(&mut self.grown, block);
    }

    /// `message_update` of the block that has just been opened.
    pub fn write_opened(&self, updates: MessageUpdates, frame: &mut Vec<u8>) {
        if let Some(open) = &self.open {
            self.update(updates, frame, open, "start", NAME_BYTES, |frame| {
                if let OpenKind::Call { named, .. } = &open.kind {
                    frame.extend_from_slice(named);
                }
            });
        }
    }

    /// Takes a delta of the open block and writes its `message_update`.
    pub fn append(&mut self, delta: &str, updates: MessageUpdates, frame: &mut Vec<u8>) {
        let from = self.grown.len();
        match &mut self.open {
            Some(Open {
                kind: OpenKind::Text(_),
                ..
            }) => escape_into(delta, &mut self.grown),
            Some(Open {
                kind: OpenKind::Call { arguments, .. },
                ..
            }) => arguments.append(delta),
            None => return,
        }
        let Some(open) = &self.open else { return };
        let escaped = self.grown.get(from..).unwrap_or_default();
        self.update(updates, frame, open, "delta", delta.len(), |frame| {
            frame.extend_from_slice(b",\"delta\":\"");
            match &open.kind {
                OpenKind::Text(_) => frame.extend_from_slice(escaped),
                OpenKind::Call { .. } => escape_into(delta, frame),
            }
            frame.push(b'"');
        });
    }

    /// Closes the open text block and writes its `message_update`.
    pub fn close_text(&mut self, updates: MessageUpdates, frame: &mut Vec<u8>) {
        let Some(open) = self.open.take() else { return };
        let end = self.grown.len();
        self.grown.extend_from_slice(b"\"}");
        self.update(updates, frame, &open, "end", end - open.start, |frame| {
            frame.extend_from_slice(b",\"content\":\"");
            frame.extend_from_slice(self.grown.get(open.start..end).unwrap_or_default());
            frame.push(b'"');
        });
    }

    /// Closes the open tool call; `block` is its complete block.
    pub fn close_call(
        &mut self,
        block: &impl Serialize,
        updates: MessageUpdates,
        frame: &mut Vec<u8>,
    ) {
        let Some(open) = self.open.take() else { return };
        // The complete block takes the place of the one that showed partial arguments.
        let block_start = open.block_start;
        self.grown.truncate(block_start);
        json(&mut self.grown, block);
        let block_bytes = self.grown.len() - block_start;
        self.update(updates, frame, &open, "end", block_bytes, |frame| {
            frame.extend_from_slice(b",\"toolCall\":");
            frame.extend_from_slice(self.grown.get(block_start..).unwrap_or_default());
        });
    }

    /// Makes room for a block; where it begins.
    fn separate(&mut self) -> usize {
        if self.blocks > 0 {
            self.grown.push(b',');
        }
        self.blocks += 1;
        self.grown.len()
    }

    fn opened(&mut self, index: usize, block_start: usize, kind: OpenKind) {
        self.open = Some(Open {
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
        open: &Open,
        step: &str,
        more_bytes: usize,
        more: impl FnOnce(&mut Vec<u8>),
    ) {
        if updates == MessageUpdates::Full {
            // A long frame that grew bit by bit would take twice its size while it moves.
            let message_bytes = self.grown.len() + self.middle.len() + self.usage.len();
            frame.reserve(2 * message_bytes + more_bytes + NAME_BYTES);
        }
        frame.extend_from_slice(br#"{"type":"message_update","#);
        if updates == MessageUpdates::Bare {
            frame.extend_from_slice(b"\"usage\":");
            frame.extend_from_slice(&self.usage);
        } else {
            write(
                frame,
                format_args!(r#""messageId":"msg-{}","message":"#, self.number),
            );
        }
        match updates {
            MessageUpdates::Full => self.write_message(frame),
            MessageUpdates::Delta => frame.extend_from_slice(br#"{"role":"assistant"}"#),
            MessageUpdates::Bare => {}
        }
        let kind = match open.kind {
            OpenKind::Text(TextKind::Text) => "text",
            OpenKind::Text(TextKind::Thinking) => "thinking",
            OpenKind::Call { .. } => "toolcall",
        };
        write(
            frame,
            format_args!(
                r#","assistantMessageEvent":{{"type":"{kind}_{step}","contentIndex":{}"#,
                open.index
            ),
        );
        more(frame);
        if updates == MessageUpdates::Full {
            frame.extend_from_slice(b",\"partial\":");
            self.write_message(frame);
            frame.extend_from_slice(b"},\"usage\":");
            frame.extend_from_slice(&self.usage);
            frame.push(b'}');
        } else {
            frame.extend_from_slice(b"}}");
        }
    }

    fn write_message(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.grown);
        match &self.open {
            Some(Open {
                kind: OpenKind::Text(_),
                ..
            }) => frame.extend_from_slice(b"\"}"),
            Some(Open {
                kind: OpenKind::Call { arguments, .. },
                ..
            }) => {
                arguments.write(frame);
                frame.push(b'}');
            }
            None => {}
        }
        frame.extend_from_slice(&self.middle);
        frame.extend_from_slice(&self.usage);
        frame.extend_from_slice(&self.end);
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
