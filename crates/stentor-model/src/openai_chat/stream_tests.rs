use stentor_agent::model::ModelEvent;

use super::*;
use crate::wire::{Wire, decode, finish_of};

const WIRE: Wire = Wire::OpenAiChat;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

/// The blocks in short: kind, text and signature.
fn blocks(events: &[&str]) -> Vec<(String, String, Option<String>)> {
    let (events, result) = decode(WIRE, events);
    assert_eq!(result, Ok(()));
    let mut blocks: Vec<(String, String, Option<String>)> = Vec::new();
    for event in events {
        match event {
            ModelEvent::BlockStarted(kind) => {
                let kind = match kind {
                    LiveBlockKind::Text => "text".to_owned(),
                    LiveBlockKind::Thinking => "thinking".to_owned(),
                    LiveBlockKind::Redacted => "redacted".to_owned(),
                    LiveBlockKind::ToolCall { name, .. } => name,
                };
                blocks.push((kind, String::new(), None));
            }
            ModelEvent::Delta(text) => blocks.last_mut().unwrap().1.push_str(&text),
            ModelEvent::BlockEnded { signature } => blocks.last_mut().unwrap().2 = signature,
            _ => {}
        }
    }
    blocks
}

fn block(kind: &str, text: &str, signature: Option<&str>) -> (String, String, Option<String>) {
    (kind.into(), text.into(), signature.map(str::to_owned))
}

#[test]
fn usage_is_right_however_a_server_counts() {
    for (usage, expected) in [
        ("null", Usage::default()),
        (
            r#"{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":20},"completion_tokens_details":{"reasoning_tokens":5}}"#,
            Usage {
                input: 80,
                output: 30,
                cache_read: 20,
                reasoning: Some(5),
                ..Usage::default()
            },
        ),
        // Reasoning counted beside the completion.
        (
            r#"{"prompt_tokens":100,"completion_tokens":30,"total_tokens":180,"completion_tokens_details":{"reasoning_tokens":50}}"#,
            Usage {
                input: 100,
                output: 80,
                reasoning: Some(50),
                ..Usage::default()
            },
        ),
        (
            r#"{"prompt_tokens":100,"completion_tokens":30,"prompt_cache_hit_tokens":64}"#,
            Usage {
                input: 36,
                output: 30,
                cache_read: 64,
                ..Usage::default()
            },
        ),
        (
            r#"{"prompt_tokens":100,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":40}}"#,
            Usage {
                input: 50,
                output: 30,
                cache_read: 10,
                cache_write: 40,
                ..Usage::default()
            },
        ),
    ] {
        let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        assert_eq!(
            finish_of(WIRE, &[STOP, &last, DONE]).usage,
            expected,
            "{usage}"
        );
    }
}

#[test]
fn every_reason_to_stop_has_its_meaning_and_none_is_a_stop() {
    for (word, reason, refused) in [
        ("stop", StopReason::Stop, false),
        ("length", StopReason::Length, false),
        ("content_filter", StopReason::Stop, true),
        ("eos", StopReason::Stop, false),
    ] {
        let last = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        let finish = finish_of(WIRE, &[&last, DONE]);
        assert_eq!(
            (finish.stop_reason, finish.refused),
            (reason, refused),
            "{word}"
        );
    }
    let hello = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
    assert_eq!(
        finish_of(WIRE, &[hello, DONE]).stop_reason,
        StopReason::Stop
    );
    assert_eq!(decode(WIRE, &[hello]).1, Err(StreamFault::CutShort));
}

#[test]
fn reasoning_is_taken_from_whichever_field_has_it_and_remembers_which() {
    for (delta, field) in [
        (r#"{"reasoning_content":"hm"}"#, "reasoning_content"),
        (r#"{"reasoning":"hm"}"#, "reasoning"),
        (
            r#"{"reasoning":"hm","reasoning_content":"hm"}"#,
            "reasoning_content",
        ),
        (
            r#"{"reasoning_content":"","reasoning":"hm","content":null}"#,
            "reasoning",
        ),
    ] {
        let first = format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
        let second = r#"{"choices":[{"delta":{"content":"so"}}]}"#;
        assert_eq!(
            blocks(&[&first, second, STOP, DONE]),
            [
                block("thinking", "hm", Some(field)),
                block("text", "so", None)
            ],
            "{delta}"
        );
    }
}

#[test]
fn details_of_reasoning_are_joined_and_kept_for_the_way_back() {
    let piece = |detail: &str| {
        format!(r#"{{"choices":[{{"delta":{{"reasoning":"h","reasoning_details":[{detail}]}}}}]}}"#)
    };
    let (one, two) = (
        piece(r#"{"type":"reasoning.text","text":"h","index":0}"#),
        piece(r#"{"type":"reasoning.text","text":"h","signature":"s","index":0}"#),
    );
    assert_eq!(
        blocks(&[&one, &two, STOP, DONE]),
        [block(
            "thinking",
            "hh",
            Some(r#"[{"type":"reasoning.text","text":"hh","index":0,"signature":"s"}]"#)
        )]
    );
}

#[test]
fn text_between_and_behind_calls_is_kept_in_its_place() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"}}]}}]}"#;
    let open = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{\"a\""}}]}}]}"#;
    let rest =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#;
    let text = r#"{"choices":[{"delta":{"content":"word"}}]}"#;
    assert_eq!(
        blocks(&[text, call, text, STOP, DONE]),
        [
            block("text", "word", None),
            block("ls", "{}", None),
            block("text", "word", None)
        ]
    );
    assert_eq!(
        blocks(&[open, text, rest, STOP, DONE]),
        [block("ls", "{\"a\":1}", None), block("text", "word", None)]
    );
}

#[test]
fn whole_messages_objects_as_arguments_and_empty_choices_are_understood() {
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"c","function":{"name":"ls","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(
        blocks(&[r#"{"choices":[]}"#, r#"{"choices":null}"#, "", whole, DONE]),
        [block("text", "hi", None), block("ls", "{\"a\":1}", None)]
    );
    assert_eq!(
        finish_of(WIRE, &[whole, DONE]).stop_reason,
        StopReason::ToolUse
    );
}
