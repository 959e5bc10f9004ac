//! The numbers of the HTTP server.

use std::time::Duration;

/// TCP connections at once. For one more the oldest ends that has shown no token; where there is none
/// such, it waits.
pub const MAX_STREAMS: usize = 512;

/// How long the headers of a request may take, and how long a connection may wait for its next one.
pub const HEADER_WAIT: Duration = Duration::from_secs(30);

/// The headers of one request.
pub const MAX_HEADER_BYTES: usize = 64 << 10;
pub const MAX_HEADERS: usize = 64;

/// How long the body of a request may take.
pub const BODY_WAIT: Duration = Duration::from_secs(120);

/// A message, in a body or a WebSocket frame: the largest any dialect takes.
pub const MAX_MESSAGE_BYTES: usize = stentor_wire::acp::MAX_LINE_BYTES;

/// How often a WebSocket client is asked whether it is there.
pub const PING_EVERY: Duration = Duration::from_secs(30);

/// A WebSocket client that was silent for so long, also to that question, is gone; so is a client of
/// any kind that took nothing of what is written for so long.
pub const SILENCE: Duration = Duration::from_secs(100);

/// How long a WebSocket client may take to close after us.
pub const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// How long connections may take to end when the server stops and its clients are gone.
pub const STOP_WAIT: Duration = Duration::from_secs(1);

/// Bytes read from a dialect at once.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Wrong tokens one address may send before it has to wait.
pub const WRONG_TOKENS: u32 = 10;

/// Each of these forgives one wrong token.
pub const FORGIVEN_EVERY: Duration = Duration::from_secs(6);

/// Addresses whose wrong tokens are counted. The one that was wrong least recently gives way.
pub const COUNTED_ADDRESSES: usize = 1024;
