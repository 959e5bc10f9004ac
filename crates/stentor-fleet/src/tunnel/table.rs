//! The tunnels that a node has, in either role: others ask whether it still knows one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_serve::proxy::Capacity;

/// The tunnels of a node, by their names. Clones are the same table.
#[derive(Clone, Default)]
pub struct TunnelTable {
    tunnels: Arc<Mutex<TunnelsByName>>,
}

/// Where the sessions of each tunnel's client have their capacity from, if it is served here.
type TunnelsByName = HashMap<String, Option<Arc<dyn Capacity>>>;

/// A tunnel that the node has. Dropping it forgets it.
pub(super) struct KnownTunnel {
    table: TunnelTable,
    pub name: String,
}

impl TunnelTable {
    /// Enters a tunnel.
    pub(super) fn enter(&self, name: String, capacity: Option<Arc<dyn Capacity>>) -> KnownTunnel {
        self.lock().insert(name.clone(), capacity);
        KnownTunnel {
            table: self.clone(),
            name,
        }
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    /// The capacity for a client that is served here.
    pub(super) fn capacity(&self, name: &str) -> Option<Arc<dyn Capacity>> {
        self.lock().get(name).cloned().flatten()
    }

    fn lock(&self) -> MutexGuard<'_, TunnelsByName> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KnownTunnel {
    fn drop(&mut self) {
        self.table.lock().remove(&self.name);
    }
}
