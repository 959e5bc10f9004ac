//! What this node knows of the fleet: a copy of the directory and of the list of nodes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::kv;
use futures_util::StreamExt;

use super::Fleet;
use crate::bucket;
use crate::directory::SessionRecord;
use crate::error::FleetError;
use crate::names::session_id;
use crate::nodes::{NodeId, NodeRecord};

/// How long a watch that broke off is not begun again.
const WATCH_PAUSE: Duration = Duration::from_millis(250);

/// A copy of the directory and of the list of nodes.
#[derive(Default)]
pub(super) struct View {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    nodes: HashMap<String, NodeRecord>,
    /// With the revision of each record.
    sessions: HashMap<String, (u64, SessionRecord)>,
}

impl View {
    /// The nodes, by name.
    pub fn nodes(&self) -> Vec<NodeRecord> {
        let mut nodes: Vec<_> = self.lock().nodes.values().cloned().collect();
        nodes.sort_by(|one, other| one.id.name.cmp(&other.id.name));
        nodes
    }

    /// True when this life of a node is there.
    pub fn is_there(&self, node: &NodeId) -> bool {
        let known = self.lock();
        let found = known.nodes.get(&node.name);
        found.is_some_and(|found| found.id == *node)
    }

    /// A session.
    pub fn session(&self, id: &str) -> Option<SessionRecord> {
        let known = self.lock();
        known.sessions.get(id).map(|(_, record)| record.clone())
    }

    /// All sessions, newest first.
    pub fn sessions(&self) -> Vec<SessionRecord> {
        let known = self.lock();
        let records = known.sessions.values().map(|(_, record)| record.clone());
        let mut sessions: Vec<_> = records.collect();
        sessions.sort_by(|one, other| {
            let newest = other.updated_ms.cmp(&one.updated_ms);
            newest.then_with(|| one.id.cmp(&other.id))
        });
        sessions
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fleet {
    /// Asks the servers which nodes there are. A record that was not renewed is gone there.
    pub async fn look_at_nodes(&self) -> Result<(), FleetError> {
        let found: Vec<(u64, NodeRecord)> = bucket::read_all(&self.shared.nodes).await?;
        let nodes = found
            .into_iter()
            .map(|(_, node)| (node.id.name.clone(), node));
        self.shared.view.lock().nodes = nodes.collect();
        Ok(())
    }

    /// Asks the servers which sessions there are.
    pub async fn look_at_sessions(&self) -> Result<(), FleetError> {
        let found: Vec<(u64, SessionRecord)> = bucket::read_all(&self.shared.sessions).await?;
        let sessions = found
            .into_iter()
            .map(|(revision, record)| (record.id.clone(), (revision, record)));
        self.shared.view.lock().sessions = sessions.collect();
        Ok(())
    }

    /// Asks the servers whether this life of a node is there.
    pub async fn is_there_now(&self, node: &NodeId) -> Result<bool, FleetError> {
        let found = bucket::read::<NodeRecord>(&self.shared.nodes, &node.name).await?;
        Ok(found.is_some_and(|(_, found)| found.id == *node))
    }

    /// Follows the directory for as long as it is polled.
    pub async fn follow(&self) {
        loop {
            match self.shared.sessions.watch_with_history(">").await {
                Ok(mut changes) => {
                    while let Some(Ok(entry)) = changes.next().await {
                        self.take_change(&entry);
                    }
                }
                Err(why) => tracing::warn!(%why, "the directory of the fleet cannot be followed"),
            }
            tokio::time::sleep(WATCH_PAUSE).await;
        }
    }

    fn take_change(&self, entry: &kv::Entry) {
        match entry.operation {
            kv::Operation::Put => {
                if let Ok(record) = serde_json::from_slice(&entry.value) {
                    self.note_session(entry.revision, record);
                }
            }
            kv::Operation::Delete | kv::Operation::Purge => {
                self.forget_session(&session_id(&entry.key));
            }
        }
    }

    /// Notes a record, unless a later one is known.
    pub(crate) fn note_session(&self, revision: u64, record: SessionRecord) {
        let mut known = self.shared.view.lock();
        let before = known.sessions.get(&record.id).map(|(before, _)| *before);
        if before.is_none_or(|before| before < revision) {
            known.sessions.insert(record.id.clone(), (revision, record));
        }
    }

    pub(crate) fn forget_session(&self, id: &str) {
        self.shared.view.lock().sessions.remove(id);
    }
}
