//! A form in memory.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use super::collections::{Map, Set};
use super::token;

/// One EDN form, borrowing from the text it was read from where it can.
///
/// Equality is EDN's: the order of maps and sets does not count, `1` is not `1.0`, and NaN is not
/// itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Nil,
    Bool(bool),
    /// Every integer that fits, also one written with `N`.
    Int(i64),
    /// An integer beyond 64 bit: its decimal digits, without `+` and `N`.
    BigInt(Cow<'a, str>),
    Float(f64),
    /// An exact decimal as it was written, without `+` and `M`.
    BigDec(Cow<'a, str>),
    /// As it was written; not reduced.
    Ratio(Cow<'a, str>),
    Char(char),
    Str(Cow<'a, str>),
    /// Without the colon: `ns/name` or `name`.
    Keyword(Cow<'a, str>),
    Symbol(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Vector(Vec<Value<'a>>),
    Map(Map<'a>),
    Set(Set<'a>),
    /// The text of a valid `#inst`.
    Inst(Cow<'a, str>),
    /// The text of a valid `#uuid`.
    Uuid(Cow<'a, str>),
    /// Any other tag, if the reader was told to keep them.
    Tagged(Box<Tagged<'a>>),
}

/// A tagged form whose tag means nothing to us.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged<'a> {
    /// Without the `#`.
    pub tag: Cow<'a, str>,
    pub value: Value<'a>,
}

impl<'a> Value<'a> {
    /// A keyword, from its name without the colon.
    pub fn keyword(name: impl Into<Cow<'a, str>>) -> Self {
        Value::Keyword(name.into())
    }

    /// A map with keyword keys.
    pub fn map<K: Into<Cow<'a, str>>>(entries: impl IntoIterator<Item = (K, Value<'a>)>) -> Self {
        Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| (Value::keyword(key), value))
                .collect(),
        )
    }

    /// A vector of anything that can be a value.
    pub fn vector<T: Into<Value<'a>>>(items: impl IntoIterator<Item = T>) -> Self {
        Value::Vector(items.into_iter().map(Into::into).collect())
    }

    /// What a map has under a keyword; `None` for everything that is not a map.
    pub fn get(&self, keyword: &str) -> Option<&Value<'a>> {
        self.as_map()?.get(keyword)
    }

    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Everything but `nil` and `false`, as in Clojure. The frontend cannot send `false`.
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The name of a keyword, without the colon.
    pub fn as_keyword(&self) -> Option<&str> {
        match self {
            Value::Keyword(name) => Some(name),
            _ => None,
        }
    }

    pub fn as_symbol(&self) -> Option<&str> {
        match self {
            Value::Symbol(name) => Some(name),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Any number that is an integer or a float, as a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_map(&self) -> Option<&Map<'a>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a vector or of a list.
    pub fn as_items(&self) -> Option<&[Value<'a>]> {
        match self {
            Value::Vector(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// What the form is, in words, for messages such as "expected a map, found a vector".
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::BigInt(_) => "an integer",
            Value::Float(_) | Value::BigDec(_) | Value::Ratio(_) => "a number",
            Value::Char(_) => "a character",
            Value::Str(_) => "a string",
            Value::Keyword(_) => "a keyword",
            Value::Symbol(_) => "a symbol",
            Value::List(_) => "a list",
            Value::Vector(_) => "a vector",
            Value::Map(_) => "a map",
            Value::Set(_) => "a set",
            Value::Inst(_) => "an instant",
            Value::Uuid(_) => "a uuid",
            Value::Tagged(_) => "a tagged form",
        }
    }

    /// Whether the writer writes the form as it is, rather than as the nearest thing a frame may
    /// contain (section 2.2).
    pub fn is_plain(&self) -> bool {
        match self {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Str(_) => true,
            Value::Float(number) => number.is_finite(),
            Value::Keyword(name) => token::is_plain_name(name),
            Value::Vector(items) => items.iter().all(Value::is_plain),
            Value::Map(map) => map
                .iter()
                .all(|(key, value)| key.is_plain() && value.is_plain()),
            Value::BigDec(_)
            | Value::Ratio(_)
            | Value::Char(_)
            | Value::Symbol(_)
            | Value::List(_)
            | Value::Set(_)
            | Value::Inst(_)
            | Value::Uuid(_)
            | Value::Tagged(_) => false,
        }
    }

    /// A copy that borrows from nothing.
    pub fn into_owned(self) -> Value<'static> {
        let all = |items: Vec<Value<'a>>| items.into_iter().map(Value::into_owned).collect();
        match self {
            Value::Nil => Value::Nil,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(number) => Value::Int(number),
            Value::BigInt(text) => Value::BigInt(owned(text)),
            Value::Float(number) => Value::Float(number),
            Value::BigDec(text) => Value::BigDec(owned(text)),
            Value::Ratio(text) => Value::Ratio(owned(text)),
            Value::Char(char) => Value::Char(char),
            Value::Str(text) => Value::Str(owned(text)),
            Value::Keyword(name) => Value::Keyword(owned(name)),
            Value::Symbol(name) => Value::Symbol(owned(name)),
            Value::List(items) => Value::List(all(items)),
            Value::Vector(items) => Value::Vector(all(items)),
            Value::Map(map) => Value::Map(
                map.into_iter()
                    .map(|(key, value)| (key.into_owned(), value.into_owned()))
                    .collect(),
            ),
            Value::Set(set) => Value::Set(set.into_iter().map(Value::into_owned).collect()),
            Value::Inst(text) => Value::Inst(owned(text)),
            Value::Uuid(text) => Value::Uuid(owned(text)),
            Value::Tagged(tagged) => Value::Tagged(Box::new(Tagged {
                tag: owned(tagged.tag),
                value: tagged.value.into_owned(),
            })),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// Agrees with equality: equal forms have equal hashes.
impl Hash for Value<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Value::Nil => {}
            Value::Bool(value) => value.hash(state),
            Value::Int(number) => number.hash(state),
            // Both zeros are equal, so they share a hash.
            Value::Float(number) => (number + 0.0).to_bits().hash(state),
            Value::Char(char) => char.hash(state),
            Value::BigInt(text)
            | Value::BigDec(text)
            | Value::Ratio(text)
            | Value::Str(text)
            | Value::Keyword(text)
            | Value::Symbol(text)
            | Value::Inst(text)
            | Value::Uuid(text) => text.hash(state),
            Value::List(items) | Value::Vector(items) => items.hash(state),
            Value::Map(map) => map.hash(state),
            Value::Set(set) => set.hash(state),
            Value::Tagged(tagged) => {
                tagged.tag.hash(state);
                tagged.value.hash(state);
            }
        }
    }
}

macro_rules! value_from {
    ($($from:ty => |$it:ident| $to:expr;)*) => {
        $(impl<'a> From<$from> for Value<'a> {
            fn from($it: $from) -> Self {
                $to
            }
        })*
    };
}

value_from! {
    bool => |value| Value::Bool(value);
    i64 => |number| Value::Int(number);
    i32 => |number| Value::Int(number.into());
    u32 => |number| Value::Int(number.into());
    u64 => |number| i64::try_from(number)
        .map_or_else(|_| Value::BigInt(number.to_string().into()), Value::Int);
    usize => |number| Value::from(number as u64);
    f64 => |number| Value::Float(number);
    &'a str => |text| Value::Str(Cow::Borrowed(text));
    String => |text| Value::Str(Cow::Owned(text));
    Cow<'a, str> => |text| Value::Str(text);
    Map<'a> => |map| Value::Map(map);
    Vec<Value<'a>> => |items| Value::Vector(items);
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Nil, Into::into)
    }
}
