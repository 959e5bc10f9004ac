//! A question in the words of the chat completions API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stentor_agent::model::ModelRequest;

use super::quirks::Quirks;
use crate::call::{CallTarget, HttpCall, bearer_headers, output_limit, to_bytes};
use crate::openai::{DataUrl, arguments_text, file_name, result_text};
use crate::output_schema::{self, enforceable};
use crate::transcript::{self, AssistantPart, ToolAnswer, TranscriptPart, TranscriptTurn};

/// Precedes media of tool results, which a result cannot carry on this wire.
const MEDIA_OF_RESULTS: &str = "(media of the tool results above)";
/// Stands between tool results and a user message where a server wants something there.
const RESULTS_SEEN: &str = "(tool results received)";

/// The request for `request` at `target`.
pub fn encode(target: CallTarget<'_>, request: &ModelRequest) -> HttpCall {
    let quirks = Quirks::of(target.info);
    let turns = transcript::prepare(&request.messages, target.info, quirks.ids);
    let mut headers = bearer_headers(target.credential);
    if quirks.is_copilot {
        headers.extend(copilot_headers(&turns));
    }
    HttpCall {
        url: format!("{}/chat/completions", target.base_url),
        headers,
        body: to_bytes(&Body::new(target, request, &turns, quirks)),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    /// What there is little of, in words that differ from server to server.
    #[serde(flatten)]
    settings: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Which field reasoning comes in differs from server to server.
        #[serde(flatten)]
        reasoning: Map<String, Value>,
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct Url<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'a str,
    file_data: DataUrl<'a>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

impl<'a> Body<'a> {
    fn new(
        target: CallTarget<'_>,
        request: &'a ModelRequest,
        turns: &'a [TranscriptTurn<'_>],
        quirks: Quirks,
    ) -> Self {
        let tools = request.tools.iter().map(|tool| Tool {
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            },
        });
        let mut messages = Vec::new();
        if !request.system.trim().is_empty() {
            messages.push(Message::System {
                content: &request.system,
            });
        }
        for (n, turn) in turns.iter().enumerate() {
            match turn {
                TranscriptTurn::User(parts) => messages.push(user(parts)),
                TranscriptTurn::Assistant(parts) => messages.push(assistant(parts)),
                TranscriptTurn::Results(answers) => {
                    let then_user = matches!(turns.get(n + 1), Some(TranscriptTurn::User(_)));
                    results(answers, then_user, quirks, &mut messages);
                }
            }
        }
        Self {
            settings: settings(target, request, quirks),
            tools: tools.collect(),
            messages,
        }
    }
}

fn settings(target: CallTarget<'_>, request: &ModelRequest, quirks: Quirks) -> Map<String, Value> {
    let info = target.info;
    let mut settings = Map::new();
    settings.insert("model".into(), info.id.clone().into());
    settings.insert("stream".into(), true.into());
    settings.insert("stream_options".into(), json!({"include_usage": true}));
    let asked_for = request.max_output_tokens.map(|_| "max_tokens");
    if let Some(field) = quirks.output_limit_field.or(asked_for) {
        settings.insert(field.into(), output_limit(info, request).into());
    }
    quirks.ask_to_think(info, request.thinking, &mut settings);
    if quirks.takes_cache_key && !request.session_id.is_empty() {
        settings.insert("prompt_cache_key".into(), (*request.session_id).into());
    }
    if quirks.takes_schema
        && let Some(schema) = enforceable(request, &output_schema::OPENAI)
    {
        let format = json!({"name": "result", "schema": schema, "strict": true});
        let format = json!({"type": "json_schema", "json_schema": format});
        settings.insert("response_format".into(), format);
    }
    settings
}

fn user<'a>(parts: &'a [TranscriptPart<'_>]) -> Message<'a> {
    Message::User {
        content: content(parts),
    }
}

/// Plain text where there is nothing else: every server understands that.
fn content<'a>(parts: &'a [TranscriptPart<'_>]) -> Content<'a> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            TranscriptPart::Text(text) => Some(text.as_ref()),
            TranscriptPart::Image(_) | TranscriptPart::Pdf(_) => None,
        })
        .collect();
    match texts.as_deref() {
        Some([text]) => Content::Text(Cow::Borrowed(text)),
        Some(texts) => Content::Text(Cow::Owned(texts.join("\n\n"))),
        None => Content::Pieces(parts.iter().map(piece).collect()),
    }
}

fn piece<'a>(part: &'a TranscriptPart<'_>) -> Piece<'a> {
    match part {
        TranscriptPart::Text(text) => Piece::Text { text },
        TranscriptPart::Image(image) => Piece::ImageUrl {
            image_url: Url {
                url: DataUrl::of_image(image),
            },
        },
        TranscriptPart::Pdf(document) => Piece::File {
            file: File {
                filename: file_name(document),
                file_data: DataUrl::of_document(document),
            },
        },
    }
}

fn assistant<'a>(parts: &'a [AssistantPart<'_>]) -> Message<'a> {
    let mut reasoning = Map::new();
    let mut text = Cow::Borrowed("");
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text: more, .. } if text.is_empty() => {
                text = Cow::Borrowed(more.as_ref());
            }
            AssistantPart::Text { text: more, .. } => append(text.to_mut(), more),
            AssistantPart::Thinking {
                text: thought,
                signature,
            } => think(&mut reasoning, thought, signature),
            // This wire has no calls that a provider runs.
            AssistantPart::Redacted { .. } | AssistantPart::ServerCall { .. } => {}
            AssistantPart::Call { id, call, .. } => tool_calls.push(ToolCall {
                id,
                kind: "function",
                function: CalledFunction {
                    name: &call.name,
                    arguments: arguments_text(call),
                },
            }),
        }
    }
    let only_calls = text.is_empty() && !tool_calls.is_empty();
    Message::Assistant {
        reasoning,
        content: (!only_calls).then_some(text),
        tool_calls,
    }
}

/// Puts reasoning back into the field it came in, which its signature names.
fn think(reasoning: &mut Map<String, Value>, thought: &str, signature: &str) {
    match signature {
        field @ ("reasoning_content" | "reasoning" | "reasoning_text") => {
            match reasoning.get_mut(field) {
                Some(Value::String(before)) => append(before, thought),
                _ => {
                    reasoning.insert(field.into(), thought.into());
                }
            }
        }
        details if details.starts_with('[') => {
            if let Ok(details @ Value::Array(_)) = serde_json::from_str(details) {
                reasoning.insert("reasoning_details".into(), details);
            }
        }
        // Nobody knows the field it came in.
        _ => {}
    }
}

fn results<'a>(
    answers: &'a [ToolAnswer<'_>],
    then_user: bool,
    quirks: Quirks,
    messages: &mut Vec<Message<'a>>,
) {
    let mut media = Vec::new();
    for answer in answers {
        let (content, more) = result_text(answer);
        media.extend(more.into_iter().map(piece));
        messages.push(Message::Tool {
            tool_call_id: &answer.id,
            content,
            name: quirks.names_tool_results.then_some(answer.name),
        });
    }
    if quirks.wants_assistant_after_results && (then_user || !media.is_empty()) {
        messages.push(Message::Assistant {
            reasoning: Map::new(),
            content: Some(Cow::Borrowed(RESULTS_SEEN)),
            tool_calls: Vec::new(),
        });
    }
    if !media.is_empty() {
        let text = Piece::Text {
            text: MEDIA_OF_RESULTS,
        };
        media.insert(0, text);
        messages.push(Message::User {
            content: Content::Pieces(media),
        });
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// Copilot wants to know who caused a request, and whether there is something to see.
fn copilot_headers(turns: &[TranscriptTurn<'_>]) -> Vec<(&'static str, String)> {
    let by_agent = !matches!(turns.last(), Some(TranscriptTurn::User(_)));
    let mut headers = vec![(
        "x-initiator",
        if by_agent { "agent" } else { "user" }.to_owned(),
    )];
    let is_image = |part: &TranscriptPart<'_>| matches!(part, TranscriptPart::Image(_));
    let sees = turns.iter().any(|turn| match turn {
        TranscriptTurn::User(parts) => parts.iter().any(is_image),
        TranscriptTurn::Results(answers) => answers
            .iter()
            .any(|answer| answer.parts.iter().any(is_image)),
        TranscriptTurn::Assistant(_) => false,
    });
    if sees {
        headers.push(("copilot-vision-request", "true".to_owned()));
    }
    headers
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stentor_agent::model::{InputKind, ModelInfo, Purpose, ThinkingLevel};
    use stentor_journal::message::{ContentBlock, Message};

    use super::*;
    use crate::credential::Credential;

    fn body_at(provider: &str, levels: &[ThinkingLevel], level: ThinkingLevel) -> Value {
        let info = ModelInfo {
            id: "m".into(),
            name: "M".into(),
            api: "openai-completions".into(),
            provider: provider.into(),
            base_url: "http://localhost/v1".into(),
            reasoning: true,
            input: vec![InputKind::Text],
            cost: None,
            context_window: 1000,
            max_tokens: 100,
            thinking_levels: levels.to_vec(),
            modes: Vec::new(),
        };
        let request = ModelRequest {
            system: "".into(),
            messages: vec![Arc::new(Message::user(vec![ContentBlock::text("hi")], 1))],
            tools: Arc::new([]),
            thinking: level,
            output_schema: None,
            max_output_tokens: None,
            session_id: "s".into(),
            session_file: None,
            purpose: Purpose::Turn,
            host: None,
        };
        let target = CallTarget {
            info: &info,
            credential: &Credential::None,
            base_url: "http://localhost/v1",
            server_tools: &[],
        };
        let mut body: Value = serde_json::from_slice(&encode(target, &request).body).unwrap();
        let map = body.as_object_mut().unwrap();
        for same in ["model", "stream", "stream_options", "messages"] {
            map.remove(same);
        }
        body
    }

    #[test]
    fn each_server_is_told_to_think_and_to_stop_in_its_own_words() {
        use ThinkingLevel::{High, Low, Medium, Off, Xhigh};
        for (provider, levels, level, expected) in [
            (
                "groq",
                vec![Low, Medium, High],
                Xhigh,
                json!({"max_tokens": 100, "reasoning_effort": "high"}),
            ),
            (
                "groq",
                vec![],
                Xhigh,
                json!({"max_tokens": 100, "reasoning_effort": "high"}),
            ),
            (
                "xai",
                vec![Low, High, Xhigh],
                Xhigh,
                json!({"max_tokens": 100, "reasoning_effort": "xhigh"}),
            ),
            ("together", vec![High], High, json!({"max_tokens": 100})),
            ("mistral", vec![], Off, json!({"max_tokens": 100})),
            (
                "openai",
                vec![Off, Low],
                Off,
                json!({"max_completion_tokens": 100, "reasoning_effort": "none", "prompt_cache_key": "s"}),
            ),
            (
                "openrouter",
                vec![],
                Low,
                json!({"max_tokens": 100, "reasoning": {"effort": "low"}}),
            ),
            (
                "deepseek",
                vec![Off, High],
                Off,
                json!({"max_tokens": 100, "thinking": {"type": "disabled"}}),
            ),
            (
                "llamacpp",
                vec![],
                Medium,
                json!({"chat_template_kwargs": {"enable_thinking": true}}),
            ),
            (
                "ollama",
                vec![],
                Medium,
                json!({"reasoning_effort": "medium"}),
            ),
        ] {
            assert_eq!(
                body_at(provider, &levels, level),
                expected,
                "{provider} {level}"
            );
        }
    }
}
