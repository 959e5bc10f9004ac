//! How fast a program that was plugged in is read.

use std::time::Duration;

use tokio::time::Instant;

use super::limits::{BURST_MESSAGES, MESSAGES_PER_SECOND};

/// Lets a burst of messages through at once, and then so many a second.
pub(super) struct ReadRate {
    /// When everything that was let through so far would have come at the steady rate.
    paid_until: Instant,
}

const EACH: Duration = Duration::from_nanos(1_000_000_000 / MESSAGES_PER_SECOND as u64);

impl ReadRate {
    pub fn new(now: Instant) -> Self {
        Self { paid_until: now }
    }

    /// Counts a message. Returns how long to wait before the next is read.
    pub fn count(&mut self, now: Instant) -> Option<Duration> {
        self.paid_until = self.paid_until.max(now) + EACH;
        let ahead = self.paid_until - now;
        let allowed = EACH * BURST_MESSAGES;
        ahead.checked_sub(allowed).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_what_follows_is_slowed_to_the_steady_rate() {
        let mut now = Instant::now();
        let began = now;
        let mut rate = ReadRate::new(now);
        for _ in 0..BURST_MESSAGES {
            assert_eq!(rate.count(now), None);
        }
        for _ in 0..MESSAGES_PER_SECOND {
            now += rate.count(now).expect("the burst is used up");
        }
        assert_eq!((now - began).as_secs(), 1);
        now += Duration::from_secs(60);
        assert_eq!(rate.count(now), None);
    }
}
