//! One line in, one tagged value out (sections 1.2 to 1.4).

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::raw::RawJson;
use super::{Id, code};

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// To be answered exactly once, with the same id.
    Request {
        id: Id,
        method: Cow<'a, str>,
        params: RawJson<'a>,
    },
    /// Never to be answered.
    Notification {
        method: Cow<'a, str>,
        params: RawJson<'a>,
    },
    /// The answer to a request of ours.
    Response { id: Id, result: RawJson<'a> },
    /// The refusal of a request of ours. See [`ErrorObject`](super::ErrorObject) for reading it.
    ResponseError { id: Id, error: RawJson<'a> },
    /// Answer with this error and go on.
    Error(Fault),
    /// Nothing to do.
    Ignore { id: Option<Id> },
}

/// A line that is not JSON-RPC, with the error to answer.
///
/// It says nothing of the line itself: that may be huge or secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Present when the line carried a usable id, so that a client that waits for it does not wait
    /// for ever.
    pub id: Option<Id>,
    /// One of [`code`].
    pub code: i64,
    /// The message that belongs to the code.
    pub message: &'static str,
    /// What is wrong, for a person.
    pub reason: &'static str,
}

impl Fault {
    /// Not JSON, or not UTF-8.
    pub fn parse(reason: &'static str) -> Self {
        Self::new(None, code::PARSE_ERROR, reason)
    }

    /// JSON, but not a request; also a line over the size limit (section 1.10).
    pub fn invalid_request(id: Option<Id>, reason: &'static str) -> Self {
        Self::new(id, code::INVALID_REQUEST, reason)
    }

    fn new(id: Option<Id>, code: i64, reason: &'static str) -> Self {
        Self {
            id,
            code,
            message: code::message(code),
            reason,
        }
    }
}

/// Deeper nesting is a parse error. It is the limit that serde_json sets when a value is read;
/// skipping over a value, as `decode` does with the payload, sets none, and the handler would then
/// blame the parameters.
pub const MAX_DEPTH: usize = 127;

/// Classifies one line. Never fails: what is wrong with the line is one of the outcomes.
///
/// A blank line is a parse error here; the server skips such lines before (section 1.1).
pub fn decode(line: &str) -> Incoming<'_> {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    if is_too_deep(line) {
        return Incoming::Error(Fault::parse(TOO_DEEP));
    }
    if !line.trim_start_matches(JSON_WHITESPACE).starts_with('{') {
        return Incoming::Error(match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => Fault::invalid_request(None, NO_OBJECT),
            Err(_) => Fault::parse(NO_JSON),
        });
    }
    match serde_json::from_str::<Envelope<'_>>(line) {
        Ok(envelope) => envelope.classify(),
        Err(_) => Incoming::Error(Fault::parse(NO_JSON)),
    }
}

const NO_JSON: &str = "A line must be one JSON object.";
const TOO_DEEP: &str = "The line is nested more than 127 levels deep.";
const NO_OBJECT: &str = "A line must be one JSON object; there are no batches.";
const NOT_2_0: &str = "The member jsonrpc must be the text 2.0.";
const NO_PARAMS: &str = "The member params must be an object.";

const JSON_WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The members of an envelope, unread. Of members that occur twice the last one counts.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<RawJson<'a>>,
    id: Option<RawJson<'a>>,
    method: Option<RawJson<'a>>,
    params: Option<RawJson<'a>>,
    result: Option<RawJson<'a>>,
    error: Option<RawJson<'a>>,
}

impl<'a> Envelope<'a> {
    /// Rules 3 to 9 of section 1.3, in their order.
    fn classify(self) -> Incoming<'a> {
        // A parser that reads every string would have stopped at half a surrogate pair.
        let is_broken = |member: &RawJson<'_>| member.is_string() && member.string().is_none();
        if [self.jsonrpc, self.id, self.method]
            .iter()
            .flatten()
            .any(is_broken)
        {
            return Incoming::Error(Fault::parse(NO_JSON));
        }
        if self.jsonrpc.and_then(RawJson::string).as_deref() != Some("2.0") {
            return Incoming::Error(Fault::invalid_request(None, NOT_2_0));
        }
        let id = self.id.and_then(Id::from_raw);
        if let Some(method) = self.method.and_then(RawJson::string) {
            let params = self.params.unwrap_or(RawJson::EMPTY_OBJECT);
            return match id {
                id if !params.is_object() => Incoming::Error(Fault::invalid_request(id, NO_PARAMS)),
                Some(id) => Incoming::Request { id, method, params },
                None => Incoming::Notification { method, params },
            };
        }
        let has_no_method = self.method.is_none_or(RawJson::is_null);
        match (id, self.error, self.result) {
            (Some(id), Some(error), _) if has_no_method => Incoming::ResponseError { id, error },
            (Some(id), None, Some(result)) if has_no_method => Incoming::Response { id, result },
            (id, _, _) => Incoming::Ignore { id },
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(name) = members.next_key::<Member>()? {
            let value = Some(RawJson::from(members.next_value::<&'de RawValue>()?));
            match name {
                Member::Jsonrpc => envelope.jsonrpc = value,
                Member::Id => envelope.id = value,
                Member::Method => envelope.method = value,
                Member::Params => envelope.params = value,
                Member::Result => envelope.result = value,
                Member::Error => envelope.error = value,
                Member::Other => {}
            }
        }
        Ok(envelope)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Member {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

/// Looks at brackets outside strings only; whether they match is the parser's business.
fn is_too_deep(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = after_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The offset behind the closing quote of the string whose content starts at `at`.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}
