//! A question in the words of the Messages API.

use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelRequest, ThinkingLevel};

use super::thinking;
use crate::call::{Call, Target, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::enforceable;
use crate::transcript::{self, AssistantPart, IdRule, Part, ToolAnswer, Turn};

const VERSION: &str = "2023-06-01";
const IDS: IdRule = IdRule::Identifier { max_len: 64 };
/// What an access token of a login needs to be accepted.
const OAUTH_BETA: &str = "oauth-2025-04-20";
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";
const FINE_TOOL_STREAM_BETA: &str = "fine-grained-tool-streaming-2025-05-14";
const OFFICIAL: &str = "https://api.anthropic.com";
/// Breakpoints in the conversation. With one each for the tools and the system prompt that makes
/// the four the API allows; the older one still matches when the newest turn changed.
const CACHED_USER_TURNS: usize = 2;

/// The request for `request` at `target`.
pub fn encode(target: Target<'_>, request: &ModelRequest) -> Call {
    let body = body(target, request);
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    let mut betas = Vec::new();
    match target.credential {
        Credential::None => {}
        Credential::ApiKey(key) => headers.push(("x-api-key", key.expose().to_owned())),
        Credential::Bearer { token, .. } => {
            headers.push(("authorization", format!("Bearer {}", token.expose())));
            betas.push(OAUTH_BETA);
        }
    }
    // A server that only imitates the API may refuse words it does not know.
    if target.base_url == OFFICIAL {
        betas.push(FINE_TOOL_STREAM_BETA);
        if thinking::demands_thinking_first(&target.info.id) && body.get("thinking").is_some() {
            betas.push(INTERLEAVED_BETA);
        }
    }
    if !betas.is_empty() {
        headers.push(("anthropic-beta", betas.join(",")));
    }
    Call {
        url: format!("{}/v1/messages", target.base_url),
        headers,
        body: to_bytes(&body),
    }
}

fn body(target: Target<'_>, request: &ModelRequest) -> Value {
    let info = target.info;
    let turns = transcript::prepare(&request.messages, info, IDS);
    let limit = output_limit(info, request);
    let mut body = Map::new();
    body.insert("model".into(), info.id.clone().into());
    body.insert("max_tokens".into(), limit.into());
    body.insert("stream".into(), true.into());
    if !request.system.trim().is_empty() {
        body.insert(
            "system".into(),
            json!([{"type": "text", "text": &*request.system, "cache_control": ephemeral()}]),
        );
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request));
    } else if let Some(called) = called_tools(&turns) {
        body.insert("tools".into(), called);
        body.insert("tool_choice".into(), json!({"type": "none"}));
    }
    if info.reasoning {
        let level = thinking_level(target, request, &turns);
        let (thinking, output) = thinking::fields(&info.id, level, limit);
        body.extend(thinking.map(|thinking| ("thinking".to_owned(), thinking)));
        body.extend(output.map(|output| ("output_config".to_owned(), output)));
    }
    if info.provider == "anthropic"
        && thinking::takes_schema(&info.id)
        && let Some(schema) = enforceable(request)
        && let Some(output) = body
            .entry("output_config")
            .or_insert_with(|| json!({}))
            .as_object_mut()
    {
        output.insert(
            "format".into(),
            json!({"type": "json_schema", "schema": schema}),
        );
    }
    body.insert("messages".into(), messages(&turns).into());
    Value::Object(body)
}

/// Older models refuse to go on thinking in a round of tool calls that began without: such a round
/// begun by another model is finished without thinking.
fn thinking_level(target: Target<'_>, request: &ModelRequest, turns: &[Turn<'_>]) -> ThinkingLevel {
    let level = target.info.clamp(request.thinking);
    if level == ThinkingLevel::Off || !thinking::demands_thinking_first(&target.info.id) {
        return level;
    }
    let round = turns
        .iter()
        .rev()
        .take_while(|turn| !matches!(turn, Turn::User(_)));
    let unthought = |turn: &Turn<'_>| match turn {
        Turn::Assistant(parts) => !matches!(
            parts.first(),
            Some(AssistantPart::Thinking { .. } | AssistantPart::Redacted { .. })
        ),
        Turn::User(_) | Turn::Results(_) => false,
    };
    if round.into_iter().any(unthought) {
        ThinkingLevel::Off
    } else {
        level
    }
}

fn tools(request: &ModelRequest) -> Value {
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            })
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        cache_from_here(last);
    }
    tools.into()
}

/// The tools the conversation has calls of. The API wants them declared even where none may be
/// called, as in a summary.
fn called_tools(turns: &[Turn<'_>]) -> Option<Value> {
    let mut names: Vec<&str> = Vec::new();
    for turn in turns {
        if let Turn::Assistant(parts) = turn {
            names.extend(parts.iter().filter_map(|part| match part {
                AssistantPart::Call { call, .. } => Some(call.name.as_str()),
                _ => None,
            }));
        }
    }
    names.sort_unstable();
    names.dedup();
    let declare = |name| json!({"name": name, "input_schema": {"type": "object"}});
    (!names.is_empty()).then(|| names.into_iter().map(declare).collect())
}

fn messages(turns: &[Turn<'_>]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let (role, content) = match turn {
            Turn::User(parts) => ("user", parts.iter().map(part).collect()),
            Turn::Assistant(parts) => (
                "assistant",
                parts.iter().filter_map(assistant_block).collect(),
            ),
            Turn::Results(answers) => ("user", answers.iter().map(tool_result).collect::<Vec<_>>()),
        };
        if content.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, before)) if *last == role => before.extend(content),
            _ => messages.push((role, content)),
        }
    }
    let users = messages
        .iter_mut()
        .rev()
        .filter(|(role, _)| *role == "user");
    for (_, content) in users.take(CACHED_USER_TURNS) {
        if let Some(last) = content.last_mut() {
            cache_from_here(last);
        }
    }
    let to_value = |(role, content)| json!({"role": role, "content": content});
    messages.into_iter().map(to_value).collect()
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => text_block(text),
        Part::Image(image) => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": image.mime_type, "data": &*image.data},
        }),
        Part::Pdf(document) => json!({
            "type": "document",
            "source": {"type": "base64", "media_type": document.mime_type, "data": &*document.data},
            "title": document.name,
        }),
    }
}

fn assistant_block(part: &AssistantPart<'_>) -> Option<Value> {
    Some(match part {
        AssistantPart::Text { text, .. } if text.trim().is_empty() => return None,
        AssistantPart::Text { text, .. } => text_block(text),
        AssistantPart::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        AssistantPart::Redacted { data } => json!({"type": "redacted_thinking", "data": data}),
        AssistantPart::Call { id, call, .. } => {
            json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments})
        }
    })
}

fn tool_result(answer: &ToolAnswer<'_>) -> Value {
    let content: Vec<Value> = if answer.parts.is_empty() {
        vec![text_block("(no output)")]
    } else {
        answer.parts.iter().map(part).collect()
    };
    json!({
        "type": "tool_result",
        "tool_use_id": answer.id,
        "content": content,
        "is_error": answer.is_error,
    })
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn cache_from_here(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert("cache_control".into(), ephemeral());
    }
}

fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}
