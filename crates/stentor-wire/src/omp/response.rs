//! The answer to a command (section 4).

use serde::Serialize;
use serde_json::value::RawValue;

use super::command::Refused;
use super::facts::PARSE;

/// An answer. Keys without a value are absent, never null.
#[derive(Debug, Serialize)]
pub struct Response<'a, D> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    /// Always `response`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<D>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// A word for programs, on the few commands that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
}

const RESPONSE: &str = "response";

impl<'a, D> Response<'a, D> {
    /// It was done.
    pub fn success(id: Option<&'a RawValue>, command: &'a str, data: Option<D>) -> Self {
        Self {
            id,
            kind: RESPONSE,
            command: Some(command),
            success: true,
            data,
            error: None,
            code: None,
        }
    }
}

impl<'a> Response<'a, ()> {
    /// It was not done.
    pub fn failure(id: Option<&'a RawValue>, command: &'a str, error: &'a str) -> Self {
        Self {
            id,
            kind: RESPONSE,
            command: Some(command),
            success: false,
            data: None,
            error: Some(error),
            code: None,
        }
    }

    /// The answer to a line that is no command; `error` is its text.
    pub fn refusal(refused: &'a Refused, error: &'a str) -> Self {
        let (id, command) = match refused {
            Refused::NotJson(_) => (None, Some(PARSE)),
            Refused::NoType => (None, None),
            Refused::Unknown { name } => (None, Some(name.as_str())),
            Refused::NotOffered { id, name } | Refused::BadFields { id, name, .. } => {
                (id.as_deref(), Some(*name))
            }
        };
        Self {
            id,
            kind: RESPONSE,
            command,
            success: false,
            data: None,
            error: Some(error),
            code: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::omp::command::Inbound;

    #[test]
    fn a_bad_line_is_answered_in_the_form_of_its_kind() {
        for (line, expected) in [
            (
                "{",
                r#"{"type":"response","command":"parse","success":false,"error":"Failed to parse command: EOF while parsing an object at line 1 column 1"}"#,
            ),
            (
                "[]",
                r#"{"type":"response","success":false,"error":"Unknown command: undefined"}"#,
            ),
            (
                r#"{"id":"e","type":"nope"}"#,
                r#"{"type":"response","command":"nope","success":false,"error":"Unknown command: nope"}"#,
            ),
            (
                r#"{"id":"e","type":"predict_word"}"#,
                r#"{"id":"e","type":"response","command":"predict_word","success":false,"error":"predict_word is not supported"}"#,
            ),
            (
                r#"{"id":"e","type":"branch"}"#,
                r#"{"id":"e","type":"response","command":"branch","success":false,"error":"Invalid branch command: missing field `entryId`"}"#,
            ),
        ] {
            let refused = Inbound::parse(line).unwrap_err();
            let error = refused.to_string();
            let response = Response::refusal(&refused, &error);
            assert_eq!(serde_json::to_string(&response).unwrap(), expected);
        }
    }
}
