//! The parameters of a request.

use stentor_wire::edn::{Map, Value};

use super::error::OpError;

/// The parameters; none at all is the same as an empty map.
#[derive(Clone, Copy)]
pub(super) struct Params<'a> {
    map: Option<&'a Map<'a>>,
}

impl<'a> Params<'a> {
    /// Checks that they are a map (check 13).
    pub fn read(params: Option<&'a Value<'a>>) -> Result<Self, OpError> {
        match params {
            None | Some(Value::Nil) => Ok(Self { map: None }),
            Some(Value::Map(map)) => Ok(Self { map: Some(map) }),
            Some(other) => Err(OpError::params(format!(
                ":params must be a map, found {}",
                other.kind()
            ))),
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
        match self.get(key) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            Some(other) => Err(OpError::params(format!(
                ":{key} must be a string, found {}",
                other.kind()
            ))),
        }
    }

    /// A string with something in it.
    pub fn filled(self, key: &str) -> Result<&'a str, OpError> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(OpError::params(format!(":{key} must not be blank"))),
            None => Err(OpError::params(format!(":{key} is missing"))),
        }
    }

    /// A string or a keyword, if there is one.
    pub fn word(self, key: &str) -> Result<Option<&'a str>, OpError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => word_of(value).map(Some).ok_or_else(|| {
                OpError::params(format!(
                    ":{key} must be a string or a keyword, found {}",
                    value.kind()
                ))
            }),
        }
    }

    /// A boolean that must be there.
    pub fn flag(self, key: &str) -> Result<bool, OpError> {
        match self.given(key) {
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(OpError::params(format!(
                ":{key} must be true or false, found {}",
                other.kind()
            ))),
            None => Err(OpError::params(format!(":{key} is missing"))),
        }
    }

    /// The items of a vector or list, if there is one.
    pub fn items(self, key: &str) -> Result<Option<&'a [Value<'a>]>, OpError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => value.as_items().map(Some).ok_or_else(|| {
                OpError::params(format!(":{key} must be a vector, found {}", value.kind()))
            }),
        }
    }
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
