//! When a program that failed is started again.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::limits::{LONGEST_BACK_OFF, START_DELAY, STEADY};

/// What happens when a program has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartPolicy {
    /// How often in a row it is started again. After that it is given up.
    pub max_restarts: u32,
    /// The wait before the first restart; it doubles each time.
    pub base_delay: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            max_restarts: 3,
            base_delay: Duration::from_millis(500),
        }
    }
}

impl RestartPolicy {
    /// One failure and it is given up.
    pub fn never() -> Self {
        Self {
            max_restarts: 0,
            ..Self::default()
        }
    }

    /// The wait after so many failures in a row; `None` when there were too many.
    fn delay_after(self, failures: u32) -> Option<Duration> {
        if failures > self.max_restarts {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(16);
        let delay = self.base_delay.saturating_mul(1 << doublings);
        Some(delay.min(LONGEST_BACK_OFF))
    }
}

/// Counts the failures of a program.
pub(crate) struct Restarts {
    policy: RestartPolicy,
    /// In a row.
    pub failures: u32,
    started: Instant,
}

impl Restarts {
    pub fn new(policy: RestartPolicy) -> Self {
        Self {
            policy,
            failures: 0,
            started: Instant::now(),
        }
    }

    /// The program is started now.
    pub fn starts(&mut self) {
        self.started = Instant::now();
    }

    /// It failed. How long to wait until it is started again; `None` when it is given up.
    pub fn failed(&mut self) -> Option<Duration> {
        if self.started.elapsed() >= STEADY {
            self.failures = 0;
        }
        self.failures += 1;
        self.policy.delay_after(self.failures)
    }
}

/// Waits until a program is needed, or the first frames of its session are out. False when the
/// session is over by then.
pub(crate) async fn wait_until_needed(needed: &Notify, over: &CancellationToken) -> bool {
    tokio::select! {
        () = needed.notified() => true,
        () = sleep(START_DELAY) => true,
        () = over.cancelled() => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_limit_and_then_there_is_no_more() {
        let policy = RestartPolicy {
            max_restarts: 8,
            base_delay: Duration::from_millis(500),
        };
        let waits: Vec<Option<u64>> = (1..=9)
            .map(|failures| policy.delay_after(failures))
            .map(|wait| wait.map(|wait| u64::try_from(wait.as_millis()).unwrap()))
            .collect();
        let expected = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
        let expected: Vec<Option<u64>> = expected.map(Some).into_iter().chain([None]).collect();
        assert_eq!(waits, expected);
        assert_eq!(RestartPolicy::never().delay_after(1), None);
    }

    #[test]
    fn the_wait_doubles_up_to_the_longest() {
        let policy = RestartPolicy {
            max_restarts: 30,
            base_delay: Duration::from_millis(250),
        };
        let waits = [1, 2, 3, 7, 8, 30].map(|failures| policy.delay_after(failures).unwrap());
        let waits = waits.map(|wait| wait.as_millis());
        assert_eq!(waits, [250, 500, 1000, 16_000, 30_000, 30_000]);
    }
}
