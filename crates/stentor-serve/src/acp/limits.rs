//! The numbers of the dialect.

use std::time::Duration;

/// Requests of the client that may be worked on at once, prompts aside. One more waits unread.
pub const REQUESTS_AT_ONCE: usize = 32;

/// Requests that may wait for one session. One more waits unread.
pub const MAILBOX: usize = 64;

/// Tasks without anything to do that may wait to be let go.
pub const FINISHED_TASKS: usize = 64;

/// Sessions that are loaded at once, unless more than that are at work. What is idle for the longest
/// time is unloaded for one more, and loaded again when a request names it.
pub const MAX_LOADED: usize = 32;

/// Steering messages that may be made ready at once. One more is refused.
pub const STEERING_AT_ONCE: usize = 64;

/// Requests of ours that may wait for the client. One more fails at once.
pub const MAX_OUTBOUND: usize = 4096;

/// How long the client has for a file (section 1.7).
pub const FILE_WAIT: Duration = Duration::from_secs(30);

/// How long the client has to open a terminal.
pub const TERMINAL_WAIT: Duration = Duration::from_secs(30);

/// How long the client has to hand over the output of a command that was stopped: a tool that
/// was told to stop has little time left.
pub const LAST_OUTPUT_WAIT: Duration = Duration::from_millis(100);

/// How long the last frames may take to leave when the process ends.
pub const LAST_FRAMES: Duration = Duration::from_millis(1500);

/// Sessions on one page of a list.
pub const PAGE: usize = 50;

/// The longest id a session can have.
pub const MAX_SESSION_ID_BYTES: usize = 235;

/// Longest path that is repeated to who gave it.
pub const REPEATED_PATH_BYTES: usize = 1024;

/// Characters of a title.
pub const TITLE_CHARS: usize = 80;

/// Longest text of a tool's output in one frame (section 1.10).
pub const OUTPUT_BYTES: usize = 32 * 1024;

/// Longest text among a tool's raw input or output.
pub const RAW_TEXT_BYTES: usize = 16 * 1024;

/// Longest picture of a tool's output, in base64 (section 1.10).
pub const IMAGE_BYTES: usize = 4 * 1024 * 1024;

/// Largest file whose change is shown.
pub const CHANGED_FILE_BYTES: u64 = 1024 * 1024;

/// Most text of the changes of one call, old and new together (section 1.10).
pub const CHANGES_BYTES: usize = 128 * 1024;

/// How much of the new content of a file is shown when its change cannot be.
pub const NEW_CONTENT_BYTES: usize = 16 * 1024;

/// Lines around a change that are shown with it: as many as the result of `edit` has.
pub const CHANGE_CONTEXT: usize = 4;

/// Largest text of a linked file that goes into the prompt; of a larger one the model learns
/// where it is.
pub const LINKED_TEXT_BYTES: u64 = 256 * 1024;

/// Largest linked picture or document that goes into the prompt.
pub const LINKED_BINARY_BYTES: u64 = 10 * 1024 * 1024;

/// Replayed history is handed over in pieces of about this size.
pub const REPLAY_BYTES: usize = 64 * 1024;

/// How much of the output of a user's command is shown while it runs, and how often.
pub const SHELL_TAIL_BYTES: usize = 16 * 1024;
pub const SHELL_SHOWN_EVERY_MS: u64 = 100;

/// Events of a quiet session that may wait for the next turn. The oldest goes first.
pub const MAX_HELD: usize = 32;

/// Places that a call of another agent is said to be about.
pub const LOCATIONS: usize = 64;

/// The longest path of such a place.
pub const PATH_BYTES: usize = 4096;
