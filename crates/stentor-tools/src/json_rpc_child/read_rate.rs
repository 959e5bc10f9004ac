//! How fast a program that was plugged in is read.

use std::time::Duration;

use tokio::time::Instant;

use super::limits::BURST_MESSAGES;

/// Lets a burst of messages through at once, and then one in an interval.
pub(super) struct ReadRate {
    interval: Duration,
    /// When everything that was let through so far would have come at the steady rate.
    paid_until: Instant,
}

impl ReadRate {
    pub fn new(now: Instant, interval: Duration) -> Self {
        Self {
            interval,
            paid_until: now,
        }
    }

    /// Counts a message. Returns how long to wait before the next is read.
    pub fn count(&mut self, now: Instant) -> Option<Duration> {
        self.paid_until = self.paid_until.max(now) + self.interval;
        let ahead = self.paid_until - now;
        let allowed = self.interval * BURST_MESSAGES;
        ahead.checked_sub(allowed).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::MESSAGE_INTERVAL;
    use super::*;

    #[test]
    fn a_burst_passes_and_what_follows_is_slowed_to_the_steady_rate() {
        let mut now = Instant::now();
        let began = now;
        let mut rate = ReadRate::new(now, MESSAGE_INTERVAL);
        for _ in 0..BURST_MESSAGES {
            assert_eq!(rate.count(now), None);
        }
        for _ in 0..200 {
            now += rate.count(now).expect("the burst is used up");
        }
        assert_eq!((now - began).as_secs(), 1);
        now += Duration::from_secs(60);
        assert_eq!(rate.count(now), None);
    }
}
