//! A turn: the prompt it answers, and how it ended (sections 6.3 to 6.5).

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};
use stentor_agent::event::{BudgetLimit, RunOutcome};
use stentor_agent::session::RunId;
use stentor_journal::usage::Usage;
use stentor_wire::jsonrpc::Id;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::Refusal;
use super::frames::{result, usage_json};

/// The request of a prompt, which is answered once.
pub(super) struct PromptRequest {
    pub id: Id,
    /// Fires when the client cancels it.
    pub cancel: CancellationToken,
    /// Fires it, too, when the request has been answered: then there is nothing left to cancel.
    _answered: DropGuard,
    /// The trace context of the request, which goes back with the answer.
    pub trace: Option<acp::Meta>,
}

/// A prompt that is being answered.
pub(super) struct AcpTurn {
    pub request: PromptRequest,
    pub stage: TurnStage,
    outcome: Option<RunOutcome>,
    usage: Usage,
}

/// What a turn is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnStage {
    /// The prompt is made ready, or a command runs that cannot be stopped.
    Preparing,
    /// The conversation is compacted.
    Compacting,
    /// The session has accepted it as a run, whose events all have a number above `after`.
    Running { run: RunId, after: u64 },
}

/// How a turn ends.
pub(super) enum PromptEnd {
    /// As its runs did, or without one.
    Over,
    Cancelled,
    Refused(Refusal),
}

impl PromptRequest {
    pub fn new(id: Id, meta: Option<&Map<String, Value>>) -> Self {
        let cancel = CancellationToken::new();
        Self {
            id,
            _answered: cancel.clone().drop_guard(),
            cancel,
            trace: trace_of(meta),
        }
    }

    /// Appends the answer: with the stop reason of `response`, unless the client has cancelled it.
    /// Cancelling wins every race, also against a refusal.
    fn answer(
        self,
        refusal: Option<Refusal>,
        mut response: acp::PromptResponse,
        own: acp::Meta,
        frames: &mut Vec<u8>,
    ) {
        if self.cancel.is_cancelled() {
            response.stop_reason = acp::StopReason::Cancelled;
        } else if let Some(refusal) = refusal {
            return refusal.write(frames, &self.id);
        }
        let mut meta = self.trace.clone().unwrap_or_default();
        if !own.is_empty() {
            meta.insert("stentor".into(), Value::Object(own));
        }
        let response = response.meta((!meta.is_empty()).then_some(meta));
        result(frames, &self.id, &response);
    }

    /// Appends the answer to a prompt that does not become a turn.
    pub fn refuse(self, refusal: Refusal, frames: &mut Vec<u8>) {
        let response = acp::PromptResponse::new(acp::StopReason::Cancelled);
        self.answer(Some(refusal), response, Map::new(), frames);
    }
}

impl AcpTurn {
    pub fn new(request: PromptRequest) -> Self {
        Self {
            request,
            stage: TurnStage::Preparing,
            outcome: None,
            usage: Usage::default(),
        }
    }

    /// True when its run has events before number `seq`.
    pub fn runs_before(&self, seq: u64) -> bool {
        matches!(self.stage, TurnStage::Running { after, .. } if after < seq)
    }

    /// Notes how a run of it ended and what that consumed.
    pub fn ran(&mut self, outcome: &RunOutcome, usage: &Usage) {
        if matches!(self.stage, TurnStage::Running { .. }) {
            self.outcome = Some(outcome.clone());
            self.usage.add(usage);
        }
    }

    /// Appends the answer to its prompt.
    pub fn answer(self, end: PromptEnd, frames: &mut Vec<u8>) {
        let mut own = Map::new();
        let usage = Some(self.usage).filter(|usage| !usage.is_zero());
        if let Some(usage) = &usage {
            own.insert("usage".into(), usage_json(usage));
        }
        if let Some(RunOutcome::Failed {
            kind,
            message,
            status,
        }) = &self.outcome
        {
            let error = json!({ "kind": kind, "message": message, "status": status });
            own.insert("error".into(), error);
        }
        let (stop, refusal) = match end {
            PromptEnd::Over => (stop_reason(self.outcome.as_ref()), None),
            PromptEnd::Cancelled => (acp::StopReason::Cancelled, None),
            PromptEnd::Refused(refusal) => (acp::StopReason::Cancelled, Some(refusal)),
        };
        let response = acp::PromptResponse::new(stop).usage(usage.as_ref().map(consumed));
        self.request.answer(refusal, response, own, frames);
    }
}

fn stop_reason(outcome: Option<&RunOutcome>) -> acp::StopReason {
    match outcome {
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
    }
}

/// What was consumed, in the words of the protocol's unstable part. `_meta` has the same and the
/// cost.
pub(super) fn consumed(usage: &Usage) -> acp::Usage {
    acp::Usage::new(usage.all_tokens(), usage.input, usage.output)
        .thought_tokens(usage.reasoning)
        .cached_read_tokens(usage.cache_read)
        .cached_write_tokens(usage.cache_write)
}

/// The part of `meta` that is trace context.
fn trace_of(meta: Option<&Map<String, Value>>) -> Option<acp::Meta> {
    let meta = meta?;
    let trace: acp::Meta = stentor_wire::acp::TRACE_KEYS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), meta.get(*key)?.clone())))
        .collect();
    (!trace.is_empty()).then_some(trace)
}
