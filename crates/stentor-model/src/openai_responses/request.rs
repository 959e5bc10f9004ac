//! A question in the words of the Responses API.
//!
//! Nothing is stored at the provider: reasoning comes back encrypted and is sent again with the
//! conversation, so a session needs nobody else's memory.

use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelInfo, ModelRequest, ThinkingLevel};

use crate::call::{Call, Target, bearer_headers, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::enforceable;
use crate::transcript::{self, AssistantPart, IdRule, Part, ToolAnswer, Turn};

const IDS: IdRule = IdRule::Identifier { max_len: 64 };

/// The request for `request` at `target`.
pub fn encode(target: Target<'_>, request: &ModelRequest) -> Call {
    let mut body = body(target, request);
    body.insert(
        "max_output_tokens".into(),
        output_limit(target.info, request).max(16).into(),
    );
    Call {
        url: format!("{}/responses", target.base_url),
        headers: bearer_headers(target.credential),
        body: to_bytes(&Value::Object(body)),
    }
}

/// The same for a ChatGPT subscription, which has its own address and wants the account named.
pub fn encode_for_codex(target: Target<'_>, request: &ModelRequest) -> Call {
    let mut body = body(target, request);
    if !body.contains_key("instructions") {
        body.insert("instructions".into(), "You are a helpful assistant.".into());
    }
    let mut headers = bearer_headers(target.credential);
    headers.push(("openai-beta", "responses=experimental".to_owned()));
    headers.push(("originator", "stentor".to_owned()));
    if let Credential::Bearer {
        account: Some(account),
        ..
    } = target.credential
    {
        headers.push(("chatgpt-account-id", account.clone()));
    }
    if !request.session_id.is_empty() {
        headers.push(("session_id", request.session_id.to_string()));
    }
    Call {
        url: format!("{}/codex/responses", target.base_url),
        headers,
        body: to_bytes(&Value::Object(body)),
    }
}

fn body(target: Target<'_>, request: &ModelRequest) -> Map<String, Value> {
    let info = target.info;
    let mut body = Map::new();
    body.insert("model".into(), info.id.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    if !request.system.trim().is_empty() {
        body.insert("instructions".into(), (*request.system).into());
    }
    if !request.session_id.is_empty() {
        body.insert("prompt_cache_key".into(), (*request.session_id).into());
    }
    if info.reasoning {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        if let Some(reasoning) = reasoning(info, request.thinking) {
            body.insert("reasoning".into(), reasoning);
        }
    }
    if let Some(schema) = enforceable(request) {
        let format =
            json!({"type": "json_schema", "name": "result", "schema": schema, "strict": true});
        body.insert("text".into(), json!({ "format": format }));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": false,
            })
        });
        body.insert("tools".into(), tools.collect());
        body.insert("parallel_tool_calls".into(), true.into());
    }
    let mut input = Vec::new();
    for turn in &transcript::prepare(&request.messages, info, IDS) {
        match turn {
            Turn::User(parts) => input.push(json!({
                "type": "message",
                "role": "user",
                "content": parts.iter().map(part).collect::<Vec<_>>(),
            })),
            Turn::Assistant(parts) => assistant_items(parts, &mut input),
            Turn::Results(answers) => input.extend(answers.iter().map(result)),
        }
    }
    body.insert("input".into(), input.into());
    body
}

fn reasoning(info: &ModelInfo, level: ThinkingLevel) -> Option<Value> {
    let level = info.clamp(level);
    let lists = |level| info.thinking_levels.contains(&level);
    let effort = match level {
        ThinkingLevel::Off if lists(level) => return Some(json!({"effort": "none"})),
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal if !lists(level) => "low",
        ThinkingLevel::Xhigh if !lists(level) => "high",
        level => level.as_str(),
    };
    Some(json!({"effort": effort, "summary": "auto"}))
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image(image) => json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{};base64,{}", image.mime_type, image.data),
        }),
        Part::Pdf(document) => json!({
            "type": "input_file",
            "filename": document.name.as_deref().unwrap_or("document.pdf"),
            "file_data": format!("data:{};base64,{}", document.mime_type, document.data),
        }),
    }
}

fn assistant_items(parts: &[AssistantPart<'_>], input: &mut Vec<Value>) {
    for (n, part) in parts.iter().enumerate() {
        // The API refuses reasoning that nothing follows, as an interrupted answer leaves it.
        let is_followed = parts.get(n + 1..).is_some_and(|rest| !rest.is_empty());
        match part {
            AssistantPart::Text { text, signature } if !text.trim().is_empty() => {
                input.push(message(text, *signature));
            }
            AssistantPart::Thinking { signature, .. } => {
                input.extend(reasoning_item(signature).filter(|_| is_followed));
            }
            AssistantPart::Text { .. } | AssistantPart::Redacted { .. } => {}
            AssistantPart::Call { id, call, .. } => input.push(json!({
                "type": "function_call",
                "call_id": id,
                "name": call.name,
                "arguments": Value::Object(call.arguments.clone()).to_string(),
            })),
        }
    }
}

/// Text of the model, with the phase it was said in where the model distinguishes phases.
fn message(text: &str, signature: Option<&str>) -> Value {
    let mut message = json!({
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    });
    let signature = signature.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let (Some(Value::String(phase)), Value::Object(message)) = (
        signature.and_then(|mut signature| signature.get_mut("phase").map(Value::take)),
        &mut message,
    ) {
        message.insert("phase".into(), phase.into());
    }
    message
}

/// The reasoning item a signature holds, if it can be sent back: only encrypted it means anything
/// to a provider that stored nothing.
fn reasoning_item(signature: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(signature).ok()?;
    let is_encrypted = item.get("encrypted_content").is_some_and(Value::is_string);
    is_encrypted.then_some(item)
}

fn result(answer: &ToolAnswer<'_>) -> Value {
    let (text, media) = transcript::split_media(&answer.parts);
    let text = if answer.is_error {
        format!("Error: {text}")
    } else {
        text
    };
    let output: Value = if media.is_empty() {
        text.into()
    } else {
        let texts = std::iter::once(Part::Text(text.into()));
        texts.chain(media).map(|media| part(&media)).collect()
    };
    json!({"type": "function_call_output", "call_id": answer.id, "output": output})
}
