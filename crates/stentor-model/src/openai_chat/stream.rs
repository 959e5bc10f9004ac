//! The chunks of the chat completions API.

use serde::Deserialize;
use serde_json::Value;
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use super::calls::{CallFragments, Fragment};
use super::content::{Arguments, Content};
use crate::answer::{AnswerBuilder, Decoder, ProviderFault, StreamFault};
use crate::failure::fault_in;

/// Reads one answer of the chat completions API.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    calls: CallFragments,
    /// In which field reasoning comes; it goes back in the same.
    reasoning_field: Option<&'static str>,
    reasoning_details: Vec<Value>,
    /// What those were written as, in bytes.
    details_bytes: usize,
    /// Text that came while a call was not complete.
    held_text: String,
    stop: Option<(StopReason, bool)>,
}

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    /// Some servers send the whole message instead.
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Content>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    reasoning_text: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPart>>,
}

#[derive(Deserialize)]
struct CallPart {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPart>,
}

#[derive(Deserialize)]
struct FunctionPart {
    name: Option<String>,
    arguments: Option<Arguments>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault> {
        if data.trim() == "[DONE]" {
            let (reason, refused) = self.stop.unwrap_or_default();
            self.end(reason, refused, answer);
            return Ok(());
        }
        if data.trim().is_empty() {
            return Ok(());
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| StreamFault::unreadable(name, &error))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(StreamFault::Provider(fault_in(&error)));
        }
        answer.start(chunk.id.filter(|id| !id.is_empty()));
        if let Some(usage) = chunk.usage {
            usage.put_into(answer.usage());
        }
        for choice in chunk.choices.into_iter().flatten().take(1) {
            self.choice(choice, answer)?;
        }
        Ok(())
    }

    fn closed(&mut self, answer: &mut AnswerBuilder) -> Result<(), StreamFault> {
        let (reason, refused) = self.stop.ok_or(StreamFault::CutShort)?;
        self.end(reason, refused, answer);
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.calls.held_bytes() + self.held_text.len() + self.details_bytes
    }
}

impl ChatDecoder {
    fn choice(&mut self, choice: Choice, answer: &mut AnswerBuilder) -> Result<(), StreamFault> {
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(StreamFault::Provider(fault_in(&error)));
        }
        if let Some(usage) = choice.usage {
            usage.put_into(answer.usage());
        }
        if let Some(delta) = choice.delta {
            self.delta(delta, answer);
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(stop_reason(&reason)?);
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta, answer: &mut AnswerBuilder) {
        let content = delta.content.unwrap_or_default();
        // A server may send the same reasoning under two names; the first that is filled counts.
        let reasoning = [
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("reasoning_text", delta.reasoning_text),
        ]
        .into_iter()
        .find_map(|(field, text)| Some((field, text.filter(|text| !text.is_empty())?)));
        if let Some((field, text)) = reasoning {
            self.reasoning_field = Some(field);
            self.think(text, answer);
        }
        self.think(content.thinking, answer);
        for detail in delta.reasoning_details.into_iter().flatten() {
            self.details_bytes += detail.to_string().len();
            merge_detail(&mut self.reasoning_details, detail);
        }
        self.add_text(content.text, answer);
        self.add_text(delta.refusal.unwrap_or_default(), answer);
        for part in delta.tool_calls.into_iter().flatten() {
            self.leave_thinking(answer);
            let (name, arguments) = match part.function {
                Some(function) => (
                    function.name.unwrap_or_default(),
                    function.arguments.unwrap_or_default().0,
                ),
                None => Default::default(),
            };
            let fragment = Fragment {
                index: part.index,
                id: part.id.unwrap_or_default(),
                name,
                arguments,
            };
            self.calls.take(fragment, answer);
        }
    }

    fn think(&mut self, text: String, answer: &mut AnswerBuilder) {
        if text.is_empty() {
            return;
        }
        if self.calls.can_pause() {
            self.calls.pause(answer);
            answer.open_unless_open(LiveBlockKind::Thinking);
            answer.delta(text);
        } else {
            self.held_text.push_str(&text);
        }
    }

    fn add_text(&mut self, text: String, answer: &mut AnswerBuilder) {
        if text.is_empty() {
            return;
        }
        if self.calls.can_pause() {
            self.leave_thinking(answer);
            self.calls.pause(answer);
            answer.open_unless_open(LiveBlockKind::Text);
            answer.delta(text);
        } else {
            self.held_text.push_str(&text);
        }
    }

    /// Ends open reasoning with what must go back with it.
    fn leave_thinking(&mut self, answer: &mut AnswerBuilder) {
        if answer.open_kind() != Some(&LiveBlockKind::Thinking) {
            return;
        }
        self.details_bytes = 0;
        let details = std::mem::take(&mut self.reasoning_details);
        let signature = if details.is_empty() {
            self.reasoning_field.map(str::to_owned)
        } else {
            Some(Value::Array(details).to_string())
        };
        answer.close(signature);
    }

    fn end(&mut self, reason: StopReason, refused: bool, answer: &mut AnswerBuilder) {
        if !self.reasoning_details.is_empty() {
            // Encrypted reasoning may come without a word that could be shown.
            answer.open_unless_open(LiveBlockKind::Thinking);
        }
        self.leave_thinking(answer);
        self.calls.finish(answer);
        let held = std::mem::take(&mut self.held_text);
        answer.delta(held);
        answer.finish(reason, refused);
    }
}

impl WireUsage {
    fn put_into(&self, usage: &mut Usage) {
        let prompt = self.prompt_tokens.unwrap_or(0);
        let mut output = self.completion_tokens.unwrap_or(0);
        let details = self.prompt_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .or(self.prompt_cache_hit_tokens)
            .unwrap_or(0);
        let written = details
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0);
        let reasoning = self
            .completion_tokens_details
            .as_ref()
            .and_then(|details| details.reasoning_tokens);
        // Some count reasoning beside the completion instead of in it; the total tells.
        if let (Some(reasoning), Some(total)) = (reasoning, self.total_tokens)
            && Some(total) == prompt.checked_add(output.saturating_add(reasoning))
        {
            output = output.saturating_add(reasoning);
        }
        *usage = Usage {
            input: prompt.saturating_sub(cached.saturating_add(written)),
            output,
            cache_read: cached,
            cache_write: written,
            reasoning,
            ..Usage::default()
        };
    }
}

/// Joins the pieces of one detail, which stream like text does.
fn merge_detail(details: &mut Vec<Value>, piece: Value) {
    let same =
        |a: &Value, b: &Value| a.get("type") == b.get("type") && a.get("index") == b.get("index");
    match (details.last_mut(), piece) {
        (Some(last), piece) if same(last, &piece) => {
            let (Value::Object(last), Value::Object(piece)) = (last, piece) else {
                return;
            };
            for (name, value) in piece {
                match (last.get_mut(&name), value) {
                    (Some(Value::String(before)), Value::String(more))
                        if matches!(name.as_str(), "text" | "summary" | "data") =>
                    {
                        before.push_str(&more);
                    }
                    (_, Value::Null) => {}
                    (_, value) => {
                        last.insert(name, value);
                    }
                }
            }
        }
        (_, piece) => details.push(piece),
    }
}

/// The server's word for the end, and whether it means a refusal.
fn stop_reason(word: &str) -> Result<(StopReason, bool), StreamFault> {
    Ok(match word {
        "length" | "model_length" => (StopReason::Length, false),
        "tool_calls" | "function_call" => (StopReason::ToolUse, false),
        "content_filter" => (StopReason::Stop, true),
        "error" | "network_error" => {
            return Err(StreamFault::Provider(ProviderFault {
                code: "server_error".to_owned(),
                message: format!("the answer ended with `{word}`"),
                status: None,
            }));
        }
        // `stop`, `eos`, `end_turn` and whatever else servers say.
        _ => (StopReason::Stop, false),
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
