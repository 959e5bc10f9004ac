//! The chunks of the Gemini API.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use crate::answer::{AnswerBuilder, Decoder, ProviderFault, RanCall, StreamFault};
use crate::call_id::new_call_id;
use crate::failure::fault_in;
use crate::server_call::{self, call_signature};

/// Reads one answer of the Gemini API.
#[derive(Debug, Default)]
pub struct GeminiDecoder {
    /// Goes with the open block when it ends.
    signature: Option<String>,
    stop: Option<(StopReason, bool)>,
    /// The call that the provider runs now.
    running: Option<String>,
    /// What the provider has searched for, and what it has found.
    queries: Vec<String>,
    pages: Vec<GroundingPage>,
}

/// The most queries and pages of an answer that are shown.
const SEARCHES: usize = 30;

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
    web_search_queries: Option<Vec<String>>,
    grounding_chunks: Option<Vec<GroundingChunk>>,
}

#[derive(Deserialize)]
struct GroundingChunk {
    web: Option<GroundingPage>,
}

#[derive(Debug, PartialEq, Deserialize)]
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
    executable_code: Option<Map<String, Value>>,
    code_execution_result: Option<Map<String, Value>>,
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
            if let Some(found) = candidate.grounding_metadata {
                self.searched(found, answer);
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
        self.write_search(answer);
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
        if let Some(code) = part.executable_code {
            return self.code(code, signature, answer);
        }
        if let Some(result) = part.code_execution_result {
            return self.code_result(result, answer);
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

    /// A program that the provider runs.
    fn code(
        &mut self,
        code: Map<String, Value>,
        signature: Option<String>,
        answer: &mut AnswerBuilder,
    ) {
        self.close(answer);
        if !answer.shows_server_calls() {
            return;
        }
        let id = new_call_id();
        answer.open_server_call(id.clone(), "code_execution".to_owned());
        self.running = Some(id);
        let code = Value::Object(code);
        answer.delta(code.to_string());
        let mut item = json!({ "executableCode": code });
        if let (Some(fields), Some(signature)) = (item.as_object_mut(), signature) {
            fields.insert("thoughtSignature".to_owned(), signature.into());
        }
        answer.close(Some(call_signature(&item)));
    }

    fn code_result(&mut self, result: Map<String, Value>, answer: &mut AnswerBuilder) {
        let Some(id) = self.running.take() else {
            return;
        };
        let word = |name| result.get(name).and_then(Value::as_str);
        let is_error = word("outcome") != Some("OUTCOME_OK");
        let text = match word("output").unwrap_or_default() {
            "" => "(no output)",
            text => text,
        };
        let item = json!({ "codeExecutionResult": result });
        answer.server_result(&id, server_call::output(text, is_error, Some(item)));
    }

    fn searched(&mut self, found: Grounding, answer: &mut AnswerBuilder) {
        for query in found.web_search_queries.into_iter().flatten() {
            if self.queries.len() < SEARCHES && !self.queries.contains(&query) {
                self.queries.push(query);
            }
        }
        let chunks = found.grounding_chunks.into_iter().flatten();
        for page in chunks.filter_map(|chunk| chunk.web) {
            answer.source(&page.title, &page.uri);
            if self.pages.len() < SEARCHES && !self.pages.contains(&page) {
                self.pages.push(page);
            }
        }
    }

    /// The searches of an answer. The provider tells of them when it has written all of it, and wants
    /// nothing of them back.
    fn write_search(&mut self, answer: &mut AnswerBuilder) {
        let (queries, pages) = (&self.queries, &self.pages);
        if (queries.is_empty() && pages.is_empty()) || !answer.shows_server_calls() {
            return;
        }
        let arguments = json!({ "queries": queries }).to_string();
        let pages = pages.iter().map(|page| (&*page.title, &*page.uri));
        let ran = RanCall {
            signature: call_signature(&Value::Null),
            output: server_call::output(&server_call::page_list(pages), false, None),
        };
        answer.last_server_call(new_call_id(), "google_search", arguments, ran);
    }

    fn close(&mut self, answer: &mut AnswerBuilder) {
        answer.close(self.signature.take());
    }
}

impl WireUsage {
    fn to_usage(&self) -> Usage {
        let prompt = self.prompt_token_count;
        let prompt = prompt.saturating_add(self.tool_use_prompt_token_count);
        let thoughts = self.thoughts_token_count.unwrap_or(0);
        Usage {
            input: prompt.saturating_sub(self.cached_content_token_count),
            output: self.candidates_token_count.saturating_add(thoughts),
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
