//! Server-sent events, from bytes to events.
//!
//! Written for streams of model deltas: an event of one `data:` line, the usual kind, is handed out
//! as a slice of the receive buffer, and a byte is looked at once however it arrives.

use std::ops::Range;

use memchr::memchr;

/// The byte order mark that a stream may begin with.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One event: its name (empty when it has none) and its data, lines joined by a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    pub name: &'a str,
    pub data: &'a str,
}

/// Why the bytes are not a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is longer than {limit_bytes} bytes")]
    TooLong { limit_bytes: usize },
    #[error("an event is not valid UTF-8")]
    NotUtf8,
}

/// Takes bytes as they arrive and gives events back.
#[derive(Debug)]
pub struct SseDecoder {
    buffer: Vec<u8>,
    /// Where the event being read begins; what lies before has been handed out.
    event_start: usize,
    /// Where the line being read begins.
    line_start: usize,
    /// Up to where the line being read was searched for its end.
    scanned: usize,
    name: Range<usize>,
    data: EventData,
    joined: Vec<u8>,
    limit_bytes: usize,
    at_stream_start: bool,
    last_id: Option<String>,
}

/// The data of the event being read.
#[derive(Debug)]
enum EventData {
    None,
    /// One line, still in the buffer.
    Line(Range<usize>),
    /// Several lines, joined in [`SseDecoder::joined`].
    Joined,
}

impl SseDecoder {
    /// A decoder that refuses an event of more than `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            buffer: Vec::new(),
            event_start: 0,
            line_start: 0,
            scanned: 0,
            name: 0..0,
            data: EventData::None,
            joined: Vec::new(),
            limit_bytes,
            at_stream_start: true,
            last_id: None,
        }
    }

    /// Takes more bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.forget_what_was_handed_out();
        self.buffer.extend_from_slice(bytes);
        let may_become_mark = MARK.starts_with(&self.buffer) && self.buffer.len() < MARK.len();
        if self.at_stream_start && !may_become_mark {
            self.at_stream_start = false;
            if self.buffer.starts_with(MARK) {
                self.buffer.drain(..MARK.len());
                // Parts of the mark may have been looked at already.
                self.scanned = 0;
            }
        }
    }

    /// The next complete event, or `None` until more bytes come.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, SseError> {
        loop {
            let Some(unseen) = self.buffer.get(self.scanned..) else {
                return Ok(None);
            };
            let Some(found) = memchr(b'\n', unseen) else {
                self.scanned = self.buffer.len();
                // The first bytes may be a byte order mark, which is no part of an event.
                let is_known = !self.at_stream_start;
                if is_known && self.buffer.len() - self.event_start > self.limit_bytes {
                    return Err(SseError::TooLong {
                        limit_bytes: self.limit_bytes,
                    });
                }
                return Ok(None);
            };
            let end = self.scanned + found;
            let line = trim_return(&self.buffer, self.line_start..end);
            self.line_start = end + 1;
            self.scanned = end + 1;
            if !line.is_empty() {
                self.take_line(line);
                continue;
            }
            let event_start = std::mem::replace(&mut self.event_start, self.line_start);
            if self.line_start - event_start > self.limit_bytes {
                return Err(SseError::TooLong {
                    limit_bytes: self.limit_bytes,
                });
            }
            if !matches!(self.data, EventData::None) {
                return self.hand_out().map(Some);
            }
            self.name = 0..0;
        }
    }

    /// The newest id of an event, by which a stream can be gone on with after it broke.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Marks the end of the stream, so that a last event without its blank line is complete too.
    pub fn finish(&mut self) {
        self.push(b"\n\n");
    }

    fn take_line(&mut self, line: Range<usize>) {
        let Some(bytes) = self.buffer.get(line.clone()) else {
            return;
        };
        let (field, value) = match memchr(b':', bytes) {
            Some(colon) => {
                let after = colon + 1;
                let space = usize::from(bytes.get(after) == Some(&b' '));
                (
                    bytes.get(..colon).unwrap_or_default(),
                    line.start + after + space..line.end,
                )
            }
            None => (bytes, line.end..line.end),
        };
        match field {
            b"data" => match &mut self.data {
                EventData::None => self.data = EventData::Line(value),
                EventData::Line(first) => {
                    self.joined.clear();
                    let first = self.buffer.get(first.clone()).unwrap_or_default();
                    self.joined.extend_from_slice(first);
                    self.data = EventData::Joined;
                    self.join(value);
                }
                EventData::Joined => self.join(value),
            },
            b"event" => self.name = value,
            b"id" => {
                let id = self.buffer.get(value).unwrap_or_default();
                self.last_id = std::str::from_utf8(id).ok().map(str::to_owned);
            }
            // A comment (an empty field), `retry` and anything unknown mean nothing here.
            _ => {}
        }
    }

    fn join(&mut self, line: Range<usize>) {
        self.joined.push(b'\n');
        self.joined
            .extend_from_slice(self.buffer.get(line).unwrap_or_default());
    }

    fn hand_out(&mut self) -> Result<SseEvent<'_>, SseError> {
        let name = std::mem::replace(&mut self.name, 0..0);
        let name = self.buffer.get(name).unwrap_or_default();
        let data = match std::mem::replace(&mut self.data, EventData::None) {
            EventData::None => &[],
            EventData::Line(range) => self.buffer.get(range).unwrap_or_default(),
            EventData::Joined => self.joined.as_slice(),
        };
        Ok(SseEvent {
            name: std::str::from_utf8(name).map_err(|_| SseError::NotUtf8)?,
            data: std::str::from_utf8(data).map_err(|_| SseError::NotUtf8)?,
        })
    }

    fn forget_what_was_handed_out(&mut self) {
        let gone = self.event_start;
        if gone == 0 {
            return;
        }
        self.buffer.drain(..gone);
        self.event_start = 0;
        self.line_start -= gone;
        self.scanned -= gone;
        let shift =
            |range: &Range<usize>| range.start.saturating_sub(gone)..range.end.saturating_sub(gone);
        self.name = shift(&self.name);
        if let EventData::Line(range) = &self.data {
            self.data = EventData::Line(shift(range));
        }
        // One huge event must not keep its memory for the rest of the answer.
        const KEPT_BYTES: usize = 1 << 20;
        if self.buffer.capacity() > KEPT_BYTES && self.buffer.len() < KEPT_BYTES / 2 {
            self.buffer.shrink_to(KEPT_BYTES / 2);
        }
    }
}

fn trim_return(buffer: &[u8], line: Range<usize>) -> Range<usize> {
    let ends_with_return = line.end > line.start && buffer.get(line.end - 1) == Some(&b'\r');
    line.start..line.end - usize::from(ends_with_return)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(chunks: &[&[u8]]) -> Result<Vec<(String, String)>, SseError> {
        let mut decoder = SseDecoder::new(1 << 16);
        let mut events = Vec::new();
        let drain = |decoder: &mut SseDecoder, events: &mut Vec<_>| {
            while let Some(event) = decoder.next_event()? {
                events.push((event.name.to_owned(), event.data.to_owned()));
            }
            Ok::<_, SseError>(())
        };
        for chunk in chunks {
            decoder.push(chunk);
            drain(&mut decoder, &mut events)?;
        }
        decoder.finish();
        drain(&mut decoder, &mut events)?;
        Ok(events)
    }

    #[test]
    fn every_form_of_event_is_understood() {
        for (bytes, expected) in [
            ("data: a\n\n", vec![("", "a")]),
            ("data:a\r\n\r\n", vec![("", "a")]),
            ("event: x\ndata: {\"a\":1}\n\n", vec![("x", "{\"a\":1}")]),
            ("data: a\ndata: b\ndata:c\n\n", vec![("", "a\nb\nc")]),
            (": ping\n\n: ping\n\ndata: a\n\n", vec![("", "a")]),
            ("event: only-a-name\n\ndata: a\n\n", vec![("", "a")]),
            ("id: 7\nretry: 3\nfoo\ndata: a\n\n", vec![("", "a")]),
            ("\u{feff}data: a\n\n", vec![("", "a")]),
            (
                "data: a\n\ndata: without an end",
                vec![("", "a"), ("", "without an end")],
            ),
            ("data\n\n", vec![("", "")]),
            ("\n\n\n", vec![]),
            ("", vec![]),
        ] {
            let events = decode(&[bytes.as_bytes()]).unwrap();
            let events: Vec<_> = events
                .iter()
                .map(|(n, d)| (n.as_str(), d.as_str()))
                .collect();
            assert_eq!(events, expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_event_above_the_limit_is_refused_before_it_is_complete() {
        let mut decoder = SseDecoder::new(10);
        decoder.push(b"data: 0123456789");
        assert_eq!(
            decoder.next_event(),
            Err(SseError::TooLong { limit_bytes: 10 })
        );
    }

    #[test]
    fn a_byte_order_mark_may_come_in_pieces_and_only_first() {
        let pieces = decode(&[b"\xef", b"\xbb", b"\xbf", b"\n", b"data: a\n\n"]);
        assert_eq!(pieces, Ok(vec![(String::new(), "a".to_owned())]));
        let late = decode(&[b"\n", b"\xef\xbb\xbfdata: a\n\n"]);
        assert_eq!(late, Ok(Vec::new()));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error_and_not_replaced() {
        assert_eq!(decode(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    }

    proptest! {
        #[test]
        fn where_the_chunks_are_cut_makes_no_difference(
            events in proptest::collection::vec(
                (proptest::option::of("[a-z_.]{1,8}"), proptest::collection::vec("[^\r\n\u{feff}]{0,20}", 1..4)),
                0..6,
            ),
            cuts in proptest::collection::vec(1usize..9, 1..40),
        ) {
            let mut bytes = Vec::new();
            for (name, lines) in &events {
                if let Some(name) = name {
                    bytes.extend_from_slice(format!("event: {name}\n").as_bytes());
                }
                for line in lines {
                    bytes.extend_from_slice(format!("data: {line}\n").as_bytes());
                }
                bytes.push(b'\n');
            }
            let whole = decode(&[&bytes]).unwrap();
            let mut chunks = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, more) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = more;
            }
            prop_assert_eq!(&decode(&chunks).unwrap(), &whole);
            let expected: Vec<String> = events.iter().map(|(_, lines)| lines.join("\n")).collect();
            let data: Vec<String> = whole.into_iter().map(|(_, data)| data).collect();
            prop_assert_eq!(data, expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&[&bytes]);
        }
    }
}
