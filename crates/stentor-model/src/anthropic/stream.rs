//! The events of the Messages API.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use crate::answer::{AnswerBuilder, Decoder, ProviderFault, StreamFault};
use crate::server_call::{self, call_signature};

/// About what a citation takes: an address, a title and the cited sentence.
const CITATION_BYTES: usize = 512;

/// Reads one answer of the Messages API.
#[derive(Debug, Default)]
pub struct MessagesDecoder {
    signature: String,
    /// Arguments that came whole with the start of a call, in case no fragments follow.
    whole_arguments: Option<String>,
    /// The open block is none of ours: what is in it is not shown.
    is_foreign: bool,
    /// What the open text cites.
    citations: Vec<Value>,
    stop: Option<(StopReason, bool)>,
}

/// Any event: which fields are there depends on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    message: Option<MessageStart>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<WireUsage>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    id: Option<String>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tool_use_id: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    input: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
    citation: Option<Value>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
}

#[derive(Deserialize)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

impl Decoder for MessagesDecoder {
    fn event(
        &mut self,
        _: &str,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault> {
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return unless_unknown(data, &error),
        };
        match event.kind.as_ref() {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(delta, answer);
                }
            }
            "content_block_start" => {
                if let Some(raw) = event.content_block {
                    let block = serde_json::from_str(raw.get());
                    let block =
                        block.map_err(|error| StreamFault::unreadable(&event.kind, &error))?;
                    self.block(block, raw.get(), answer);
                }
            }
            "content_block_stop" => self.block_end(answer),
            "message_start" => {
                let start = event.message;
                if let Some(usage) = start.as_ref().and_then(|start| start.usage.as_ref()) {
                    usage.add_to(answer.usage());
                }
                answer.start(start.and_then(|start| start.id));
                answer.report_usage();
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(stop_reason(&reason));
                }
                if let Some(usage) = &event.usage {
                    usage.add_to(answer.usage());
                }
            }
            "message_stop" => {
                let (reason, refused) = self.stop.unwrap_or_default();
                answer.finish(reason, refused);
            }
            "error" => {
                let error = event.error;
                return Err(StreamFault::Provider(error.map_or_else(
                    ProviderFault::default,
                    |error| ProviderFault {
                        code: error.kind,
                        message: error.message,
                        status: None,
                    },
                )));
            }
            // `ping`, and whatever comes after this was written.
            other => tracing::trace!(event = other, "an event without meaning here"),
        }
        Ok(())
    }

    fn closed(&mut self, answer: &mut AnswerBuilder) -> Result<(), StreamFault> {
        let (reason, refused) = self.stop.ok_or(StreamFault::CutShort)?;
        answer.finish(reason, refused);
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.signature.len() + self.citations.len() * CITATION_BYTES
    }
}

impl MessagesDecoder {
    fn block(&mut self, block: Block, raw: &str, answer: &mut AnswerBuilder) {
        self.signature.clear();
        self.citations.clear();
        self.whole_arguments = None;
        self.is_foreign = false;
        match block.kind.as_str() {
            "text" => {
                answer.open(LiveBlockKind::Text);
                answer.delta(block.text.unwrap_or_default());
            }
            "thinking" => {
                answer.open(LiveBlockKind::Thinking);
                answer.delta(block.thinking.unwrap_or_default());
                self.signature
                    .push_str(&block.signature.unwrap_or_default());
            }
            "redacted_thinking" => {
                answer.open(LiveBlockKind::Redacted);
                answer.delta(block.data.unwrap_or_default());
            }
            "tool_use" => {
                answer.open(LiveBlockKind::ToolCall {
                    id: block.id,
                    name: block.name,
                });
                self.whole_arguments = whole_arguments(block.input);
            }
            "server_tool_use" | "mcp_tool_use" if answer.shows_server_calls() => {
                answer.open_server_call(block.id, block.name);
                self.whole_arguments = whole_arguments(block.input);
                let mut item: Map<String, Value> = serde_json::from_str(raw).unwrap_or_default();
                item.shift_remove("input");
                self.signature = call_signature(&Value::Object(item));
            }
            kind if kind.ends_with("_tool_result") => {
                self.is_foreign = true;
                let item: Value = serde_json::from_str(raw).unwrap_or_default();
                for (title, url) in pages(&item) {
                    answer.source(title, url);
                }
                if answer.shows_server_calls() {
                    let (text, is_error) = result_text(&item);
                    let output = server_call::output(&text, is_error, Some(item));
                    answer.server_result(&block.tool_use_id, output);
                }
            }
            other => {
                self.is_foreign = true;
                tracing::debug!(block = other, "a block of a kind that is not shown");
            }
        }
    }

    fn delta(&mut self, delta: Delta<'_>, answer: &mut AnswerBuilder) {
        if self.is_foreign {
            return;
        }
        match delta.kind.as_ref() {
            "text_delta" => answer.delta(delta.text.unwrap_or_default()),
            "thinking_delta" => answer.delta(delta.thinking.unwrap_or_default()),
            "input_json_delta" => {
                let fragment = delta.partial_json.unwrap_or_default();
                if !fragment.is_empty() {
                    self.whole_arguments = None;
                }
                answer.delta(fragment);
            }
            "signature_delta" => self
                .signature
                .push_str(&delta.signature.unwrap_or_default()),
            "citations_delta" => self.citations.extend(delta.citation),
            other => tracing::trace!(delta = other, "a delta without meaning here"),
        }
    }

    fn block_end(&mut self, answer: &mut AnswerBuilder) {
        // Its result has ended the part of the answer before it.
        if std::mem::take(&mut self.is_foreign) {
            return;
        }
        if let Some(arguments) = self.whole_arguments.take() {
            answer.delta(arguments);
        }
        let cited = std::mem::take(&mut self.citations);
        let signature = match cited.is_empty() {
            true => std::mem::take(&mut self.signature),
            false => json!({ "citations": cited }).to_string(),
        };
        answer.close((!signature.is_empty()).then_some(signature));
    }
}

fn whole_arguments(input: Option<Map<String, Value>>) -> Option<String> {
    let whole = input.filter(|input| !input.is_empty());
    whole.map(|input| Value::Object(input).to_string())
}

/// The pages of a result, by title and address.
fn pages(item: &Value) -> impl Iterator<Item = (&str, &str)> {
    let results = item.get("content").and_then(Value::as_array);
    results.into_iter().flatten().filter_map(|result| {
        let text = |name| result.get(name).and_then(Value::as_str);
        Some((text("title").unwrap_or_default(), text("url")?))
    })
}

/// A result of a tool of the provider in words, and whether it is an error: the pages of a search,
/// the texts of anything else, or all of it without what only the provider can read.
fn result_text(item: &Value) -> (String, bool) {
    let is_flagged = item.get("is_error") == Some(&Value::Bool(true));
    let content = item.get("content").unwrap_or(&Value::Null);
    if let Some(code) = content.get("error_code").and_then(Value::as_str) {
        return (format!("The provider's tool failed: {code}"), true);
    }
    let is_search = item.get("type").and_then(Value::as_str) == Some("web_search_tool_result");
    if is_search {
        return (server_call::page_list(pages(item)), is_flagged);
    }
    let texts = content.as_array().into_iter().flatten();
    let texts = texts.filter_map(|part| part.get("text").and_then(Value::as_str));
    let text = match texts.collect::<Vec<_>>().join("\n") {
        text if text.is_empty() => without_opaque(content.clone()).to_string(),
        text => text,
    };
    (text, is_flagged)
}

/// The same without what is encrypted, and pictures and files in base64.
fn without_opaque(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let shown = map.into_iter();
            let shown = shown.filter(|(key, _)| !key.starts_with("encrypted_") && key != "data");
            let shown = shown.map(|(key, value)| (key, without_opaque(value)));
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_opaque).collect()),
        other => other,
    }
}

impl WireUsage {
    /// Counts are totals so far; what an event leaves out keeps its value.
    fn add_to(&self, usage: &mut Usage) {
        let set = |field: &mut u64, value: Option<u64>| *field = value.unwrap_or(*field);
        set(&mut usage.input, self.input_tokens);
        set(&mut usage.output, self.output_tokens);
        set(&mut usage.cache_read, self.cache_read_input_tokens);
        set(&mut usage.cache_write, self.cache_creation_input_tokens);
        if let Some(split) = &self.cache_creation {
            usage.cache_write_5m = split.ephemeral_5m_input_tokens.or(usage.cache_write_5m);
            usage.cache_write_1h = split.ephemeral_1h_input_tokens.or(usage.cache_write_1h);
        }
    }
}

/// The provider's word for the end, and whether it means a refusal.
fn stop_reason(word: &str) -> (StopReason, bool) {
    match word {
        "max_tokens" | "model_context_window_exceeded" => (StopReason::Length, false),
        "tool_use" => (StopReason::ToolUse, false),
        "refusal" => (StopReason::Stop, true),
        // `end_turn`, `stop_sequence`, `pause_turn`
        _ => (StopReason::Stop, false),
    }
}

/// An event that cannot be read is no harm if its type means nothing here anyway.
fn unless_unknown(data: &str, error: &serde_json::Error) -> Result<(), StreamFault> {
    const KNOWN: [&str; 7] = [
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    ];
    match serde_json::from_str::<Kind<'_>>(data) {
        Ok(event) if !KNOWN.contains(&event.kind.as_ref()) => Ok(()),
        Ok(event) => Err(StreamFault::unreadable(&event.kind, error)),
        Err(error) => Err(StreamFault::unreadable("", &error)),
    }
}

#[cfg(test)]
mod tests {
    use stentor_agent::model::ModelEvent;

    use super::*;
    use crate::wire::{Wire, decode, decode_search, finish_of};

    const WIRE: Wire = Wire::AnthropicMessages;

    #[test]
    fn usage_has_cache_reads_and_the_shares_of_cache_writes() {
        let finish = finish_of(
            WIRE,
            &[
                r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":12,"ephemeral_1h_input_tokens":18},"output_tokens":1}}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        );
        assert_eq!(
            finish.usage,
            Usage {
                input: 10,
                output: 40,
                cache_read: 20,
                cache_write: 30,
                cache_write_5m: Some(12),
                cache_write_1h: Some(18),
                ..Usage::default()
            }
        );
    }

    #[test]
    fn every_reason_to_stop_has_its_meaning() {
        for (word, reason, refused) in [
            ("end_turn", StopReason::Stop, false),
            ("stop_sequence", StopReason::Stop, false),
            ("pause_turn", StopReason::Stop, false),
            ("max_tokens", StopReason::Length, false),
            ("model_context_window_exceeded", StopReason::Length, false),
            ("refusal", StopReason::Stop, true),
        ] {
            let delta = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{word}"}}}}"#);
            let finish = finish_of(WIRE, &[&delta, r#"{"type":"message_stop"}"#]);
            assert_eq!(
                (finish.stop_reason, finish.refused),
                (reason, refused),
                "{word}"
            );
        }
    }

    #[test]
    fn redacted_thinking_is_kept_as_it_is() {
        let (events, _) = decode(
            WIRE,
            &[
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"opaque"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
            ],
        );
        assert_eq!(
            events[1..],
            [
                ModelEvent::BlockStarted(LiveBlockKind::Redacted),
                ModelEvent::Delta("opaque".into()),
                ModelEvent::BlockEnded { signature: None },
            ]
        );
    }

    #[test]
    fn a_search_of_the_provider_is_not_shown_but_its_sources_are() {
        let events = decode_search(
            WIRE,
            &[
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"https://one.example/","title":"One","encrypted_content":"e"}]}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"found"}}"#,
                r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://one.example/"}}}"#,
                r#"{"type":"content_block_stop","index":2}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        );
        let text: String = events
            .into_iter()
            .filter_map(|event| match event {
                ModelEvent::Delta(text) => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(text, "found\n\nSources:\n- [One](https://one.example/)");
    }

    #[test]
    fn arguments_that_come_whole_with_the_start_of_a_call_are_taken() {
        let (events, _) = decode(
            WIRE,
            &[
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{"a":1}}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
            ],
        );
        assert_eq!(events[2], ModelEvent::Delta("{\"a\":1}".into()));
    }
}
