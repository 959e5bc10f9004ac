//! What is configured about an extension.

use std::path::PathBuf;
use std::time::Duration;

use crate::pace::MESSAGE_INTERVAL;
use crate::process::Launcher;

/// An extension as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSpec {
    /// By which people know it; unique among the extensions of a session.
    pub name: String,
    /// The program and its arguments. Never empty when it came from a configuration.
    pub command: Vec<String>,
    /// Where it is started; the folder of the session when absent.
    pub cwd: Option<PathBuf>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// The events it may hear of; when absent those it asks for.
    pub events: Option<Vec<String>>,
    /// How long it may take to answer a hook. The time in which a person is asked does not count.
    pub timeout: Duration,
    /// How long it may take until it has registered. The first prompt waits for it.
    pub start_timeout: Duration,
    /// How often it may write a message in the long run; one that writes more often is slowed down.
    pub message_interval: Duration,
    pub restart: RestartPolicy,
    /// What happens to a call it should be asked about and cannot.
    pub when_broken: WhenBroken,
    /// What its yes-or-no questions are answered with where nobody can be asked: `None` tells it
    /// that nobody could.
    pub unasked: Option<bool>,
    /// How its process is started, and what it is held back from.
    pub launcher: Launcher,
}

/// What happens when an extension has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartPolicy {
    /// How often in a row it is started again. After that it is disabled until the session ends.
    pub max_restarts: u32,
    /// The wait before the first restart; it doubles each time.
    pub base_delay: Duration,
}

/// What happens to a call that an extension should be asked about while it does not work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBroken {
    /// It goes on as if the extension had said nothing.
    #[default]
    Allow,
    /// It is denied: for extensions that guard something.
    Deny,
}

impl ExtensionSpec {
    /// An extension with every default.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            cwd: None,
            env: Vec::new(),
            events: None,
            timeout: Duration::from_secs(5),
            start_timeout: Duration::from_secs(10),
            message_interval: MESSAGE_INTERVAL,
            restart: RestartPolicy::default(),
            when_broken: WhenBroken::default(),
            unasked: None,
            launcher: Launcher::default(),
        }
    }
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
    /// One failure and it is disabled.
    pub fn never() -> Self {
        Self {
            max_restarts: 0,
            ..Self::default()
        }
    }

    /// The wait after so many failures in a row; `None` when there were too many.
    pub(super) fn delay_after(self, failures: u32) -> Option<Duration> {
        if failures > self.max_restarts {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(16);
        let delay = self.base_delay.saturating_mul(1 << doublings);
        Some(delay.min(super::limits::LONGEST_BACK_OFF))
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
}
