//! Bytes as lines, their ends included. Unlike `stentor_wire::framing` nothing is judged or dropped:
//! what is wrong with a line is for the dialect to say.

/// What was read and not yet taken as lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    read: Vec<u8>,
    /// Bytes of `read` that were taken.
    taken: usize,
    /// Bytes of `read` that were searched for a line end.
    searched: usize,
}

/// A buffer up to this size is kept for the next lines.
const KEEP_BYTES: usize = 256 * 1024;

impl LineBuffer {
    /// Lines of what was read so far.
    pub fn new(read: Vec<u8>) -> Self {
        Self {
            read,
            taken: 0,
            searched: 0,
        }
    }

    /// More was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Where more is read into, at the end.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.read.drain(..self.taken);
        self.searched -= self.taken;
        self.taken = 0;
        if self.read.is_empty() && self.read.capacity() > KEEP_BYTES {
            self.read = Vec::new();
        }
        &mut self.read
    }

    /// True when a complete line is there.
    pub fn has_line(&mut self) -> bool {
        let new = self.read.get(self.searched..).unwrap_or_default();
        let end = memchr::memchr(b'\n', new);
        self.searched += end.unwrap_or(new.len());
        end.is_some()
    }

    /// The next complete line with its end.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        let new = self.read.get(self.searched..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', new) else {
            self.searched = self.read.len();
            return None;
        };
        let start = self.taken;
        self.taken = self.searched + end + 1;
        self.searched = self.taken;
        self.read.get(start..self.taken)
    }

    /// What is there of a line whose end is not.
    pub fn rest(&mut self) -> &[u8] {
        let rest = self.taken;
        self.taken = self.read.len();
        self.searched = self.taken;
        self.read.get(rest..).unwrap_or_default()
    }

    /// How many bytes of a line are there whose end is not.
    pub fn rest_bytes(&self) -> usize {
        self.read.len() - self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_whole_wherever_they_were_cut() {
        let text = b"one\ntwo\r\n\nthree";
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            let mut lines = LineBuffer::default();
            let mut taken: Vec<Vec<u8>> = Vec::new();
            for part in [first, second] {
                lines.push(part);
                while lines.has_line() {
                    taken.extend(lines.next_line().map(<[u8]>::to_vec));
                }
                assert_eq!(lines.next_line(), None);
            }
            assert_eq!(taken, [&b"one\n"[..], b"two\r\n", b"\n"], "{cut}");
            assert_eq!(lines.rest(), b"three");
            assert_eq!(lines.rest_bytes(), 0);
        }
    }
}
