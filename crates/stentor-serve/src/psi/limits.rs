//! The numbers of the dialect, each with the section of the reference it comes from.

use std::time::Duration;

pub use stentor_wire::psi::{MAX_LINE_BYTES, MAX_PENDING};

/// The least time between two cumulative deltas of one text (section 10.5).
pub const DELTA_INTERVAL: Duration = Duration::from_millis(40);

/// How long a running turn may go on writing after the client closed its end (section 1).
pub const GRACE: Duration = Duration::from_secs(3);

/// A tool that says nothing is told of again after this long, lest the client gives up on the
/// whole run after its own ten minutes (section 18.4).
pub const TOOL_SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// Notifications that are remembered for a client that subscribes later, and for how long
/// (section 10.15).
pub const MAX_NOTIFICATIONS: usize = 3;
pub const NOTIFICATION_MS: u64 = 5_000;

/// How much of a command a question shows: a line holds more, and escapes make text longer.
pub const QUESTION_BYTES: usize = 128 * 1024;

/// A session's display name is cut to this many characters (section 11.3).
pub const DISPLAY_NAME_CHARS: usize = 48;

/// How much of an id people see (section 7).
pub const SHORT_ID_CHARS: usize = 8;

/// One line of `/history` (section 13.2).
pub const HISTORY_LINE_CHARS: usize = 120;

/// Sessions that are kept loaded though nobody uses them. More are unloaded; their files stay.
pub const MAX_LOADED: usize = 32;

/// Sessions that may be loaded at once: only those that are at work, or kept in memory only, can be
/// so many. More are refused.
pub const MAX_SESSIONS: usize = 256;

/// Stored sessions that are offered to be resumed: the newest. Older ones are not looked into;
/// their files can be named.
pub const OFFERED_SESSIONS: usize = 200;

/// Sessions of other clients of the server that are listed: the newest. Others are joined by their
/// files.
pub const LISTED_ELSEWHERE: usize = 64;

/// Answers that may wait for the writer: each request that may be pending has one, and there is
/// room for as many refusals. Who writes yet more waits.
pub const WAITING_ITEMS: usize = 2 * MAX_PENDING;

/// Bytes of events gathered before they are handed over, while more is ready.
pub const BATCH_BYTES: usize = 64 * 1024;
