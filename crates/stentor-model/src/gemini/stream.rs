//! The chunks of the Gemini API.

use serde::Deserialize;
use serde_json::{Map, Value};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::message::StopReason;
use stentor_agent::usage::Usage;

use crate::answer::{Answer, Decoder, ProviderFault, StreamFault};
use crate::failure::fault_in;
use crate::openai_chat::made_up_id;

/// Reads one answer of the Gemini API.
#[derive(Debug, Default)]
pub struct GeminiDecoder {
    /// Goes with the open block when it ends.
    signature: Option<String>,
    stop: Option<(StopReason, bool)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    candidates: Option<Vec<Candidate>>,
    usage_metadata: Option<WireUsage>,
    response_id: Option<String>,
    prompt_feedback: Option<Feedback>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<CandidateContent>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct CandidateContent {
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct WireUsage {
    prompt_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: u64,
    tool_use_prompt_token_count: u64,
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, name: &str, data: &str, answer: &mut Answer) -> Result<(), StreamFault> {
        if data.trim() == "[DONE]" || data.trim().is_empty() {
            return Ok(());
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| StreamFault::unreadable(name, &error))?;
        if let Some(error) = chunk.error {
            return Err(StreamFault::Provider(fault_in(&error)));
        }
        answer.start(chunk.response_id);
        if let Some(usage) = chunk.usage_metadata {
            *answer.usage() = usage.to_usage();
        }
        if let Some(reason) = chunk
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
        {
            tracing::debug!(reason, "the prompt was blocked");
            self.stop = Some((StopReason::Stop, true));
        }
        for candidate in chunk.candidates.into_iter().flatten().take(1) {
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.into_iter().flatten() {
                self.part(part, answer);
            }
            if let Some(reason) = candidate.finish_reason {
                self.stop = Some(stop_reason(&reason, candidate.finish_message)?);
            }
        }
        Ok(())
    }

    fn closed(&mut self, answer: &mut Answer) -> Result<(), StreamFault> {
        let (reason, refused) = self.stop.ok_or(StreamFault::CutShort)?;
        self.close(answer);
        answer.finish(reason, refused);
        Ok(())
    }
}

impl GeminiDecoder {
    fn part(&mut self, part: Part, answer: &mut Answer) {
        let signature = part
            .thought_signature
            .filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            self.close(answer);
            answer.open(LiveBlockKind::ToolCall {
                id: call
                    .id
                    .filter(|id| !id.is_empty())
                    .unwrap_or_else(made_up_id),
                name: call.name,
            });
            answer.delta(Value::Object(call.args.unwrap_or_default()).to_string());
            answer.close(signature);
            return;
        }
        let text = part.text.unwrap_or_default();
        let kind = if part.thought {
            LiveBlockKind::Thinking
        } else {
            LiveBlockKind::Text
        };
        // An empty part may carry the signature of what came before it.
        if !text.is_empty() || (signature.is_some() && answer.open_kind().is_none()) {
            if answer.open_kind() != Some(&kind) {
                self.close(answer);
                answer.open(kind);
            }
            answer.delta(text);
        }
        self.signature = signature.or(self.signature.take());
    }

    fn close(&mut self, answer: &mut Answer) {
        answer.close(self.signature.take());
    }
}

impl WireUsage {
    fn to_usage(&self) -> Usage {
        let prompt = self.prompt_token_count + self.tool_use_prompt_token_count;
        Usage {
            input: prompt.saturating_sub(self.cached_content_token_count),
            output: self.candidates_token_count + self.thoughts_token_count.unwrap_or(0),
            cache_read: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
            ..Usage::default()
        }
    }
}

/// The provider's word for the end, and whether it means a refusal.
fn stop_reason(word: &str, message: Option<String>) -> Result<(StopReason, bool), StreamFault> {
    Ok(match word {
        "MAX_TOKENS" => (StopReason::Length, false),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => (StopReason::Stop, true),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            return Err(StreamFault::Provider(ProviderFault {
                code: "server_error".to_owned(),
                message: message.unwrap_or_else(|| format!("the answer ended with {word}")),
                status: None,
            }));
        }
        // `STOP`, `FINISH_REASON_UNSPECIFIED`, `OTHER`
        _ => (StopReason::Stop, false),
    })
}
