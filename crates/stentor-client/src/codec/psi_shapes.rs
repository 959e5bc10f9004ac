//! The shapes of psi's frames: what is in them, in the words of the library.

use serde_json::Value as Json;
use stentor_wire::edn::Value;

use crate::event::{AgentCall, TurnUsage};
use crate::host::{PermissionKind, PermissionOption};

pub(super) fn number(frame: &Value<'_>) -> Option<u64> {
    let id = frame.get("id").and_then(Value::as_str)?;
    id.strip_prefix('c')?.parse().ok()
}

/// Text, whether it was written as a string or as a keyword.
pub(super) fn text(value: &Value<'_>, key: &str) -> Option<String> {
    let value = value.get(key)?;
    value
        .as_str()
        .or_else(|| value.as_keyword())
        .map(str::to_owned)
}

pub(super) fn items<'v, 'a>(value: &'v Value<'a>, key: &str) -> &'v [Value<'a>] {
    value.get(key).and_then(Value::as_items).unwrap_or_default()
}

pub(super) fn call(data: &Value<'_>, id: &str) -> AgentCall {
    let arguments = data.get("parsed-args").map(json);
    AgentCall {
        id: id.to_owned(),
        name: text(data, "tool-name").unwrap_or_default(),
        title: text(data, "call-summary"),
        kind: None,
        input: arguments.unwrap_or_else(|| Json::Object(serde_json::Map::new())),
    }
}

pub(super) fn usage(usage: &Value<'_>) -> TurnUsage {
    let count = |key| {
        let count = usage.get(key).and_then(Value::as_i64);
        count
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or_default()
    };
    let cost = usage.get("cost").and_then(|cost| cost.get("total"));
    TurnUsage {
        input_tokens: count("input-tokens"),
        output_tokens: count("output-tokens"),
        cache_read_tokens: count("cache-read-tokens"),
        cache_write_tokens: count("cache-write-tokens"),
        cost_usd: cost.and_then(Value::as_f64),
    }
}

/// A permission is told by the values of its options.
pub(super) fn permission_options(options: &[(String, String)]) -> Option<Vec<PermissionOption>> {
    let kind = |value: &str| match value {
        "allow-once" => Some(PermissionKind::AllowOnce),
        "allow-always" => Some(PermissionKind::AllowAlways),
        "reject-once" => Some(PermissionKind::RejectOnce),
        "reject-always" => Some(PermissionKind::RejectAlways),
        _ => None,
    };
    let options = options.iter().map(|(value, label)| {
        Some(PermissionOption {
            id: value.clone(),
            name: label.clone(),
            kind: kind(value)?,
        })
    });
    options
        .collect::<Option<Vec<_>>>()
        .filter(|options| !options.is_empty())
}

/// The same as JSON. What JSON has no form for becomes its text.
pub(super) fn json(value: &Value<'_>) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::List(items) | Value::Vector(items) => items.iter().map(json).collect(),
        Value::Set(items) => items.iter().map(json).collect(),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| {
                let name = key.as_str().or_else(|| key.as_keyword());
                (
                    name.map_or_else(|| format!("{key:?}"), str::to_owned),
                    json(value),
                )
            });
            Json::Object(entries.collect())
        }
        other => match other.as_str().or_else(|| other.as_keyword()) {
            Some(text) => text.into(),
            None => format!("{other:?}").into(),
        },
    }
}
