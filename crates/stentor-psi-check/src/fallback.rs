//! Reads only what the frontend's built-in parser
//! reads (the table in section 2.2), and refuses everything that it would misread.
//!
//! Every test of emitted frames, in whatever crate, passes them through here. It shares no code
//! with the reader and the writer, so that a mistake in those does not hide itself.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

use stentor_wire::edn::Value;

/// Reads a whole frame: one line, one map, nothing but the forms a frame may contain.
pub fn read_frame(line: &str) -> Result<Value<'static>, FrameRefusal> {
    read(line, Forms::Frame)
}

/// Reads a frame that carries a query result, where sets, lists and symbols may occur as well.
pub fn read_query_frame(line: &str) -> Result<Value<'static>, FrameRefusal> {
    read(line, Forms::Query)
}

/// Why the frontend would not understand the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRefusal {
    /// In bytes.
    pub offset: usize,
    pub reason: &'static str,
}

impl fmt::Display for FrameRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for FrameRefusal {}

#[derive(Clone, Copy, PartialEq)]
enum Forms {
    Frame,
    Query,
}

/// The parser recurses; frames are nowhere near as deep.
const MAX_DEPTH: usize = 200;

fn read(line: &str, forms: Forms) -> Result<Value<'static>, FrameRefusal> {
    if let Some(offset) = line.find(['\n', '\r']) {
        return Err(FrameRefusal {
            offset,
            reason: "more than one line",
        });
    }
    let mut parser = Parser {
        line,
        chars: line.char_indices().peekable(),
        forms,
        depth: 0,
    };
    parser.blank();
    let value = parser.form()?;
    parser.blank();
    if parser.peek().is_some() {
        return parser.refuse("more than one form");
    }
    match value {
        Value::Map(_) => Ok(value),
        _ => Err(FrameRefusal {
            offset: 0,
            reason: "a frame is a map",
        }),
    }
}

struct Parser<'a> {
    line: &'a str,
    chars: Peekable<CharIndices<'a>>,
    forms: Forms,
    depth: usize,
}

impl Parser<'_> {
    fn form(&mut self) -> Result<Value<'static>, FrameRefusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.refuse("too deep");
        }
        let value = match self.peek() {
            None => self.refuse("nothing there"),
            Some('{') => self.map(),
            Some('[') => self.items(']').map(Value::Vector),
            Some('"') => self.string().map(|text| Value::Str(text.into())),
            Some('(') if self.forms == Forms::Query => self.items(')').map(Value::List),
            Some('#') if self.forms == Forms::Query => {
                self.chars.next();
                if self.peek() != Some('{') {
                    return self.refuse("a dispatch other than a set");
                }
                self.items('}')
                    .map(|items| Value::Set(items.into_iter().collect()))
            }
            Some(_) => self.word(),
        };
        self.depth -= 1;
        value
    }

    fn map(&mut self) -> Result<Value<'static>, FrameRefusal> {
        let mut items = self.items('}')?.into_iter();
        let mut seen: Vec<Value<'static>> = Vec::new();
        let mut entries = Vec::new();
        while let Some(key) = items.next() {
            let Some(value) = items.next() else {
                return self.refuse("a key without a value");
            };
            if seen.contains(&key) {
                return self.refuse("a key that occurs twice");
            }
            seen.push(key.clone());
            entries.push((key, value));
        }
        Ok(Value::Map(entries.into_iter().collect()))
    }

    /// The forms up to the closing bracket. The opening one is at hand.
    fn items(&mut self, close: char) -> Result<Vec<Value<'static>>, FrameRefusal> {
        self.chars.next();
        let mut items = Vec::new();
        loop {
            self.blank();
            if self.peek() == Some(close) {
                self.chars.next();
                return Ok(items);
            }
            items.push(self.form()?);
        }
    }

    fn string(&mut self) -> Result<String, FrameRefusal> {
        self.chars.next();
        let mut text = String::new();
        loop {
            match self.chars.next().map(|(_, char)| char) {
                None => return self.refuse("a string without end"),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some('\u{1b}') => text.push('\u{1b}'),
                Some(char) if char.is_ascii_control() => return self.refuse("a raw control"),
                Some(char) => text.push(char),
            }
        }
    }

    fn escape(&mut self) -> Result<char, FrameRefusal> {
        match self.chars.next().map(|(_, char)| char) {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some(char @ ('"' | '\\')) => Ok(char),
            Some('u') => {
                let mut code = 0;
                for _ in 0..4 {
                    match self.chars.next().and_then(|(_, char)| char.to_digit(16)) {
                        Some(digit) => code = code * 16 + digit,
                        None => return self.refuse("an escape without four digits"),
                    }
                }
                char::from_u32(code).map_or_else(|| self.refuse("a surrogate becomes mojibake"), Ok)
            }
            _ => self.refuse("an escape that is not read"),
        }
    }

    /// A keyword, a number, or one of the three words.
    fn word(&mut self) -> Result<Value<'static>, FrameRefusal> {
        let start = self.offset();
        while self
            .peek()
            .is_some_and(|char| !" ,\t()[]{}\"".contains(char))
        {
            self.chars.next();
        }
        let word = self.line.get(start..self.offset()).unwrap_or_default();
        let refusal = |reason| {
            Err(FrameRefusal {
                offset: start,
                reason,
            })
        };
        match word {
            "" => refusal("a bracket that closes nothing, or a form that is not allowed"),
            "nil" => Ok(Value::Nil),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ if word.starts_with(':') => match word.strip_prefix(':') {
                Some(name) if is_name(name) => Ok(Value::Keyword(name.to_owned().into())),
                _ => refusal("a name that is not read back as it was"),
            },
            _ if word.starts_with(|first: char| first.is_ascii_digit())
                || (word.len() > 1 && word.starts_with('-') && !is_name(word)) =>
            {
                number(word).map_or_else(|| refusal("a number that becomes a symbol"), Ok)
            }
            _ if self.forms == Forms::Query && is_name(word) => {
                Ok(Value::Symbol(word.to_owned().into()))
            }
            _ => refusal("a form that is not allowed"),
        }
    }

    fn blank(&mut self) {
        while self
            .peek()
            .is_some_and(|char| matches!(char, ' ' | ',' | '\t'))
        {
            self.chars.next();
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, char)| *char)
    }

    fn offset(&mut self) -> usize {
        self.chars
            .peek()
            .map_or(self.line.len(), |(offset, _)| *offset)
    }

    fn refuse<T>(&mut self, reason: &'static str) -> Result<T, FrameRefusal> {
        Err(FrameRefusal {
            offset: self.offset(),
            reason,
        })
    }
}

/// `name` or `ns/name`, of the characters that both Lisp and EDN have in names.
fn is_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_part = |part: &&str| {
        let unsigned = part.strip_prefix(['-', '+']).unwrap_or(part);
        !unsigned.starts_with(|c: char| c.is_ascii_digit())
            && part.starts_with(|c| c != '?' && c != '.')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "*+!-_?$%&=<>.".contains(c))
    };
    parts.len() <= 2 && parts.iter().all(is_part)
}

/// Digits, a fraction, an exponent: what is a number both in Lisp and in EDN.
fn number(word: &str) -> Option<Value<'static>> {
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    if is_digits(unsigned) {
        let integer = word.parse().map(Value::Int);
        return Some(integer.unwrap_or_else(|_| Value::BigInt(word.to_owned().into())));
    }
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let valid = is_digits(whole) && is_digits(fraction) && is_digits(exponent);
    valid.then(|| word.parse().ok().map(Value::Float)).flatten()
}
