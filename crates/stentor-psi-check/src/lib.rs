//! **For tests, not part of the program:** what must be true of every psi frame that goes out.
//!
//! Every test that sees frames, in whatever crate, passes each of them through here: the frontend's
//! own parser reads it ([`fallback`]), its envelope has the keys it must and no others, a payload
//! has the keys its topic requires, and one that the focus decides about names its session.

pub mod fallback;

use stentor_wire::edn::{Map, Value};
use stentor_wire::psi::{ErrorCode, Topic};

/// Reads a frame, or says what the frontend would not understand about it.
pub fn check(line: &str) -> Result<Value<'static>, String> {
    let frame = fallback::read_frame(line).or_else(|refusal| {
        // Only the answer to a query may have forms that the others may not.
        let frame = fallback::read_query_frame(line).map_err(|refusal| refusal.to_string())?;
        if frame.get("op").and_then(Value::as_str) == Some("query_eql")
            && frame.get("kind").and_then(Value::as_keyword) == Some("response")
        {
            Ok(frame)
        } else {
            Err(refusal.to_string())
        }
    })?;
    let map = frame.as_map().ok_or("a frame is a map")?;
    let kind = map.get("kind").and_then(Value::as_keyword);
    let (required, optional): (&[&str], &[&str]) = match kind {
        Some("response") => (&["id", "kind", "op", "ok"], &["data"]),
        Some("error") => (
            &["kind", "error-code", "error-message"],
            &["id", "op", "retryable", "data"],
        ),
        Some("event") => (&["kind", "event", "data", "seq", "ts"], &["id"]),
        other => return Err(format!("frames of kind {other:?} do not go out")),
    };
    for key in required {
        map.get(key).ok_or_else(|| format!("no :{key}"))?;
    }
    for (key, value) in map.iter() {
        let name = key.as_keyword().ok_or("a key that is no keyword")?;
        if !required.contains(&name) && !optional.contains(&name) {
            return Err(format!(":{name} is none of its keys"));
        }
        if value.is_nil() {
            return Err(format!(":{name} is nil instead of left out"));
        }
    }
    match kind {
        Some("event") => check_event(map)?,
        Some("error") => check_error(map)?,
        _ => check_response(map)?,
    }
    Ok(frame)
}

fn check_response(map: &Map<'_>) -> Result<(), String> {
    text(map, "id")?;
    text(map, "op")?;
    match map.get("ok") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(":ok is true, or it is an error frame".to_owned()),
    }
}

fn check_error(map: &Map<'_>) -> Result<(), String> {
    let code = text(map, "error-code")?;
    text(map, "error-message")?;
    let known = ErrorCode::ALL.iter().any(|known| known.as_str() == code);
    known
        .then_some(())
        .ok_or_else(|| format!("{code} is no error code"))
}

fn check_event(map: &Map<'_>) -> Result<(), String> {
    let name = text(map, "event")?;
    let topic = Topic::parse(name).ok_or_else(|| format!("{name} is no topic"))?;
    let seq = map.get("seq").and_then(Value::as_i64).unwrap_or_default();
    if seq < 1 {
        return Err(":seq counts from one".to_owned());
    }
    text(map, "ts")?;
    let data = map.get("data").and_then(Value::as_map);
    let data = data.ok_or("the payload of an event is a map")?;
    for key in topic.required_keys() {
        data.get(key)
            .ok_or_else(|| format!("no :{key} in the payload of {name}"))?;
    }
    if topic.is_gated() {
        text(data, "session-id")?;
    }
    Ok(())
}

fn text<'v>(map: &'v Map<'_>, key: &str) -> Result<&'v str, String> {
    map.get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| format!(":{key} is a string with something in it"))
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
            assert_eq!(check(line).unwrap_err(), why, "{line}");
        }
    }
}
