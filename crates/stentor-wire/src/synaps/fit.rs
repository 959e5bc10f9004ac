//! Making what is too large fit into a frame, visibly.

use serde_json::{Map, Value};

/// Room that is left for the frame around a value.
const MARGIN_BYTES: usize = 4 * 1024;

/// What an escaped character may take: a surrogate pair.
const WORST_CHARACTER_BYTES: usize = 12;

/// The beginning of `text`, with a note when it was cut, so that it takes at most `limit_bytes`
/// once it is escaped.
pub fn truncated(text: &str, limit_bytes: usize) -> String {
    if text.len().saturating_mul(WORST_CHARACTER_BYTES) <= limit_bytes
        || escaped_len(text) <= limit_bytes
    {
        return text.to_owned();
    }
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|character| {
            used += escaped_character_len(*character);
            used + 64 <= limit_bytes
        })
        .collect();
    let left_out = text.len() - kept.len();
    format!("{kept}\n[{left_out} more bytes left out]")
}

/// Cuts strings inside `body`, and then the oldest items of its arrays, until a frame around it
/// stays within `limit_bytes`.
pub fn fit(mut body: Map<String, Value>, limit_bytes: usize) -> Map<String, Value> {
    let room = limit_bytes.saturating_sub(MARGIN_BYTES);
    for longest in [64 * 1024, 8 * 1024, 1024] {
        if size_of_map(&body) <= room {
            return body;
        }
        for value in body.values_mut() {
            cut_strings(value, longest);
        }
    }
    for value in body.values_mut() {
        if let Value::Array(items) = value {
            let mut size: usize = items.iter().map(size_of).sum();
            let before = items.len();
            let mut dropped = 0;
            while size > room && dropped < before {
                size -= items.get(dropped).map_or(0, size_of);
                dropped += 1;
            }
            items.drain(..dropped);
        }
    }
    body
}

fn cut_strings(value: &mut Value, longest_bytes: usize) {
    match value {
        Value::String(text) => *text = truncated(text, longest_bytes),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| cut_strings(item, longest_bytes)),
        Value::Object(object) => {
            object
                .values_mut()
                .for_each(|item| cut_strings(item, longest_bytes));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn size_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 6,
        Value::Number(_) => 24,
        Value::String(text) => escaped_len(text) + 3,
        Value::Array(items) => 3 + items.iter().map(size_of).sum::<usize>(),
        Value::Object(object) => size_of_map(object),
    }
}

fn size_of_map(object: &Map<String, Value>) -> usize {
    3 + object
        .iter()
        .map(|(key, value)| escaped_len(key) + 4 + size_of(value))
        .sum::<usize>()
}

fn escaped_len(text: &str) -> usize {
    text.chars().map(escaped_character_len).sum()
}

fn escaped_character_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='~' => 1,
        character => 6 * character.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::synaps::{Event, MAX_FRAME_BYTES, ascii};

    #[test]
    fn a_short_text_stays_as_it_is_and_a_long_one_says_what_is_missing() {
        assert_eq!(truncated("short", 100), "short");
        let cut = truncated(&"x".repeat(1000), 200);
        assert!(
            cut.starts_with("xxxx") && cut.ends_with(" more bytes left out]"),
            "{cut}"
        );
        assert!(cut.len() <= 200);
    }

    #[test]
    fn whatever_a_body_holds_its_frame_stays_within_the_limit() {
        let long = "ä".repeat(200_000);
        let many: Vec<_> = (0..20_000)
            .map(|n| json!({"role":"user","content":format!("{n} {}", "y".repeat(100))}))
            .collect();
        for messages in [json!([{"content": long}]), json!(many), json!([])] {
            let body = json!({"ok":true,"messages":messages})
                .as_object()
                .cloned()
                .unwrap();
            let body = fit(body, MAX_FRAME_BYTES);
            let event = Event::Response {
                id: "i".into(),
                command: "get_messages".into(),
                body,
            };
            let mut line = Vec::new();
            ascii::write_line(&mut line, &event).unwrap();
            assert!(line.len() <= MAX_FRAME_BYTES + 1, "{}", line.len());
        }
    }
}
