//! The numbers that keep a server from harming anybody but itself.

use std::time::Duration;

/// The longest message a server may send. A picture in base64 fits.
pub(super) const MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// How long a server may take to accept a message that is posted.
pub(super) const POST_LIMIT: Duration = Duration::from_secs(30);

/// Questions of a server that wait for a person or a model. One more is refused.
pub(super) const OPEN_REQUESTS: usize = 16;
/// How long the session's model may take to answer a server.
pub(super) const SAMPLING_LIMIT: Duration = Duration::from_secs(600);
/// As much of a line as a server may write into the log.
pub(super) const LOG_CHARS: usize = 1000;

/// How long a server that failed a call has to show that it is alive.
pub(super) const PING_LIMIT: Duration = Duration::from_secs(10);

/// Tools, prompts and resources of one server, each. More are no help to a model.
pub(super) const LISTED: usize = 500;
/// Pages a server may spread a list over.
pub(super) const PAGES: usize = 100;
/// The longest description of a tool or prompt.
pub(super) const DESCRIPTION_BYTES: usize = 16 * 1024;
/// How often lists that a server says have changed are asked for.
pub(super) const LISTING_PAUSE: Duration = Duration::from_secs(1);

/// The first wait before a server is started again; it doubles each time.
pub(super) const FIRST_BACK_OFF: Duration = Duration::from_millis(250);
/// How long a call waits for a server that is being started again.
pub(super) const CALL_PATIENCE: Duration = Duration::from_secs(10);
/// How long after the beginning of a session what is wrong with its servers is told: whoever opened
/// it listens by then.
pub(super) const PROBLEMS_DELAY: Duration = Duration::from_millis(100);

/// How often in a row a stream of events that broke is asked for again.
pub(super) const RECONNECTS: u32 = 5;
/// How long to wait before that.
pub(super) const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
