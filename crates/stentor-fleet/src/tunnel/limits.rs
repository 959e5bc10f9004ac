//! The numbers of tunnels.

use std::time::Duration;

/// Bytes that a side may have sent and the other not yet handed on. So many are held to be sent again.
pub const WINDOW_BYTES: u64 = 1 << 20;

/// What each message counts for besides its content: small ones take room as well.
pub const MESSAGE_COST: u64 = 64;

/// A side reports how much it has handed on when it is so much more than it reported.
pub const REPORT_BYTES: u64 = WINDOW_BYTES / 4;

/// Content of one message at most.
pub const MAX_CONTENT_BYTES: usize = 64 * 1024;

/// How often a side says that it is there, and looks whether the other is.
pub const BEAT_EVERY: Duration = Duration::from_secs(2);

/// How long a side waits for items that it asked for before it asks again, and how often one that
/// could not send tries again.
pub const RETRY_EVERY: Duration = Duration::from_millis(250);

/// How long the other side may be silent before its node is asked whether it knows the tunnel.
pub const SILENCE: Duration = Duration::from_secs(10);

/// How long a tunnel waits for a node whose lease would be over, while the servers do not say whether it is.
pub const UNSEEN_WAIT: Duration = Duration::from_secs(60);

/// How long an answer to such questions is waited for.
pub const ASK_WAIT: Duration = Duration::from_secs(2);

/// How long a node may take to serve a client.
pub const OPEN_WAIT: Duration = Duration::from_secs(10);
