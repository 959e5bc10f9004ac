//! Shapes of omp's frames, read and written.

use serde_json::{Value, json};

use super::AgentRequest;
use super::json::{number, str, text};
use crate::event::{AgentCall, AgentContextUse, CallOutput, TurnUsage};
use crate::host::{AgentQuestion, PermissionKind, PermissionOption, QuestionKind};
use crate::options::SessionOpened;
use crate::prompt::AgentPrompt;

pub(super) fn message(kind: &str, prompt: AgentPrompt) -> Value {
    let images = prompt.pictures.into_iter().map(
        |picture| json!({ "type": "image", "data": picture.data, "mimeType": picture.mime_type }),
    );
    let images: Vec<Value> = images.collect();
    let mut command = json!({ "type": kind, "message": prompt.text });
    if let (false, Some(command)) = (images.is_empty(), command.as_object_mut()) {
        command.insert("images".to_owned(), images.into());
    }
    command
}

pub(super) fn opened(state: &Value) -> SessionOpened {
    let model = state.get("model").filter(|model| model.is_object());
    SessionOpened {
        id: text(state, "sessionId"),
        resume_id: text(state, "sessionFile"),
        model: model.map(|model| format!("{}/{}", str(model, "provider"), str(model, "id"))),
        ..SessionOpened::default()
    }
}

/// How full the context is, from a state. One that only names its model says how much fits.
pub(super) fn context_of(state: &Value) -> Option<AgentContextUse> {
    let context = state.get("contextUsage").unwrap_or(&Value::Null);
    let model = state.get("model").unwrap_or(&Value::Null);
    let size = match number(context, "contextWindow") {
        0 => number(model, "contextWindow"),
        size => size,
    };
    (size > 0).then(|| AgentContextUse {
        used: number(context, "tokens"),
        size,
        cost_usd: None,
    })
}

pub(super) fn call_of(value: &Value, id: &str, name: &str, input: &str) -> AgentCall {
    AgentCall {
        id: str(value, id).to_owned(),
        name: str(value, name).to_owned(),
        title: text(value, "intent"),
        kind: None,
        input: value.get(input).cloned().unwrap_or_else(|| json!({})),
    }
}

pub(super) fn usage_of(usage: &Value) -> TurnUsage {
    let cost = usage.get("cost").and_then(|cost| cost.get("total"));
    TurnUsage {
        input_tokens: number(usage, "input"),
        output_tokens: number(usage, "output"),
        cache_read_tokens: number(usage, "cacheRead"),
        cache_write_tokens: number(usage, "cacheWrite"),
        cost_usd: cost.and_then(Value::as_f64),
    }
}

pub(super) fn result(result: &Value) -> CallOutput {
    let mut output = content(result.get("content").unwrap_or(&Value::Null));
    output.details = result.get("details").cloned();
    output
}

/// Content is text, or blocks of text and pictures.
pub(super) fn content(value: &Value) -> CallOutput {
    if let Some(text) = value.as_str() {
        return CallOutput::text(text);
    }
    let mut output = CallOutput::default();
    for block in value.as_array().map_or(&[][..], Vec::as_slice) {
        match str(block, "type") {
            "text" => output.text.push_str(str(block, "text")),
            "image" => output.pictures.push((
                str(block, "mimeType").to_owned(),
                str(block, "data").to_owned(),
            )),
            _ => {}
        }
    }
    output
}

pub(super) fn question(title: String, message: Option<String>, kind: QuestionKind) -> AgentRequest {
    AgentRequest::Question(AgentQuestion {
        title,
        message,
        kind,
    })
}

/// What a selection means, if it is a permission: the protocol has no word for one, so it is told by
/// its words.
pub(super) fn permission_options(title: &str, options: &[&str]) -> Option<Vec<PermissionOption>> {
    if !title.starts_with("Allow ") || !options.contains(&"Allow") || !options.contains(&"Deny") {
        return None;
    }
    let kind = |option: &str| match option {
        "Allow" => Some(PermissionKind::AllowOnce),
        "Deny" => Some(PermissionKind::RejectOnce),
        _ if option.starts_with("Always allow") => Some(PermissionKind::AllowAlways),
        _ if option.starts_with("Always deny") => Some(PermissionKind::RejectAlways),
        _ => None,
    };
    let options = options.iter().filter_map(|option| {
        Some(PermissionOption {
            id: (*option).to_owned(),
            name: (*option).to_owned(),
            kind: kind(option)?,
        })
    });
    Some(options.collect())
}
