//! The chunks of the Gemini API.

use serde::Deserialize;
use serde_json::{Map, Value};
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use crate::answer::{AnswerBuilder, Decoder, ProviderFault, StreamFault};
use crate::call_id::new_call_id;
use crate::failure::fault_in;

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
    grounding_metadata: Option<Grounding>,
}

/// What a search of the provider has found.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grounding {
    grounding_chunks: Option<Vec<GroundingChunk>>,
}

#[derive(Deserialize)]
struct GroundingChunk {
    web: Option<GroundingPage>,
}

#[derive(Deserialize)]
struct GroundingPage {
    #[serde(default)]
    uri: String,
    #[serde(default)]
    title: String,
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
    fn event(
        &mut self,
        name: &str,
        data: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), StreamFault> {
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
            let found = candidate.grounding_metadata;
            let found = found.and_then(|found| found.grounding_chunks);
            for page in found.into_iter().flatten().filter_map(|chunk| chunk.web) {
                answer.source(&page.title, &page.uri);
            }
            if let Some(reason) = candidate.finish_reason {
                self.stop = Some(stop_reason(&reason, candidate.finish_message)?);
            }
        }
        Ok(())
    }

    fn closed(&mut self, answer: &mut AnswerBuilder) -> Result<(), StreamFault> {
        let (reason, refused) = self.stop.ok_or(StreamFault::CutShort)?;
        self.close(answer);
        answer.finish(reason, refused);
        Ok(())
    }
}

impl GeminiDecoder {
    fn part(&mut self, part: Part, answer: &mut AnswerBuilder) {
        let signature = part
            .thought_signature
            .filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            self.close(answer);
            answer.open(LiveBlockKind::ToolCall {
                id: call
                    .id
                    .filter(|id| !id.is_empty())
                    .unwrap_or_else(new_call_id),
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

    fn close(&mut self, answer: &mut AnswerBuilder) {
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

#[cfg(test)]
mod tests {
    use stentor_agent::model::ModelEvent;

    use super::*;
    use crate::wire::{Wire, decode, finish_of};

    const WIRE: Wire = Wire::Gemini;

    #[test]
    fn usage_counts_thoughts_as_output_and_takes_the_cache_out_of_the_input() {
        let finish = finish_of(
            WIRE,
            &[
                r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":30,"thoughtsTokenCount":7,"cachedContentTokenCount":20}}"#,
            ],
        );
        let expected = Usage {
            input: 80,
            output: 37,
            cache_read: 20,
            reasoning: Some(7),
            ..Usage::default()
        };
        assert_eq!(finish.usage, expected);
    }

    #[test]
    fn every_reason_to_stop_has_its_meaning() {
        for (word, reason, refused) in [
            ("STOP", StopReason::Stop, false),
            ("MAX_TOKENS", StopReason::Length, false),
            ("SAFETY", StopReason::Stop, true),
        ] {
            let last = format!(r#"{{"candidates":[{{"finishReason":"{word}"}}]}}"#);
            let finish = finish_of(WIRE, &[&last]);
            assert_eq!((finish.stop_reason, finish.refused), (reason, refused));
        }
        let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
        assert!(finish_of(WIRE, &[blocked]).refused);
        let malformed = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
        assert!(matches!(
            decode(WIRE, &[malformed]).1,
            Err(StreamFault::Provider(_))
        ));
    }

    #[test]
    fn a_signature_belongs_to_the_block_it_came_with_or_behind() {
        let (events, _) = decode(
            WIRE,
            &[
                r#"{"candidates":[{"content":{"parts":[{"text":"so"},{"text":"","thoughtSignature":"t"}]}}]}"#,
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls"},"thoughtSignature":"c"}]},"finishReason":"STOP"}]}"#,
            ],
        );
        let signatures: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::BlockEnded { signature } => Some(signature.as_deref()),
                _ => None,
            })
            .collect();
        assert_eq!(signatures, [Some("t"), Some("c")]);
    }
}
