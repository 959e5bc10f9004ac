//! Reading JSON that others wrote: what is not there, or not what it should be, is nothing.

use serde_json::Value;

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

pub(super) fn str<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, key: &str) -> u64 {
    let Some(value) = value.get(key) else {
        return 0;
    };
    // Some agents write whole numbers as floats; a float that is none, or is negative, is zero.
    value
        .as_u64()
        .unwrap_or_else(|| value.as_f64().map_or(0, |float| float as u64))
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// True when a marker is there: an object, or `true`.
pub(super) fn marked(value: &Value, path: &[&str]) -> bool {
    let mut value = value;
    for key in path {
        match value.get(key) {
            Some(inner) => value = inner,
            None => return false,
        }
    }
    value.is_object() || value.as_bool() == Some(true)
}

/// One line of a child's input.
pub(super) fn line(value: &Value) -> Vec<u8> {
    // Writing a value to memory cannot fail.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}
