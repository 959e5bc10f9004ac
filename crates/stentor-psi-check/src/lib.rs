//! **For tests, not part of the program:** what must be true of every psi frame that goes out.
//!
//! Every test that sees frames, in whatever crate, passes each of them through here: the frontend's
//! own parser reads it ([`fallback`]), its envelope has the keys it must and no others, a payload
//! has the keys its topic requires, and one that the focus decides about names its session.

pub mod fallback;

use fallback::FrameRefusal;
use stentor_wire::edn::{Map, Value};
use stentor_wire::psi::{ErrorCode, Topic};

/// What the frontend would not understand about a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misunderstood {
    #[error(transparent)]
    Unreadable(#[from] FrameRefusal),
    #[error("a frame is a map")]
    NoMap,
    #[error("frames of kind {0:?} do not go out")]
    Kind(Option<String>),
    #[error("no :{0}")]
    Missing(String),
    #[error("a key that is no keyword")]
    NoKeyword,
    #[error(":{0} is none of its keys")]
    UnknownKey(String),
    #[error(":{0} is nil instead of left out")]
    Nil(String),
    #[error(":ok is true, or it is an error frame")]
    NotOk,
    #[error("{0} is no error code")]
    UnknownCode(String),
    #[error("{0} is no topic")]
    UnknownTopic(String),
    #[error(":seq counts from one")]
    Uncounted,
    #[error("the payload of an event is a map")]
    NoPayload,
    #[error("no :{key} in the payload of {topic}")]
    MissingInPayload { key: String, topic: String },
    #[error(":{0} is a string with something in it")]
    NoText(String),
}

/// Reads a frame, or says what the frontend would not understand about it.
pub fn check(line: &str) -> Result<Value<'static>, Misunderstood> {
    let frame = fallback::read_frame(line).or_else(|refusal| {
        // Only the answer to a query may have forms that the others may not.
        let frame = fallback::read_query_frame(line)?;
        if frame.get("op").and_then(Value::as_str) == Some("query_eql")
            && frame.get("kind").and_then(Value::as_keyword) == Some("response")
        {
            Ok(frame)
        } else {
            Err(refusal)
        }
    })?;
    let map = frame.as_map().ok_or(Misunderstood::NoMap)?;
    let kind = map.get("kind").and_then(Value::as_keyword);
    let (required, optional): (&[&str], &[&str]) = match kind {
        Some("response") => (&["id", "kind", "op", "ok"], &["data"]),
        Some("error") => (
            &["kind", "error-code", "error-message"],
            &["id", "op", "retryable", "data"],
        ),
        Some("event") => (&["kind", "event", "data", "seq", "ts"], &["id"]),
        other => return Err(Misunderstood::Kind(other.map(str::to_owned))),
    };
    for key in required {
        let missing = || Misunderstood::Missing((*key).to_owned());
        map.get(key).ok_or_else(missing)?;
    }
    for (key, value) in map.iter() {
        let name = key.as_keyword().ok_or(Misunderstood::NoKeyword)?;
        if !required.contains(&name) && !optional.contains(&name) {
            return Err(Misunderstood::UnknownKey(name.to_owned()));
        }
        if value.is_nil() {
            return Err(Misunderstood::Nil(name.to_owned()));
        }
    }
    match kind {
        Some("event") => check_event(map)?,
        Some("error") => check_error(map)?,
        _ => check_response(map)?,
    }
    Ok(frame)
}

fn check_response(map: &Map<'_>) -> Result<(), Misunderstood> {
    text(map, "id")?;
    text(map, "op")?;
    match map.get("ok") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(Misunderstood::NotOk),
    }
}

fn check_error(map: &Map<'_>) -> Result<(), Misunderstood> {
    let code = text(map, "error-code")?;
    text(map, "error-message")?;
    let known = ErrorCode::ALL.iter().any(|known| known.as_str() == code);
    match known {
        true => Ok(()),
        false => Err(Misunderstood::UnknownCode(code.to_owned())),
    }
}

fn check_event(map: &Map<'_>) -> Result<(), Misunderstood> {
    let name = text(map, "event")?;
    let topic = Topic::parse(name).ok_or_else(|| Misunderstood::UnknownTopic(name.to_owned()))?;
    let seq = map.get("seq").and_then(Value::as_i64).unwrap_or_default();
    if seq < 1 {
        return Err(Misunderstood::Uncounted);
    }
    text(map, "ts")?;
    let data = map.get("data").and_then(Value::as_map);
    let data = data.ok_or(Misunderstood::NoPayload)?;
    for key in topic.required_keys() {
        if data.get(key).is_none() {
            let (key, topic) = ((*key).to_owned(), name.to_owned());
            return Err(Misunderstood::MissingInPayload { key, topic });
        }
    }
    if topic.is_gated() {
        text(data, "session-id")?;
    }
    Ok(())
}

fn text<'v>(map: &'v Map<'_>, key: &str) -> Result<&'v str, Misunderstood> {
    let text = map.get(key).and_then(Value::as_str);
    let text = text.filter(|text| !text.is_empty());
    text.ok_or_else(|| Misunderstood::NoText(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_reference_pass() {
        for line in [
            r#"{:id "q" :kind :response :op "ping" :ok true :data {:pong true}}"#,
            r#"{:id "q" :kind :response :op "abort" :ok true}"#,
            r#"{:id "q" :kind :response :op "query_eql" :ok true :data {:result {:a #{b/c}}}}"#,
            r#"{:kind :error :error-code "request/unknown-model" :error-message "unknown model" :id "req-8" :op "set_model"}"#,
            r#"{:kind :event :event "assistant/delta" :data {:session-id "5d3f" :text "Look"} :id "req-9" :seq 12 :ts "2026-05-02T15:28:58.123Z"}"#,
            r#"{:kind :event :event "ui/widget-specs-updated" :data {} :seq 2 :ts "2026-05-02T15:00:00.001Z"}"#,
        ] {
            assert_eq!(check(line).map(|_| ()), Ok(()), "{line}");
        }
    }

    #[test]
    fn frames_the_frontend_would_not_understand_do_not() {
        for (line, why) in [
            (
                r#"{:kind :request}"#,
                "frames of kind Some(\"request\") do not go out",
            ),
            (r#"{:kind "response"}"#, "frames of kind None do not go out"),
            (r#"{:id "q" :kind :response :op "ping"}"#, "no :ok"),
            (
                r#"{:id "q" :kind :response :op "ping" :ok true :seq 3}"#,
                ":seq is none of its keys",
            ),
            (
                r#"{:id "q" :kind :response :op "ping" :ok true :data nil}"#,
                ":data is nil instead of left out",
            ),
            (
                r#"{:kind :error :error-code "no/such" :error-message "x"}"#,
                "no/such is no error code",
            ),
            (
                r#"{:kind :event :event "no/such" :data {} :seq 1 :ts "t"}"#,
                "no/such is no topic",
            ),
            (
                r#"{:kind :event :event "assistant/delta" :data {:text "x"} :seq 1 :ts "t"}"#,
                ":session-id is a string with something in it",
            ),
            (
                r#"{:kind :event :event "assistant/delta" :data {:session-id "s"} :seq 1 :ts "t"}"#,
                "no :text in the payload of assistant/delta",
            ),
            (
                r#"{:id "q" :kind :response :op "ping" :ok true :data {:a #{1}}}"#,
                "a form that is not allowed at byte 55",
            ),
        ] {
            assert_eq!(check(line).unwrap_err().to_string(), why, "{line}");
        }
    }
}
