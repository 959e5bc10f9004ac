//! Compactions, and what is done about a summary that failed.

use stentor_agent::event::{CompactionEnd, CompactionReason, SummaryRetry};
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;
use crate::omp::shapes::compaction_result;

/// What the agent does to compact: it always asks a model for a summary.
const ACTION: &str = "context-full";

impl OmpEncoder {
    /// omp tells only of compactions that began by themselves, pi of all, in other words.
    pub(super) fn compaction_started(&self, frames: &mut Vec<u8>, reason: CompactionReason) {
        let word = reason_word(reason);
        if !reason.is_asked_for() {
            let frame = Frame::AutoCompactionStart {
                reason: word,
                action: ACTION,
            };
            self.event(frames, "auto_compaction_start", &frame);
        }
        let frame = Frame::CompactionStart { reason: word };
        self.event(frames, "compaction_start", &frame);
    }

    pub(super) fn compaction_ended(&self, frames: &mut Vec<u8>, end: &CompactionEnd) {
        let result = end.result.as_ref().map(compaction_result);
        let error_message = end.error.as_deref();
        if !end.reason.is_asked_for() {
            let frame = Frame::AutoCompactionEnd {
                action: ACTION,
                result,
                aborted: end.aborted,
                will_retry: end.will_retry,
                error_message,
            };
            self.event(frames, "auto_compaction_end", &frame);
        }
        let frame = Frame::CompactionEnd {
            reason: reason_word(end.reason),
            result,
            aborted: end.aborted,
            will_retry: end.will_retry,
            error_message,
        };
        self.event(frames, "compaction_end", &frame);
    }

    pub(super) fn summary_retry(&self, frames: &mut Vec<u8>, retry: &SummaryRetry) {
        match retry {
            SummaryRetry::Scheduled {
                attempt,
                max_attempts,
                delay_ms,
                error,
            } => {
                let frame = Frame::SummarizationRetryScheduled {
                    attempt: *attempt,
                    max_attempts: *max_attempts,
                    delay_ms: *delay_ms,
                    error_message: error,
                };
                self.event(frames, "summarization_retry_scheduled", &frame);
            }
            SummaryRetry::Started { reason } => {
                let frame = Frame::SummarizationRetryAttemptStart {
                    source: "compaction",
                    reason: reason_word(*reason),
                };
                self.event(frames, "summarization_retry_attempt_start", &frame);
            }
            SummaryRetry::Ended => {
                let frame = Frame::SummarizationRetryFinished;
                self.event(frames, "summarization_retry_finished", &frame);
            }
        }
    }
}

fn reason_word(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual | CompactionReason::Handoff => "manual",
        CompactionReason::Threshold => "threshold",
        CompactionReason::Overflow => "overflow",
    }
}
