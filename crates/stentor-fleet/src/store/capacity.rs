//! How many sessions this node has: whoever makes or takes one has reserved capacity for it before, in one
//! step, so that there are never more.

use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::atomic::Ordering;

use stentor_journal::store::{Reservation, SessionHeader, StoreError};

use super::{FleetStore, OwnedSession};

/// Capacity for one session. It is free again when this is dropped and the session is not here.
pub(super) struct ReservedCapacity {
    store: FleetStore,
    /// What it is entered as: the session's id, once that is known.
    key: String,
}

/// Whether the tenant has one more session open afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Another,
    /// It was open on a node that is gone or has handed it over. A limit must not keep a session from
    /// going on.
    TakenOver,
}

impl Reservation for ReservedCapacity {
    fn assign(&mut self, session_id: &str) {
        let mut sessions = self.store.lock();
        if sessions.remove(&self.key).is_some() {
            sessions
                .entry(session_id.to_owned())
                .or_insert(OwnedSession::Reserved);
            session_id.clone_into(&mut self.key);
        }
    }
}

impl Drop for ReservedCapacity {
    fn drop(&mut self) {
        if let Entry::Occupied(found) = self.store.lock().entry(self.key.clone())
            && matches!(found.get(), OwnedSession::Reserved)
        {
            found.remove();
        }
    }
}

impl FleetStore {
    /// Reserves capacity for a new session with a header, unless it was reserved before.
    pub(super) fn capacity_for(
        &self,
        folder: &Path,
        header: &SessionHeader,
    ) -> Result<Option<ReservedCapacity>, StoreError> {
        self.capacity_in(folder, Path::new(&header.cwd), Some(&header.id))
    }

    /// Reserves capacity for a session in a folder of this store. Those of subagents are elsewhere and
    /// count nowhere.
    pub(super) fn capacity_in(
        &self,
        folder: &Path,
        cwd: &Path,
        id: Option<&str>,
    ) -> Result<Option<ReservedCapacity>, StoreError> {
        if folder.parent() != Some(&*self.shared.files.root()) {
            return Ok(None);
        }
        let (place, _) = self.shared.places.of(cwd);
        self.reserve_for(id, &place, Opening::Another)
    }

    /// Reserves capacity for a session of a place; nothing when the session has it already. An error
    /// when this node takes no sessions, or it or the tenant has as many as it may.
    pub(super) fn reserve_for(
        &self,
        id: Option<&str>,
        place: &str,
        opening: Opening,
    ) -> Result<Option<ReservedCapacity>, StoreError> {
        let settings = self.fleet().settings();
        let why = {
            let mut sessions = self.lock();
            if id.is_some_and(|id| sessions.contains_key(id)) {
                return Ok(None);
            }
            let open = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
            if self.is_draining() {
                "this node takes no sessions any more, since it is drained or stops".to_owned()
            } else if open >= settings.capacity {
                let most = settings.capacity;
                format!(
                    "this node has as many sessions open as it may ({most}, `capacity` in [fleet])"
                )
            } else if let (Some(limit), Opening::Another) = (settings.tenant_limit, opening)
                && self.fleet().open_sessions() >= usize::try_from(limit).unwrap_or(usize::MAX)
            {
                return Err(no_capacity(
                    id,
                    format!(
                        "the tenant has as many sessions open as it may ({limit}, `tenant_limit` in \
                         [fleet]); close some"
                    ),
                ));
            } else {
                // No id has a space.
                let number = self.shared.reservations.fetch_add(1, Ordering::Relaxed);
                let key = id.map_or_else(|| format!("reserved {number}"), str::to_owned);
                sessions.insert(key.clone(), OwnedSession::Reserved);
                let store = self.clone();
                return Ok(Some(ReservedCapacity { store, key }));
            }
        };
        let alternatives = self.alternatives(place);
        Err(no_capacity(id, format!("{why}; {alternatives}")))
    }

    /// The nodes that would take a session of a place, as one says it to a person.
    fn alternatives(&self, place: &str) -> String {
        let nodes = self.fleet().nodes().into_iter();
        let able = nodes.filter(|node| {
            node.id != *self.fleet().this_node() && node.has(place) && node.free() > 0
        });
        let names: Vec<String> = able.map(|node| format!("`{}`", node.id.name)).collect();
        match names.is_empty() {
            true => format!("no other node has the place `{place}` and capacity left"),
            false => format!("use the node {}", names.join(" or ")),
        }
    }
}

fn no_capacity(id: Option<&str>, why: String) -> StoreError {
    match id {
        Some(id) => StoreError::NotOurs {
            id: id.to_owned(),
            why,
        },
        None => StoreError::NoCapacity { why },
    }
}
