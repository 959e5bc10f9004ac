//! Clients whose session is on another node of a fleet.
//!
//! A session is where its node is: it hands trait objects around and cannot be sent. So the client's
//! connection travels instead. The proxy stands between a client and its dialect and looks at the
//! lines that open a session. If another node has that session, the dialect runs there, over an
//! [`Upstream`] that carries the client's own frames, and its answers come back the same way. The
//! client cannot tell the difference, and neither can the dialect.
//!
//! [`single`] is for dialects with one session at a time, which move as a whole; ACP, whose clients
//! have many sessions at once, is multiplexed by its own proxy. What is said to a new upstream first,
//! and which lines open sessions, each dialect knows itself ([`ProxiedDialect`]).

mod dialect;
mod lines;
mod nodes;
pub mod session_flags;
pub mod single;
mod upstream;
mod upstreams;

use std::time::Duration;

use futures_util::future::BoxFuture;
use stentor_wire::attach::{AttachRefusal, ClientHello};

pub use dialect::{FromClient, GoesOn, Preparation, ProxiedDialect, UpstreamStart};
pub use lines::LineBuffer;
pub use nodes::{FleetNode, LiveActivity, NodeState, OpenAt};
pub use single::ProxyClient;
pub use upstream::{
    CHUNK_BYTES, CHUNKS, Capacity, DialectEnding, FromUpstream, Upstream, UpstreamEnd,
};
pub use upstreams::{FirstSession, Home, NodePlace, Upstreams};

/// What the ids of the proxy's own requests begin with. Their answers are not the client's.
pub const OWN_ID: &str = "stentor-proxy-";

/// How long an upstream may take to answer what it is told first.
pub const PREPARE_WAIT: Duration = Duration::from_secs(20);

/// How long another node may take to take a session over before this one does.
pub const TAKEOVER_WAIT: Duration = Duration::from_secs(20);

/// The other nodes of a fleet.
pub trait Peers: Send + Sync {
    /// Which node has the session that a client names by its id or its file. `None` when the fleet
    /// does not know it.
    fn locate<'a>(&'a self, named: &'a str) -> BoxFuture<'a, Option<LocatedSession>>;

    /// The id of the newest session that works in a folder.
    fn newest(&self, _folder: &str) -> Option<String> {
        None
    }

    /// The id of the newest session that a client keeps by a folder of session files, absolute.
    fn newest_kept_in(&self, _folder: &str) -> Option<String> {
        None
    }

    /// The nodes on which a new session in a folder could begin, the best first. Whether they have
    /// capacity left they know themselves.
    fn places_for<'a>(&'a self, _cwd: &'a str) -> BoxFuture<'a, Vec<NodePlace>> {
        Box::pin(std::future::ready(vec![NodePlace::Home]))
    }

    /// A folder of this node as another node has it, if that is another path there.
    fn folder_on<'a>(&'a self, _node: &'a str, _folder: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Has a node serve a client.
    fn open<'a>(
        &'a self,
        node: &'a str,
        client: ClientHello,
    ) -> BoxFuture<'a, Result<Upstream, AttachRefusal>>;

    /// The nodes, this one among them, and those that have been gone for a short time, by name.
    fn nodes(&self) -> Vec<FleetNode> {
        Vec::new()
    }

    /// Where the session with an id is open.
    fn open_at(&self, _session: &str) -> Option<OpenAt> {
        None
    }

    /// False while this node is cut off from the others: what it knows of them may be old.
    fn is_connected(&self) -> bool {
        true
    }

    /// Waits until it may have changed which node has which session.
    fn changed(&self) -> BoxFuture<'_, ()>;
}

/// Where a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedSession {
    /// Its id.
    pub session: String,
    pub owner: Owner,
}

/// Who has a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// This node.
    Here,
    /// The node of this name.
    Node(String),
    /// It is live nowhere: whoever opens it has it.
    Nobody,
    /// It was live, and a node is about to take it over.
    Moving,
}
