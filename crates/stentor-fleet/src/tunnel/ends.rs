//! What a side of a tunnel carries between: the client's proxy on one node, its dialect on the other.

use bytes::Bytes;
use stentor_serve::proxy::{DialectEnding, FromUpstream, Upstream, UpstreamEnd};
use tokio::sync::mpsc;

/// Where the items come from that a side sends.
pub(super) enum TunnelSource {
    /// What a client writes.
    Client(mpsc::Receiver<Bytes>),
    /// What its dialect writes.
    Dialect(mpsc::Receiver<FromUpstream>),
}

/// Where the items go that a side receives.
pub(super) enum Sink {
    Client(mpsc::Sender<FromUpstream>),
    /// Nowhere, when the client's input has ended.
    Dialect(Option<mpsc::Sender<Bytes>>),
}

/// The side of the client.
pub(super) fn of_client(end: UpstreamEnd) -> (TunnelSource, Sink) {
    (TunnelSource::Client(end.input), Sink::Client(end.output))
}

/// The side of the dialect.
pub(super) fn of_dialect(upstream: Upstream) -> (TunnelSource, Sink) {
    let sink = Sink::Dialect(Some(upstream.input));
    (TunnelSource::Dialect(upstream.output), sink)
}

impl TunnelSource {
    /// The next item. The end of a client's input is one; that of a dialect without an end is none.
    pub async fn next(&mut self) -> Option<FromUpstream> {
        match self {
            Self::Client(input) => Some(match input.recv().await {
                Some(bytes) => FromUpstream::Bytes(bytes),
                None => FromUpstream::Ended(DialectEnding::default()),
            }),
            Self::Dialect(output) => output.recv().await,
        }
    }

    /// The next bytes, if they are here already.
    pub fn ready_bytes(&mut self) -> ReadyItem {
        match self {
            Self::Client(input) => match input.try_recv() {
                Ok(bytes) => ReadyItem::Bytes(bytes),
                Err(_) => ReadyItem::Nothing,
            },
            Self::Dialect(output) => match output.try_recv() {
                Ok(FromUpstream::Bytes(bytes)) => ReadyItem::Bytes(bytes),
                Ok(other) => ReadyItem::Other(other),
                Err(_) => ReadyItem::Nothing,
            },
        }
    }

    /// True when the end of what it gives is the end of the tunnel.
    pub fn is_dialect(&self) -> bool {
        matches!(self, Self::Dialect(_))
    }
}

/// What is here already.
pub(super) enum ReadyItem {
    Bytes(Bytes),
    Other(FromUpstream),
    Nothing,
}

impl Sink {
    /// Waits until there is room for one more item, or nobody takes any.
    pub async fn has_room(&self) {
        match self {
            Self::Client(output) => drop(output.reserve().await.ok()),
            Self::Dialect(Some(input)) => drop(input.reserve().await.ok()),
            Self::Dialect(None) => {}
        }
    }

    /// Hands on an item, for which there is room. A dialect that has ended takes no more; its end is
    /// on its way.
    pub fn put(&mut self, item: FromUpstream) {
        match (&mut *self, item) {
            (Self::Client(output), item) => drop(output.try_send(item)),
            (Self::Dialect(Some(input)), FromUpstream::Bytes(bytes)) => {
                input.try_send(bytes).ok();
            }
            (Self::Dialect(input), FromUpstream::Ended(_)) => *input = None,
            (Self::Dialect(_), _) => {}
        }
    }

    /// Waits until the client is gone.
    pub async fn closed(&self) {
        match self {
            Self::Client(output) => output.closed().await,
            Self::Dialect(_) => std::future::pending().await,
        }
    }
}
