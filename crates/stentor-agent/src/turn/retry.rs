//! How long to wait before asking a model again.

use std::time::Duration;

use crate::model::ModelError;

/// When and how often a failed model call is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    pub max_attempts: u32,
    /// The first wait; each further one is twice as long.
    pub base_delay_ms: u64,
    /// No wait is longer, whatever the provider asks for.
    pub max_delay_ms: u64,
    /// Each wait is longer by a random share of up to this many percent, so that many agents that
    /// failed together do not come back together.
    pub jitter_percent: u32,
    /// False: an answer that had begun is not repeated, because its text cannot be taken back.
    pub after_output: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base_delay_ms: 2_000,
            max_delay_ms: 300_000,
            jitter_percent: 10,
            after_output: true,
        }
    }
}

impl RetryPolicy {
    /// The wait before attempt number `attempt` (from 1). `random` decides the jitter.
    pub fn delay(&self, attempt: u32, error: &ModelError, random: u32) -> Duration {
        let exponent = attempt.saturating_sub(1).min(20);
        let backoff = self.base_delay_ms.saturating_mul(1 << exponent);
        let jitter = backoff
            .saturating_mul(u64::from(random % 1000) * u64::from(self.jitter_percent))
            / 100_000;
        let asked = error.retry_after_ms.unwrap_or(0);
        let wait = backoff.saturating_add(jitter).max(asked);
        Duration::from_millis(wait.min(self.max_delay_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorKind;

    #[test]
    fn the_wait_doubles_honours_retry_after_and_is_capped() {
        let policy = RetryPolicy::default();
        let plain = ModelError::new(ModelErrorKind::Overloaded, "x");
        let asked = ModelError {
            retry_after_ms: Some(5_000),
            ..plain.clone()
        };
        let greedy = ModelError {
            retry_after_ms: Some(9_000_000),
            ..plain.clone()
        };
        for (attempt, error, random, expected) in [
            (1, &plain, 0, 2_000),
            (2, &plain, 0, 4_000),
            (3, &plain, 0, 8_000),
            (1, &plain, 500, 2_100),
            (1, &plain, 999, 2_199),
            (1, &asked, 0, 5_000),
            (3, &asked, 0, 8_000),
            (1, &greedy, 0, 300_000),
            (90, &plain, 0, 300_000),
        ] {
            assert_eq!(
                policy.delay(attempt, error, random),
                Duration::from_millis(expected)
            );
        }
    }
}
