//! Strings and their escapes.

use std::borrow::Cow;

use super::error::{ReadError, ReadErrorKind};
use super::reader::Reader;
use super::token;

impl<'a> Reader<'a> {
    /// Borrows the string unless it has escapes.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, ReadError> {
        let start = self.at;
        let unclosed = self.error(start, ReadErrorKind::Unclosed("string"));
        self.at += 1;
        let mut decoded: Option<String> = None;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let stop = memchr::memchr2(b'"', b'\\', rest.as_bytes()).ok_or(unclosed)?;
            let piece = rest.get(..stop).unwrap_or_default();
            let is_end = rest.as_bytes().get(stop) == Some(&b'"');
            self.at += stop;
            if is_end {
                self.at += 1;
                return Ok(match decoded {
                    None => Cow::Borrowed(piece),
                    Some(decoded) => Cow::Owned(decoded + piece),
                });
            }
            let decoded = decoded.get_or_insert_default();
            decoded.push_str(piece);
            decoded.push(self.escape(unclosed)?);
        }
    }

    fn escape(&mut self, unclosed: ReadError) -> Result<char, ReadError> {
        let start = self.at;
        let letter = self.text.as_bytes().get(start + 1).ok_or(unclosed)?;
        self.at += 2;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => self.unicode_escape(start)?,
            _ => return Err(self.error(start, ReadErrorKind::InvalidEscape)),
        })
    }

    /// The digits behind `\u`, and those of the second half if they are the first of a pair.
    fn unicode_escape(&mut self, start: usize) -> Result<char, ReadError> {
        let hex = |at: usize| self.text.get(at..at + 4).and_then(token::hex4);
        let first = hex(self.at).ok_or(self.error(start, ReadErrorKind::InvalidEscape))?;
        if let Some(char) = char::from_u32(first) {
            self.at += 4;
            return Ok(char);
        }
        let unpaired = self.error(start, ReadErrorKind::UnpairedSurrogate);
        let has_second = self.text.get(self.at + 4..self.at + 6) == Some("\\u");
        let second = has_second.then(|| hex(self.at + 6)).flatten();
        match (first, second) {
            (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
                self.at += 10;
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                char::from_u32(code).ok_or(unpaired)
            }
            _ => Err(unpaired),
        }
    }
}
