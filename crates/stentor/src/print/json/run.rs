//! Runs and their turns, and what is done about a model call that failed.

use serde_json::{Value, json};
use stentor_agent::event::{AnswerRule, BudgetLimit, Fallback, RunEnd, RunOutcome};
use stentor_agent::tool::Plan;

/// How a run ended.
pub(super) fn ended(end: &RunEnd) -> Value {
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

/// A model call that failed is repeated.
pub(super) fn retry_started(attempt: u32, max_attempts: u32, delay_ms: u64, error: &str) -> Value {
    json!({
        "type": "retry_started",
        "attempt": attempt,
        "maxAttempts": max_attempts,
        "delayMs": delay_ms,
        "error": error,
    })
}

/// The repeated call was answered, or is given up.
pub(super) fn retry_ended(success: bool, attempt: u32, error: Option<&str>) -> Value {
    json!({
        "type": "retry_ended",
        "success": success,
        "attempt": attempt,
        "error": error,
    })
}

/// Another model steps in.
pub(super) fn fallback_applied(fallback: &Fallback) -> Value {
    json!({
        "type": "fallback_applied",
        "from": fallback.from,
        "to": fallback.to,
        "role": fallback.role,
        "reason": fallback.reason,
    })
}

/// The agent is reminded of what is still to do.
pub(super) fn plan_reminder(plan: &Plan, attempt: u32, max_attempts: u32) -> Value {
    json!({
        "type": "plan_reminder",
        "plan": plan,
        "attempt": attempt,
        "maxAttempts": max_attempts,
    })
}

/// Rules that matched what the model was writing.
pub(super) fn rules_triggered(rules: &[AnswerRule]) -> Value {
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
