//! The parameters of a request.

use stentor_wire::edn::{Map, Value};

use super::error::OpError;

/// The parameters; none at all is the same as an empty map.
#[derive(Clone, Copy)]
pub(super) struct OpParams<'a> {
    map: Option<&'a Map<'a>>,
}

impl<'a> OpParams<'a> {
    /// Checks that they are a map (check 13).
    pub fn read(params: Option<&'a Value<'a>>) -> Result<Self, OpError> {
        match params {
            None | Some(Value::Nil) => Ok(Self { map: None }),
            Some(Value::Map(map)) => Ok(Self { map: Some(map) }),
            Some(other) => Err(wrong("params", "a map", other)),
        }
    }

    /// The session that is named (check 14).
    pub fn session_id(self) -> Result<Option<&'a str>, OpError> {
        match self.get("session-id") {
            None => Ok(None),
            Some(Value::Str(id)) if !id.trim().is_empty() => Ok(Some(id)),
            Some(_) => Err(OpError::params(":session-id must be a non-blank string")),
        }
    }

    /// The value under a key, `nil` included.
    pub fn given(self, key: &str) -> Option<&'a Value<'a>> {
        self.map?.get(key)
    }

    /// The value under a key; `nil` is none.
    pub fn get(self, key: &str) -> Option<&'a Value<'a>> {
        self.given(key).filter(|value| !value.is_nil())
    }

    /// A string, if there is one.
    pub fn text(self, key: &str) -> Result<Option<&'a str>, OpError> {
        self.read_as(key, "a string", Value::as_str)
    }

    /// A string with something in it.
    pub fn filled(self, key: &str) -> Result<&'a str, OpError> {
        let text = self.text(key)?.ok_or_else(|| missing(key))?;
        match text.trim().is_empty() {
            true => Err(OpError::params(format!(":{key} must not be blank"))),
            false => Ok(text),
        }
    }

    /// A string or a keyword, if there is one.
    pub fn word(self, key: &str) -> Result<Option<&'a str>, OpError> {
        self.read_as(key, "a string or a keyword", word_of)
    }

    /// A boolean that must be there.
    pub fn flag(self, key: &str) -> Result<bool, OpError> {
        let given = self.given(key).ok_or_else(|| missing(key))?;
        let flag = given.as_bool();
        flag.ok_or_else(|| wrong(key, "true or false", given))
    }

    /// The items of a vector or list, if there is one.
    pub fn items(self, key: &str) -> Result<Option<&'a [Value<'a>]>, OpError> {
        self.read_as(key, "a vector", Value::as_items)
    }

    fn read_as<T: ?Sized>(
        self,
        key: &str,
        wanted: &str,
        read: fn(&'a Value<'a>) -> Option<&'a T>,
    ) -> Result<Option<&'a T>, OpError> {
        let value = self.get(key);
        let read = value.map(|value| read(value).ok_or_else(|| wrong(key, wanted, value)));
        read.transpose()
    }
}

/// Something else was given than must be.
pub(super) fn wrong(key: &str, wanted: &str, found: &Value<'_>) -> OpError {
    OpError::params(format!(":{key} must be {wanted}, found {}", found.kind()))
}

/// Nothing was given that must be.
pub(super) fn missing(key: &str) -> OpError {
    OpError::params(format!(":{key} is missing"))
}

/// The text of a string or the name of a keyword: clients write either (section 18.4).
pub(super) fn word_of<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_str().or_else(|| value.as_keyword())
}

/// What a map has under a keyword or the string of the same name.
pub(super) fn either<'v, 'a>(value: &'v Value<'a>, key: &str) -> Option<&'v Value<'a>> {
    let map = value.as_map()?;
    let found = map.get(key).or_else(|| map.get_str(key));
    found.filter(|value| !value.is_nil())
}
