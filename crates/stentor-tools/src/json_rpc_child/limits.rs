//! The numbers that keep a program that was plugged in from harming anybody but itself.

use std::time::Duration;

/// How long after the beginning of a session its programs are started, unless they are needed
/// before. The first frame of a dialect is out by then.
pub(super) const START_DELAY: Duration = Duration::from_millis(100);

/// Bytes on their way to a program. Who has more to send waits; what need not arrive is dropped.
pub(super) const OUT_BYTES: usize = 8 * 1024 * 1024;
/// Messages on their way to a program.
pub(super) const OUT_MESSAGES: usize = 256;

/// Bytes read from a program at once.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Unreadable lines in a row after which a program is given up.
pub(crate) const GARBAGE_LINES: u32 = 100;
/// Messages a program may write at once. One that goes on writing faster than one in an interval
/// is read more slowly, and waits at its end of the pipe.
pub(super) const BURST_MESSAGES: u32 = 1_000;
/// The interval between messages that is usual: 200 a second.
pub(crate) const MESSAGE_INTERVAL: Duration = Duration::from_millis(5);
/// The longest error message of a program that is passed on.
pub(super) const REFUSAL_BYTES: usize = 4096;

/// A program that worked this long begins again with no failures.
pub(super) const STEADY: Duration = Duration::from_secs(60);
/// The longest wait before a program is started again.
pub(super) const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);

/// How long a program has to end by itself when its input is closed.
pub(crate) const GRACE: Duration = Duration::from_millis(1_000);
/// How long a program has between being asked to end and being killed.
pub(super) const PATIENCE_BEFORE_KILL: Duration = Duration::from_millis(200);

/// The end of stderr that is stored to explain a failure.
pub(super) const STDERR_BYTES: usize = 4 * 1024;
/// The longest last line of stderr that is shown.
pub(super) const LAST_LINE_BYTES: usize = 400;
/// How long the rest of stderr is awaited when a program has failed.
pub(super) const STDERR_WAIT: Duration = Duration::from_millis(500);
