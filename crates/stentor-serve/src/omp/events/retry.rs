//! What is done about a model call that failed: it is repeated, or another model steps in.

use stentor_agent::event::Fallback;
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;

impl OmpEncoder {
    pub(super) fn retry_started(
        &self,
        frames: &mut Vec<u8>,
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &str,
    ) {
        let frame = Frame::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms,
            error_message,
        };
        self.event(frames, "auto_retry_start", &frame);
    }

    pub(super) fn retry_ended(
        &self,
        frames: &mut Vec<u8>,
        success: bool,
        attempt: u32,
        final_error: Option<&str>,
    ) {
        let frame = Frame::AutoRetryEnd {
            success,
            attempt,
            final_error,
        };
        self.event(frames, "auto_retry_end", &frame);
    }

    pub(super) fn fallback_applied(&self, frames: &mut Vec<u8>, fallback: &Fallback) {
        let frame = Frame::RetryFallbackApplied {
            from: &fallback.from,
            to: &fallback.to,
            role: &fallback.role,
            reason: &fallback.reason,
        };
        self.event(frames, "retry_fallback_applied", &frame);
    }

    pub(super) fn fallback_succeeded(&self, frames: &mut Vec<u8>, model: &str, role: &str) {
        let frame = Frame::RetryFallbackSucceeded { model, role };
        self.event(frames, "retry_fallback_succeeded", &frame);
    }
}
