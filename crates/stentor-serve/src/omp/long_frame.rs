//! A frame that is too long to be made at once. It repeats the message that is being written two or
//! three times; those places are left open and filled while it goes out, part by part, so that
//! nothing of a long message is there twice for it.

use stentor_wire::omp::chunk::write_chunk;
use stentor_wire::omp::facts::CHUNK_BYTES;
use stentor_wire::omp::snapshot::{FrameGaps, Snapshot};

/// How much goes out at once.
const PART_BYTES: usize = 64 * 1024;

/// What is left of such a frame.
#[derive(Debug)]
pub(super) struct LongFrame {
    /// The frame without what is left open.
    around: Vec<u8>,
    gaps: FrameGaps,
    /// Bytes of the whole object, and those that have gone out.
    len: usize,
    gone: usize,
    /// The number of the object, if it goes out in chunks.
    chunked: Option<u64>,
}

impl LongFrame {
    /// A frame that was written with gaps, without its end.
    pub fn new(around: Vec<u8>, gaps: FrameGaps, chunked: Option<u64>) -> Self {
        let len = around.len() + gaps.bytes();
        Self {
            around,
            gaps,
            len,
            gone: 0,
            chunked,
        }
    }

    /// Appends the next part; `snapshot` is as it was when the frame was begun. False: that was all.
    pub fn next_part(&mut self, snapshot: &Snapshot, frames: &mut Vec<u8>) -> bool {
        let from = self.gone;
        let Some(number) = self.chunked else {
            self.gone = self.len.min(from + PART_BYTES);
            snapshot.fill(&self.around, &self.gaps, from..self.gone, frames);
            let is_over = self.gone == self.len;
            if is_over {
                frames.push(b'\n');
            }
            return !is_over;
        };
        self.gone = self.len.min(from + CHUNK_BYTES);
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        snapshot.fill(&self.around, &self.gaps, from..self.gone, &mut chunk);
        write_chunk(&chunk, number, from / CHUNK_BYTES, self.len, frames);
        self.gone < self.len
    }
}
