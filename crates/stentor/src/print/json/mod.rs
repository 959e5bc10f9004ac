//! The JSON form of events, one object for each. `docs/json-events.md` describes it for users.
//! Which event has which form is here; the longer forms are in the modules, by their subject.

mod answer;
mod compaction;
mod panel;
mod run;
mod shell;
mod state;
mod subagent;
mod tool_call;

use serde_json::{Value, json};
use stentor_agent::event::{Event, EventKind, NoticeLevel};
use stentor_agent::sandbox::SandboxState;

use crate::asked_session::AnsweringModel;

/// One event as JSON: its `type` and what belongs to it, then session, number and time.
pub fn event_json(event: &Event) -> Value {
    let mut object = kind_json(&event.kind);
    if let Value::Object(fields) = &mut object {
        fields.insert("session".to_owned(), json!(event.session.as_ref()));
        fields.insert("seq".to_owned(), json!(event.seq));
        fields.insert("time".to_owned(), json!(event.time_ms));
    }
    object
}

/// Which model answers and why that one, as the first line.
pub fn model_json(session: &str, answering: &AnsweringModel) -> Value {
    let model = &answering.model;
    let mut line = json!({
        "type": "model",
        "provider": model.provider,
        "id": model.id,
        "contextWindow": model.context_window,
        "why": answering.why,
        "session": session,
    });
    if let Some(way_out) = &answering.way_out {
        line["wayOut"] = json!(way_out);
    }
    if let Some(gone) = &answering.replaced {
        line["replaced"] = json!({ "provider": gone.provider, "id": gone.id, "why": gone.why });
    }
    line
}

/// What a person should know that is no event of the session.
pub fn notice_json(session: &str, level: NoticeLevel, message: &str) -> Value {
    let mut notice = panel::notice(level, message);
    if let Value::Object(fields) = &mut notice {
        fields.insert("session".to_owned(), json!(session));
    }
    notice
}

/// What holds for the commands of a session, before its first event.
pub fn sandbox_json(session: &str, sandbox: &SandboxState) -> Value {
    json!({ "type": "sandbox", "sandbox": sandbox, "session": session })
}

fn kind_json(kind: &EventKind) -> Value {
    match kind {
        EventKind::BlockDelta { live, block, range } => {
            answer::block_delta(live, block, range.clone())
        }
        EventKind::AnswerStarted(live) => answer::started(live),
        EventKind::BlockStarted { live, block } => answer::block_started(live, block),
        EventKind::BlockEnded {
            live, block, call, ..
        } => answer::block_ended(live, block, call.as_deref()),
        EventKind::MessageStarted {
            number, message, ..
        } => {
            json!({ "type": "message_started", "number": number, "message": message })
        }
        EventKind::MessageEnded { number, message } => {
            json!({ "type": "message_ended", "number": number, "message": message })
        }
        EventKind::RunStarted => json!({ "type": "run_started" }),
        EventKind::RunEnded(end) => run::ended(end),
        EventKind::TurnStarted => json!({ "type": "turn_started" }),
        EventKind::TurnEnded {
            message,
            tool_results,
        } => json!({ "type": "turn_ended", "message": message, "toolResults": tool_results }),
        EventKind::Settled { aborted } => json!({ "type": "settled", "aborted": aborted }),
        EventKind::ToolStarted { call } => json!({ "type": "tool_started", "call": call }),
        EventKind::ToolProgress { call, partial } => tool_call::progress(call, partial),
        EventKind::ToolEnded {
            call,
            output,
            duration_ms,
        } => tool_call::ended(call, output, *duration_ms),
        EventKind::BashStarted {
            id,
            entry_id,
            command,
        } => shell::started(*id, entry_id, command),
        EventKind::BashOutput { id, delta } => shell::output(*id, delta),
        EventKind::BashEnded { id, entry_id, end } => shell::ended(*id, entry_id, end),
        EventKind::QueueChanged(queues) => state::queue_changed(queues),
        EventKind::StateChanged(change) => state::changed(change),
        EventKind::CommandsChanged(commands) => state::commands_changed(commands),
        EventKind::EntryAppended { id, .. } => json!({ "type": "entry_appended", "id": id }),
        EventKind::CompactionStarted { reason } => compaction::started(*reason),
        EventKind::CompactionEnded(end) => compaction::ended(end),
        EventKind::SummaryRetry(retry) => compaction::summary_retry(retry),
        EventKind::RetryStarted {
            attempt,
            max_attempts,
            delay_ms,
            error,
            ..
        } => run::retry_started(*attempt, *max_attempts, *delay_ms, error),
        EventKind::RetryEnded {
            success,
            attempt,
            final_error,
        } => run::retry_ended(*success, *attempt, final_error.as_deref()),
        EventKind::FallbackApplied(fallback) => run::fallback_applied(fallback),
        EventKind::FallbackSucceeded { model, role } => {
            json!({ "type": "fallback_succeeded", "model": model, "role": role })
        }
        EventKind::PlanChanged(plan) => json!({ "type": "plan_changed", "plan": plan }),
        EventKind::PlanTidied => json!({ "type": "plan_tidied" }),
        EventKind::JobsChanged => json!({ "type": "jobs_changed" }),
        EventKind::PlanReminder {
            plan,
            attempt,
            max_attempts,
        } => run::plan_reminder(plan, *attempt, *max_attempts),
        EventKind::RulesTriggered(rules) => run::rules_triggered(rules),
        EventKind::PermissionAsked { id, request } => panel::permission_asked(*id, request),
        EventKind::PermissionAnswered { id, answer } => {
            json!({ "type": "permission_answered", "id": id, "answer": answer })
        }
        EventKind::DialogAsked { id, dialog } => panel::dialog_asked(*id, dialog),
        EventKind::DialogClosed { id, close } => panel::dialog_closed(*id, close),
        EventKind::Notice { level, message, .. } => panel::notice(*level, message),
        EventKind::ExtensionFailed {
            extension,
            event,
            error,
        } => panel::extension_failed(extension, event, error),
        EventKind::Status { key, text } => json!({ "type": "status", "key": key, "text": text }),
        EventKind::Widget {
            key,
            lines,
            placement,
        } => json!({ "type": "widget", "key": key, "lines": lines, "placement": placement }),
        EventKind::Title(title) => json!({ "type": "title", "title": title }),
        EventKind::EditorText(text) => json!({ "type": "editor_text", "text": text }),
        EventKind::SubagentStarted(agent) => subagent::started(agent),
        EventKind::SubagentProgress { agent, status, .. } => subagent::progress(agent, status),
        EventKind::SubagentEvent { agent, event } => subagent::event(agent, event),
        EventKind::SubagentEnded { agent, end } => subagent::ended(agent, end),
        EventKind::ShutdownAsked => json!({ "type": "shutdown_asked" }),
    }
}
