//! Frames that more than one part of the dialect writes: updates, answers, and what is in them.

use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};
use stentor_agent::tool::{Plan, PlanStatus};
use stentor_journal::usage::Usage;
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Id, encode};

use super::error::{AcpResult, Refusal};
use super::explicit_defaults::ExplicitDefaults;
use super::settings::SessionSettings;

/// Appends one update.
pub(super) fn update(frames: &mut Vec<u8>, session_id: &Arc<str>, update: acp::SessionUpdate) {
    let params = acp::SessionNotification::new(Arc::clone(session_id), update);
    match encode::notification(frames, method::SESSION_UPDATE, &ExplicitDefaults(&params)) {
        Ok(()) => frames.push(b'\n'),
        Err(error) => tracing::error!(%error, "an update could not be written"),
    }
}

/// Appends the result of a request.
pub(super) fn result(frames: &mut Vec<u8>, id: &Id, result: &impl serde::Serialize) {
    match encode::result(frames, id, result) {
        Ok(()) => frames.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            Refusal::internal("The answer could not be written.").write(frames, id);
        }
    }
}

/// Appends the answer to a request: its result, or why there is none.
pub(super) fn answer(frames: &mut Vec<u8>, id: &Id, answer: AcpResult<impl serde::Serialize>) {
    match answer {
        Ok(answer) => result(frames, id, &answer),
        Err(refusal) => refusal.write(frames, id),
    }
}

/// How full the context is (section 7).
pub(super) fn usage(
    settings: &SessionSettings,
    used: u64,
    cost: f64,
) -> Option<acp::SessionUpdate> {
    let size = settings.model.as_ref()?.context_window;
    let cost = (cost > 0.0).then(|| acp::Cost::new(cost, "USD"));
    let usage = acp::UsageUpdate::new(used, size).cost(cost);
    Some(acp::SessionUpdate::UsageUpdate(usage))
}

/// The plan in the protocol's words, which know fewer states.
pub(super) fn plan(plan: &Plan) -> acp::SessionUpdate {
    let entries = plan.tasks().map(|task| {
        let (status, content) = match task.status {
            PlanStatus::Pending => (acp::PlanEntryStatus::Pending, task.content.clone()),
            PlanStatus::InProgress => (acp::PlanEntryStatus::InProgress, task.content.clone()),
            PlanStatus::Completed => (acp::PlanEntryStatus::Completed, task.content.clone()),
            PlanStatus::Abandoned => (
                acp::PlanEntryStatus::Completed,
                format!("{} (abandoned)", task.content),
            ),
            PlanStatus::Blocked => (
                acp::PlanEntryStatus::Pending,
                format!("{} (blocked)", task.content),
            ),
        };
        acp::PlanEntry::new(content, acp::PlanEntryPriority::Medium, status)
    });
    acp::SessionUpdate::Plan(acp::Plan::new(entries.collect()))
}

/// The title of a session.
pub(super) fn title(title: Option<String>) -> acp::SessionUpdate {
    acp::SessionUpdate::SessionInfoUpdate(acp::SessionInfoUpdate::new().title(title))
}

/// What was consumed, for `_meta`.
pub(super) fn usage_json(usage: &Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedReadTokens": usage.cache_read,
        "cachedWriteTokens": usage.cache_write,
        "costUsd": (!usage.cost.is_unknown).then_some(usage.cost.total),
    })
}
