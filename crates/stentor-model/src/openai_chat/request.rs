//! A question in the words of the chat completions API.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use stentor_agent::model::ModelRequest;

use super::quirks::Quirks;
use crate::call::{Call, Target, bearer_headers, output_limit, to_bytes};
use crate::output_schema::enforceable;
use crate::transcript::{self, AssistantPart, Part, ToolAnswer, Turn, split_media};

/// Precedes media of tool results, which a result cannot carry on this wire.
const MEDIA_OF_RESULTS: &str = "(media of the tool results above)";
/// Stands between tool results and a user message where a server wants something there.
const RESULTS_SEEN: &str = "(tool results received)";

/// The request for `request` at `target`.
pub fn encode(target: Target<'_>, request: &ModelRequest) -> Call {
    let quirks = Quirks::of(target.info);
    let turns = transcript::prepare(&request.messages, target.info, quirks.ids);
    let mut headers = bearer_headers(target.credential);
    if quirks.is_copilot {
        headers.extend(copilot_headers(&turns));
    }
    Call {
        url: format!("{}/chat/completions", target.base_url),
        headers,
        body: to_bytes(&body(target, request, &turns, quirks)),
    }
}

fn body(target: Target<'_>, request: &ModelRequest, turns: &[Turn<'_>], quirks: Quirks) -> Value {
    let info = target.info;
    let mut body = Map::new();
    body.insert("model".into(), info.id.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    let asked_for = request.max_output_tokens.map(|_| "max_tokens");
    if let Some(field) = quirks.output_limit_field.or(asked_for) {
        body.insert(field.into(), output_limit(info, request).into());
    }
    quirks.ask_to_think(info, request.thinking, &mut body);
    if quirks.takes_cache_key && !request.session_id.is_empty() {
        body.insert("prompt_cache_key".into(), (*request.session_id).into());
    }
    if quirks.takes_schema
        && let Some(schema) = enforceable(request)
    {
        let format = json!({"name": "result", "schema": schema, "strict": true});
        let format = json!({"type": "json_schema", "json_schema": format});
        body.insert("response_format".into(), format);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            }})
        });
        body.insert("tools".into(), tools.collect());
    }
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": &*request.system}));
    }
    for (n, turn) in turns.iter().enumerate() {
        match turn {
            Turn::User(parts) => messages.push(user(parts)),
            Turn::Assistant(parts) => messages.push(assistant(parts)),
            Turn::Results(answers) => {
                let then_user = matches!(turns.get(n + 1), Some(Turn::User(_)));
                results(answers, then_user, quirks, &mut messages);
            }
        }
    }
    body.insert("messages".into(), messages.into());
    Value::Object(body)
}

fn user(parts: &[Part<'_>]) -> Value {
    json!({"role": "user", "content": content(parts)})
}

/// Plain text where there is nothing else: every server understands that.
fn content(parts: &[Part<'_>]) -> Value {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => Some(text.as_ref()),
            Part::Image(_) | Part::Pdf(_) => None,
        })
        .collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image(image) => json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{};base64,{}", image.mime_type, image.data)},
        }),
        Part::Pdf(document) => json!({
            "type": "file",
            "file": {
                "filename": document.name.as_deref().unwrap_or("document.pdf"),
                "file_data": format!("data:{};base64,{}", document.mime_type, document.data),
            },
        }),
    }
}

fn assistant(parts: &[AssistantPart<'_>]) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    let mut text = String::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text: more, .. } => append(&mut text, more),
            AssistantPart::Thinking {
                text: thought,
                signature,
            } => think(&mut message, thought, signature),
            AssistantPart::Redacted { .. } => {}
            AssistantPart::Call { id, call, .. } => calls.push(json!({
                "id": id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": Value::Object(call.arguments.clone()).to_string(),
                },
            })),
        }
    }
    let content = if text.is_empty() && !calls.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    message.insert("content".into(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    Value::Object(message)
}

/// Puts reasoning back into the field it came in, which its signature names.
fn think(message: &mut Map<String, Value>, thought: &str, signature: &str) {
    match signature {
        field @ ("reasoning_content" | "reasoning" | "reasoning_text") => {
            match message.get_mut(field) {
                Some(Value::String(before)) => append(before, thought),
                _ => {
                    message.insert(field.into(), thought.into());
                }
            }
        }
        details if details.starts_with('[') => {
            if let Ok(details @ Value::Array(_)) = serde_json::from_str(details) {
                message.insert("reasoning_details".into(), details);
            }
        }
        // Nobody knows the field it came in.
        _ => {}
    }
}

fn results(answers: &[ToolAnswer<'_>], then_user: bool, quirks: Quirks, messages: &mut Vec<Value>) {
    let mut media = Vec::new();
    for answer in answers {
        let (text, more) = split_media(&answer.parts);
        media.extend(more);
        let text = if answer.is_error {
            Cow::Owned(format!("Error: {text}"))
        } else {
            Cow::Borrowed(text.as_str())
        };
        let mut message = json!({"role": "tool", "tool_call_id": answer.id, "content": text});
        if let (true, Value::Object(message)) = (quirks.names_tool_results, &mut message) {
            message.insert("name".into(), answer.name.into());
        }
        messages.push(message);
    }
    if quirks.wants_assistant_after_results && (then_user || !media.is_empty()) {
        messages.push(json!({"role": "assistant", "content": RESULTS_SEEN}));
    }
    if !media.is_empty() {
        media.insert(0, Part::Text(MEDIA_OF_RESULTS.into()));
        messages.push(user(&media));
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// Copilot wants to know who caused a request, and whether there is something to see.
fn copilot_headers(turns: &[Turn<'_>]) -> Vec<(&'static str, String)> {
    let by_agent = !matches!(turns.last(), Some(Turn::User(_)));
    let mut headers = vec![(
        "x-initiator",
        if by_agent { "agent" } else { "user" }.to_owned(),
    )];
    let is_image = |part: &Part<'_>| matches!(part, Part::Image(_));
    let sees = turns.iter().any(|turn| match turn {
        Turn::User(parts) => parts.iter().any(is_image),
        Turn::Results(answers) => answers
            .iter()
            .any(|answer| answer.parts.iter().any(is_image)),
        Turn::Assistant(_) => false,
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
        let target = Target {
            info: &info,
            credential: &Credential::None,
            base_url: "http://localhost/v1",
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
