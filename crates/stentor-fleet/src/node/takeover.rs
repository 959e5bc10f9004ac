//! Taking over sessions whose owner is gone or has handed them over.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use stentor_journal::store::StoreError;
use tokio::time::Instant;

use super::{Node, RENEWALS};
use crate::directory::SessionRecord;
use crate::nodes::NodeRecord;
use crate::ownership::Claim;
use crate::places::WorkingFolder;

/// How many sessions a node takes over at once.
const AT_ONCE: usize = 16;

/// Sessions without an owner, and at how many ticks this node has seen each without one.
#[derive(Default)]
pub(super) struct Orphans {
    seen: HashMap<String, usize>,
}

/// Why a session was not taken over.
#[derive(Debug, thiserror::Error)]
pub(super) enum TakeoverFailure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Opening(String),
}

impl TakeoverFailure {
    /// True when another node may succeed where this one does not. When the servers cannot be asked,
    /// nobody does; and as long as the record names another owner, that one is not gone yet or was quicker.
    fn is_of_this_node(&self, now: Option<&SessionRecord>) -> bool {
        match self {
            Self::Opening(_) => true,
            Self::Store(StoreError::Unacknowledged { .. }) => false,
            Self::Store(_) => now.is_some_and(|now| now.owner.is_none()),
        }
    }
}

impl Node {
    /// Looks for sessions that this node should take, at each tick and as soon as one is handed over
    /// or a node leaves.
    pub(super) async fn take_over(self) {
        let mut ticks = self.ticks();
        let mut orphans = Orphans::default();
        loop {
            let is_tick = tokio::select! {
                _ = ticks.tick() => true,
                () = self.fleet().orphaned() => false,
                () = self.shared.end.cancelled() => return,
            };
            if is_tick {
                self.shared.store.let_go_unopened().await;
            }
            // A node that is not there itself cannot know who is.
            if self.fleet().has_node(self.fleet().this_node()) {
                self.take_orphans(&mut orphans, is_tick);
            }
        }
    }

    /// Begins to take over the sessions that are this node's turn. Turns go by ticks.
    fn take_orphans(&self, orphans: &mut Orphans, is_tick: bool) {
        let without = self.fleet().orphans();
        if without.is_empty() || self.is_draining() {
            orphans.seen.clear();
            return;
        }
        let nodes = self.fleet().nodes();
        let lease = self.fleet().lease();
        self.failed_to_take()
            .retain(|_, since| since.elapsed() <= lease);
        let mut seen = HashMap::new();
        for session in without {
            let before = orphans.seen.get(&session.id).copied().unwrap_or_default();
            seen.insert(session.id.clone(), before + usize::from(is_tick));
            let turn = turn_of(&session, &nodes, &self.fleet().this_node().name);
            let is_turn = turn.is_some_and(|turn| turn == 0 || is_tick && before >= turn);
            let is_wanted = session.wanted.as_ref() == Some(&self.fleet().this_node().name);
            let has_failed = !is_wanted && self.failed_to_take().contains_key(&session.id);
            if is_turn && !has_failed && !self.shared.store.has(&session.id) {
                self.begin_to_take(session);
            }
        }
        orphans.seen = seen;
    }

    fn begin_to_take(&self, session: SessionRecord) {
        {
            let mut taking = self.taking();
            if taking.len() >= AT_ONCE || !taking.insert(session.id.clone()) {
                return;
            }
        }
        let node = self.clone();
        tokio::spawn(async move {
            if let Err(why) = node.take(&session).await {
                tracing::warn!(session = %session.id, "not taken over: {why}");
                let record = node.fleet().session(&session.id);
                if why.is_of_this_node(record.as_ref()) {
                    let now = Instant::now();
                    node.failed_to_take().insert(session.id.clone(), now);
                }
            }
            node.taking().remove(&session.id);
        });
    }

    /// Takes a session and opens it.
    pub(super) async fn take(&self, session: &SessionRecord) -> Result<(), TakeoverFailure> {
        let places = self.shared.store.places();
        let folder = match places.find_working_folder(session).await {
            WorkingFolder::Here(folder) => folder,
            WorkingFolder::Absent(why) => return Err(TakeoverFailure::Opening(why)),
        };
        let store = &self.shared.store;
        let (file, _) = store.path_of(session)?;
        store.prepare_session(&session.id, Claim::InTurn).await?;
        if let Err(why) = self.shared.sessions.take_up(file, folder).await {
            store.let_go_prepared(&session.id).await;
            return Err(TakeoverFailure::Opening(why));
        }
        store.taken_up(&session.id);
        tracing::info!(session = %session.id, "a session was taken over");
        Ok(())
    }
}

/// After how many ticks it is a node's turn to take a session: the node that is wanted first, then
/// those with the place and with capacity left, in an order that differs from session to session, so
/// that the sessions of a node that is gone are spread over the others. `None` when it cannot.
fn turn_of(session: &SessionRecord, nodes: &[NodeRecord], this: &str) -> Option<usize> {
    let can = nodes
        .iter()
        .filter(|node| node.has(&session.place) && node.free() > 0);
    let mut order: Vec<(bool, u64, &str)> = can
        .map(|node| {
            let name = node.id.name.as_str();
            let is_wanted = session.wanted.as_deref() == Some(name);
            let mut hasher = DefaultHasher::new();
            (&session.id, name).hash(&mut hasher);
            (!is_wanted, hasher.finish(), name)
        })
        .collect();
    order.sort_unstable();
    // The one that is wanted has a whole lease before it is the turn of others.
    let first = order.first();
    let ahead = match first {
        Some((false, _, name)) if *name != this => usize::try_from(RENEWALS).unwrap_or_default(),
        _ => 0,
    };
    let place = order.iter().position(|(_, _, name)| *name == this);
    place.map(|place| place + ahead)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::directory::SessionActivity;
    use crate::nodes::NodeId;

    fn node(name: &str, places: &[&str], sessions: u32) -> NodeRecord {
        NodeRecord {
            id: NodeId {
                name: name.to_owned(),
                life: "1".to_owned(),
            },
            places: places.iter().map(|place| (*place).to_owned()).collect(),
            folders: BTreeMap::new(),
            recipes: BTreeMap::new(),
            capacity: 10,
            sessions,
            draining: false,
            version: String::new(),
            started_ms: 0,
        }
    }

    fn session(id: &str, owner: Option<&NodeId>, state: SessionActivity) -> SessionRecord {
        SessionRecord {
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
        }
    }

    #[test]
    fn the_wanted_node_is_first_and_one_without_place_or_capacity_never() {
        let nodes = [
            node("a", &["repo"], 0),
            node("b", &["repo"], 0),
            node("full", &["repo"], 10),
            node("elsewhere", &["other"], 0),
        ];
        let mut wanted = session("s", None, SessionActivity::HandedOver);
        for name in ["a", "b"] {
            wanted.wanted = Some(name.to_owned());
            assert_eq!(turn_of(&wanted, &nodes, name), Some(0));
        }
        assert_eq!(turn_of(&wanted, &nodes, "full"), None);
        assert_eq!(turn_of(&wanted, &nodes, "elsewhere"), None);
    }

    #[test]
    fn the_sessions_of_a_node_are_spread_over_the_others() {
        let nodes = [node("a", &["repo"], 0), node("b", &["repo"], 0)];
        let first = (0..100).filter(|number| {
            let session = session(&format!("s{number}"), None, SessionActivity::HandedOver);
            turn_of(&session, &nodes, "a") == Some(0)
        });
        let first = first.count();
        assert!((20..=80).contains(&first), "{first}");
    }
}
