//! The JSON form of what goes on beside the conversation: dialogs, widgets, commands, subagents.

use serde_json::{Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogClose, DialogKind};
use stentor_agent::event::{CommandInfo, CommandSource, Rule, Subagent, SubagentEnd};

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
            object["options"] = options
                .iter()
                .map(|option| {
                    json!({
                        "value": option.value,
                        "label": option.label,
                        "description": option.description,
                    })
                })
                .collect();
            "select"
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

/// How a question ended.
pub(super) fn dialog_closed(id: u64, close: &DialogClose) -> Value {
    let (how, answer) = match close {
        DialogClose::Answered(DialogAnswer::Value(value)) => ("answered", json!(value)),
        DialogClose::Answered(DialogAnswer::Confirmed(yes)) => ("answered", json!(yes)),
        DialogClose::Answered(DialogAnswer::Nothing) => ("answered", Value::Null),
        DialogClose::TimedOut => ("timed_out", Value::Null),
        DialogClose::Withdrawn => ("withdrawn", Value::Null),
    };
    json!({ "type": "dialog_closed", "id": id, "how": how, "answer": answer })
}

/// The slash commands there are.
pub(super) fn commands_changed(commands: &[CommandInfo]) -> Value {
    let commands: Vec<Value> = commands
        .iter()
        .map(|command| {
            let source = match command.source {
                CommandSource::Builtin => "builtin",
                CommandSource::Extension => "extension",
                CommandSource::Prompt => "prompt",
                CommandSource::Skill => "skill",
                CommandSource::Agent => "agent",
                CommandSource::McpPrompt => "mcp_prompt",
            };
            json!({
                "name": command.name,
                "description": command.description,
                "hint": command.hint,
                "source": source,
                "path": command.path.as_ref().map(|path| path.display().to_string()),
            })
        })
        .collect();
    json!({ "type": "commands_changed", "commands": commands })
}

/// A subagent, by what happened to it.
pub(super) fn subagent(kind: &str, agent: &Subagent) -> Value {
    json!({
        "type": kind,
        "id": agent.id,
        "name": agent.name,
        "task": agent.task,
        "callId": agent.call_id,
    })
}

/// A subagent that ended.
pub(super) fn subagent_ended(agent: &Subagent, end: &SubagentEnd) -> Value {
    let mut object = subagent("subagent_ended", agent);
    object["result"] = json!(end.result);
    object["failed"] = json!(end.failed);
    object["durationMs"] = json!(end.duration_ms);
    object["usage"] = json!(end.usage);
    object
}

/// Rules that matched what the model was writing.
pub(super) fn rules_triggered(rules: &[Rule]) -> Value {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "name": rule.name,
                "path": rule.path.display().to_string(),
                "content": rule.content,
                "description": rule.description,
                "condition": rule.condition,
            })
        })
        .collect();
    json!({ "type": "rules_triggered", "rules": rules })
}
