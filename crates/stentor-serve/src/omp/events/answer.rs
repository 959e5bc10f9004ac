//! Messages, and the answer that is being written, block by block.

use std::ops::Range;
use std::sync::Arc;

use stentor_agent::live::{LiveBlock, LiveMessage};
use stentor_journal::message::{Message, ToolCall};
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;
use crate::omp::limits;

impl OmpEncoder {
    pub(super) fn answer_started(&mut self, frames: &mut Vec<u8>, live: &LiveMessage) {
        self.updates.begin(&self.connection, live, frames);
    }

    pub(super) fn block_started(
        &mut self,
        frames: &mut Vec<u8>,
        live: &LiveMessage,
        block: &LiveBlock,
    ) {
        self.updates.opened(&self.connection, live, block, frames);
    }

    pub(super) fn block_grew(
        &mut self,
        frames: &mut Vec<u8>,
        live: &LiveMessage,
        block: &LiveBlock,
        range: Range<usize>,
    ) {
        let bytes = self
            .updates
            .grown(&self.connection, live, block, range, frames);
        self.rest = limits::rest_after(bytes);
    }

    pub(super) fn block_ended(
        &mut self,
        frames: &mut Vec<u8>,
        live: &LiveMessage,
        block: &LiveBlock,
        call: Option<&ToolCall>,
    ) {
        self.updates
            .closed(&self.connection, live, block, call, frames);
    }

    pub(super) fn message_started(
        &self,
        frames: &mut Vec<u8>,
        number: u64,
        entry_id: &str,
        message: &Arc<Message>,
    ) {
        let message_id = &message_id(number);
        let frame = Frame::MessageStart {
            message_id,
            entry_id: self.connection.of_server.then_some(entry_id),
            message,
        };
        self.event(frames, "message_start", &frame);
    }

    pub(super) fn message_ended(
        &mut self,
        frames: &mut Vec<u8>,
        number: u64,
        message: &Arc<Message>,
    ) {
        if message.as_assistant().is_some() {
            self.updates.end();
        }
        let message_id = &message_id(number);
        let frame = Frame::MessageEnd {
            message_id,
            message,
        };
        self.event(frames, "message_end", &frame);
    }
}

fn message_id(number: u64) -> String {
    format!("msg-{number}")
}
