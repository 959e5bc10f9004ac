//! Compactions, and what is done about a summary that failed.

use serde_json::{Value, json};
use stentor_agent::event::{CompactionEnd, CompactionReason, SummaryRetry};

/// A compaction began.
pub(super) fn started(reason: CompactionReason) -> Value {
    json!({ "type": "compaction_started", "reason": reason_word(reason) })
}

/// How a compaction ended.
pub(super) fn ended(end: &CompactionEnd) -> Value {
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

/// What is done about a summary that failed.
pub(super) fn summary_retry(retry: &SummaryRetry) -> Value {
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

fn reason_word(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "manual",
        CompactionReason::Handoff => "handoff",
        CompactionReason::Threshold => "threshold",
        CompactionReason::Overflow => "overflow",
    }
}
