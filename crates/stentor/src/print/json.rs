//! The JSON form of events, one object for each. `docs/json-events.md` describes it for users.

use serde_json::{Value, json};
use stentor_agent::event::{
    BudgetLimit, CompactionEnd, CompactionReason, Event, EventKind, NoticeLevel, RunEnd,
    RunOutcome, StateChange, SummaryRetry,
};
use stentor_agent::live::{LiveBlock, LiveBlockKind, LiveMessage};
use stentor_agent::permission::PermissionRequest;
use stentor_agent::sandbox::SandboxState;
use stentor_agent::tool::ToolOutput;

use super::json_beside as beside;

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

/// What holds for the commands of a session, as its first line.
pub fn sandbox_json(session: &str, sandbox: &SandboxState) -> Value {
    json!({ "type": "sandbox", "sandbox": sandbox, "session": session })
}

fn summary_retry_json(retry: &SummaryRetry) -> Value {
    match retry {
        SummaryRetry::Scheduled {
            attempt,
            max_attempts,
            delay_ms,
            error,
        } => json!({
            "type": "summary_retry",
            "how": "scheduled",
            "attempt": attempt,
            "maxAttempts": max_attempts,
            "delayMs": delay_ms,
            "error": error,
        }),
        SummaryRetry::Started { reason } => {
            json!({ "type": "summary_retry", "how": "started", "reason": reason_word(*reason) })
        }
        SummaryRetry::Ended => json!({ "type": "summary_retry", "how": "ended" }),
    }
}

fn kind_json(kind: &EventKind) -> Value {
    match kind {
        EventKind::RunStarted => json!({ "type": "run_started" }),
        EventKind::RunEnded(end) => run_end_json(end),
        EventKind::TurnStarted => json!({ "type": "turn_started" }),
        EventKind::TurnEnded {
            message,
            tool_results,
        } => json!({ "type": "turn_ended", "message": message, "toolResults": tool_results }),
        EventKind::MessageStarted { number, message } => {
            json!({ "type": "message_started", "number": number, "message": message })
        }
        EventKind::AnswerStarted(live) => json!({
            "type": "answer_started",
            "number": live.number(),
            "api": live.api(),
            "provider": live.provider(),
            "model": live.model(),
        }),
        EventKind::BlockStarted { live, block } => block_json("block_started", live, block),
        EventKind::BlockDelta { live, block, range } => {
            let mut object = block_json("block_delta", live, block);
            object["delta"] = block.with(range.clone(), |text| json!(text));
            object
        }
        EventKind::BlockEnded {
            live, block, call, ..
        } => {
            let mut object = block_json("block_ended", live, block);
            if let Some(call) = call {
                object["call"] = json!(call);
            }
            object
        }
        EventKind::MessageEnded { number, message } => {
            json!({ "type": "message_ended", "number": number, "message": message })
        }
        EventKind::ToolStarted { call } => json!({ "type": "tool_started", "call": call }),
        EventKind::ToolProgress { call, partial } => json!({
            "type": "tool_progress",
            "callId": call.id,
            "name": call.name,
            "output": partial,
        }),
        EventKind::ToolEnded {
            call,
            output,
            duration_ms,
        } => tool_ended_json(&call.id, &call.name, output, *duration_ms),
        EventKind::QueueChanged(queues) => json!({
            "type": "queue_changed",
            "steering": queues.steering,
            "followUp": queues.follow_up,
        }),
        EventKind::StateChanged(change) => state_json(change),
        EventKind::EntryAppended { id, .. } => json!({ "type": "entry_appended", "id": id }),
        EventKind::CompactionStarted { reason } => {
            json!({ "type": "compaction_started", "reason": reason_word(*reason) })
        }
        EventKind::CompactionEnded(end) => compaction_end_json(end),
        EventKind::RetryStarted {
            attempt,
            max_attempts,
            delay_ms,
            error,
            ..
        } => json!({
            "type": "retry_started",
            "attempt": attempt,
            "maxAttempts": max_attempts,
            "delayMs": delay_ms,
            "error": error,
        }),
        EventKind::RetryEnded {
            success,
            attempt,
            final_error,
        } => json!({
            "type": "retry_ended",
            "success": success,
            "attempt": attempt,
            "error": final_error,
        }),
        EventKind::SummaryRetry(retry) => summary_retry_json(retry),
        EventKind::FallbackApplied(fallback) => json!({
            "type": "fallback_applied",
            "from": fallback.from,
            "to": fallback.to,
            "role": fallback.role,
            "reason": fallback.reason,
        }),
        EventKind::FallbackSucceeded { model, role } => {
            json!({ "type": "fallback_succeeded", "model": model, "role": role })
        }
        EventKind::PlanTidied => json!({ "type": "plan_tidied" }),
        EventKind::ShutdownAsked => json!({ "type": "shutdown_asked" }),
        EventKind::Settled { aborted } => json!({ "type": "settled", "aborted": aborted }),
        EventKind::PlanChanged(plan) => json!({ "type": "plan_changed", "plan": plan }),
        EventKind::BashOutput { id, delta } => {
            json!({ "type": "bash_output", "id": id, "delta": delta.as_ref() })
        }
        EventKind::PermissionAsked { id, request } => permission_json(*id, request),
        EventKind::PermissionAnswered { id, answer } => {
            json!({ "type": "permission_answered", "id": id, "answer": answer })
        }
        EventKind::Notice { level, message, .. } => {
            let level = match level {
                NoticeLevel::Info => "info",
                NoticeLevel::Warning => "warning",
                NoticeLevel::Error => "error",
            };
            json!({ "type": "notice", "level": level, "message": message })
        }
        EventKind::DialogAsked { id, dialog } => beside::dialog_asked(*id, dialog),
        EventKind::DialogClosed { id, close } => beside::dialog_closed(*id, close),
        EventKind::Status { key, text } => json!({ "type": "status", "key": key, "text": text }),
        EventKind::Widget {
            key,
            lines,
            placement,
        } => json!({ "type": "widget", "key": key, "lines": lines, "placement": placement }),
        EventKind::Title(title) => json!({ "type": "title", "title": title }),
        EventKind::EditorText(text) => json!({ "type": "editor_text", "text": text }),
        EventKind::CommandsChanged(commands) => beside::commands_changed(commands),
        EventKind::SubagentStarted(agent) => beside::subagent("subagent_started", agent),
        EventKind::SubagentProgress { agent, status, .. } => {
            let mut object = beside::subagent("subagent_progress", agent);
            object["status"] = json!(status);
            object
        }
        EventKind::SubagentEvent { agent, event } => {
            let mut object = beside::subagent("subagent_event", agent);
            object["event"] = event_json(event);
            object
        }
        EventKind::SubagentEnded { agent, end } => beside::subagent_ended(agent, end),
        EventKind::RulesTriggered(rules) => beside::rules_triggered(rules),
        EventKind::PlanReminder {
            plan,
            attempt,
            max_attempts,
        } => json!({
            "type": "plan_reminder",
            "plan": plan,
            "attempt": attempt,
            "maxAttempts": max_attempts,
        }),
        EventKind::ExtensionFailed {
            extension,
            event,
            error,
        } => json!({
            "type": "extension_failed",
            "extension": extension,
            "event": event,
            "error": error,
        }),
    }
}

fn run_end_json(end: &RunEnd) -> Value {
    let mut object = json!({
        "type": "run_ended",
        "outcome": null,
        "usage": end.usage,
        "willRetry": end.will_retry,
        "messages": end.messages,
    });
    object["outcome"] = json!(match &end.outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Refused => "refused",
        RunOutcome::OutputLimit => "output_limit",
        RunOutcome::Aborted => "aborted",
        RunOutcome::Failed {
            kind,
            message,
            status,
        } => {
            object["error"] = json!({ "kind": kind, "message": message, "status": status });
            "failed"
        }
        RunOutcome::BudgetReached { limit, message } => {
            let limit = match limit {
                BudgetLimit::Tokens => "tokens",
                BudgetLimit::Cost => "cost",
                BudgetLimit::Turns => "turns",
            };
            object["error"] = json!({ "limit": limit, "message": message });
            "budget_reached"
        }
    });
    object
}

fn block_json(kind: &str, live: &LiveMessage, block: &LiveBlock) -> Value {
    let mut object = json!({
        "type": kind,
        "number": live.number(),
        "block": block.index,
        "kind": null,
    });
    object["kind"] = json!(match &block.kind {
        LiveBlockKind::Text => "text",
        LiveBlockKind::Thinking => "thinking",
        LiveBlockKind::Redacted => "redacted_thinking",
        LiveBlockKind::ToolCall { id, name } => {
            object["callId"] = json!(id);
            object["name"] = json!(name);
            "tool_call"
        }
    });
    object
}

fn tool_ended_json(call_id: &str, name: &str, output: &ToolOutput, duration_ms: u64) -> Value {
    json!({
        "type": "tool_ended",
        "callId": call_id,
        "name": name,
        "output": output,
        "isError": output.is_error,
        "durationMs": duration_ms,
    })
}

fn state_json(change: &StateChange) -> Value {
    let (what, value) = match change {
        StateChange::Model(model) => ("model", json!(model)),
        StateChange::ThinkingLevel(level) => ("thinking", json!(level)),
        StateChange::Name(name) => ("name", json!(name)),
        StateChange::SteeringMode(mode) => ("steering_mode", json!(mode.as_str())),
        StateChange::FollowUpMode(mode) => ("follow_up_mode", json!(mode.as_str())),
        StateChange::InterruptMode(mode) => ("interrupt_mode", json!(mode.as_str())),
        StateChange::AutoCompaction(on) => ("auto_compaction", json!(on)),
        StateChange::AutoRetry(on) => ("auto_retry", json!(on)),
        StateChange::PermissionMode(mode) => ("permission_mode", json!(mode)),
        StateChange::Leaf(entry) => ("leaf", json!(entry)),
    };
    json!({ "type": "state_changed", "what": what, "value": value })
}

fn compaction_end_json(end: &CompactionEnd) -> Value {
    let result = end.result.as_ref().map(|result| {
        json!({
            "summary": result.summary,
            "firstKeptEntryId": result.first_kept_entry_id,
            "tokensBefore": result.tokens_before,
            "tokensAfter": result.tokens_after,
            "readFiles": result.read_files,
            "modifiedFiles": result.modified_files,
        })
    });
    json!({
        "type": "compaction_ended",
        "reason": reason_word(end.reason),
        "result": result,
        "aborted": end.aborted,
        "willRetry": end.will_retry,
        "error": end.error,
    })
}

fn permission_json(id: u64, request: &PermissionRequest) -> Value {
    json!({
        "type": "permission_asked",
        "id": id,
        "call": request.call,
        "effect": request.effect,
        "paths": request.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "command": request.command,
        "reason": request.reason,
    })
}

fn reason_word(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "manual",
        CompactionReason::Handoff => "handoff",
        CompactionReason::Threshold => "threshold",
        CompactionReason::Overflow => "overflow",
    }
}
