//! The numbers of the server.

use std::time::Duration;

/// Connections at once, unless somebody wants others.
pub const MAX_CONNECTIONS: usize = 256;

/// How long a relay whose connection broke may take to come back, unless somebody wants otherwise: long
/// enough for a connection of ssh to be noticed as lost and made again. Of what the dialect writes
/// meanwhile no more is kept than the window of a link.
pub const RESUME_WITHIN: Duration = Duration::from_secs(300);

/// How long a session that no client has to do with stays loaded, unless somebody wants otherwise.
pub const UNLOAD_AFTER: Duration = Duration::from_secs(1800);

/// How long sessions may take to end when the server stops.
pub const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// How long relays may take to read the last bytes when the server stops.
pub const LAST_BYTES: Duration = Duration::from_secs(2);

/// How long a client may take for its first line.
pub const HELLO_WAIT: Duration = Duration::from_secs(10);

/// How long accepting rests when the process has no more descriptors.
pub const ACCEPT_REST: Duration = Duration::from_millis(100);
