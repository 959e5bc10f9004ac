//! What this node knows of the fleet without asking: a copy of the directory that follows every
//! change, and the nodes that were heard of.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::kv;
use futures_util::StreamExt;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Fleet;
use crate::bucket::{self, BucketRecord};
use crate::directory::{SessionActivity, SessionRecord};
use crate::error::FleetError;
use crate::names::session_id;
use crate::nodes::{NodeId, NodeRecord};

/// How long a watch that broke off is not begun again.
const WATCH_PAUSE: Duration = Duration::from_millis(250);

/// How long deleted sessions are collected: what is left of them is looked for once.
const DELETED_PAUSE: Duration = Duration::from_millis(200);

/// A copy of the directory and of the list of nodes.
#[derive(Default)]
pub(super) struct DirectoryView {
    known: Mutex<KnownDirectory>,
    /// A node has left, or a session was handed over.
    orphaned: Notify,
    /// A session was deleted.
    deleted: Notify,
}

#[derive(Default)]
struct KnownDirectory {
    nodes: HashMap<String, KnownNode>,
    /// With the revision of each record.
    sessions: HashMap<String, (u64, SessionRecord)>,
    /// The sessions that each node owns, whether it is there or not.
    owned: HashMap<NodeId, HashSet<String>>,
    /// Those that nobody owns and somebody should.
    handed_over: HashSet<String>,
    /// Those that were deleted, by whomever and whenever, and that nobody has asked for yet.
    deleted: HashSet<String>,
}

struct KnownNode {
    revision: u64,
    record: NodeRecord,
    /// When its record was written, or later.
    since: Instant,
}

impl KnownDirectory {
    /// Enters a record or removes it.
    fn set(&mut self, id: &str, new: Option<(u64, SessionRecord)>) {
        if let Some((_, before)) = self.sessions.remove(id) {
            self.handed_over.remove(id);
            if let Some(owner) = before.owner
                && let Some(owned) = self.owned.get_mut(&owner)
            {
                owned.remove(id);
                if owned.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
        let Some((revision, record)) = new else {
            return;
        };
        match &record.owner {
            Some(owner) => {
                let owned = self.owned.entry(owner.clone()).or_default();
                owned.insert(id.to_owned());
            }
            None if record.state == SessionActivity::HandedOver => {
                self.handed_over.insert(id.to_owned());
            }
            None => {}
        }
        self.sessions.insert(id.to_owned(), (revision, record));
    }

    fn has(&self, node: &NodeId, lease: Duration) -> bool {
        let found = self.nodes.get(&node.name);
        found.is_some_and(|found| found.record.id == *node && found.since.elapsed() <= lease)
    }
}

impl DirectoryView {
    /// The nodes that were heard of within a lease, by name.
    pub fn nodes(&self, lease: Duration) -> Vec<NodeRecord> {
        let known = self.lock();
        let there = known.nodes.values();
        let there = there.filter(|node| node.since.elapsed() <= lease);
        let mut nodes: Vec<_> = there.map(|node| node.record.clone()).collect();
        nodes.sort_by(|one, other| one.id.name.cmp(&other.id.name));
        nodes
    }

    /// The node of this name, if it was heard of within a lease.
    pub fn node(&self, name: &str, lease: Duration) -> Option<NodeRecord> {
        let known = self.lock();
        let found = known.nodes.get(name);
        let there = found.filter(|node| node.since.elapsed() <= lease);
        there.map(|node| node.record.clone())
    }

    /// Those that were heard of within a lease, or were gone within `lately` before now: each with
    /// whether it is there.
    pub fn nodes_lately(&self, lease: Duration, lately: Duration) -> Vec<(NodeRecord, bool)> {
        let known = self.lock();
        let heard_of = known
            .nodes
            .values()
            .map(|node| (node, node.since.elapsed()));
        let shown = heard_of.filter(|(_, silent)| *silent <= lease + lately);
        let mut nodes: Vec<_> = shown
            .map(|(node, silent)| (node.record.clone(), silent <= lease))
            .collect();
        nodes.sort_by(|(one, _), (other, _)| one.id.name.cmp(&other.id.name));
        nodes
    }

    /// True when this life of a node was heard of within a lease.
    pub fn is_there(&self, node: &NodeId, lease: Duration) -> bool {
        self.lock().has(node, lease)
    }

    /// A session.
    pub fn session(&self, id: &str) -> Option<SessionRecord> {
        let known = self.lock();
        known.sessions.get(id).map(|(_, record)| record.clone())
    }

    /// The sessions that are meant, newest first. Only those are copied.
    pub fn sessions(&self, is_meant: impl Fn(&SessionRecord) -> bool) -> Vec<SessionRecord> {
        let known = self.lock();
        let records = known.sessions.values().map(|(_, record)| record);
        let meant = records.filter(|record| is_meant(record));
        let mut sessions: Vec<_> = meant.cloned().collect();
        drop(known);
        sessions.sort_by(|one, other| {
            let newest = other.updated_ms.cmp(&one.updated_ms);
            newest.then_with(|| one.id.cmp(&other.id))
        });
        sessions
    }

    /// The newest session of those that are meant.
    pub fn newest(&self, is_meant: impl Fn(&SessionRecord) -> bool) -> Option<SessionRecord> {
        let known = self.lock();
        let records = known.sessions.values().map(|(_, record)| record);
        let meant = records.filter(|record| is_meant(record));
        let newest = meant.max_by_key(|record| (record.updated_ms, &record.id));
        newest.cloned()
    }

    /// The sessions that should have another owner: theirs is gone, or has handed them over.
    pub fn orphans(&self, lease: Duration) -> Vec<SessionRecord> {
        let known = self.lock();
        let gone = known.owned.iter();
        let gone = gone.filter(|(owner, _)| !known.has(owner, lease));
        let ids = gone.flat_map(|(_, ids)| ids).chain(&known.handed_over);
        let records = ids.filter_map(|id| known.sessions.get(id));
        records.map(|(_, record)| record.clone()).collect()
    }

    /// How many sessions have an owner that is there. Those of one that is gone are open nowhere.
    pub fn open_sessions(&self, lease: Duration) -> usize {
        let known = self.lock();
        let there = known.owned.iter();
        let there = there.filter(|(owner, _)| known.has(owner, lease));
        there.map(|(_, ids)| ids.len()).sum()
    }

    fn lock(&self) -> MutexGuard<'_, KnownDirectory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fleet {
    /// Asks the servers which nodes there are.
    pub async fn look_at_nodes(&self) -> Result<(), FleetError> {
        let found = bucket::read_all::<NodeRecord>(&self.shared.storage.nodes).await?;
        let names: HashSet<String> = found
            .iter()
            .map(|found| found.record.id.name.clone())
            .collect();
        self.shared
            .view
            .lock()
            .nodes
            .retain(|name, _| names.contains(name));
        for found in found {
            self.note_node(found);
        }
        Ok(())
    }

    /// Asks the servers which sessions there are.
    pub async fn look_at_sessions(&self) -> Result<(), FleetError> {
        for found in bucket::read_all(&self.shared.storage.sessions).await? {
            self.note_session(found.revision, found.record);
        }
        Ok(())
    }

    /// Asks the servers whether this life of a node is there.
    pub async fn is_there_now(&self, node: &NodeId) -> Result<bool, FleetError> {
        let found = bucket::read::<NodeRecord>(&self.shared.storage.nodes, &node.name).await?;
        Ok(found.is_some_and(|(_, found)| found.id == *node))
    }

    /// Waits until a session may need another owner.
    pub(crate) async fn orphaned(&self) {
        self.shared.view.orphaned.notified().await;
    }

    /// Waits until sessions were deleted: those since the last call, at first all that ever were.
    pub(crate) async fn deleted(&self) -> HashSet<String> {
        self.shared.view.deleted.notified().await;
        // Many come at once when a watch begins.
        tokio::time::sleep(DELETED_PAUSE).await;
        std::mem::take(&mut self.shared.view.lock().deleted)
    }

    /// Follows the directory and the nodes for as long as it is polled.
    pub async fn follow(&self) {
        let sessions = watch(&self.shared.storage.sessions, |entry| {
            self.take_session(entry)
        });
        let nodes = watch(&self.shared.storage.nodes, |entry| self.take_node(entry));
        tokio::join!(sessions, nodes);
    }

    fn take_session(&self, entry: &kv::Entry) {
        match entry.operation {
            kv::Operation::Put => {
                if let Ok(record) = serde_json::from_slice(&entry.value) {
                    self.note_session(entry.revision, record);
                }
            }
            kv::Operation::Delete | kv::Operation::Purge => {
                let id = session_id(&entry.key);
                self.forget_session(&id);
                self.shared.view.lock().deleted.insert(id);
                self.shared.view.deleted.notify_one();
            }
        }
    }

    fn take_node(&self, entry: &kv::Entry) {
        match entry.operation {
            kv::Operation::Put => {
                if let Ok(record) = serde_json::from_slice(&entry.value) {
                    self.note_node(BucketRecord {
                        revision: entry.revision,
                        age: Duration::ZERO,
                        record,
                    });
                }
            }
            kv::Operation::Delete | kv::Operation::Purge => {
                let mut known = self.shared.view.lock();
                let found = known.nodes.get(&entry.key);
                if found.is_some_and(|found| found.revision < entry.revision) {
                    known.nodes.remove(&entry.key);
                    drop(known);
                    self.shared.view.orphaned.notify_one();
                }
            }
        }
    }

    /// Notes that a node was there, unless something later is known.
    fn note_node(&self, read: BucketRecord<NodeRecord>) {
        let now = Instant::now();
        let mut known = self.shared.view.lock();
        let before = known.nodes.get(&read.record.id.name);
        if before.is_some_and(|before| before.revision >= read.revision) {
            return;
        }
        let is_other_life = before.is_some_and(|before| before.record.id != read.record.id);
        let node = KnownNode {
            revision: read.revision,
            since: now.checked_sub(read.age).unwrap_or(now),
            record: read.record,
        };
        known.nodes.insert(node.record.id.name.clone(), node);
        drop(known);
        if is_other_life {
            self.shared.view.orphaned.notify_one();
        }
    }

    /// Notes a record, unless a later one is known.
    pub(crate) fn note_session(&self, revision: u64, record: SessionRecord) {
        let mut known = self.shared.view.lock();
        let before = known.sessions.get(&record.id).map(|(before, _)| *before);
        if before.is_some_and(|before| before >= revision) {
            return;
        }
        let id = record.id.clone();
        known.set(&id, Some((revision, record)));
        let is_orphaned = known.handed_over.contains(&id);
        drop(known);
        if is_orphaned {
            self.shared.view.orphaned.notify_one();
        }
    }

    pub(crate) fn forget_session(&self, id: &str) {
        self.shared.view.lock().set(id, None);
    }
}

/// Hands on every record of a bucket and every change.
async fn watch(store: &kv::Store, take: impl Fn(&kv::Entry)) {
    loop {
        match store.watch_with_history(">").await {
            Ok(mut changes) => {
                while let Some(Ok(entry)) = changes.next().await {
                    take(&entry);
                }
            }
            Err(why) => tracing::warn!(%why, "the fleet cannot be followed"),
        }
        tokio::time::sleep(WATCH_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    fn life(life: &str) -> NodeId {
        NodeId {
            name: "a".to_owned(),
            life: life.to_owned(),
        }
    }

    fn session(id: &str, owner: Option<&NodeId>, state: SessionActivity) -> (u64, SessionRecord) {
        let record = SessionRecord {
            id: id.to_owned(),
            place: "repo".to_owned(),
            folder: String::new(),
            cwd: "/repo".to_owned(),
            name: None,
            first_message: None,
            created: String::new(),
            updated_ms: 0,
            owner: owner.cloned(),
            wanted: None,
            kept_in: None,
            state,
        };
        (1, record)
    }

    fn orphans(view: &DirectoryView) -> Vec<String> {
        let mut ids: Vec<String> = view.orphans(LEASE).into_iter().map(|one| one.id).collect();
        ids.sort();
        ids
    }

    #[test]
    fn a_session_is_an_orphan_when_this_life_of_its_owner_is_gone_or_it_was_handed_over() {
        let view = DirectoryView::default();
        let node = NodeRecord {
            id: life("1"),
            places: Vec::new(),
            folders: BTreeMap::new(),
            recipes: BTreeMap::new(),
            capacity: 1,
            sessions: 0,
            draining: false,
            version: String::new(),
            started_ms: 0,
        };
        {
            let mut known = view.lock();
            known.nodes.insert(
                "a".to_owned(),
                KnownNode {
                    revision: 1,
                    record: node,
                    since: Instant::now(),
                },
            );
            for (id, owner, state) in [
                ("there", Some("1"), SessionActivity::Running),
                ("gone", Some("0"), SessionActivity::Idle),
                ("handed", None, SessionActivity::HandedOver),
                ("stored", None, SessionActivity::Stored),
            ] {
                known.set(id, Some(session(id, owner.map(life).as_ref(), state)));
            }
        }
        assert_eq!(orphans(&view), ["gone", "handed"]);
        assert_eq!(view.open_sessions(LEASE), 1);
        // Somebody takes one, and the other is removed.
        {
            let mut known = view.lock();
            let taken = session("gone", Some(&life("1")), SessionActivity::Idle);
            known.set("gone", Some(taken));
            known.set("handed", None);
        }
        assert_eq!(orphans(&view), Vec::<String>::new());
        assert_eq!(view.open_sessions(LEASE), 2);
        view.lock().nodes.clear();
        assert_eq!(orphans(&view), ["gone", "there"]);
        assert_eq!(view.open_sessions(LEASE), 0);
    }
}
