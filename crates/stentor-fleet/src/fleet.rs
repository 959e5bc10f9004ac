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
use crate::kept_in::KeptIn;
use crate::names::{TenantNames, checked};
use crate::nodes::{NodeId, NodeRecord};
use crate::settings::FleetSettings;
use crate::storage::TenantStorage;

use view::DirectoryView;

/// A connection to the fleet of a tenant. Clones are the same connection.
#[derive(Clone)]
pub struct Fleet {
    shared: Arc<FleetShared>,
}

struct FleetShared {
    settings: FleetSettings,
    names: TenantNames,
    this_node: NodeId,
    client: Client,
    jetstream: jetstream::Context,
    storage: TenantStorage,
    view: DirectoryView,
}

/// A connection of which it is not known yet what is there.
struct UncheckedFleet {
    settings: FleetSettings,
    names: TenantNames,
    this_node: NodeId,
    client: Client,
    jetstream: jetstream::Context,
}

impl UncheckedFleet {
    async fn new(settings: FleetSettings, life: &str) -> Result<Self, FleetError> {
        let names = TenantNames::new(&settings.prefix, &settings.tenant)?;
        let name = settings.node.clone().unwrap_or_else(host_name);
        let this_node = NodeId {
            name: checked("node name", &name)?,
            life: life.to_owned(),
        };
        for place in settings.places.keys() {
            checked("place", place)?;
        }
        let client = connect(&settings, &names, &this_node.name).await?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(REQUEST_WAIT);
        Ok(Self {
            settings,
            names,
            this_node,
            client,
            jetstream,
        })
    }

    fn with(self, storage: TenantStorage) -> Fleet {
        let shared = FleetShared {
            settings: self.settings,
            names: self.names,
            this_node: self.this_node,
            client: self.client,
            jetstream: self.jetstream,
            storage,
            view: DirectoryView::default(),
        };
        Fleet {
            shared: Arc::new(shared),
        }
    }
}

impl Fleet {
    /// Connects, and makes what is missing: the stream and the buckets of the tenant. `life` names
    /// this life of the process.
    pub async fn connect(settings: FleetSettings, life: &str) -> Result<Self, FleetError> {
        let connected = UncheckedFleet::new(settings, life).await?;
        let storage = TenantStorage::make(
            &connected.jetstream,
            &connected.names,
            &connected.settings,
            &connected.this_node.name,
        );
        let storage = storage.await?;
        Ok(connected.with(storage))
    }

    /// Connects to look or to ask nodes for something. Nothing is made.
    pub async fn open(settings: FleetSettings) -> Result<Self, FleetError> {
        let connected = UncheckedFleet::new(settings, "command").await?;
        let storage = TenantStorage::open(&connected.jetstream, &connected.names).await?;
        Ok(connected.with(storage))
    }

    pub(crate) fn durable_streams(&self) -> [String; 3] {
        self.shared.names.durable_streams()
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.shared.jetstream
    }

    pub(crate) fn journal_stream(&self) -> &stream::Stream {
        &self.shared.storage.journals
    }

    pub(crate) fn journal_subject(&self, session_id: &str) -> String {
        self.shared.names.journal(session_id)
    }

    pub(crate) fn session_bucket(&self) -> &kv::Store {
        &self.shared.storage.sessions
    }

    pub(crate) fn node_bucket(&self) -> &kv::Store {
        &self.shared.storage.nodes
    }

    pub(crate) fn pictures(&self) -> &object_store::ObjectStore {
        &self.shared.storage.pictures
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
        self.shared.storage.lease
    }

    /// The nodes that are there as far as this node knows, by name.
    pub fn nodes(&self) -> Vec<NodeRecord> {
        self.shared.view.nodes(self.lease())
    }

    /// The node of this name, if it is there.
    pub(crate) fn node(&self, name: &str) -> Option<NodeRecord> {
        self.shared.view.node(name, self.lease())
    }

    /// The same with those that died within `lately` before now: each with whether it is there.
    pub(crate) fn nodes_lately(&self, lately: Duration) -> Vec<(NodeRecord, bool)> {
        self.shared.view.nodes_lately(self.lease(), lately)
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

    /// The sessions with an id, or those whose id or its random part begins with it.
    pub fn find(&self, wanted: &str) -> Vec<SessionRecord> {
        if let Some(exact) = self.session(wanted) {
            return vec![exact];
        }
        let begins = |record: &SessionRecord| {
            let random = record.id.rsplit_once('-').map_or("", |(_, random)| random);
            record.id.starts_with(wanted) || random.starts_with(wanted)
        };
        match wanted.is_empty() {
            true => Vec::new(),
            false => self.shared.view.sessions(begins),
        }
    }

    /// The newest session that is kept by a folder and in which something was said.
    pub(crate) fn newest_kept_in(&self, kept_in: &KeptIn) -> Option<SessionRecord> {
        let is_it = |record: &SessionRecord| {
            record.kept_in.as_deref() == Some(kept_in.name()) && record.first_message.is_some()
        };
        self.shared.view.newest(is_it)
    }

    /// All sessions of the tenant, newest first.
    pub fn sessions(&self) -> Vec<SessionRecord> {
        self.shared.view.sessions(|_| true)
    }

    /// The sessions whose owner is gone or has handed them over.
    pub(crate) fn orphans(&self) -> Vec<SessionRecord> {
        self.shared.view.orphans(self.lease())
    }

    /// How many sessions of the tenant are open on a node that is there.
    pub(crate) fn open_sessions(&self) -> usize {
        self.shared.view.open_sessions(self.lease())
    }

    /// Asks the servers which nodes and sessions there are.
    pub async fn look(&self) -> Result<(), FleetError> {
        self.look_at_nodes().await?;
        self.look_at_sessions().await
    }
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
