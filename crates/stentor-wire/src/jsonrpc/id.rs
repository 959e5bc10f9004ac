//! Request ids, kept exactly as the client wrote them.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::raw::RawJson;

/// A usable id (section 1.2): an integer of any size, or a string that is not blank.
///
/// Unusable ids cannot be built, so a request without a usable id cannot be sent either.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// An integer whose decimal text is that of the `i64`.
    Number(i64),
    /// The text of any other integer: beyond 64 bit, or `-0`.
    BigNumber(Box<str>),
    Text(Box<str>),
}

impl Id {
    /// A string id; `None` if it is blank.
    pub fn text(text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Id(Repr::Text(text.into())))
    }

    /// The integer, if it is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::BigNumber(_) | Repr::Text(_) => None,
        }
    }

    /// The id in a JSON value, if it is usable.
    pub(super) fn from_raw(raw: RawJson<'_>) -> Option<Self> {
        let text = raw.get();
        if raw.is_string() {
            return Id::text(&raw.string()?);
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(match text.parse::<i64>() {
            Ok(number) if text != "-0" => Id(Repr::Number(number)),
            _ => Id(Repr::BigNumber(text.into())),
        })
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Id(Repr::Number(number))
    }
}

/// The id as JSON, for logs.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => write!(f, "{number}"),
            Repr::BigNumber(text) => f.write_str(text),
            Repr::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Number(number) => serializer.serialize_i64(*number),
            // The text was checked to be a JSON integer when the id was made.
            Repr::BigNumber(text) => serde_json::from_str::<&RawValue>(text)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            Repr::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Id::from_raw(RawJson::from(raw.as_ref()))
            .ok_or_else(|| D::Error::custom("expected an integer or a string that is not blank"))
    }
}
