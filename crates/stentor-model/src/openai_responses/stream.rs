//! The events of the Responses API.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use super::items::{ItemEnd, Items};
use super::server_items;
use crate::answer::{AnswerBuilder, Decoder, ProviderFault, StreamFault};
use crate::failure::fault_in;
use crate::server_call::call_signature;

/// Reads one answer of the Responses API.
#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    items: Items,
    refused: bool,
}

/// Any event: which fields are there depends on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    summary_index: u64,
    delta: Option<Value>,
    item: Option<Map<String, Value>>,
    /// A page that a search of the provider has found.
    annotation: Option<Map<String, Value>>,
    response: Option<Response>,
}

/// The events of which there are many, without anything that costs.
#[derive(Deserialize)]
struct DeltaEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    output_index: u64,
    delta: String,
}

#[derive(Deserialize)]
struct Response {
    id: Option<String>,
    usage: Option<WireUsage>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault> {
        if data.trim() == "[DONE]" || data.trim().is_empty() {
            return Ok(());
        }
        if (name.ends_with(".delta") || name.is_empty())
            && let Ok(event) = serde_json::from_str::<DeltaEvent<'_>>(data)
        {
            self.delta(&event.kind, event.output_index, event.delta, answer);
            return Ok(());
        }
        let event: Event<'_> =
            serde_json::from_str(data).map_err(|error| StreamFault::unreadable(name, &error))?;
        self.other(event, data, answer)
    }

    fn closed(&mut self, _: &mut AnswerBuilder) -> Result<(), StreamFault> {
        Err(StreamFault::CutShort)
    }

    fn held_bytes(&self) -> usize {
        self.items.held_bytes()
    }
}

impl ResponsesDecoder {
    fn delta(&mut self, kind: &str, index: u64, text: String, answer: &mut AnswerBuilder) {
        match kind {
            "response.output_text.delta"
            | "response.function_call_arguments.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta" => self.items.delta(index, text, answer),
            "response.refusal.delta" => {
                self.refused = true;
                self.items.delta(index, text, answer);
            }
            other => tracing::trace!(event = other, "a delta without meaning here"),
        }
    }

    fn other(
        &mut self,
        event: Event<'_>,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault> {
        match event.kind.as_ref() {
            "response.created" => answer.start(event.response.and_then(|response| response.id)),
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.add(event.output_index, &item, answer);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item_done(event.output_index, item, answer);
                }
            }
            "response.output_text.annotation.added" => {
                let cited = event.annotation.unwrap_or_default();
                if word(&cited, "type") == "url_citation" {
                    answer.source(word(&cited, "title"), word(&cited, "url"));
                }
            }
            "response.reasoning_summary_part.added" if event.summary_index > 0 => {
                self.items
                    .delta(event.output_index, "\n\n".to_owned(), answer);
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                let reason = self.ended(event.response, answer);
                self.items.finish(answer);
                answer.finish(reason, self.refused);
            }
            "response.failed" => {
                let error = event.response.and_then(|response| response.error);
                return Err(StreamFault::Provider(
                    error.as_ref().map(fault_in).unwrap_or_else(unexplained),
                ));
            }
            "error" => {
                let value: Value = serde_json::from_str(data).unwrap_or_default();
                return Err(StreamFault::Provider(fault_in(&value)));
            }
            kind if kind.ends_with(".delta") => {
                if let Some(Value::String(text)) = event.delta {
                    self.delta(kind, event.output_index, text, answer);
                }
            }
            other => tracing::trace!(event = other, "an event without meaning here"),
        }
        Ok(())
    }

    fn add(&mut self, index: u64, item: &Map<String, Value>, answer: &mut AnswerBuilder) {
        let server_tool = server_items::tool_name(item).filter(|_| answer.shows_server_calls());
        let is_server_call = server_tool.is_some();
        let kind = match server_tool {
            Some(name) => Some(LiveBlockKind::ToolCall {
                id: word(item, "id").to_owned(),
                name,
            }),
            None => block_kind(item),
        };
        self.items.add(index, kind, is_server_call, answer);
    }

    fn item_done(&mut self, index: u64, item: Map<String, Value>, answer: &mut AnswerBuilder) {
        if !self.items.knows(index) {
            self.add(index, &item, answer);
        }
        let is_server_call =
            answer.shows_server_calls() && server_items::tool_name(&item).is_some();
        let end = match is_server_call {
            true => {
                self.items
                    .delta(index, server_items::arguments(&item), answer);
                ItemEnd {
                    output: Some(server_items::output(&item)),
                    signature: Some(call_signature(&Value::Object(item))),
                }
            }
            false => {
                if !self.items.has_text(index) {
                    self.items.delta(index, whole_text(&item), answer);
                }
                ItemEnd {
                    signature: signature(item),
                    output: None,
                }
            }
        };
        self.items.complete(index, end, answer);
    }

    fn ended(&mut self, response: Option<Response>, answer: &mut AnswerBuilder) -> StopReason {
        let Some(response) = response else {
            return StopReason::Stop;
        };
        if let Some(usage) = response.usage {
            *answer.usage() = usage.to_usage();
        }
        match response
            .incomplete_details
            .and_then(|details| details.reason)
            .as_deref()
        {
            Some("max_output_tokens") => StopReason::Length,
            Some("content_filter") => {
                self.refused = true;
                StopReason::Stop
            }
            _ => StopReason::Stop,
        }
    }
}

impl WireUsage {
    fn to_usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .unwrap_or(0);
        let written = details
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0);
        Usage {
            input: self
                .input_tokens
                .saturating_sub(cached.saturating_add(written)),
            output: self.output_tokens,
            cache_read: cached,
            cache_write: written,
            reasoning: self
                .output_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens),
            ..Usage::default()
        }
    }
}

fn unexplained() -> ProviderFault {
    ProviderFault {
        code: "server_error".to_owned(),
        message: "the response failed without a reason".to_owned(),
        status: None,
    }
}

fn word<'a>(item: &'a Map<String, Value>, name: &str) -> &'a str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn block_kind(item: &Map<String, Value>) -> Option<LiveBlockKind> {
    match word(item, "type") {
        "message" => Some(LiveBlockKind::Text),
        "reasoning" => Some(LiveBlockKind::Thinking),
        "function_call" => Some(LiveBlockKind::ToolCall {
            id: match word(item, "call_id") {
                "" => word(item, "id").to_owned(),
                id => id.to_owned(),
            },
            name: word(item, "name").to_owned(),
        }),
        other => {
            tracing::debug!(item = other, "an item of a kind that was not asked for");
            None
        }
    }
}

/// The text of a complete item, for servers that send no deltas.
fn whole_text(item: &Map<String, Value>) -> String {
    let texts = |name: &str, separator: &str| {
        let parts = item
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let texts = parts.filter_map(|part| {
            let text = part.get("text").or_else(|| part.get("refusal"));
            text.and_then(Value::as_str)
        });
        texts.collect::<Vec<_>>().join(separator)
    };
    match word(item, "type") {
        "message" => texts("content", ""),
        "reasoning" => match texts("summary", "\n\n") {
            summary if summary.is_empty() => texts("content", ""),
            summary => summary,
        },
        "function_call" => word(item, "arguments").to_owned(),
        _ => String::new(),
    }
}

/// What must go back with the item: all of a reasoning item, the phase of a message.
fn signature(mut item: Map<String, Value>) -> Option<String> {
    match word(&item, "type") {
        "reasoning" => {
            item.shift_remove("status");
            item.retain(|_, value| !value.is_null());
            Some(Value::Object(item).to_string())
        }
        "message" => {
            let phase = item.get("phase").filter(|phase| phase.is_string())?;
            Some(json!({"v": 1, "id": item.get("id"), "phase": phase}).to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stentor_agent::model::ModelEvent;

    use super::*;
    use crate::wire::{Wire, decode, finish_of};

    const WIRE: Wire = Wire::OpenAiResponses;

    #[test]
    fn usage_and_the_end_are_read_from_the_last_event() {
        let finish = finish_of(
            WIRE,
            &[
                r#"{"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":30,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":7}}}}"#,
            ],
        );
        let expected = Usage {
            input: 80,
            output: 30,
            cache_read: 20,
            reasoning: Some(7),
            ..Usage::default()
        };
        assert_eq!(
            (finish.stop_reason, finish.usage),
            (StopReason::Stop, expected)
        );
        for (word, reason, refused) in [
            ("max_output_tokens", StopReason::Length, false),
            ("content_filter", StopReason::Stop, true),
        ] {
            let last = format!(
                r#"{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{word}"}}}}}}"#
            );
            let finish = finish_of(WIRE, &[&last]);
            assert_eq!((finish.stop_reason, finish.refused), (reason, refused));
        }
    }

    #[test]
    fn items_that_come_whole_and_phases_of_messages_are_kept() {
        let (events, result) = decode(
            WIRE,
            &[
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","status":null,"encrypted_content":"e","summary":[{"text":"a"},{"text":"b"}]}}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","phase":"commentary","content":[{"type":"output_text","text":"hi"}]}}"#,
                r#"{"type":"response.completed","response":{}}"#,
            ],
        );
        assert_eq!(result, Ok(()));
        assert_eq!(
            events[1..7],
            [
                ModelEvent::BlockStarted(LiveBlockKind::Thinking),
                ModelEvent::Delta("a\n\nb".into()),
                ModelEvent::BlockEnded {
                    signature: Some(r#"{"type":"reasoning","id":"rs","encrypted_content":"e","summary":[{"text":"a"},{"text":"b"}]}"#.into())
                },
                ModelEvent::BlockStarted(LiveBlockKind::Text),
                ModelEvent::Delta("hi".into()),
                ModelEvent::BlockEnded {
                    signature: Some(r#"{"v":1,"id":"m","phase":"commentary"}"#.into())
                },
            ]
        );
    }
}
