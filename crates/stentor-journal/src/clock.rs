//! Time and identifiers, given to the code so that a test can fix them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// Where times and identifiers come from.
///
/// Everything that ends up in a frame or a session file asks this trait, never the system, so a
/// test that fixes it sees the same bytes every time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
    /// A new session id.
    fn session_id(&self) -> String;
    /// Thirty-two random bits, for entry ids and jitter.
    fn random(&self) -> u32;
}

/// Shared handle to a clock.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's own time and randomness.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
    }

    fn session_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }

    fn random(&self) -> u32 {
        let bytes = uuid::Uuid::new_v4().into_bytes();
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }
}

/// A clock that starts at a chosen time, moves one millisecond per reading, and counts its ids.
///
/// For tests and for reproducible recordings.
#[derive(Debug)]
pub struct CountingClock {
    now_ms: AtomicU64,
    ids: AtomicU64,
}

impl CountingClock {
    /// A clock whose first reading is `start_ms`.
    pub fn starting_at(start_ms: u64) -> Self {
        Self {
            now_ms: AtomicU64::new(start_ms),
            ids: AtomicU64::new(0),
        }
    }
}

impl Clock for CountingClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(1, Ordering::Relaxed)
    }

    fn session_id(&self) -> String {
        format!(
            "session-{:04}",
            self.ids.fetch_add(1, Ordering::Relaxed) + 1
        )
    }

    fn random(&self) -> u32 {
        u32::try_from(self.ids.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff).unwrap_or_default()
    }
}

/// A random UUID, of the clock's randomness.
pub fn random_uuid(clock: &dyn Clock) -> String {
    let random = || clock.random();
    let (a, b, c, d) = (random(), random(), random(), random());
    format!(
        "{a:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{d:08x}",
        b >> 16,
        b & 0xfff,
        0x8000 | (c >> 16 & 0x3fff),
        c & 0xffff,
    )
}

/// `ms` as the ISO-8601 form the session format uses: `2026-11-15T07:45:38.409Z`.
pub fn iso_time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(ms) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{:.3}", Timestamp::UNIX_EPOCH),
    }
}

/// Milliseconds since the epoch of an ISO-8601 time, if it is one.
pub fn parse_iso_time(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_time_has_three_digits_of_milliseconds_and_reads_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_794_728_738_409, "2026-11-15T07:45:38.409Z"),
            (1_794_728_738_000, "2026-11-15T07:45:38.000Z"),
        ] {
            assert_eq!(iso_time(ms), text);
            assert_eq!(parse_iso_time(text), Some(ms));
        }
    }
}
