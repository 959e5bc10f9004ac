//! Forms to text, for a frontend that may have only its built-in parser (section 2.2).

use super::token;
use super::write::WriteEdn;

/// Appends one form to a buffer that the caller keeps and reuses.
///
/// What comes out is one line, and only maps, vectors, strings, keywords, numbers, `nil`, `true`
/// and `false`. Anything else that is asked for becomes the nearest of these.
///
/// Forms are separated by one space; the `*_start` and `*_end` calls must pair up, which
/// [`map`](Self::map) and [`vector`](Self::vector) see to by themselves.
#[derive(Debug)]
pub struct EdnWriter<'b> {
    out: &'b mut Vec<u8>,
    /// Whether the next form needs a space before it.
    needs_space: bool,
    /// Whether sets, lists and symbols are written as such.
    with_query_forms: bool,
}

impl<'b> EdnWriter<'b> {
    /// A writer of frames. It appends to `out`.
    pub fn new(out: &'b mut Vec<u8>) -> Self {
        Self {
            out,
            needs_space: false,
            with_query_forms: false,
        }
    }

    /// A writer of results of `query_eql`, the one place where sets, lists and symbols are allowed.
    pub fn for_query_result(out: &'b mut Vec<u8>) -> Self {
        Self {
            out,
            needs_space: false,
            with_query_forms: true,
        }
    }

    /// A map, filled by `entries`.
    pub fn map(&mut self, entries: impl FnOnce(&mut Self)) -> &mut Self {
        self.map_start();
        entries(self);
        self.map_end()
    }

    /// A vector, filled by `items`.
    pub fn vector(&mut self, items: impl FnOnce(&mut Self)) -> &mut Self {
        self.vector_start();
        items(self);
        self.vector_end()
    }

    /// A keyword and a value.
    pub fn field(&mut self, key: &str, value: &(impl WriteEdn + ?Sized)) -> &mut Self {
        self.key(key);
        value.write_edn(self);
        self
    }

    /// A keyword and a value, or neither.
    pub fn field_if_some(
        &mut self,
        key: &str,
        value: Option<&(impl WriteEdn + ?Sized)>,
    ) -> &mut Self {
        if let Some(value) = value {
            self.field(key, value);
        }
        self
    }

    /// Keywords and their values.
    pub fn fields(&mut self, fields: &[(&str, &dyn WriteEdn)]) -> &mut Self {
        for (key, value) in fields {
            self.field(key, *value);
        }
        self
    }

    /// A vector of maps: `entries` fills one for each item.
    pub fn maps<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut entries: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.vector_start();
        for item in items {
            self.map(|map| entries(map, item));
        }
        self.vector_end()
    }

    /// Any value.
    pub fn value(&mut self, value: &(impl WriteEdn + ?Sized)) -> &mut Self {
        value.write_edn(self);
        self
    }

    pub fn map_start(&mut self) -> &mut Self {
        self.open(b"{")
    }

    pub fn map_end(&mut self) -> &mut Self {
        self.close(b'}')
    }

    pub fn vector_start(&mut self) -> &mut Self {
        self.open(b"[")
    }

    pub fn vector_end(&mut self) -> &mut Self {
        self.close(b']')
    }

    /// A list in a query result, a vector in a frame. So it is with the end.
    pub fn list_start(&mut self) -> &mut Self {
        if self.with_query_forms {
            self.open(b"(")
        } else {
            self.vector_start()
        }
    }

    pub fn list_end(&mut self) -> &mut Self {
        if self.with_query_forms {
            self.close(b')')
        } else {
            self.vector_end()
        }
    }

    /// A set in a query result, a vector in a frame. So it is with the end.
    pub fn set_start(&mut self) -> &mut Self {
        if self.with_query_forms {
            self.open(b"#{")
        } else {
            self.vector_start()
        }
    }

    pub fn set_end(&mut self) -> &mut Self {
        if self.with_query_forms {
            self.close(b'}')
        } else {
            self.vector_end()
        }
    }

    /// A keyword in front of its value.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.keyword(name)
    }

    /// A keyword, from its name without the colon. A name that a keyword cannot have is written as
    /// a string, so that no name can break the frame.
    pub fn keyword(&mut self, name: &str) -> &mut Self {
        if !token::is_plain_name(name) {
            return self.str(name);
        }
        self.separate();
        self.out.push(b':');
        self.out.extend_from_slice(name.as_bytes());
        self
    }

    /// A symbol in a query result, a string in a frame, or if the name is none for a symbol.
    pub fn symbol(&mut self, name: &str) -> &mut Self {
        let is_literal = matches!(name, "nil" | "true" | "false");
        if !self.with_query_forms || !token::is_plain_name(name) || is_literal {
            return self.str(name);
        }
        self.separate();
        self.out.extend_from_slice(name.as_bytes());
        self
    }

    pub fn str(&mut self, text: &str) -> &mut Self {
        self.separate();
        self.out.push(b'"');
        escape_into(self.out, text);
        self.out.push(b'"');
        self
    }

    /// A string whose content was escaped before, with [`escape_into`]. A text that grows from
    /// frame to frame is so escaped only once.
    pub fn str_escaped(&mut self, escaped: &[u8]) -> &mut Self {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(escaped);
        self.out.push(b'"');
        self
    }

    /// A string whose content is put in later. Returns where in the buffer it goes.
    pub fn str_gap(&mut self) -> usize {
        self.str_escaped(b"");
        self.out.len().saturating_sub(1)
    }

    /// A form that a writer wrote before.
    pub fn written(&mut self, form: &[u8]) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(form);
        self
    }

    pub fn int(&mut self, number: i64) -> &mut Self {
        self.separate();
        if number < 0 {
            self.out.push(b'-');
        }
        self.digits(number.unsigned_abs());
        self
    }

    pub fn uint(&mut self, number: u64) -> &mut Self {
        self.separate();
        self.digits(number);
        self
    }

    /// The shortest text that reads back as the same number; `nil` if it is not finite, for which
    /// the frontend has no notation.
    pub fn float(&mut self, number: f64) -> &mut Self {
        if !number.is_finite() {
            return self.nil();
        }
        self.separate();
        let text = format!("{number:?}");
        match text.split_once('e') {
            None => self.out.extend_from_slice(text.as_bytes()),
            // Written as Clojure does, which is the form the frontend was seen to read: 1.0E-5.
            Some((mantissa, exponent)) => {
                self.out.extend_from_slice(mantissa.as_bytes());
                if !mantissa.contains('.') {
                    self.out.extend_from_slice(b".0");
                }
                self.out.push(b'E');
                self.out.extend_from_slice(exponent.as_bytes());
            }
        }
        self
    }

    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.word(if value { "true" } else { "false" })
    }

    pub fn nil(&mut self) -> &mut Self {
        self.word("nil")
    }

    /// An integer of any size; the text must be its decimal digits.
    pub(super) fn big_int(&mut self, digits: &str) -> &mut Self {
        self.word(digits)
    }

    fn word(&mut self, word: &str) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(word.as_bytes());
        self
    }

    fn digits(&mut self, mut number: u64) {
        let start = self.out.len();
        loop {
            self.out.push(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.out.get_mut(start..).unwrap_or_default().reverse();
    }

    fn open(&mut self, bracket: &[u8]) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(bracket);
        self.needs_space = false;
        self
    }

    fn close(&mut self, bracket: u8) -> &mut Self {
        self.out.push(bracket);
        self.needs_space = true;
        self
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.needs_space, true) {
            self.out.push(b' ');
        }
    }
}

/// Appends the content of a string, without the quotes.
///
/// Control characters become escapes, which keeps the frame on one line; everything else stays
/// UTF-8, because the frontend cannot put surrogate pairs together.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| NEEDS_ESCAPE[byte as usize]) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = tail.split_first() else {
            break;
        };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'A' - 10 };
                out.extend_from_slice(&[
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    digit(byte >> 4),
                    digit(byte & 15),
                ]);
            }
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
}

const NEEDS_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[0x7f] = true;
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};
