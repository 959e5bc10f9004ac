//! The numbers that keep an extension from harming anybody but itself.

use std::time::Duration;

use stentor_wire::extension::MAX_LINE_BYTES;

/// The longest line an extension may write.
pub(super) const LINE_BYTES: usize = MAX_LINE_BYTES;

/// Messages without sense of one process that are told of.
pub(super) const COMPLAINTS: u32 = 10;

/// Requests of an extension that may be open at once. One more is refused.
pub(super) const OPEN_REQUESTS: usize = 16;
/// Things to show that wait for slow clients. One more is dropped.
pub(super) const WAITING_TO_SHOW: usize = 64;
/// Status lines and widgets of an extension, each.
pub(super) const SHOWN_KEYS: usize = 32;

/// How long a command that nobody has waits for extensions that have not registered yet.
pub(super) const COMMAND_PATIENCE: Duration = Duration::from_secs(10);

/// Hooks in a row that took too long, after which the extension counts as hung.
pub(super) const TIMEOUTS_IN_A_ROW: u32 = 3;

/// How long the last output is awaited when the process has ended.
pub(super) const PATIENCE_AFTER_EXIT: Duration = Duration::from_millis(100);

/// Tools and commands of one extension, each.
pub(super) const REGISTERED: usize = 128;
/// The longest description or hint.
pub(super) const DESCRIPTION_BYTES: usize = 16 * 1024;
/// The longest JSON Schema of a tool's arguments.
pub(super) const SCHEMA_BYTES: usize = 64 * 1024;

/// The longest title, key, label or value.
pub(super) const LABEL_BYTES: usize = 1024;
/// The longest message, status or line.
pub(super) const MESSAGE_BYTES: usize = 16 * 1024;
/// Lines of a widget, options of a selection.
pub(super) const LIST_ITEMS: usize = 200;
/// The longest text put into an editor.
pub(super) const PREFILL_BYTES: usize = 256 * 1024;
/// The longest text a tool or command may add to the conversation.
pub(super) const TEXT_BYTES: usize = 256 * 1024;
/// The longest report of a running tool.
pub(super) const PROGRESS_BYTES: usize = 64 * 1024;
/// The least time between two reports of one running tool; more are dropped.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(20);

/// The longest value kept in the session, as JSON.
pub(super) const STATE_BYTES: usize = 256 * 1024;
/// Keys an extension may keep.
pub(super) const STATE_KEYS: usize = 1_000;
