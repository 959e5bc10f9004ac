//! The numbers of this dialect.

use std::time::Duration;

/// The longest line a client may write.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Calls that are answered at the same time. One more is refused.
pub(super) const MAX_CALLS: usize = 64;
/// Sessions that are open at the same time. One more takes the place of the one that was not used for
/// the longest time; where all of them run, it is refused.
pub(super) const MAX_OPEN: usize = 16;
/// How long the sessions may take to stop and save at the end.
pub(super) const LAST_FRAMES: Duration = Duration::from_secs(5);

/// Sessions that are listed unless the client says how many.
pub(super) const LISTED: usize = 20;
/// Sessions that are listed at most.
pub(super) const MAX_LISTED: usize = 200;
/// Messages that are read unless the client says how many.
pub(super) const READ: usize = 20;
/// Messages that are read at most.
pub(super) const MAX_READ: usize = 500;
/// The longest text of one message that is read.
pub(super) const MESSAGE_CHARS: usize = 20_000;
/// The longest line about what a session does.
pub(super) const PROGRESS_CHARS: usize = 200;
