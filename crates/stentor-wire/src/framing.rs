//! Cuts a byte stream into lines, in bounded memory.
//!
//! A line ends at LF. Every CR directly before the LF, or before the end of input, belongs to the
//! line ending. No other character ends a line: U+2028 and U+2029 are text. The size of a line is
//! counted without its ending.
//!
//! ```
//! use stentor_wire::framing::{FramedLine, LineReader};
//!
//! let mut reader = LineReader::new(1024);
//! let mut chunk: &[u8] = b"one\r\ntwo\nthr";
//! assert_eq!(reader.next_line(&mut chunk), Some(FramedLine::Text("one")));
//! assert_eq!(reader.next_line(&mut chunk), Some(FramedLine::Text("two")));
//! assert_eq!(reader.next_line(&mut chunk), None);
//! assert_eq!(reader.finish(), Some(FramedLine::Text("thr")));
//! ```

/// One line of input, or why it cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramedLine<'a> {
    /// The line without its ending. It may be empty.
    Text(&'a str),
    /// The line was longer than the limit and is gone. Reported once, when its end is seen, so that
    /// the answer to it keeps its place among the answers to its neighbours.
    TooLong,
    /// The line was not UTF-8 and is gone.
    InvalidUtf8,
}

/// Splits chunks of bytes into lines without doing any IO.
///
/// **Invariant:** at no time does the reader hold more than the limit; what goes over it is never
/// stored.
#[derive(Debug)]
pub struct LineReader {
    limit_bytes: usize,
    /// The start of a line whose end has not been seen, without `held_crs`.
    carry: Vec<u8>,
    /// CRs at the end of what was seen of the line. They are counted, not stored: whether they are
    /// content is known only when the next byte is, and there may be any number of them.
    held_crs: usize,
    /// The current line is over the limit; its bytes are dropped up to the LF.
    skipping: bool,
    /// How the last line that was over the limit began.
    skipped_start: Vec<u8>,
    /// The line in `carry` has been given out, and is cleared when the borrow is over, at the next
    /// call.
    given: bool,
}

/// A buffer up to this size is kept for the next line; a larger one is given back after its line.
const KEEP_CAPACITY_BYTES: usize = 64 * 1024;

/// What is kept of a line that is over the limit.
const SKIPPED_START_BYTES: usize = 256;

impl LineReader {
    /// A reader that accepts lines of up to and including `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            carry: Vec::new(),
            held_crs: 0,
            skipping: false,
            skipped_start: Vec::new(),
            given: false,
        }
    }

    /// Takes the next line off the front of `chunk`; `None` when the chunk is used up.
    ///
    /// Call it until it gives `None`, then with the next chunk. A line that lies wholly inside the
    /// chunk is borrowed from it; only a line that straddles chunks is copied.
    pub fn next_line<'a, 'c: 'a>(&'a mut self, chunk: &mut &'c [u8]) -> Option<FramedLine<'a>> {
        self.release();
        let bytes: &'c [u8] = chunk;
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            *chunk = &[];
            self.hold(bytes);
            return None;
        };
        let (head, rest) = bytes.split_at(end);
        *chunk = rest.get(1..).unwrap_or_default();
        if !self.in_line() && end <= self.limit_bytes {
            return Some(self.judge(without_trailing_crs(head)));
        }
        self.hold(head);
        Some(self.give())
    }

    /// The last line, if the input ended without LF. The reader is then ready for a new stream.
    pub fn finish(&mut self) -> Option<FramedLine<'_>> {
        self.release();
        self.in_line().then(|| self.give())
    }

    /// How the line began that was last [`Line::TooLong`], a few bytes of it: enough to see what it is.
    pub fn skipped_start(&self) -> &[u8] {
        &self.skipped_start
    }

    /// True while a line that is over the limit is being dropped. Its end may never come.
    pub fn is_skipping(&self) -> bool {
        self.skipping
    }

    /// The memory held at the moment, for the tests of the bound and for diagnostics.
    pub fn capacity_bytes(&self) -> usize {
        self.carry.capacity()
    }

    fn in_line(&self) -> bool {
        self.skipping || self.held_crs > 0 || !self.carry.is_empty()
    }

    /// Forgets the line that was given out by the previous call.
    fn release(&mut self) {
        if std::mem::take(&mut self.given) {
            self.carry.clear();
            if self.carry.capacity() > KEEP_CAPACITY_BYTES {
                self.carry = Vec::new();
            }
        }
    }

    /// Appends a piece of the current line, unless that takes the line over the limit.
    fn hold(&mut self, piece: &[u8]) {
        if self.skipping {
            return;
        }
        let content = without_trailing_crs(piece);
        let trailing_crs = piece.len() - content.len();
        if content.is_empty() {
            self.held_crs = self.held_crs.saturating_add(trailing_crs);
            return;
        }
        let needed = self
            .carry
            .len()
            .saturating_add(self.held_crs)
            .saturating_add(content.len());
        if needed > self.limit_bytes {
            self.skipping = true;
            self.held_crs = 0;
            let mut start = std::mem::take(&mut self.carry);
            start.truncate(SKIPPED_START_BYTES);
            self.skipped_start = start
                .iter()
                .chain(content)
                .copied()
                .take(SKIPPED_START_BYTES)
                .collect();
            return;
        }
        self.grow_to(needed);
        self.carry.resize(self.carry.len() + self.held_crs, b'\r');
        self.carry.extend_from_slice(content);
        self.held_crs = trailing_crs;
    }

    /// Grows by doubling, as `Vec` does, but never past the limit.
    fn grow_to(&mut self, needed: usize) {
        if needed > self.carry.capacity() {
            let doubled = self.carry.capacity().saturating_mul(2);
            let target = doubled.min(self.limit_bytes).max(needed);
            self.carry.reserve_exact(target - self.carry.len());
        }
    }

    /// Ends the current line and gives it out.
    fn give(&mut self) -> FramedLine<'_> {
        self.held_crs = 0;
        self.given = true;
        if std::mem::take(&mut self.skipping) {
            return FramedLine::TooLong;
        }
        self.judge(&self.carry)
    }

    fn judge<'a>(&self, content: &'a [u8]) -> FramedLine<'a> {
        if content.len() > self.limit_bytes {
            return FramedLine::TooLong;
        }
        std::str::from_utf8(content).map_or(FramedLine::InvalidUtf8, FramedLine::Text)
    }
}

fn without_trailing_crs(bytes: &[u8]) -> &[u8] {
    let len = bytes
        .iter()
        .rposition(|&byte| byte != b'\r')
        .map_or(0, |last| last + 1);
    bytes.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests;
