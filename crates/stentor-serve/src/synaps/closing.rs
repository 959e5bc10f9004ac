//! The last frames of a turn (section 9.1): perhaps an error, the usage, and the response.

use serde_json::{Map, Value, json};
use stentor_agent::event::{BudgetLimit, RunOutcome};
use stentor_agent::model::ModelErrorKind;
use stentor_wire::synaps::Event;

use super::events::write;
use super::limits;
use super::turn::{SynapsTurn, turn_usage};

/// Writes the end of `turn`.
pub(super) fn write_end(frames: &mut Vec<u8>, turn: SynapsTurn) {
    let (body, error) = body(&turn);
    if let Some(message) = error
        && turn.started.elapsed() < limits::ERROR_FRAME_AGE
    {
        let id = Some(turn.id.clone());
        write(frames, &Event::Error { id, message });
    }
    let usage = turn_usage(&turn.usage, Some(turn.model));
    write(frames, &Event::AgentEnd { usage });
    write(
        frames,
        &Event::Response {
            id: turn.id,
            command: turn.command.to_owned(),
            body,
        },
    );
}

/// The response's body, and the error it reports.
fn body(turn: &SynapsTurn) -> (Map<String, Value>, Option<String>) {
    let (value, error) = match &turn.outcome {
        Some(RunOutcome::Aborted) => (json!({ "ok": true, "cancelled": true }), None),
        Some(RunOutcome::Failed { kind, message, .. }) => {
            let correlation = format!("turn-{}-{}", std::process::id(), turn.number);
            let outcome = json!({
                "kind": "provider_failed",
                "code": code(*kind),
                "correlation_id": correlation,
            });
            let value = json!({ "ok": false, "error": message, "outcome": outcome });
            (value, Some(message.clone()))
        }
        Some(RunOutcome::BudgetReached { limit, message }) => {
            let dimension = match limit {
                BudgetLimit::Tokens => "total_tokens",
                BudgetLimit::Cost => "cost_usd",
                BudgetLimit::Turns => "provider_rounds",
            };
            let outcome = json!({ "kind": "budget_exceeded", "dimension": dimension });
            let value = json!({ "ok": false, "error": message, "outcome": outcome });
            (value, Some(message.clone()))
        }
        Some(RunOutcome::Completed | RunOutcome::Refused | RunOutcome::OutputLimit) => {
            (json!({ "ok": true }), None)
        }
        // The run went away without saying how it ended.
        None => {
            let message = "the agent had an internal error and gave up this turn".to_owned();
            (json!({ "ok": false, "error": message }), Some(message))
        }
    };
    let Value::Object(body) = value else {
        return (Map::new(), error);
    };
    (body, error)
}

fn code(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => "auth_error",
        ModelErrorKind::Network | ModelErrorKind::BrokenStream | ModelErrorKind::Silence => {
            "network_error"
        }
        ModelErrorKind::Overloaded
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Server
        | ModelErrorKind::AnswerTooLong
        | ModelErrorKind::Quota
        | ModelErrorKind::ContextOverflow
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::Other => "api_status",
    }
}
