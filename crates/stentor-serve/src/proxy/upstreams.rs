//! Where the dialect of one client can run.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use stentor_wire::attach::{ClientHello, Refused};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::session_flags;
use super::{Located, Owner, Peers, TAKEOVER_WAIT, Upstream};

/// Flags whose values stay on the node of the client.
const SECRET_FLAGS: [&str; 1] = ["--api-key"];

/// A node, as seen from the node that a client is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The node of the client.
    Home,
    /// Another one.
    Node(String),
}

/// The node of the client itself.
pub trait Home: Send + Sync {
    /// Serves the client here.
    fn open(&self, client: ClientHello) -> BoxFuture<'_, Result<Upstream, Refused>>;
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
    pub async fn locate(&self, named: &str) -> Option<Located> {
        self.peers.locate(named).await
    }

    /// The id of the newest session in the client's folder.
    pub fn newest(&self) -> Option<String> {
        self.peers.newest(&self.client.cwd)
    }

    /// The node on which a session is to be opened; what the fleet does not know is at home. A session
    /// that nobody has is opened where the client is served now. One that is about to be taken over
    /// is waited for.
    pub async fn place_of(&self, named: &str, now: &Place) -> Place {
        let deadline = Instant::now() + TAKEOVER_WAIT;
        loop {
            match self.locate(named).await.map(|located| located.owner) {
                Some(Owner::Node(node)) => return Place::Node(node),
                Some(Owner::Here) | None => return Place::Home,
                Some(Owner::Moving) if Instant::now() < deadline => self.changed().await,
                Some(Owner::Nobody | Owner::Moving) => return now.clone(),
            }
        }
    }

    /// Where a session is that could not be opened on a node, if it is elsewhere by now.
    pub async fn moved_from(&self, place: &Place, named: &str) -> Option<Place> {
        self.changed().await;
        let now = self.place_of(named, &Place::Home).await;
        (now != *place).then_some(now)
    }

    /// Waits until it may have changed which node has which session.
    pub async fn changed(&self) {
        self.peers.changed().await;
    }

    /// Serves the client with these flags. One that `visits` begins in no session of its own.
    pub async fn open(
        &self,
        place: &Place,
        flags: Vec<String>,
        visits: bool,
    ) -> Result<Upstream, Refused> {
        let mut client = ClientHello {
            args: flags,
            visits,
            ..self.client.clone()
        };
        match place {
            Place::Home => self.home.open(client).await,
            Place::Node(node) => {
                // Keys do not leave the client's node; sessions have those of their own.
                client.env.clear();
                client.link = false;
                client.args = session_flags::without(&client.args, &SECRET_FLAGS);
                self.peers.open(node, client).await
            }
        }
    }
}
