//! `message_update`: the message that is being written, delta by delta.

use std::ops::Range;

use serde::Serialize;
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_journal::message::ToolCall;
use stentor_journal::usage::Usage;
use stentor_wire::omp::command::MessageUpdates;
use stentor_wire::omp::snapshot::{Facts, FrameGaps, Snapshot, TextKind};

use super::connection::OmpConnection;
use super::long_frame::LongFrame;

/// The message that is being written.
#[derive(Debug, Default)]
pub(super) struct Updates {
    snapshot: Snapshot,
    usage: Usage,
    /// An update that is going out. The snapshot does not change until it is out.
    long: Option<LongFrame>,
}

const NAME: &str = "message_update";

impl Updates {
    /// A model began to answer.
    pub fn begin(&mut self, connection: &OmpConnection, live: &LiveMessage, frames: &mut Vec<u8>) {
        self.usage = live.usage();
        let facts = Facts {
            number: live.number(),
            api: live.api(),
            provider: live.provider(),
            model: live.model(),
            timestamp: live.timestamp(),
        };
        self.snapshot.begin(facts, &self.usage);
        if connection.wants.now().event("message_start") {
            let start = frames.len();
            let entry_id = connection.of_server.then(|| &**live.entry_id());
            self.snapshot.write_start(entry_id, frames);
            connection
                .framing
                .finish_event(frames, start, "message_start");
        }
    }

    /// A block was opened.
    pub fn opened(
        &mut self,
        connection: &OmpConnection,
        live: &LiveMessage,
        block: &LiveBlock,
        frames: &mut Vec<u8>,
    ) {
        match &block.kind {
            LiveBlockKind::Text => self.snapshot.open_text(block.index, TextKind::Text),
            LiveBlockKind::Thinking => self.snapshot.open_text(block.index, TextKind::Thinking),
            LiveBlockKind::ToolCall { id, name } => self.snapshot.open_call(block.index, id, name),
            // Nothing of it is for anybody's eyes; it is there when it is complete.
            LiveBlockKind::Redacted => return,
        }
        self.update(connection, live, frames, |snapshot, updates, frames| {
            snapshot.write_opened(updates, frames)
        });
    }

    /// A block grew. Returns how long the update is that tells it, if it carries the message.
    pub fn grown(
        &mut self,
        connection: &OmpConnection,
        live: &LiveMessage,
        block: &LiveBlock,
        range: Range<usize>,
        frames: &mut Vec<u8>,
    ) -> usize {
        if block.kind == LiveBlockKind::Redacted {
            return 0;
        }
        block.with(range, |delta| {
            self.update(connection, live, frames, |snapshot, updates, frames| {
                snapshot.append(delta, updates, frames)
            })
        })
    }

    /// A block is complete.
    pub fn closed(
        &mut self,
        connection: &OmpConnection,
        live: &LiveMessage,
        block: &LiveBlock,
        call: Option<&ToolCall>,
        frames: &mut Vec<u8>,
    ) {
        match (&block.kind, call) {
            (LiveBlockKind::Redacted, _) => block.with_all(|data| {
                self.snapshot.add_block(&RedactedBlock {
                    kind: "redactedThinking",
                    data,
                });
            }),
            (LiveBlockKind::ToolCall { .. }, Some(call)) => {
                let block = CallBlock {
                    kind: "toolCall",
                    call,
                };
                self.update(connection, live, frames, |snapshot, updates, frames| {
                    snapshot.close_call(&block, updates, frames)
                });
            }
            (LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::ToolCall { .. }, _) => {
                self.update(connection, live, frames, |snapshot, updates, frames| {
                    snapshot.close_text(updates, frames)
                });
            }
        }
    }

    /// The message is complete.
    pub fn end(&mut self) {
        self.snapshot.forget();
    }

    /// Appends the next part of a long update. False when there is none.
    pub fn next_part(&mut self, frames: &mut Vec<u8>) -> bool {
        let Some(long) = &mut self.long else {
            return false;
        };
        if !long.next_part(&self.snapshot, frames) {
            self.long = None;
        }
        true
    }

    /// Writes one update. Returns its length, if it carries the message.
    fn update(
        &mut self,
        connection: &OmpConnection,
        live: &LiveMessage,
        frames: &mut Vec<u8>,
        write: impl FnOnce(&mut Snapshot, MessageUpdates, &mut Vec<u8>) -> FrameGaps,
    ) -> usize {
        let usage = live.usage();
        if usage != self.usage {
            self.usage = usage;
            self.snapshot.set_usage(&self.usage);
        }
        let wanted = connection.wants.now();
        let start = frames.len();
        if !wanted.event(NAME) {
            // The message goes on growing, for when updates are wanted again.
            write(&mut self.snapshot, MessageUpdates::Delta, frames);
            frames.truncate(start);
            return 0;
        }
        let gaps = write(&mut self.snapshot, wanted.updates, frames);
        let bytes = frames.len() - start + gaps.bytes();
        if !gaps.is_empty() {
            self.long = connection.framing.begin_long(frames, start, gaps, NAME);
        } else if bytes > 0 {
            connection.framing.finish_event(frames, start, NAME);
        }
        match wanted.updates {
            MessageUpdates::Full => bytes,
            MessageUpdates::Delta | MessageUpdates::Bare => 0,
        }
    }
}

#[derive(Serialize)]
struct CallBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    call: &'a ToolCall,
}

#[derive(Serialize)]
struct RedactedBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    data: &'a str,
}
