//! The connection to the fleet, and what is known of it.

mod view;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, kv, object_store, stream};

use crate::connection::{REQUEST_WAIT, connect};
use crate::directory::SessionRecord;
use crate::error::FleetError;
use crate::names::{Names, checked};
use crate::nodes::{NodeId, NodeRecord};
use crate::settings::FleetSettings;

use view::View;

/// How long the stream remembers the ids of messages, so that a repeated one is known.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// A connection to the fleet of a tenant. Clones are the same connection.
#[derive(Clone)]
pub struct Fleet {
    shared: Arc<Shared>,
}

struct Shared {
    settings: FleetSettings,
    names: Names,
    this_node: NodeId,
    client: Client,
    jetstream: jetstream::Context,
    journals: stream::Stream,
    sessions: kv::Store,
    nodes: kv::Store,
    pictures: object_store::ObjectStore,
    view: View,
}

impl Fleet {
    /// Connects, and makes what is missing: the stream and the buckets of the tenant. `life` names
    /// this life of the process.
    pub async fn connect(settings: FleetSettings, life: &str) -> Result<Self, FleetError> {
        let names = Names::new(&settings.prefix, &settings.tenant)?;
        let name = settings.node.clone().unwrap_or_else(host_name);
        let this_node = NodeId {
            name: checked("node name", &name)?,
            life: life.to_owned(),
        };
        for place in settings.places.keys() {
            checked("place", place)?;
        }
        let client = connect(&settings, &this_node.name).await?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(REQUEST_WAIT);
        let replicas = settings.replicas.unwrap_or(1);
        let shared = Shared {
            journals: journals(&jetstream, &names, replicas).await?,
            sessions: bucket(
                &jetstream,
                names.bucket("sessions"),
                Duration::ZERO,
                replicas,
            )
            .await?,
            nodes: bucket(
                &jetstream,
                names.bucket("nodes"),
                settings.lease(),
                replicas,
            )
            .await?,
            pictures: pictures(&jetstream, names.bucket("pictures"), replicas).await?,
            settings,
            names,
            this_node,
            client,
            jetstream,
            view: View::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.shared.jetstream
    }

    pub(crate) fn journal_stream(&self) -> &stream::Stream {
        &self.shared.journals
    }

    pub(crate) fn journal_subject(&self, session_id: &str) -> String {
        self.shared.names.journal(session_id)
    }

    pub(crate) fn session_bucket(&self) -> &kv::Store {
        &self.shared.sessions
    }

    pub(crate) fn node_bucket(&self) -> &kv::Store {
        &self.shared.nodes
    }

    pub(crate) fn pictures(&self) -> &object_store::ObjectStore {
        &self.shared.pictures
    }

    /// What the node was told.
    pub fn settings(&self) -> &FleetSettings {
        &self.shared.settings
    }

    /// The connection, for what travels between nodes.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// A subject of this tenant: `PREFIX.TENANT.PART.PART`. Each part must be one token.
    pub fn subject(&self, parts: &[&str]) -> String {
        self.shared.names.subject(parts)
    }

    /// This node.
    pub fn this_node(&self) -> &NodeId {
        &self.shared.this_node
    }

    /// How long a node may not be heard of before it has lost its sessions.
    pub fn lease(&self) -> Duration {
        self.settings().lease()
    }

    /// The nodes that are there as far as this node knows, by name.
    pub fn nodes(&self) -> Vec<NodeRecord> {
        self.shared.view.nodes(self.lease())
    }

    /// Whether this life of a node is there as far as this node knows.
    pub fn has_node(&self, node: &NodeId) -> bool {
        self.shared.view.is_there(node, self.lease())
    }

    /// Who owns a session, as far as this node knows: `None` when nobody does, or its owner is gone.
    pub fn owner_of(&self, session_id: &str) -> Option<NodeId> {
        let owner = self.session(session_id)?.owner?;
        self.has_node(&owner).then_some(owner)
    }

    /// A session, as far as this node knows it.
    pub fn session(&self, session_id: &str) -> Option<SessionRecord> {
        self.shared.view.session(session_id)
    }

    /// All sessions of the tenant, newest first.
    pub fn sessions(&self) -> Vec<SessionRecord> {
        self.shared.view.sessions()
    }

    /// The sessions whose owner is gone or has handed them over.
    pub(crate) fn orphans(&self) -> Vec<SessionRecord> {
        self.shared.view.orphans(self.lease())
    }

    /// How many sessions of the tenant are open.
    pub(crate) fn open_sessions(&self) -> usize {
        self.shared.view.open_sessions()
    }

    /// Asks the servers which nodes and sessions there are.
    pub async fn look(&self) -> Result<(), FleetError> {
        self.look_at_nodes().await?;
        self.look_at_sessions().await
    }
}

/// The stream with a subject for the journal of each session. Nothing in it expires.
async fn journals(
    jetstream: &jetstream::Context,
    names: &Names,
    num_replicas: usize,
) -> Result<stream::Stream, FleetError> {
    let config = stream::Config {
        name: names.bucket("journals"),
        subjects: vec![names.subject(&["journal", "*"])],
        storage: stream::StorageType::File,
        discard: stream::DiscardPolicy::New,
        duplicate_window: DUPLICATE_WINDOW,
        num_replicas,
        ..Default::default()
    };
    let stream = jetstream.get_or_create_stream(config).await;
    stream.map_err(FleetError::nats("make the stream of journals"))
}

async fn bucket(
    jetstream: &jetstream::Context,
    bucket: String,
    max_age: Duration,
    num_replicas: usize,
) -> Result<kv::Store, FleetError> {
    if let Ok(store) = jetstream.get_key_value(&bucket).await {
        return Ok(store);
    }
    let config = kv::Config {
        bucket,
        history: 1,
        max_age,
        num_replicas,
        ..Default::default()
    };
    let store = jetstream.create_key_value(config).await;
    store.map_err(FleetError::nats("make a key-value bucket"))
}

async fn pictures(
    jetstream: &jetstream::Context,
    bucket: String,
    num_replicas: usize,
) -> Result<object_store::ObjectStore, FleetError> {
    if let Ok(store) = jetstream.get_object_store(&bucket).await {
        return Ok(store);
    }
    let config = object_store::Config {
        bucket,
        num_replicas,
        ..Default::default()
    };
    let store = jetstream.create_object_store(config).await;
    store.map_err(FleetError::nats("make the store of pictures"))
}

/// The name of this host, as far as it can be a node's.
fn host_name() -> String {
    let read = std::fs::read_to_string(Path::new("/etc/hostname")).unwrap_or_default();
    let name = read.trim().split('.').next().unwrap_or_default();
    match name.is_empty() {
        true => "node".to_owned(),
        false => name.to_owned(),
    }
}
