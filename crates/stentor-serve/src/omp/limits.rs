//! The numbers of this dialect that the reference leaves open.

use std::time::Duration;

use stentor_wire::omp::facts::UPDATE_INTERVAL_MS;

/// How much of a command a question shows: a frame holds a megabyte, and escapes make text longer.
pub(super) const QUESTION_BYTES: usize = 128 * 1024;

/// A client's line may be this long: a prompt with pictures, not more. A longer one is refused.
pub(super) const INPUT_LINE_BYTES: usize = 256 * 1024 * 1024;

/// Commands that may wait for their turn. When it is full the client is not read from.
pub(super) const WAITING_COMMANDS: usize = 1024;

/// Commands that may run beside the others. A further one waits for its turn.
pub(super) const BACKGROUND_COMMANDS: usize = 64;

/// Calls of host tools and host addresses that may be open at once. A further one fails.
pub(super) const HOST_CALLS: usize = 256;

/// Tools, and address schemes, a client may offer.
pub(super) const HOST_OFFERS: usize = 256;

/// How long the other commands wait for a prompt to be accepted.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

/// How long the commands that were already read may take when the client is gone.
pub(super) const DRAIN: Duration = Duration::from_secs(2);

/// How long winding down may take: clients kill after a second (section 2).
pub(super) const WIND_DOWN: Duration = Duration::from_millis(700);

/// Snapshots shorter than this go out with every delta.
const FREE_UPDATE_BYTES: usize = 4096;

/// How long deltas gather after an update of `bytes`: a microsecond a byte, so that snapshots take
/// a mebibyte a second at most, until the interval of the reference is reached (section 8.2).
pub(super) fn rest_after(bytes: usize) -> Option<Duration> {
    if bytes < FREE_UPDATE_BYTES {
        return None;
    }
    let longest = Duration::from_millis(UPDATE_INTERVAL_MS);
    Some(Duration::from_micros(bytes as u64).min(longest))
}
