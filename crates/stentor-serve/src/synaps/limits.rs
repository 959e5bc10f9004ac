//! The numbers of the protocol.

use std::time::Duration;

/// How long a shutdown waits for the running turn (section 14): well inside the parent's 5 s.
pub const SHUTDOWN_WAIT: Duration = Duration::from_secs(3);

/// How long the last frames may take to leave after the end of the input, or after a shutdown,
/// when the reader does not read (section 14: within 2 s, and within the parent's 5 s).
pub const LAST_FRAMES: Duration = Duration::from_millis(1200);

/// The same after a signal (section 14: within 500 ms).
pub const LAST_FRAMES_AFTER_SIGNAL: Duration = Duration::from_millis(200);

/// How long the session may take to stop its tools and save.
pub const WINDING_DOWN: Duration = Duration::from_millis(600);

/// The exit code when something inside failed (section 14). A parent starts the child again.
pub const INTERNAL_FAILURE: u8 = 70;

/// Longest text of a tool result (section 9.2).
pub const RESULT_BYTES: usize = 256 * 1024;

/// Longest piece of text in one frame. Escaped it stays below the frame limit.
pub const DELTA_CHARS: usize = 64 * 1024;

/// Characters of a subagent's task that are shown (section 11).
pub const TASK_PREVIEW_CHARS: usize = 80;

/// Characters of a subagent's result that are shown (section 11).
pub const RESULT_PREVIEW_CHARS: usize = 120;

/// A parent forgets a prompt after 60 s, and an error about a forgotten one ends it (section
/// 16.3). From here on a failure is told by the response alone.
pub const ERROR_FRAME_AGE: Duration = Duration::from_secs(55);

/// Most files of one prompt (section 10).
pub const MAX_ATTACHMENTS: usize = 8;

/// Largest file that is embedded (section 10).
pub const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Largest sum of files that are embedded (section 10).
pub const MAX_FILES_BYTES: u64 = 15 * 1024 * 1024;

/// Largest picture that is embedded (section 10).
pub const MAX_IMAGE_BYTES: usize = 3 * 1024 * 1024 + 512 * 1024;

/// Longest side of a picture that is embedded (section 10).
pub const MAX_IMAGE_SIDE: u32 = 8000;

/// Largest text that is embedded (section 10).
pub const MAX_TEXT_BYTES: usize = 256 * 1024;
