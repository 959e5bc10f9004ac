//! The other nodes, as the server sees them.

use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use stentor_serve::proxy::{
    FleetNode, LiveActivity, Located, NodeState, OpenAt, Owner, Peers, Upstream,
};
use stentor_wire::attach::{ClientHello, Refused};

use super::opening;
use crate::directory::{SessionRecord, SessionState};
use crate::fleet::Fleet;
use crate::nodes::NodeRecord;
use crate::places::{Places, WorkingFolder};

/// How often what is known of the fleet is looked at by who waits for a change.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long people are shown a node that died.
const GONE_SHOWN: Duration = Duration::from_secs(3600);

/// The other nodes of a fleet.
pub struct FleetPeers {
    fleet: Fleet,
    places: Places,
}

impl FleetPeers {
    /// Those of the fleet.
    pub fn new(fleet: Fleet) -> Self {
        let places = Places::new(&fleet.settings().places, &fleet.this_node().name);
        Self { fleet, places }
    }

    /// The session that a client names: by its id, its file, the unique beginning of its id, or its
    /// name, of which the newest counts.
    fn session(&self, named: &str) -> Option<SessionRecord> {
        let id = id_in(named);
        if let Some(session) = self.fleet.session(id) {
            return Some(session);
        }
        if named.is_empty() || id != named {
            return None;
        }
        let sessions = self.fleet.sessions();
        let mut beginning = sessions.iter().filter(|one| one.id.starts_with(named));
        match (beginning.next(), beginning.next()) {
            (Some(only), None) => Some(only.clone()),
            (Some(_), Some(_)) => None,
            (None, _) => {
                let mut newest = sessions.into_iter();
                newest.find(|one| one.name.as_deref() == Some(named))
            }
        }
    }
}

impl FleetPeers {
    /// True when a node can take a session over.
    fn can_be_taken(&self, session: &SessionRecord) -> bool {
        let nodes = self.fleet.nodes();
        nodes.iter().any(|node| can_take(node, session))
    }

    /// Who should open a session that nobody has: this node if it has the session's place and capacity
    /// left, else the one with that place that has the most capacity left.
    fn opener(&self, session: &SessionRecord) -> Owner {
        let nodes = self.fleet.nodes();
        let this = &self.fleet.this_node().name;
        if nodes
            .iter()
            .any(|node| node.id.name == *this && can_take(node, session))
        {
            return Owner::Nobody;
        }
        let able = nodes.into_iter().filter(|node| can_take(node, session));
        match able.max_by_key(NodeRecord::free) {
            Some(node) => Owner::Node(node.id.name),
            None => Owner::Nobody,
        }
    }
}

fn can_take(node: &NodeRecord, session: &SessionRecord) -> bool {
    node.has(&session.place) && node.free() > 0
}

/// True when other nodes take a session over by themselves: its owner is gone, or has handed it over.
fn is_moving(session: &SessionRecord) -> bool {
    session.owner.is_some() || session.state == SessionState::HandedOver
}

impl Peers for FleetPeers {
    fn locate<'a>(&'a self, named: &'a str) -> BoxFuture<'a, Option<Located>> {
        let located = self.session(named).map(|session| {
            let owner = match self.fleet.owner_of(&session.id) {
                Some(node) if node == *self.fleet.this_node() => Owner::Here,
                Some(node) => Owner::Node(node.name),
                None if is_moving(&session) && self.can_be_taken(&session) => Owner::Moving,
                None => self.opener(&session),
            };
            let session = session.id;
            Located { session, owner }
        });
        Box::pin(std::future::ready(located))
    }

    fn newest(&self, folder: &str) -> Option<String> {
        let mut sessions = self.fleet.sessions().into_iter();
        let works_there = |session: &SessionRecord| match self.places.folder_of(session) {
            WorkingFolder::Here(path) => path == Path::new(folder),
            WorkingFolder::Absent(_) => session.cwd == folder,
        };
        sessions.find(works_there).map(|newest| newest.id)
    }

    fn open<'a>(
        &'a self,
        node: &'a str,
        client: ClientHello,
    ) -> BoxFuture<'a, Result<Upstream, Refused>> {
        let found = self.fleet.nodes().into_iter();
        let found = found.map(|record| record.id).find(|id| id.name == node);
        Box::pin(async move {
            let found = found.ok_or_else(|| Refused {
                message: format!("the node {node} is gone"),
                status: 1,
            })?;
            opening::open(&self.fleet, found, client).await
        })
    }

    fn nodes(&self) -> Vec<FleetNode> {
        let nodes = self.fleet.nodes_lately(GONE_SHOWN).into_iter();
        let shown = nodes.map(|(record, is_there)| FleetNode {
            state: match (is_there, record.draining) {
                (true, false) => NodeState::Serving,
                (true, true) => NodeState::Draining,
                (false, _) => NodeState::Gone,
            },
            name: record.id.name,
            sessions: record.sessions,
            capacity: record.capacity,
            places: record.places,
        });
        shown.collect()
    }

    fn open_at(&self, session: &str) -> Option<OpenAt> {
        let session = self.fleet.session(session)?;
        let owner = session.owner.filter(|owner| self.fleet.has_node(owner))?;
        let activity = match session.state {
            SessionState::Idle => Some(LiveActivity::Idle),
            SessionState::Running => Some(LiveActivity::Running),
            SessionState::Asking => Some(LiveActivity::Asking),
            SessionState::Stored | SessionState::HandedOver => None,
        };
        Some(OpenAt {
            node: owner.name,
            activity,
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(LOOK_EVERY))
    }
}

/// The id in the name of a session file, `TIME_ID.jsonl`; everything else is taken as it is.
fn id_in(named: &str) -> &str {
    let name = named.rsplit(['/', '\\']).next().unwrap_or(named);
    let Some(stem) = name.strip_suffix(".jsonl") else {
        return named;
    };
    stem.split_once('_').map_or(stem, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_its_file() {
        for (named, id) in [
            ("/a/b/2026-05-02T15-00-00_abc-1.jsonl", "abc-1"),
            ("abc_d.jsonl", "d"),
            ("abc", "abc"),
            ("a b/c", "a b/c"),
        ] {
            assert_eq!(id_in(named), id);
        }
    }
}
