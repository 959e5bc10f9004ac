//! Frames as bytes, in both versions of the transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::Message;
use stentor_wire::omp::chunk::{Fit, fit, write_chunks};
use stentor_wire::omp::frame::Frame;
use stentor_wire::omp::snapshot::FrameGaps;

use super::long_frame::LongFrame;

/// A frame about the agent's own messages and tools.
pub(super) type AgentFrame<'a> = Frame<'a, Arc<Message>, ToolOutput>;

/// Ends frames in the way the client chose.
#[derive(Debug, Default)]
pub(super) struct Framing {
    chunks: AtomicBool,
    chunked: AtomicU64,
}

/// An object is too long even for chunks; nothing of it was kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Framing {
    /// From now on long objects go out in chunks (section 20).
    pub fn use_chunks(&self) {
        self.chunks.store(true, Ordering::Release);
    }

    /// Ends the object that begins at `start`.
    pub fn finish(&self, frames: &mut Vec<u8>, start: usize) -> Result<(), TooLong> {
        let len = frames.len().saturating_sub(start);
        match self.fit(len) {
            Fit::Line => frames.push(b'\n'),
            Fit::Chunks => {
                let object = frames.split_off(start);
                write_chunks(&object, self.next_chunked(), frames);
            }
            Fit::TooLong => {
                frames.truncate(start);
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// Writes an object of `name`; one that is too long is reported in its place.
    pub fn write(&self, frames: &mut Vec<u8>, name: &str, object: &impl Serialize) {
        if self.try_write(frames, name, object).is_err() {
            self.report_too_long(frames, name);
        }
    }

    /// Writes an object of `name` if it is short enough.
    pub fn try_write(
        &self,
        frames: &mut Vec<u8>,
        name: &str,
        object: &impl Serialize,
    ) -> Result<(), TooLong> {
        let start = frames.len();
        if let Err(error) = serde_json::to_writer(&mut *frames, object) {
            tracing::error!(%error, name, "a frame could not be written");
            frames.truncate(start);
            return Ok(());
        }
        self.finish(frames, start)
    }

    /// Ends the event that begins at `start`.
    pub fn finish_event(&self, frames: &mut Vec<u8>, start: usize, name: &str) {
        if self.finish(frames, start).is_err() {
            self.report_too_long(frames, name);
        }
    }

    /// Takes out the event that begins at `start` and has gaps, to go out part by part. One that is
    /// too long is reported in its place.
    pub fn begin_long(
        &self,
        frames: &mut Vec<u8>,
        start: usize,
        gaps: FrameGaps,
        name: &str,
    ) -> Option<LongFrame> {
        let around = frames.split_off(start);
        let chunked = match self.fit(around.len() + gaps.bytes()) {
            Fit::Line => None,
            Fit::Chunks => Some(self.next_chunked()),
            Fit::TooLong => {
                self.report_too_long(frames, name);
                return None;
            }
        };
        Some(LongFrame::new(around, gaps, chunked))
    }

    fn fit(&self, len: usize) -> Fit {
        if self.chunks.load(Ordering::Acquire) {
            fit(len)
        } else {
            Fit::Line
        }
    }

    /// The number of the next object that goes out in chunks.
    fn next_chunked(&self) -> u64 {
        self.chunked.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn report_too_long(&self, frames: &mut Vec<u8>, name: &str) {
        let error: AgentFrame<'_> = Frame::RpcFrameError {
            original_type: Some(name),
            error: "RPC frame exceeded the transport limit",
        };
        self.write(frames, "rpc_frame_error", &error);
    }
}

#[cfg(test)]
mod tests {
    use stentor_wire::omp::facts::{MAX_FRAME_BYTES, MAX_REASSEMBLED_BYTES};

    use super::*;

    fn written(framing: &Framing, len: usize) -> Vec<u8> {
        let mut frames = Vec::new();
        framing.write(&mut frames, "x", &"a".repeat(len - 2));
        frames
    }

    #[test]
    fn a_long_object_is_one_line_until_the_client_asks_for_chunks() {
        let framing = Framing::default();
        let lines = |frames: &[u8]| frames.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(&written(&framing, MAX_FRAME_BYTES)), 1);
        framing.use_chunks();
        assert_eq!(lines(&written(&framing, MAX_FRAME_BYTES - 1)), 1);
        assert_eq!(lines(&written(&framing, MAX_FRAME_BYTES)), 4);
        let reported = String::from_utf8(written(&framing, MAX_REASSEMBLED_BYTES + 1)).unwrap();
        assert_eq!(
            reported,
            "{\"type\":\"rpc_frame_error\",\"originalType\":\"x\",\"error\":\"RPC frame exceeded the transport limit\"}\n"
        );
    }
}
