//! Lines of a file, read from either end in blocks.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memrchr};

const BLOCK_BYTES: usize = 64 * 1024;

/// Something with bytes at offsets: a file, or a slice in tests and fuzzing.
pub(super) trait Bytes {
    /// How many bytes there are.
    fn size(&self) -> io::Result<u64>;
    /// Reads some bytes at `offset`; 0 means there are none.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Bytes for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

impl Bytes for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..));
        Ok(rest.map_or(0, |mut rest| io::Read::read(&mut rest, buffer).unwrap_or(0)))
    }
}

impl Bytes for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        self.as_slice().size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buffer, offset)
    }
}

/// Where a line is, without its LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineSpan {
    pub(super) offset: u64,
    pub(super) length: usize,
}

/// The bytes from `offset` on, `length` of them or fewer where the file ends.
pub(super) fn read_range<B: Bytes + ?Sized>(
    bytes: &B,
    offset: u64,
    length: usize,
) -> io::Result<Vec<u8>> {
    let mut read = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = read.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match bytes.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    read.truncate(filled);
    Ok(read)
}

/// Lines from the end towards the beginning; empty ones are left out.
///
/// Holds one block, or one line where a line is longer.
pub(super) struct LinesBackward<'a, B: ?Sized> {
    bytes: &'a B,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    start: u64,
    /// How much of the buffer has not been handed out.
    left: usize,
    /// How much of the buffer has not been searched for an LF.
    unsearched: usize,
}

impl<'a, B: Bytes + ?Sized> LinesBackward<'a, B> {
    /// Reads the lines before `end`.
    pub(super) fn before(bytes: &'a B, end: u64) -> Self {
        Self {
            bytes,
            buffer: Vec::new(),
            start: end,
            left: 0,
            unsearched: 0,
        }
    }

    /// Where the lines not yet handed out end.
    pub(super) fn position(&self) -> u64 {
        self.start + self.left as u64
    }

    /// The line before the one handed out last.
    pub(super) fn next(&mut self) -> io::Result<Option<(LineSpan, &[u8])>> {
        loop {
            let searched = self.buffer.get(..self.unsearched).unwrap_or_default();
            let (line_start, next_left) = match memrchr(b'\n', searched) {
                Some(at) => (at + 1, at),
                None if self.start == 0 => (0, 0),
                None => {
                    self.fetch()?;
                    continue;
                }
            };
            let line_end = self.left;
            self.left = next_left;
            self.unsearched = next_left;
            if line_end > line_start {
                let span = LineSpan {
                    offset: self.start + line_start as u64,
                    length: line_end - line_start,
                };
                let line = self.buffer.get(line_start..line_end).unwrap_or_default();
                return Ok(Some((span, line)));
            }
            if line_start == 0 && self.start == 0 {
                return Ok(None);
            }
        }
    }

    /// Puts the block before the buffer in front of it. Blocks grow with the line they belong to,
    /// so that a long line is copied a few times, not once per block.
    fn fetch(&mut self) -> io::Result<()> {
        let before = usize::try_from(self.start).unwrap_or(usize::MAX);
        let length = BLOCK_BYTES.max(self.left).min(before);
        let offset = self.start - length as u64;
        let mut block = read_range(self.bytes, offset, length)?;
        if block.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        block.extend_from_slice(self.buffer.get(..self.left).unwrap_or_default());
        self.buffer = block;
        self.start = offset;
        self.left += length;
        self.unsearched = length;
        Ok(())
    }
}

/// Lines from the beginning on; empty ones are left out.
pub(super) struct LinesForward<'a, B: ?Sized> {
    bytes: &'a B,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    start: u64,
    /// How much of the buffer was handed out.
    used: usize,
    end: u64,
}

impl<'a, B: Bytes + ?Sized> LinesForward<'a, B> {
    /// Reads the lines that begin before `end`; the last is cut there if it goes on.
    pub(super) fn until(bytes: &'a B, end: u64) -> Self {
        Self::within(bytes, 0..end)
    }

    /// The same from a byte on at which a line begins.
    pub(super) fn within(bytes: &'a B, range: Range<u64>) -> Self {
        Self {
            bytes,
            buffer: Vec::new(),
            start: range.start,
            used: 0,
            end: range.end,
        }
    }

    /// The next line, and whether an LF ended it.
    pub(super) fn next(&mut self) -> io::Result<Option<(LineSpan, &[u8], bool)>> {
        let mut searched = 0;
        loop {
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            let found = memchr(b'\n', rest.get(searched..).unwrap_or_default());
            let (length, ended) = match found {
                Some(at) => (searched + at, true),
                None => {
                    searched = rest.len();
                    if self.fetch()? {
                        continue;
                    }
                    (searched, false)
                }
            };
            let line_start = self.used;
            self.used += length + usize::from(ended);
            searched = 0;
            if length > 0 {
                let span = LineSpan {
                    offset: self.start + line_start as u64,
                    length,
                };
                let line = self.buffer.get(line_start..line_start + length);
                return Ok(Some((span, line.unwrap_or_default(), ended)));
            }
            if !ended {
                return Ok(None);
            }
        }
    }

    /// Drops what was handed out and reads a block more; false at the end.
    fn fetch(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.used);
        self.start += self.used as u64;
        self.used = 0;
        let at = self.start + self.buffer.len() as u64;
        let rest = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let block = read_range(self.bytes, at, BLOCK_BYTES.max(self.buffer.len()).min(rest))?;
        self.buffer.extend_from_slice(&block);
        Ok(!block.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forward(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = LinesForward::until(bytes, bytes.len() as u64);
        let mut all = Vec::new();
        while let Some((span, line, _)) = lines.next().unwrap() {
            assert_eq!(span.length, line.len());
            all.push((span.offset, line.to_vec()));
        }
        all
    }

    fn backward(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = LinesBackward::before(bytes, bytes.len() as u64);
        let mut all = Vec::new();
        while let Some((span, line)) = lines.next().unwrap() {
            assert_eq!(span.length, line.len());
            all.push((span.offset, line.to_vec()));
        }
        all.reverse();
        all
    }

    fn expected(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut at = 0;
        let mut all = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                all.push((at, line.to_vec()));
            }
            at += line.len() as u64 + 1;
        }
        all
    }

    #[test]
    fn lines_longer_than_a_block_are_read_whole_from_both_ends() {
        let mut bytes = Vec::new();
        for length in [1, BLOCK_BYTES - 1, BLOCK_BYTES, 5 * BLOCK_BYTES + 3, 0, 7] {
            bytes.extend(std::iter::repeat_n(b'a', length));
            bytes.push(b'\n');
        }
        assert_eq!(forward(&bytes), expected(&bytes));
        assert_eq!(backward(&bytes), expected(&bytes));
    }

    proptest! {
        #[test]
        fn both_directions_give_the_lines_of_a_plain_split(
            lines in prop::collection::vec((0_usize..3, 0_usize..40_000), 0..12),
            ended: bool,
        ) {
            let mut bytes = Vec::new();
            for (index, (kind, length)) in lines.iter().enumerate() {
                if index > 0 { bytes.push(b'\n'); }
                let length = if *kind == 0 { *length } else { length % 5 };
                bytes.extend(std::iter::repeat_n(b'x', length));
            }
            if ended { bytes.push(b'\n'); }
            prop_assert_eq!(forward(&bytes), expected(&bytes));
            prop_assert_eq!(backward(&bytes), expected(&bytes));
        }
    }
}
