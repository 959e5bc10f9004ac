//! The numbers that keep a server from harming anybody but itself.

use std::time::Duration;

/// How long after the beginning of a session its servers are started, unless they are needed
/// before. The first frame of a dialect is out by then.
pub(super) const START_DELAY: Duration = Duration::from_millis(100);

/// The longest message a server may send. A picture in base64 fits.
pub(super) const MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes read from a server at once.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Messages in a row that make no sense, after which a server is given up.
pub(super) const GARBAGE_MESSAGES: u32 = 100;
/// Messages from a server that wait to be looked at.
pub(super) const IN_MESSAGES: usize = 16;
/// Messages on their way to a server. One more fails at once: the server does not read.
pub(super) const OUT_MESSAGES: usize = 64;
/// How long a server may take to accept a message that is posted.
pub(super) const POST_LIMIT: Duration = Duration::from_secs(30);

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
/// The longest wait before a server is started again.
pub(super) const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);
/// A server that worked this long begins again with no failures.
pub(super) const STEADY: Duration = Duration::from_secs(60);
/// How long a call waits for a server that is being started again.
pub(super) const CALL_PATIENCE: Duration = Duration::from_secs(10);

/// The end of stderr that is kept to explain a failure.
pub(super) const STDERR_BYTES: usize = 4 * 1024;
/// How long the last words of a program that has failed are awaited.
pub(super) const LAST_WORDS_WAIT: Duration = Duration::from_millis(500);
/// How long a program has to end by itself when its input is closed.
pub(super) const GRACE: Duration = Duration::from_millis(1_000);
/// How long a program has between being told to end and being killed.
pub(super) const PATIENCE_BEFORE_KILL: Duration = Duration::from_millis(200);

/// Reports about calls nobody has begun to listen for yet.
pub(super) const EARLY_REPORTS: usize = 32;
