//! A question in the words of the Gemini API.

use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelInfo, ModelRequest, ThinkingLevel};

use crate::call::{Call, Target, output_limit, to_bytes};
use crate::credential::Credential;
use crate::output_schema::enforceable;
use crate::transcript::{self, AssistantPart, IdRule, Part, ToolAnswer, Turn, split_media};

const IDS: IdRule = IdRule::Identifier { max_len: 64 };
/// Stands, as documented, for the signature of a call this model did not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The request for `request` at `target`.
pub fn encode(target: Target<'_>, request: &ModelRequest) -> Call {
    let headers = match target.credential {
        Credential::None => Vec::new(),
        Credential::ApiKey(key) => vec![("x-goog-api-key", key.expose().to_owned())],
        Credential::Bearer { token, .. } => {
            vec![("authorization", format!("Bearer {}", token.expose()))]
        }
    };
    let model = target.info.id.trim_start_matches("models/");
    Call {
        url: format!(
            "{}/models/{model}:streamGenerateContent?alt=sse",
            target.base_url
        ),
        headers,
        body: to_bytes(&body(target.info, request)),
    }
}

fn body(info: &ModelInfo, request: &ModelRequest) -> Value {
    let mut body = Map::new();
    if !request.system.trim().is_empty() {
        body.insert(
            "systemInstruction".into(),
            json!({"parts": [{"text": &*request.system}]}),
        );
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            })
        });
        let tools: Vec<Value> = tools.collect();
        body.insert("tools".into(), json!([{ "functionDeclarations": tools }]));
    }
    let mut generation = Map::new();
    generation.insert("maxOutputTokens".into(), output_limit(info, request).into());
    if info.reasoning {
        generation.insert("thinkingConfig".into(), thinking(info, request.thinking));
    }
    // Older models have one or the other.
    if (is_third_generation(info) || request.tools.is_empty())
        && let Some(schema) = enforceable(request)
    {
        generation.insert("responseMimeType".into(), "application/json".into());
        generation.insert("responseJsonSchema".into(), schema);
    }
    body.insert("generationConfig".into(), Value::Object(generation));
    let mut contents = Vec::new();
    for turn in &transcript::prepare(&request.messages, info, IDS) {
        match turn {
            Turn::User(parts) => {
                let parts: Vec<Value> = parts.iter().map(part).collect();
                contents.push(json!({"role": "user", "parts": parts}));
            }
            Turn::Assistant(parts) => {
                let parts = assistant_parts(parts, is_third_generation(info));
                if !parts.is_empty() {
                    contents.push(json!({"role": "model", "parts": parts}));
                }
            }
            Turn::Results(answers) => results(answers, &mut contents),
        }
    }
    body.insert("contents".into(), contents.into());
    Value::Object(body)
}

/// Models up to 2.5 take a number of tokens, later ones a level.
fn thinking(info: &ModelInfo, level: ThinkingLevel) -> Value {
    let level = info.clamp(level);
    if is_third_generation(info) {
        let pro = info.id.contains("pro");
        let word = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal if !pro => "minimal",
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium if !pro => "medium",
            ThinkingLevel::Medium | ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
        };
        return json!({"includeThoughts": level != ThinkingLevel::Off, "thinkingLevel": word});
    }
    let can_be_off = !info.id.contains("pro");
    let budget = match level {
        ThinkingLevel::Off if can_be_off => 0,
        ThinkingLevel::Off | ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh => 24_576,
    };
    json!({"includeThoughts": level != ThinkingLevel::Off, "thinkingBudget": budget})
}

fn is_third_generation(info: &ModelInfo) -> bool {
    let version = info
        .id
        .trim_start_matches("models/")
        .strip_prefix("gemini-");
    let major = version.and_then(|version| version.chars().next());
    major.is_some_and(|digit| ('3'..='9').contains(&digit))
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::Image(image) => inline(&image.mime_type, &image.data),
        Part::Pdf(document) => inline(&document.mime_type, &document.data),
    }
}

fn inline(mime_type: &str, data: &str) -> Value {
    json!({"inlineData": {"mimeType": mime_type, "data": data}})
}

fn assistant_parts(parts: &[AssistantPart<'_>], signs_calls: bool) -> Vec<Value> {
    let mut out = Vec::new();
    let mut is_first_call = true;
    for part in parts {
        let (mut value, signature) = match part {
            AssistantPart::Text { text, signature } => (json!({"text": text}), *signature),
            AssistantPart::Thinking { text, signature } => {
                (json!({"text": text, "thought": true}), Some(*signature))
            }
            AssistantPart::Redacted { .. } => continue,
            AssistantPart::Call {
                call, signature, ..
            } => {
                let first = std::mem::replace(&mut is_first_call, false);
                let signature = signature.or((signs_calls && first).then_some(NO_SIGNATURE));
                let call = json!({"functionCall": {"name": call.name, "args": call.arguments}});
                (call, signature)
            }
        };
        if let (Some(signature), Value::Object(value)) = (signature, &mut value) {
            value.insert("thoughtSignature".into(), signature.into());
        }
        out.push(value);
    }
    out
}

fn results(answers: &[ToolAnswer<'_>], contents: &mut Vec<Value>) {
    let mut media = Vec::new();
    let mut responses = Vec::new();
    for answer in answers {
        let (text, more) = split_media(&answer.parts);
        media.extend(more.iter().map(part));
        let word = if answer.is_error { "error" } else { "output" };
        responses.push(json!({
            "functionResponse": {"name": answer.name, "response": { word: text }},
        }));
    }
    contents.push(json!({"role": "user", "parts": responses}));
    if !media.is_empty() {
        media.insert(0, json!({"text": "(media of the tool results above)"}));
        contents.push(json!({"role": "user", "parts": media}));
    }
}
