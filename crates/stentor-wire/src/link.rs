//! The link between a relay and a server, which outlives the connection that carries it.
//!
//! Both sides send frames: a byte for the kind, four for the length of what follows, most
//! significant first. [`DATA`](FrameKind::Data) carries bytes of the dialect, in pieces of any length;
//! [`RECEIVED`](FrameKind::Received) says how many of these bytes arrived so far, and
//! [`END`](FrameKind::End) that no more will come. Whoever sends keeps bytes until the other side has
//! them, up to [`WINDOW_BYTES`], so that both can go on over another connection.

use std::collections::VecDeque;

/// Bytes that may be on their way. Who has more waits.
pub const WINDOW_BYTES: usize = 1 << 20;

/// So many bytes are received before the other side is told.
pub const REPORT_BYTES: u64 = 64 << 10;

/// The longest frame.
pub const MAX_FRAME_BYTES: usize = 64 << 10;

/// The length of what is before the content of a frame.
pub const HEADER_BYTES: usize = 5;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Data,
    Received,
    End,
}

/// What is before the content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    pub kind: FrameKind,
    /// The length of the content.
    pub bytes: usize,
}

/// A frame that no side sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other side of the link sent something other than a frame")]
pub struct BadFrame;

impl FrameKind {
    const ALL: [(u8, Self); 3] = [(0, Self::Data), (1, Self::Received), (2, Self::End)];

    fn code(self) -> u8 {
        let codes = Self::ALL.iter();
        let mut codes = codes.filter(|(_, kind)| *kind == self);
        codes.next().map_or(u8::MAX, |(code, _)| *code)
    }
}

impl FrameHeader {
    /// Reads what is before the content.
    pub fn read(bytes: [u8; HEADER_BYTES]) -> Result<Self, BadFrame> {
        let [code, length @ ..] = bytes;
        let mut kinds = FrameKind::ALL.iter();
        let kind = kinds.find(|(known, _)| *known == code);
        let (_, kind) = kind.ok_or(BadFrame)?;
        let bytes = usize::try_from(u32::from_be_bytes(length)).map_err(|_| BadFrame)?;
        match bytes <= MAX_FRAME_BYTES {
            true => Ok(Self { kind: *kind, bytes }),
            false => Err(BadFrame),
        }
    }
}

/// Appends a frame.
pub fn write_frame(out: &mut Vec<u8>, kind: FrameKind, content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    out.push(kind.code());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(content);
}

/// The number in a [`FrameKind::Received`] frame.
pub fn read_received(content: &[u8]) -> Result<u64, BadFrame> {
    let bytes = content.try_into().map_err(|_| BadFrame)?;
    Ok(u64::from_be_bytes(bytes))
}

/// The bytes of one direction: those that the other side has not reported, and how far the others
/// are.
#[derive(Debug, Default)]
pub struct UnreportedBytes {
    bytes: VecDeque<u8>,
    /// How many bytes the other side has reported.
    reported: u64,
    /// How many bytes were sent over the connection that there is.
    sent: u64,
    /// What the end says, when there is one.
    end: Option<Vec<u8>>,
    end_is_sent: bool,
}

impl UnreportedBytes {
    /// How many more bytes may be taken in.
    pub fn room(&self) -> usize {
        WINDOW_BYTES.saturating_sub(self.bytes.len())
    }

    /// Takes in bytes that are to be sent.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// No more bytes follow. `content` says how it ended.
    pub fn end(&mut self, mut content: Vec<u8>) {
        content.truncate(MAX_FRAME_BYTES);
        self.end = Some(content);
    }

    /// The other side has so many bytes. Fewer than before, or more than there were, is a mistake.
    pub fn reported(&mut self, received: u64) -> Result<(), BadFrame> {
        let new = received.checked_sub(self.reported).ok_or(BadFrame)?;
        let new = usize::try_from(new).map_err(|_| BadFrame)?;
        if new > self.bytes.len() {
            return Err(BadFrame);
        }
        self.bytes.drain(..new);
        self.reported = received;
        self.sent = self.sent.max(received);
        Ok(())
    }

    /// Another connection carries the link: what the other side does not have is sent again.
    pub fn reconnected(&mut self, received: u64) -> Result<(), BadFrame> {
        self.reported(received)?;
        self.sent = received;
        self.end_is_sent = false;
        Ok(())
    }

    /// Appends the next frame that is to be sent. False when there is none.
    pub fn next_frame(&mut self, out: &mut Vec<u8>) -> bool {
        let offset = usize::try_from(self.sent - self.reported).unwrap_or(usize::MAX);
        let waiting = self.bytes.len().saturating_sub(offset);
        if waiting > 0 {
            let length = waiting.min(MAX_FRAME_BYTES);
            // What wraps around goes into the next frame.
            let (head, tail) = self.bytes.as_slices();
            let whole = match offset.checked_sub(head.len()) {
                None => head.get(offset..),
                Some(offset) => tail.get(offset..),
            };
            let piece = whole.unwrap_or_default();
            let piece = piece.get(..length).unwrap_or(piece);
            write_frame(out, FrameKind::Data, piece);
            self.sent += piece.len() as u64;
            return true;
        }
        match &self.end {
            Some(content) if !self.end_is_sent => {
                self.end_is_sent = true;
                write_frame(out, FrameKind::End, content);
                true
            }
            _ => false,
        }
    }

    /// True when the other side has everything.
    pub fn is_over(&self) -> bool {
        self.end_is_sent && self.bytes.is_empty()
    }
}

/// What was received, and when the other side is to be told.
#[derive(Debug, Default)]
pub struct ReceivedBytes {
    bytes: u64,
    told: u64,
}

/// How a program that was started for a client would have ended, for [`UnreportedBytes::end`].
pub fn end_content(status: u8, message: &str) -> Vec<u8> {
    let mut content = vec![status];
    content.extend_from_slice(message.as_bytes());
    content
}

/// The exit status and, for a person, why; nothing where it is not said.
pub fn read_end(content: &[u8]) -> (u8, String) {
    match content.split_first() {
        Some((status, message)) => (*status, String::from_utf8_lossy(message).into_owned()),
        None => (0, String::new()),
    }
}

impl ReceivedBytes {
    /// How many bytes have arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// So many more have arrived.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Another connection carries the link, at whose beginning the number was told.
    pub fn reconnected(&mut self) {
        self.told = self.bytes;
    }

    /// Appends the frame that tells the other side.
    pub fn frame(&mut self, out: &mut Vec<u8>) {
        self.told = self.bytes;
        write_frame(out, FrameKind::Received, &self.bytes.to_be_bytes());
    }

    /// Appends it, if it is time.
    pub fn next_frame(&mut self, out: &mut Vec<u8>) -> bool {
        let is_time = self.bytes - self.told >= REPORT_BYTES;
        if is_time {
            self.frame(out);
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of the data frames in `frames`.
    fn data(mut frames: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        while let Some((header, rest)) = frames.split_first_chunk() {
            let header = FrameHeader::read(*header).unwrap();
            let (content, rest) = rest.split_at(header.bytes);
            if header.kind == FrameKind::Data {
                data.extend_from_slice(content);
            }
            frames = rest;
        }
        data
    }

    fn sent(from: &mut UnreportedBytes) -> Vec<u8> {
        let mut out = Vec::new();
        while from.next_frame(&mut out) {}
        out
    }

    #[test]
    fn what_the_other_side_does_not_have_is_sent_again_and_nothing_else() {
        let mut out = UnreportedBytes::default();
        let text: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        out.push(&text);
        assert_eq!(data(&sent(&mut out)), text);
        assert!(sent(&mut out).is_empty());
        out.reported(100_000).unwrap();
        assert!(sent(&mut out).is_empty());
        out.reconnected(150_000).unwrap();
        assert_eq!(data(&sent(&mut out)), text[150_000..]);
        assert_eq!(out.room(), WINDOW_BYTES - 50_000);
        out.end(vec![7]);
        assert_eq!(sent(&mut out), [2, 0, 0, 0, 1, 7]);
        assert!(!out.is_over());
        out.reported(200_000).unwrap();
        assert!(out.is_over());
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let mut out = UnreportedBytes::default();
        out.push(b"abc");
        sent(&mut out);
        assert_eq!(out.reported(4), Err(BadFrame));
        out.reported(2).unwrap();
        assert_eq!(out.reported(1), Err(BadFrame));
        assert_eq!(FrameHeader::read([9, 0, 0, 0, 0]), Err(BadFrame));
        assert_eq!(FrameHeader::read([0, 1, 0, 0, 0]), Err(BadFrame));
        assert_eq!(read_received(&[1, 2]), Err(BadFrame));
    }

    #[test]
    fn the_other_side_is_told_now_and_then() {
        let (mut received, mut out) = (ReceivedBytes::default(), Vec::new());
        received.add(10);
        assert!(!received.next_frame(&mut out));
        received.add(1 << 16);
        assert!(received.next_frame(&mut out));
        assert!(!received.next_frame(&mut out));
        let header = FrameHeader::read(*out.first_chunk().unwrap()).unwrap();
        assert_eq!(header.kind, FrameKind::Received);
        assert_eq!(read_received(&out[HEADER_BYTES..]), Ok(65_546));
    }
}
