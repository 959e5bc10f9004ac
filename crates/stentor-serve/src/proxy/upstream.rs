//! Where a client's dialect runs, as the proxy sees it: bytes in, bytes and news out.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// Chunks that may wait in each direction. Who has more waits.
pub const CHUNKS: usize = 8;

/// The most bytes of one chunk.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// A client's dialect, here or on another node.
pub struct Upstream {
    /// What the client writes. Dropping it is the end of the client's input.
    pub input: mpsc::Sender<Bytes>,
    /// What the dialect writes. Without an [`FromUpstream::Ended`] before its end it broke.
    pub output: mpsc::Receiver<FromUpstream>,
    /// Where the sessions that the client begins there have their capacity from.
    pub capacity: Arc<dyn Capacity>,
}

/// The capacity of a node, for one client.
pub trait Capacity: Send + Sync {
    /// Reserves capacity for the next session that the client begins. False when there is none.
    fn reserve(&self) -> BoxFuture<'_, bool>;
}

/// The other end of an [`Upstream`].
pub struct UpstreamEnd {
    pub input: mpsc::Receiver<Bytes>,
    pub output: mpsc::Sender<FromUpstream>,
}

/// What comes from an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromUpstream {
    /// Bytes of the dialect.
    Bytes(Bytes),
    /// The client is in the session with this id now.
    Session(String),
    /// The session with this id is no longer on the node; the client can go on with it elsewhere.
    Moved(String),
    /// The dialect has ended, and nothing follows.
    Ended(DialectEnding),
}

/// How a dialect ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DialectEnding {
    /// The exit status of a program that was started for this client.
    pub status: u8,
    /// Why it was not served, if it was not.
    pub refused: Option<String>,
    /// Its server stops, or no longer has the session: the client can go on elsewhere.
    pub goes_on_elsewhere: bool,
}

impl Upstream {
    /// An upstream, and its other end.
    pub fn pair(capacity: Arc<dyn Capacity>) -> (Self, UpstreamEnd) {
        let (to_dialect, input) = mpsc::channel(CHUNKS);
        let (output, from_dialect) = mpsc::channel(CHUNKS);
        let upstream = Self {
            input: to_dialect,
            output: from_dialect,
            capacity,
        };
        (upstream, UpstreamEnd { input, output })
    }
}
