//! Text to forms.
//!
//! The reader does not recurse: open collections, tags and discards are frames on a stack of its
//! own, finished forms wait on a second one until their collection closes. Depth is therefore
//! limited by a number and not by the thread's stack.

use std::borrow::Cow;

use super::collections::{Map, Set};
use super::error::{ReadError, ReadErrorKind};
use super::value::{Tagged, Value};
use super::{tag, token};

/// Reads exactly one form. Whitespace, comments and discarded forms around it are fine.
pub fn read_one(text: &str) -> Result<Value<'_>, ReadError> {
    let mut reader = Reader::new(text);
    let Some(value) = reader.read_next()? else {
        return Err(reader.error(0, ReadErrorKind::Empty));
    };
    reader.expect_end()?;
    Ok(value)
}

/// The default limit of nesting, tags and discards included.
pub const MAX_DEPTH: usize = 256;

/// Reads the forms of a text one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    max_depth: usize,
    keep_tags: bool,
    open: Vec<OpenForm<'a>>,
    /// Finished forms of the open collections, innermost last.
    done: Vec<Value<'a>>,
    /// How many of `open` are discards.
    discards: usize,
}

#[derive(Debug)]
struct OpenForm<'a> {
    kind: OpenFormKind<'a>,
    /// Where it starts in the text.
    offset: usize,
    /// Where its forms start in `done`.
    first: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum OpenFormKind<'a> {
    List,
    Vector,
    Set,
    Map { namespace: Option<&'a str> },
    Tag(&'a str),
    Discard,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            max_depth: MAX_DEPTH,
            keep_tags: false,
            open: Vec::new(),
            done: Vec::new(),
            discards: 0,
        }
    }

    /// Keeps unknown tags as [`Value::Tagged`]; otherwise they are errors.
    pub fn keep_tags(mut self) -> Self {
        self.keep_tags = true;
        self
    }

    /// Replaces [`MAX_DEPTH`].
    pub fn max_depth(mut self, max_depth: usize) -> Self {
        self.max_depth = max_depth;
        self
    }

    /// Where the reader stands, in bytes: behind the last form.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The next form, or `None` at the end of the text. After an error the reader is of no use.
    pub fn read_next(&mut self) -> Result<Option<Value<'a>>, ReadError> {
        loop {
            self.skip_blank();
            let Some(byte) = self.peek() else {
                return match self.open.last() {
                    None => Ok(None),
                    Some(open) => Err(self.error(open.offset, unfinished(open.kind))),
                };
            };
            let value = match byte {
                b'(' => self.open_after(1, OpenFormKind::List)?,
                b'[' => self.open_after(1, OpenFormKind::Vector)?,
                b'{' => self.open_after(1, OpenFormKind::Map { namespace: None })?,
                b')' | b']' | b'}' => Some(self.close(byte)?),
                b'"' => Some(Value::Str(self.string()?)),
                b'\\' => Some(self.character()?),
                b':' => Some(self.keyword()?),
                b'#' => self.dispatch()?,
                _ => Some(self.number_or_symbol()?),
            };
            if let Some(value) = value
                && let Some(value) = self.complete(value)?
            {
                return Ok(Some(value));
            }
        }
    }

    fn expect_end(&mut self) -> Result<(), ReadError> {
        self.skip_blank();
        let start = self.at;
        match self.read_next()? {
            None => Ok(()),
            Some(_) => Err(self.error(start, ReadErrorKind::SecondForm)),
        }
    }

    /// Hands a finished form to whatever is open around it; gives it back if nothing is.
    fn complete(&mut self, mut value: Value<'a>) -> Result<Option<Value<'a>>, ReadError> {
        loop {
            match self.open.last().map(|open| (open.kind, open.offset)) {
                None => return Ok(Some(value)),
                Some((OpenFormKind::Discard, _)) => {
                    self.open.pop();
                    self.discards -= 1;
                    return Ok(None);
                }
                Some((OpenFormKind::Tag(tag), offset)) => {
                    self.open.pop();
                    value = self.tagged(tag, offset, value)?;
                }
                Some((
                    OpenFormKind::Map {
                        namespace: Some(namespace),
                    },
                    _,
                )) if self.at_key() => {
                    self.done.push(qualify(namespace, value));
                    return Ok(None);
                }
                Some(_) => {
                    self.done.push(value);
                    return Ok(None);
                }
            }
        }
    }

    fn at_key(&self) -> bool {
        let first = self.open.last().map_or(0, |open| open.first);
        (self.done.len() - first).is_multiple_of(2)
    }

    fn tagged(
        &self,
        tag: &'a str,
        offset: usize,
        value: Value<'a>,
    ) -> Result<Value<'a>, ReadError> {
        // What is thrown away need not be understood, only be told apart from its neighbours.
        let keep = self.keep_tags || self.discards > 0;
        match (tag, value) {
            ("inst", Value::Str(text)) if tag::is_inst(&text) => Ok(Value::Inst(text)),
            ("uuid", Value::Str(text)) if tag::is_uuid(&text) => Ok(Value::Uuid(text)),
            ("inst", _) if self.discards == 0 => {
                Err(self.error(offset, ReadErrorKind::InvalidInst))
            }
            ("uuid", _) if self.discards == 0 => {
                Err(self.error(offset, ReadErrorKind::InvalidUuid))
            }
            (_, value) if keep => Ok(Value::Tagged(Box::new(Tagged {
                tag: Cow::Borrowed(tag),
                value,
            }))),
            _ => Err(self.error(offset, ReadErrorKind::UnknownTag)),
        }
    }

    /// Opens something whose first `len` bytes are at hand. Gives no value yet.
    fn open_after(
        &mut self,
        len: usize,
        kind: OpenFormKind<'a>,
    ) -> Result<Option<Value<'a>>, ReadError> {
        let offset = self.at;
        if self.open.len() >= self.max_depth {
            return Err(self.error(offset, ReadErrorKind::TooDeep(self.max_depth)));
        }
        self.at += len;
        self.discards += usize::from(kind == OpenFormKind::Discard);
        self.open.push(OpenForm {
            kind,
            offset,
            first: self.done.len(),
        });
        Ok(None)
    }

    fn close(&mut self, bracket: u8) -> Result<Value<'a>, ReadError> {
        let here = self.at;
        let unexpected = ReadErrorKind::UnexpectedClose(char::from(bracket));
        let Some(open) = self.open.pop() else {
            return Err(self.error(here, unexpected));
        };
        self.at += 1;
        match (open.kind, bracket) {
            (OpenFormKind::List, b')') => Ok(Value::List(self.done.drain(open.first..).collect())),
            (OpenFormKind::Vector, b']') => {
                Ok(Value::Vector(self.done.drain(open.first..).collect()))
            }
            (OpenFormKind::Set, b'}') => {
                let set: Set<'a> = self.done.drain(open.first..).collect();
                if set.has_duplicate() {
                    return Err(self.error(open.offset, ReadErrorKind::DuplicateElement));
                }
                Ok(Value::Set(set))
            }
            (OpenFormKind::Map { .. }, b'}') => self.close_map(&open),
            (OpenFormKind::Tag(_) | OpenFormKind::Discard, _) => {
                Err(self.error(open.offset, unfinished(open.kind)))
            }
            _ => Err(self.error(here, unexpected)),
        }
    }

    fn close_map(&mut self, open: &OpenForm<'a>) -> Result<Value<'a>, ReadError> {
        let forms = self.done.len() - open.first;
        if !forms.is_multiple_of(2) {
            return Err(self.error(open.offset, ReadErrorKind::OddMap));
        }
        let mut forms = self.done.drain(open.first..);
        let map: Map<'a> = std::iter::from_fn(|| forms.next().zip(forms.next())).collect();
        drop(forms);
        if map.has_duplicate_key() {
            return Err(self.error(open.offset, ReadErrorKind::DuplicateKey));
        }
        Ok(Value::Map(map))
    }

    fn dispatch(&mut self) -> Result<Option<Value<'a>>, ReadError> {
        let start = self.at;
        match self.text.as_bytes().get(start + 1) {
            Some(b'{') => self.open_after(2, OpenFormKind::Set),
            Some(b'_') => self.open_after(2, OpenFormKind::Discard),
            Some(b'#') => self.symbolic().map(Some),
            Some(b':') => self.namespaced_map(),
            Some(first) if first.is_ascii_alphabetic() => {
                let tag = self.token_from(start + 1);
                if !token::is_symbol(tag) {
                    return Err(self.error(start, ReadErrorKind::InvalidSymbol));
                }
                self.open_after(1 + tag.len(), OpenFormKind::Tag(tag))
            }
            _ => Err(self.error(start, ReadErrorKind::InvalidDispatch)),
        }
    }

    fn symbolic(&mut self) -> Result<Value<'a>, ReadError> {
        let start = self.at;
        let name = self.token_from(start + 2);
        self.at = start + 2 + name.len();
        match name {
            "NaN" => Ok(Value::Float(f64::NAN)),
            "Inf" => Ok(Value::Float(f64::INFINITY)),
            "-Inf" => Ok(Value::Float(f64::NEG_INFINITY)),
            _ => Err(self.error(start, ReadErrorKind::InvalidDispatch)),
        }
    }

    /// `#:ns{…}`: the namespace goes to every key that has none.
    fn namespaced_map(&mut self) -> Result<Option<Value<'a>>, ReadError> {
        let start = self.at;
        let namespace = self.token_from(start + 2);
        if !token::is_symbol_part(namespace) {
            return Err(self.error(start, ReadErrorKind::InvalidKeyword));
        }
        self.at = start + 2 + namespace.len();
        self.skip_blank();
        if self.peek() != Some(b'{') {
            return Err(self.error(start, ReadErrorKind::InvalidDispatch));
        }
        self.open_after(
            1,
            OpenFormKind::Map {
                namespace: Some(namespace),
            },
        )
    }

    fn keyword(&mut self) -> Result<Value<'a>, ReadError> {
        let start = self.at;
        let name = self.token_from(start + 1);
        self.at += 1 + name.len();
        if !token::is_keyword(name) {
            return Err(self.error(start, ReadErrorKind::InvalidKeyword));
        }
        Ok(Value::Keyword(Cow::Borrowed(name)))
    }

    fn number_or_symbol(&mut self) -> Result<Value<'a>, ReadError> {
        let start = self.at;
        let token = self.token_from(start);
        self.at += token.len();
        match token {
            "nil" => Ok(Value::Nil),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ if token::looks_like_number(token) => {
                token::number(token).ok_or(self.error(start, ReadErrorKind::InvalidNumber))
            }
            _ if token::is_symbol(token) => Ok(Value::Symbol(Cow::Borrowed(token))),
            _ => Err(self.error(start, ReadErrorKind::InvalidSymbol)),
        }
    }

    fn character(&mut self) -> Result<Value<'a>, ReadError> {
        let start = self.at;
        // The first character may be a delimiter: `\(` is a character.
        let rest = self.text.get(start + 1..).unwrap_or_default();
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let name_len = first + self.token_from(start + 1 + first).len();
        self.at = start + 1 + name_len;
        rest.get(..name_len)
            .and_then(token::character)
            .map(Value::Char)
            .ok_or(self.error(start, ReadErrorKind::InvalidCharacter))
    }

    /// Whitespace, commas and comments.
    fn skip_blank(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b';' => {
                    let rest = bytes.get(self.at..).unwrap_or_default();
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ if token::is_whitespace(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Everything from `start` to the next delimiter.
    fn token_from(&self, start: usize) -> &'a str {
        let rest = self.text.get(start..).unwrap_or_default();
        let end = rest
            .bytes()
            .position(token::is_delimiter)
            .unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    pub(super) fn error(&self, offset: usize, kind: ReadErrorKind) -> ReadError {
        ReadError { offset, kind }
    }
}

fn unfinished(kind: OpenFormKind<'_>) -> ReadErrorKind {
    match kind {
        OpenFormKind::Tag(_) => ReadErrorKind::Dangling("a tag"),
        OpenFormKind::Discard => ReadErrorKind::Dangling("#_"),
        OpenFormKind::List => ReadErrorKind::Unclosed("list"),
        OpenFormKind::Vector => ReadErrorKind::Unclosed("vector"),
        OpenFormKind::Set => ReadErrorKind::Unclosed("set"),
        OpenFormKind::Map { .. } => ReadErrorKind::Unclosed("map"),
    }
}

/// The key of a namespaced map in full. `_` as a namespace means none.
fn qualify<'a>(namespace: &str, key: Value<'a>) -> Value<'a> {
    let full = |name: Cow<'a, str>| match name.split_once('/') {
        Some(("_", local)) => Cow::Owned(local.to_owned()),
        Some(_) => name,
        None => Cow::Owned(format!("{namespace}/{name}")),
    };
    match key {
        Value::Keyword(name) => Value::Keyword(full(name)),
        Value::Symbol(name) => Value::Symbol(full(name)),
        key => key,
    }
}
