//! The other nodes, as the server sees them.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::connection::State;
use futures_util::future::BoxFuture;
use stentor_serve::proxy::{
    FleetNode, LiveActivity, LocatedSession, NodePlace, NodeState, OpenAt, Owner, Peers, Upstream,
};
use stentor_wire::attach::{AttachRefusal, ClientHello};

use super::opening;
use super::table::TunnelTable;
use crate::directory::{SessionActivity, SessionRecord};
use crate::fleet::Fleet;
use crate::kept_in::KeptIn;
use crate::nodes::NodeRecord;
use crate::places::{NodePlaces, WorkingFolder};

/// How often what is known of the fleet is looked at by who waits for a change.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long people are shown a node that died.
const GONE_SHOWN: Duration = Duration::from_secs(3600);

/// The other nodes of a fleet.
pub struct FleetPeers {
    fleet: Fleet,
    tunnels: TunnelTable,
    places: NodePlaces,
}

impl FleetPeers {
    /// Those of the fleet, with the tunnels and the places of this node.
    pub fn new(fleet: Fleet, tunnels: TunnelTable, places: NodePlaces) -> Self {
        Self {
            fleet,
            tunnels,
            places,
        }
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
    async fn can_be_taken(&self, session: &SessionRecord) -> bool {
        let nodes = self.fleet.nodes();
        let this = self.fleet.this_node();
        let (own, others): (Vec<_>, Vec<_>) = nodes
            .into_iter()
            .filter(|node| can_take(node, session))
            .partition(|node| node.id == *this);
        // Only a node itself knows what is in its places.
        !others.is_empty() || !own.is_empty() && self.has_folder(session).await
    }

    async fn has_folder(&self, session: &SessionRecord) -> bool {
        let folder = self.places.find_working_folder(session).await;
        matches!(folder, WorkingFolder::Here(_))
    }

    /// Who should open a session that nobody has: this node if it has the session's place and capacity
    /// left, else the one with that place that has the most capacity left.
    async fn opener(&self, session: &SessionRecord) -> Owner {
        let nodes = self.fleet.nodes();
        let this = &self.fleet.this_node().name;
        if nodes
            .iter()
            .any(|node| node.id.name == *this && can_take(node, session))
            && self.has_folder(session).await
        {
            return Owner::Nobody;
        }
        let able = nodes.into_iter().filter(|node| can_take(node, session));
        let able = able.filter(|node| node.id.name != *this);
        match able.max_by_key(NodeRecord::free) {
            Some(node) => Owner::Node(node.id.name),
            None => Owner::Nobody,
        }
    }
}

impl FleetPeers {
    /// The place of a folder, and the folder relative to it. One that is not here and that another node
    /// names as a place is that place.
    async fn place_of(&self, folder: &str) -> (String, PathBuf) {
        let ((label, relative), is_there) = self.places.find(Path::new(folder)).await;
        if is_there || !self.places.is_host(&label) {
            return (label, PathBuf::from(relative));
        }
        let nodes = self.fleet.nodes();
        let places = nodes.iter().flat_map(|node| &node.folders);
        let inside = places.filter_map(|(label, path)| {
            let relative = Path::new(folder).strip_prefix(path).ok()?;
            Some((label.clone(), relative.to_owned()))
        });
        let innermost = inside.min_by_key(|(_, relative)| relative.components().count());
        innermost.unwrap_or((label, PathBuf::from(relative)))
    }
}

fn can_take(node: &NodeRecord, session: &SessionRecord) -> bool {
    node.has(&session.place) && node.free() > 0
}

/// True when other nodes take a session over by themselves: its owner is gone, or has handed it over.
fn is_moving(session: &SessionRecord) -> bool {
    session.owner.is_some() || session.state == SessionActivity::HandedOver
}

impl Peers for FleetPeers {
    fn locate<'a>(&'a self, named: &'a str) -> BoxFuture<'a, Option<LocatedSession>> {
        Box::pin(async move {
            let session = self.session(named)?;
            let owner = match self.fleet.owner_of(&session.id) {
                Some(node) if node == *self.fleet.this_node() => Owner::Here,
                Some(node) => Owner::Node(node.name),
                None if is_moving(&session) && self.can_be_taken(&session).await => Owner::Moving,
                None => self.opener(&session).await,
            };
            let session = session.id;
            Some(LocatedSession { session, owner })
        })
    }

    fn newest(&self, folder: &str) -> Option<String> {
        let mut sessions = self.fleet.sessions().into_iter();
        let works_there = |session: &SessionRecord| match self.places.folder_of(session) {
            WorkingFolder::Here(path) => path == Path::new(folder),
            WorkingFolder::Absent(_) => session.cwd == folder,
        };
        sessions.find(works_there).map(|newest| newest.id)
    }

    fn newest_kept_in(&self, folder: &str) -> Option<String> {
        let kept_in = KeptIn::of(Path::new(folder));
        self.fleet.newest_kept_in(&kept_in).map(|newest| newest.id)
    }

    fn places_for<'a>(&'a self, cwd: &'a str) -> BoxFuture<'a, Vec<NodePlace>> {
        Box::pin(async move {
            let (label, _) = self.place_of(cwd).await;
            let this = self.fleet.this_node();
            let mut able = self.fleet.nodes();
            able.retain(|node| node.has(&label) && !node.draining && node.id != *this);
            able.sort_by_key(|node| Reverse(node.free()));
            let (labels, _) = self.places.seen(self.fleet.lease());
            let home = labels.contains(&label).then_some(NodePlace::Home);
            let others = able.into_iter().map(|node| NodePlace::Node(node.id.name));
            home.into_iter().chain(others).collect()
        })
    }

    fn folder_on<'a>(&'a self, node: &'a str, folder: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (label, relative) = self.place_of(folder).await;
            let node = self.fleet.node(node)?;
            let there = Path::new(node.folders.get(&label)?);
            let there = match relative.as_os_str().is_empty() {
                true => there.to_owned(),
                false => there.join(relative),
            };
            let there = there.to_str()?.to_owned();
            (there != folder).then_some(there)
        })
    }

    fn open<'a>(
        &'a self,
        node: &'a str,
        client: ClientHello,
    ) -> BoxFuture<'a, Result<Upstream, AttachRefusal>> {
        let found = self.fleet.node(node).map(|record| record.id);
        Box::pin(async move {
            let found = found.ok_or_else(|| AttachRefusal {
                message: format!("the node {node} is gone"),
                status: 1,
            })?;
            opening::open(&self.fleet, &self.tunnels, found, client).await
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
            SessionActivity::Idle => Some(LiveActivity::Idle),
            SessionActivity::Running => Some(LiveActivity::Running),
            SessionActivity::Asking => Some(LiveActivity::Asking),
            SessionActivity::Stored | SessionActivity::HandedOver => None,
        };
        Some(OpenAt {
            node: owner.name,
            activity,
        })
    }

    fn is_connected(&self) -> bool {
        // Its own lease is renewed over the same servers as that of the others, and seen behind it.
        let is_seen = self.fleet.has_node(self.fleet.this_node());
        is_seen && self.fleet.client().connection_state() == State::Connected
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
