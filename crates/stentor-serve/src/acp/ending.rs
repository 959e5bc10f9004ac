//! How turns and compactions end, in the protocol's words (sections 6.3 to 6.5).

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};
use stentor_agent::event::{BudgetLimit, CompactionEnd, RunOutcome};
use stentor_journal::usage::Usage;

use super::events::{result, usage_json};
use super::turns::Turn;

/// Appends the answer to the prompt of `turn`.
///
/// Cancelling wins every race: a turn that was cancelled before its answer is written is answered
/// with that, even if it had just ended by itself.
pub(super) fn answer(frames: &mut Vec<u8>, turn: &Turn) {
    let outcome = turn.outcome();
    let stop = match &outcome {
        _ if turn.cancel.is_cancelled() => acp::StopReason::Cancelled,
        Some(RunOutcome::Aborted) => acp::StopReason::Cancelled,
        Some(RunOutcome::Refused) => acp::StopReason::Refusal,
        Some(RunOutcome::OutputLimit) => acp::StopReason::MaxTokens,
        Some(RunOutcome::BudgetReached {
            limit: BudgetLimit::Turns,
            ..
        }) => acp::StopReason::MaxTurnRequests,
        Some(
            RunOutcome::Completed | RunOutcome::Failed { .. } | RunOutcome::BudgetReached { .. },
        )
        | None => acp::StopReason::EndTurn,
    };
    let mut own = serde_json::Map::new();
    let usage = Some(turn.usage()).filter(|usage| !usage.is_zero());
    if let Some(usage) = &usage {
        own.insert("usage".into(), usage_json(usage));
    }
    if let Some(RunOutcome::Failed {
        kind,
        message,
        status,
    }) = &outcome
    {
        let error = json!({ "kind": kind, "message": message, "status": status });
        own.insert("error".into(), error);
    }
    let response = acp::PromptResponse::new(stop).usage(usage.as_ref().map(consumed));
    write(frames, turn, response, own);
}

/// Appends the answer to the prompt of a turn that never reached the session.
pub(super) fn answer_with(frames: &mut Vec<u8>, turn: &Turn, stop: acp::StopReason) {
    let response = acp::PromptResponse::new(stop);
    write(frames, turn, response, serde_json::Map::new());
}

/// What a turn consumed, in the words of the protocol's unstable part. `_meta` says the same and the
/// cost.
fn consumed(usage: &Usage) -> acp::Usage {
    let total = usage.input + usage.output + usage.cache_read + usage.cache_write;
    acp::Usage::new(total, usage.input, usage.output)
        .thought_tokens(usage.reasoning)
        .cached_read_tokens(usage.cache_read)
        .cached_write_tokens(usage.cache_write)
}

fn write(frames: &mut Vec<u8>, turn: &Turn, response: acp::PromptResponse, own: acp::Meta) {
    let mut meta = turn.trace.clone().unwrap_or_default();
    if !own.is_empty() {
        meta.insert("stentor".into(), Value::Object(own));
    }
    let response = response.meta((!meta.is_empty()).then_some(meta));
    result(frames, &turn.id, &response);
}

/// How a compaction ended.
pub(super) fn compaction(id: String, end: &CompactionEnd) -> acp::CompactionUpdate {
    let status = match (&end.result, end.aborted) {
        (Some(_), _) => acp::CompactionStatus::Completed,
        (None, true) => acp::CompactionStatus::Cancelled,
        (None, false) => acp::CompactionStatus::Failed,
    };
    let update = acp::CompactionUpdate::new(id, status);
    match (&end.result, &end.error) {
        (Some(done), _) => update.summary(vec![acp::ContentBlock::from(done.summary.clone())]),
        (None, Some(error)) => update.error(error.clone()),
        (None, None) => update,
    }
}
