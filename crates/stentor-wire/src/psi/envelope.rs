//! A line from a client, judged in the order of section 4 of the reference.

use std::borrow::Cow;

use super::code::ErrorCode;
use crate::edn::{self, Value};

/// The keys a request may have (section 3).
const ALLOWED: [&str; 4] = ["id", "kind", "op", "params"];

/// A request whose envelope is sound (checks 1 to 6), and whose id and operation are yet to be
/// looked at: before the handshake even a bad id is answered with `transport/not-ready`.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    pub id: Value<'a>,
    pub op: Value<'a>,
    pub params: Option<Value<'a>>,
}

/// Why a line is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub code: ErrorCode,
    pub message: String,
    /// What the error frame echoes, where the line had it as a string.
    pub id: Option<String>,
    pub op: Option<String>,
}

impl<'a> Request<'a> {
    /// Reads a line (checks 1 to 6).
    pub fn read(line: &'a str) -> Result<Self, Refused> {
        let bare = |code, message: String| Refused {
            code,
            message,
            id: None,
            op: None,
        };
        let form = edn::read_one(line).map_err(|error| {
            bare(
                ErrorCode::InvalidFrame,
                format!("unreadable frame: {error}"),
            )
        })?;
        let kind = form.kind();
        let Value::Map(map) = form else {
            let message = format!("request frame must be a map, found {kind}");
            return Err(bare(ErrorCode::InvalidEnvelope, message));
        };
        let invalid = |message: String| Refused {
            code: ErrorCode::InvalidEnvelope,
            message,
            id: map.get("id").and_then(text),
            op: map.get("op").and_then(text),
        };
        let is_request = map.get("kind").is_some_and(|kind| {
            kind.as_keyword() == Some("request") || kind.as_str() == Some("request")
        });
        if !is_request {
            return Err(invalid(
                "the :kind of a request must be :request".to_owned(),
            ));
        }
        for key in ["id", "op"] {
            if map.get(key).is_none() {
                return Err(invalid(format!("the request has no :{key}")));
            }
        }
        let stranger = map
            .iter()
            .map(|(key, _)| key)
            .find(|key| !key.as_keyword().is_some_and(|name| ALLOWED.contains(&name)));
        if let Some(stranger) = stranger {
            let name: Cow<'_, str> = match stranger.as_keyword() {
                Some(name) => format!(":{name}").into(),
                None => format!("({})", stranger.kind()).into(),
            };
            return Err(invalid(format!(
                "the request has the key {name}; only :id, :kind, :op and :params are allowed"
            )));
        }
        let mut request = Self {
            id: Value::Nil,
            op: Value::Nil,
            params: None,
        };
        for (key, value) in map {
            match key.as_keyword() {
                Some("id") => request.id = value,
                Some("op") => request.op = value,
                Some("params") => request.params = Some(value),
                _ => {}
            }
        }
        Ok(request)
    }

    /// The id and the operation, if both are strings with something in them (checks 8 and 9).
    pub fn names(&self) -> Result<(&str, &str), Refused> {
        let filled = |value: &Value<'a>| value.as_str().is_some_and(|text| !text.trim().is_empty());
        match (self.id.as_str(), self.op.as_str()) {
            (Some(id), Some(op)) if filled(&self.id) && filled(&self.op) => Ok((id, op)),
            _ if !filled(&self.id) => {
                Err(self.refused(ErrorCode::InvalidId, "the :id must be a non-empty string"))
            }
            _ => Err(self.refused(ErrorCode::InvalidOp, "the :op must be a non-empty string")),
        }
    }

    /// A refusal that echoes what the request has.
    pub fn refused(&self, code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused {
            code,
            message: message.into(),
            id: text(&self.id),
            op: text(&self.op),
        }
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}
