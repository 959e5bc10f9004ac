//! Where the dialect of one client can run.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::session_flags;
use super::{LiveActivity, LocatedSession, Owner, Peers, TAKEOVER_WAIT, Upstream};

/// The places at most at which a new session is tried: each has to be asked.
const MAX_PLACES: usize = 16;

/// Flags whose values stay on the node of the client.
const SECRET_FLAGS: [&str; 1] = ["--api-key"];

/// A node, as seen from the node that a client is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NodePlace {
    /// The node of the client.
    Home,
    /// Another one.
    Node(String),
}

/// The session that an upstream begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstSession {
    /// What the flags say.
    AsFlagged,
    /// None, since the client is about to open one.
    None,
    /// A new one, for which there must be capacity.
    New,
    /// None, since the client is about to begin a new one, for which there must be capacity.
    NoneUntilNew,
}

/// The node of the client itself.
pub trait Home: Send + Sync {
    /// Serves the client here.
    fn open(&self, client: ClientHello) -> BoxFuture<'_, Result<Upstream, AttachRefusal>>;
}

/// Opens upstreams for one client.
pub struct Upstreams {
    peers: Arc<dyn Peers>,
    home: Arc<dyn Home>,
    client: ClientHello,
    /// Fires when the client's node stops.
    pub end: CancellationToken,
}

impl Upstreams {
    /// Those of a client.
    pub fn new(
        peers: Arc<dyn Peers>,
        home: Arc<dyn Home>,
        client: ClientHello,
        end: CancellationToken,
    ) -> Self {
        Self {
            peers,
            home,
            client,
            end,
        }
    }

    /// The flags that the client came with.
    pub fn flags(&self) -> &[String] {
        &self.client.args
    }

    /// Where a session is that the client names.
    pub async fn locate(&self, named: &str) -> Option<LocatedSession> {
        self.peers.locate(named).await
    }

    /// The id of the newest session in the client's folder.
    pub fn newest(&self) -> Option<String> {
        self.peers.newest(&self.client.cwd)
    }

    /// The node on which a session is to be opened; what the fleet does not know is at home. A session
    /// that nobody has is opened where the client is served now. One that is about to be taken over
    /// is waited for.
    pub async fn place_of(&self, named: &str, now: &NodePlace) -> NodePlace {
        let deadline = Instant::now() + TAKEOVER_WAIT;
        loop {
            match self.locate(named).await.map(|located| located.owner) {
                Some(Owner::Node(node)) => return NodePlace::Node(node),
                Some(Owner::Here) | None => return NodePlace::Home,
                Some(Owner::Moving) if Instant::now() < deadline => self.changed().await,
                Some(Owner::Nobody | Owner::Moving) => return now.clone(),
            }
        }
    }

    /// Where a session is that could not be opened on a node, if it is elsewhere by now.
    pub async fn moved_from(&self, place: &NodePlace, named: &str) -> Option<NodePlace> {
        self.changed().await;
        let now = self.place_of(named, &NodePlace::Home).await;
        (now != *place).then_some(now)
    }

    /// The folder in which the client is.
    pub fn folder(&self) -> &str {
        &self.client.cwd
    }

    /// True when the client only watches.
    pub fn observes(&self) -> bool {
        self.client.observe
    }

    /// The id of the newest session that the client keeps by a folder of session files.
    pub fn newest_kept_in(&self, folder: &str) -> Option<String> {
        self.peers.newest_kept_in(folder)
    }

    /// Where a new session in a folder can begin: where the client is `now`, at home, elsewhere.
    pub async fn places_for(&self, cwd: &str, now: &NodePlace) -> Vec<NodePlace> {
        let mut places = self.peers.places_for(cwd).await;
        places.sort_by_key(|place| (place != now, *place != NodePlace::Home));
        places.truncate(MAX_PLACES);
        places
    }

    /// A folder of the client's node as the node at a place has it.
    pub async fn folder_at<'f>(&self, place: &NodePlace, folder: &'f str) -> Cow<'f, str> {
        let there = match place {
            NodePlace::Home => None,
            NodePlace::Node(node) => self.peers.folder_on(node, folder).await,
        };
        there.map_or(Cow::Borrowed(folder), Cow::Owned)
    }

    /// False while the client's node is cut off from the others.
    pub fn is_connected(&self) -> bool {
        self.peers.is_connected()
    }

    /// True when something goes on in a session on a node.
    pub fn runs_at(&self, session: &str, node: &str) -> bool {
        let open = self.peers.open_at(session);
        open.is_some_and(|open| {
            let runs = matches!(
                open.activity,
                Some(LiveActivity::Running | LiveActivity::Asking)
            );
            open.node == node && runs
        })
    }

    /// Waits until it may have changed which node has which session.
    pub async fn changed(&self) {
        self.peers.changed().await;
    }

    /// Serves the client with these flags.
    pub async fn open(
        &self,
        place: &NodePlace,
        flags: Vec<String>,
        first: FirstSession,
    ) -> Result<Upstream, AttachRefusal> {
        use FirstSession::{New, NoneUntilNew};
        let mut client = ClientHello {
            args: flags,
            cwd: self.folder_at(place, &self.client.cwd).await.into_owned(),
            visits: matches!(first, FirstSession::None | NoneUntilNew),
            begins: matches!(first, New | NoneUntilNew),
            ..self.client.clone()
        };
        match place {
            NodePlace::Home => self.home.open(client).await,
            NodePlace::Node(node) => {
                // Keys do not leave the client's node; sessions have those of their own.
                client.env.clear();
                client.link = false;
                client.args = session_flags::without(&client.args, &SECRET_FLAGS);
                self.peers.open(node, client).await
            }
        }
    }
}
