//! What the transport looks at in a message: its id, its method and its session. The rest goes
//! through as it is.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use stentor_wire::jsonrpc::Id;

/// Methods that belong to a session by their name.
const OF_SESSION: [&str; 10] = [
    "session/cancel",
    "session/close",
    "session/delete",
    "session/fork",
    "session/load",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
    "session/set_model",
];

/// The answer to a batch.
pub(super) const BATCH: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"JSON-RPC batches are not supported"}}"#;

/// The message of a request or a response, or part of it.
#[derive(Debug, Deserialize)]
pub(super) struct MessageEnvelope<'a> {
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WithSession<'a> {
    #[serde(borrow, rename = "sessionId", default)]
    session: Option<Cow<'a, str>>,
}

impl<'a> MessageEnvelope<'a> {
    /// Reads what is needed of a message.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The session the parameters name.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        named(self.params)
    }

    /// The session that the result names.
    pub fn session_of_result(&self) -> Option<Cow<'a, str>> {
        named(self.result)
    }

    /// The id, if it is one.
    pub fn id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get).filter(|id| *id != "null")
    }
}

fn named<'a>(value: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let with: WithSession<'a> = serde_json::from_str(value?.get()).ok()?;
    with.session
}

/// A message that was posted.
pub(super) struct PostedMessage<'a> {
    text: &'a str,
    envelope: MessageEnvelope<'a>,
    /// As the agent spells it when it answers.
    id: Option<String>,
}

/// A message that is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadMessage {
    #[error("Invalid JSON")]
    NoJson,
    #[error("JSON-RPC batches are not supported")]
    Batch,
    #[error("Invalid JSON-RPC message")]
    NoMessage,
    #[error("Missing Acp-Session-Id")]
    NoSession,
    #[error("Mismatched Acp-Session-Id")]
    OtherSession,
    #[error("an id is at most {} bytes", super::limits::MAX_ID_BYTES)]
    LongId,
    #[error("an id is a string that is not empty, or a whole number")]
    NoId,
    #[error("too many requests are not answered yet")]
    TooMany,
    #[error("Unknown Acp-Connection-Id")]
    Ended,
}

impl BadMessage {
    pub fn status(self) -> StatusCode {
        match self {
            Self::Ended => StatusCode::NOT_FOUND,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl<'a> PostedMessage<'a> {
    /// Reads a body.
    pub fn read(body: &'a [u8]) -> Result<Self, BadMessage> {
        let value: &RawValue = serde_json::from_slice(body).map_err(|_| BadMessage::NoJson)?;
        let text = value.get();
        match text.bytes().next() {
            Some(b'[') => return Err(BadMessage::Batch),
            Some(b'{') => {}
            _ => return Err(BadMessage::NoMessage),
        }
        let envelope = MessageEnvelope::read(text).ok_or(BadMessage::NoMessage)?;
        let id = envelope.id().map(|id| {
            let id: Id = serde_json::from_str(id).map_err(|_| BadMessage::NoId)?;
            serde_json::to_string(&id).map_err(|_| BadMessage::NoId)
        });
        let id = id.transpose()?;
        Ok(Self { text, envelope, id })
    }

    pub fn is_initialize(&self) -> bool {
        self.envelope.method.as_deref() == Some("initialize") && self.envelope.id.is_some()
    }

    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether it answers something.
    pub fn is_response(&self) -> bool {
        self.envelope.method.is_none()
    }

    /// Whether its own answer goes to the connection although it belongs to a session.
    pub fn is_answered_on_the_connection(&self) -> bool {
        self.envelope.method.as_deref() == Some("session/load")
    }

    /// The session it belongs to, which a header must name.
    pub fn session(&self, header: Option<&str>) -> Result<Option<String>, BadMessage> {
        let named = self.envelope.session();
        let method = self.envelope.method.as_deref().unwrap_or_default();
        match (header, named) {
            (None, Some(_)) => Err(BadMessage::NoSession),
            (None, None) if OF_SESSION.contains(&method) => Err(BadMessage::NoSession),
            (None, None) => Ok(None),
            (Some(header), Some(named)) if header != named => Err(BadMessage::OtherSession),
            (Some(header), _) => Ok(Some(header.to_owned())),
        }
    }

    /// The message on one line. What it has of line ends is between its parts: in JSON's strings
    /// they are escaped.
    pub fn line(&self) -> Vec<u8> {
        let one_line = |byte| match byte {
            b'\n' | b'\r' => b' ',
            byte => byte,
        };
        let bytes = self.text.bytes().map(one_line);
        bytes.chain([b'\n']).collect()
    }
}

/// The answer to an `initialize` that failed inside.
pub(super) fn failed(id: &str, why: &str) -> Bytes {
    let id: Box<RawValue> = RawValue::from_string(id.to_owned()).unwrap_or_default();
    let error = json!({ "code": -32603, "message": "Initialize failed", "data": why });
    #[derive(serde::Serialize)]
    struct FailedAnswer {
        jsonrpc: &'static str,
        id: Box<RawValue>,
        error: serde_json::Value,
    }
    let failed = FailedAnswer {
        jsonrpc: "2.0",
        id,
        error,
    };
    serde_json::to_vec(&failed).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_session_needs_its_header() {
        let prompt =
            br#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
        let prompt = PostedMessage::read(prompt).unwrap();
        assert_eq!(prompt.session(Some("s")), Ok(Some("s".to_owned())));
        assert_eq!(prompt.session(None), Err(BadMessage::NoSession));
        assert_eq!(prompt.session(Some("t")), Err(BadMessage::OtherSession));
        let list = br#"{"jsonrpc":"2.0","id":"a","method":"session/list","params":{}}"#;
        let list = PostedMessage::read(list).unwrap();
        assert_eq!(list.session(None), Ok(None));
        assert_eq!(list.id(), Some("\"a\""));
        let cancel = br#"{"jsonrpc":"2.0","method":"session/cancel"}"#;
        let cancel = PostedMessage::read(cancel).unwrap();
        assert_eq!(cancel.session(None), Err(BadMessage::NoSession));
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        for (body, why) in [
            (&b"{"[..], BadMessage::NoJson),
            (b"", BadMessage::NoJson),
            (b"[]", BadMessage::Batch),
            (b" [{}]", BadMessage::Batch),
            (b"7", BadMessage::NoMessage),
            (br#"{"method":7}"#, BadMessage::NoMessage),
            (br#"{"id":true}"#, BadMessage::NoId),
            (br#"{"id":1.5}"#, BadMessage::NoId),
            (br#"{"id":{"a":1}}"#, BadMessage::NoId),
        ] {
            assert_eq!(PostedMessage::read(body).err(), Some(why), "{body:?}");
        }
        let escaped = PostedMessage::read(br#"{"id":"\u0061"}"#).unwrap();
        assert_eq!(escaped.id(), Some("\"a\""));
        let spread = PostedMessage::read(b"{\n\"id\":\r\n1}").unwrap();
        assert_eq!(spread.line(), b"{ \"id\":  1}\n");
    }
}
