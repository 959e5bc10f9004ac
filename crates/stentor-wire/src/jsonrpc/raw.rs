//! A piece of JSON that is passed on unread.

use std::borrow::Cow;
use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The text of exactly one JSON value, borrowed from the line it came in.
///
/// The envelope is read without building a tree of the payload; a handler deserialises it straight
/// into its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'a>(&'a str);

impl<'a> RawJson<'a> {
    /// `{}`, which stands for parameters that were left out.
    pub const EMPTY_OBJECT: RawJson<'static> = RawJson("{}");

    /// The JSON text.
    pub fn get(self) -> &'a str {
        self.0
    }

    /// Reads the value into `T`, which may borrow from the line.
    pub fn parse<T: Deserialize<'a>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }

    /// Whether the value is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    pub(super) fn is_string(self) -> bool {
        self.0.starts_with('"')
    }

    /// The string, if the value is one. A string with half a surrogate pair is not.
    pub(super) fn string(self) -> Option<Cow<'a, str>> {
        self.is_string()
            .then(|| self.parse::<BorrowedText<'a>>().ok())
            .flatten()
            .map(|text| text.0)
    }
}

impl<'a> From<&'a RawValue> for RawJson<'a> {
    fn from(raw: &'a RawValue) -> Self {
        RawJson(raw.get())
    }
}

/// The error of a `response_error`, read leniently: whatever is missing or odd becomes a default,
/// because a peer that reports an error badly has still reported an error.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorObject {
    /// The code; 0 if there was none.
    pub code: i64,
    /// The message; empty if there was none.
    pub message: String,
    /// Whatever came with it.
    pub data: Option<serde_json::Value>,
}

impl From<RawJson<'_>> for ErrorObject {
    fn from(raw: RawJson<'_>) -> Self {
        let mut error: serde_json::Value = raw.parse().unwrap_or_default();
        let mut member = |name| error.get_mut(name).map(serde_json::Value::take);
        let code = member("code")
            .and_then(|code| code.as_i64())
            .unwrap_or_default();
        let message = match member("message") {
            Some(serde_json::Value::String(message)) => message,
            _ => String::new(),
        };
        Self {
            code,
            message,
            data: member("data"),
        }
    }
}

/// serde's own `Cow<str>` always copies; this one borrows unless there are escapes.
struct BorrowedText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(TextVisitor).map(BorrowedText)
    }
}
