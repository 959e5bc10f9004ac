//! The numbers of ACP over HTTP: those of the SDK's server.

use std::time::Duration;

/// Bytes that wait on the streams of a connection. When there are more, the agent waits.
pub const WAITING_BYTES: usize = 64 << 20;

/// Sessions of a connection that have a stream.
pub const MAX_STREAMS: usize = 1024;

/// Ids of sessions and requests.
pub const MAX_ID_BYTES: usize = 1024;

/// Requests of a connection that are not answered yet, in either direction.
pub const MAX_PENDING: usize = 1024;

/// A connection whose streams nobody reads while more waits than may, or that nobody uses at all,
/// ends after this time.
pub const STALL: Duration = Duration::from_secs(60);
pub const UNUSED: Duration = Duration::from_secs(300);

/// How often a stream without events has a comment.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
