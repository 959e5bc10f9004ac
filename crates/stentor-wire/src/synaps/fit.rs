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

/// Strings are not cut shorter than this; rather whole items are left out.
const SHORTEST_CUT_BYTES: usize = 1024;

/// Cuts the longest strings inside `body` as far as it takes for a frame around it to stay within
/// `limit_bytes`, and leaves out the oldest items of its arrays where that is not enough.
pub fn fit(mut body: Map<String, Value>, limit_bytes: usize) -> Map<String, Value> {
    let room = limit_bytes.saturating_sub(MARGIN_BYTES);
    let size = size_of_map(&body);
    if size <= room {
        return body;
    }
    let mut lengths = Vec::new();
    body.values()
        .for_each(|value| string_lengths(value, &mut lengths));
    let longest = longest_that_fit(lengths, size - room);
    for value in body.values_mut() {
        cut_strings(value, longest);
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

/// How long strings of these lengths may stay so that together they lose `too_much` bytes: only
/// the longest are cut, all of them to the same length.
fn longest_that_fit(mut lengths: Vec<usize>, too_much: usize) -> usize {
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut total = 0;
    for (index, length) in lengths.iter().enumerate() {
        total += length;
        let count = index + 1;
        let next = lengths.get(count).copied().unwrap_or(0);
        // Cut to the length of the next one, these would lose enough.
        if total.saturating_sub(next * count) >= too_much {
            return (total.saturating_sub(too_much) / count).max(SHORTEST_CUT_BYTES);
        }
    }
    SHORTEST_CUT_BYTES
}

fn string_lengths(value: &Value, lengths: &mut Vec<usize>) {
    match value {
        Value::String(text) => lengths.push(escaped_len(text)),
        Value::Array(items) => items.iter().for_each(|item| string_lengths(item, lengths)),
        Value::Object(object) => object
            .values()
            .for_each(|item| string_lengths(item, lengths)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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
    fn only_what_the_frame_cannot_hold_is_cut() {
        let texts = |lengths: [usize; 3]| {
            let items = lengths.map(|length| json!({"content": "x".repeat(length)}));
            let body = json!({"messages": items}).as_object().cloned().unwrap();
            let kept = fit(body, 100_000);
            let kept = kept["messages"].as_array().unwrap().clone();
            let text = |item: &Value| item["content"].as_str().unwrap().len();
            kept.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(texts([500, 90_000, 600]), [500, 90_000, 600]);
        let [first, cut, last] = texts([30_000, 80_000, 600])[..] else {
            panic!("none is left out");
        };
        assert_eq!((first, last), (30_000, 600));
        assert!((64_000..66_000).contains(&cut), "{cut}");
        let [first, second, last] = texts([90_000, 80_000, 600])[..] else {
            panic!("none is left out");
        };
        assert!((47_000..48_000).contains(&first), "{first}");
        assert!(first.abs_diff(second) < 10 && last == 600, "{second}");
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
