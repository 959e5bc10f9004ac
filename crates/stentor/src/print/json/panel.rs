//! Questions to a person, and what is shown outside the conversation.

use serde_json::{Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogClose, DialogKind, DialogOption};
use stentor_agent::event::NoticeLevel;
use stentor_agent::permission::PermissionRequest;

/// A question whether a call may run.
pub(super) fn permission_asked(id: u64, request: &PermissionRequest) -> Value {
    let mut asked = json!({
        "type": "permission_asked",
        "id": id,
        "call": request.call,
        "effect": request.effect,
        "paths": request.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "command": request.command,
        "reason": request.reason,
    });
    if let Some(url) = &request.url {
        asked["url"] = json!(url);
    }
    asked
}

/// A question to a person.
pub(super) fn dialog_asked(id: u64, dialog: &Dialog) -> Value {
    let mut object = json!({
        "type": "dialog_asked",
        "id": id,
        "kind": null,
        "title": dialog.title,
        "timeoutMs": dialog.timeout_ms,
    });
    object["kind"] = json!(match &dialog.kind {
        DialogKind::Select { options } => {
            object["options"] = listed(options);
            "select"
        }
        DialogKind::MultiSelect { options } => {
            object["options"] = listed(options);
            "multi_select"
        }
        DialogKind::Plan(presented) => {
            object["plan"] = json!(presented.plan);
            object["callId"] = json!(presented.call_id);
            object["options"] = listed(&presented.options);
            "plan"
        }
        DialogKind::Confirm { message, .. } => {
            object["message"] = json!(message);
            "confirm"
        }
        DialogKind::Input { placeholder } => {
            object["placeholder"] = json!(placeholder);
            "input"
        }
        DialogKind::Editor { prefill } => {
            object["prefill"] = json!(prefill);
            "editor"
        }
    });
    object
}

fn listed(options: &[DialogOption]) -> Value {
    let listed = options.iter().map(|option| {
        json!({
            "value": option.value,
            "label": option.label,
            "description": option.description,
        })
    });
    listed.collect()
}

/// How a question ended.
pub(super) fn dialog_closed(id: u64, close: &DialogClose) -> Value {
    let (how, answer) = match close {
        DialogClose::Answered(DialogAnswer::Value(value)) => ("answered", json!(value)),
        DialogClose::Answered(DialogAnswer::Values(values)) => ("answered", json!(values)),
        DialogClose::Answered(DialogAnswer::Confirmed(yes)) => ("answered", json!(yes)),
        DialogClose::Answered(DialogAnswer::Filled(content)) => ("answered", json!(content)),
        DialogClose::Answered(DialogAnswer::Nothing) => ("answered", Value::Null),
        DialogClose::TimedOut => ("timed_out", Value::Null),
        DialogClose::Withdrawn => ("withdrawn", Value::Null),
    };
    json!({ "type": "dialog_closed", "id": id, "how": how, "answer": answer })
}

/// Something a person should know.
pub(super) fn notice(level: NoticeLevel, message: &str) -> Value {
    json!({ "type": "notice", "level": level.as_str(), "message": message })
}

/// An extension that failed in what it was doing.
pub(super) fn extension_failed(extension: &str, event: &str, error: &str) -> Value {
    json!({
        "type": "extension_failed",
        "extension": extension,
        "event": event,
        "error": error,
    })
}
