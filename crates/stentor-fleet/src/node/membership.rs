//! The record that says that a node is there. It expires unless it is renewed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::{ControlRequest, Node};
use crate::bucket;
use crate::error::FleetError;
use crate::nodes::NodeRecord;
use crate::places::PlacesThere;

/// How long a node of the same name may take to say that it is there.
const HELLO_WAIT: Duration = Duration::from_secs(2);

/// The part of its lease that a node waits for its disks at most.
const DISK_PART: u32 = 16;

impl Node {
    /// An error when a node of this name is there. A record alone says little: it outlives a node that
    /// was killed.
    pub(super) async fn check_name(&self) -> Result<(), FleetError> {
        let name = &self.fleet().this_node().name;
        let found = bucket::read::<NodeRecord>(self.fleet().node_bucket(), name).await?;
        if found.is_none() {
            return Ok(());
        }
        let hello = self.fleet().ask(name, &ControlRequest::Hello);
        match tokio::time::timeout(HELLO_WAIT, hello).await {
            Ok(Ok(_)) => Err(FleetError::NameTaken(name.clone())),
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }

    /// An error when a node that is there has other files under the name of a place of this one.
    pub(super) async fn check_places(&self) -> Result<(), FleetError> {
        self.fleet().look_at_nodes().await?;
        let this = &self.fleet().this_node().name;
        let nodes = self.fleet().nodes().into_iter();
        let mut others = nodes.filter(|node| node.id.name != *this);
        others.try_for_each(|node| self.shared.store.places().check_against(&node))
    }

    /// Enters the node. One of this name that was there before has lost it.
    pub(super) async fn enter(&self) -> Result<u64, FleetError> {
        let name = &self.fleet().this_node().name;
        let record = self.record().await?;
        let put = self.fleet().node_bucket().put(name, record).await;
        put.map_err(FleetError::nats("join"))
    }

    /// Renews the record that was written at `revision`, unless another process has this name now.
    pub(super) async fn renew(&self, revision: u64) -> Result<u64, FleetError> {
        const DOING: &str = "renew the lease of this node";
        let name = &self.fleet().this_node().name;
        let bucket = self.fleet().node_bucket();
        let renewed = bucket.update(name, self.record().await?, revision).await;
        let why = match renewed {
            Ok(revision) => return Ok(revision),
            Err(why) => why,
        };
        match bucket::read::<NodeRecord>(bucket, name).await? {
            // It has just left: nobody may take it for one that is there.
            None if self.shared.end.is_cancelled() => Ok(revision),
            // It expired while this node was not heard of.
            None => self.enter().await,
            Some((found, _)) if found == revision => Err(FleetError::nats(DOING)(why)),
            // The answer to an earlier renewal was lost.
            Some((found, record)) if record.id == *self.fleet().this_node() => Ok(found),
            Some(_) => Err(FleetError::NameTaken(name.clone())),
        }
    }

    async fn record(&self) -> Result<Bytes, FleetError> {
        let store = &self.shared.store;
        let (places, folders) = self.places_there().await;
        let record = NodeRecord {
            id: self.fleet().this_node().clone(),
            places,
            folders,
            recipes: store.places().recipes(),
            capacity: self.fleet().settings().capacity,
            sessions: store.count(),
            draining: self.is_draining(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_ms: self.shared.started_ms,
        };
        let text = serde_json::to_vec(&record).map_err(FleetError::nats("describe this node"))?;
        Ok(Bytes::from(text))
    }

    /// The places whose folders are there, and where those are, as the disks said within a lease. One
    /// that does not answer is not asked again meanwhile, and does not cost the node its lease.
    async fn places_there(&self) -> PlacesThere {
        let lease = self.fleet().lease();
        let places = self.shared.store.places();
        if !self.shared.is_looking.swap(true, Ordering::AcqRel) {
            let (node, places) = (self.clone(), places.clone());
            let looking = spawn_blocking(move || {
                places.look();
                node.shared.is_looking.store(false, Ordering::Release);
            });
            tokio::time::timeout(lease / DISK_PART, looking).await.ok();
        }
        places.seen(lease)
    }
}
