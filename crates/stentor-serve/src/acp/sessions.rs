//! The sessions of a connection: which are open, and which are being opened or closed.
//!
//! What opens or closes a session occupies it in the order of the lines, so that whatever comes
//! behind waits for it: a prompt behind a load, a load behind a close.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_wire::jsonrpc::Id;
use tokio_util::sync::CancellationToken;

use super::error::{Handled, Refusal};
use super::open::OpenSession;
use super::order::Order;

/// The sessions of a connection.
#[derive(Default)]
pub(super) struct Sessions {
    slots: Mutex<HashMap<Arc<str>, Slot>>,
}

/// A session of this connection.
#[derive(Clone)]
pub(super) enum Slot {
    Open(Arc<OpenSession>),
    /// It is being opened or closed.
    Changing(Change),
}

impl Slot {
    /// Cancels its prompts, begun or not: all, or that of one request.
    pub fn cancel(&self, only: Option<&Id>) {
        self.order().cancel(only);
        if let Self::Open(open) = self {
            open.cancel(only);
        }
    }

    /// The order of the requests that wait for it.
    pub fn order(&self) -> &Arc<Order> {
        match self {
            Self::Open(open) => &open.order,
            Self::Changing(change) => &change.order,
        }
    }
}

/// The opening or closing of a session.
#[derive(Clone)]
pub(super) struct Change {
    over: CancellationToken,
    /// What it left behind, once it is over.
    left: Arc<Mutex<Option<Arc<OpenSession>>>>,
    order: Arc<Order>,
}

impl Change {
    async fn over(&self) -> Option<Arc<OpenSession>> {
        self.over.cancelled().await;
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<OpenSession>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that somebody is opening or closing. Dropped without a word, it is closed.
pub(super) struct Occupied {
    sessions: Arc<Sessions>,
    id: Arc<str>,
    before: Option<Slot>,
    change: Change,
}

impl Sessions {
    /// The session as it is now.
    pub fn slot(&self, id: &str) -> Option<Slot> {
        self.lock().get(id).cloned()
    }

    /// The open session; one that is being opened or closed is waited for.
    pub async fn open(&self, id: &str) -> Handled<Arc<OpenSession>> {
        let mut slot = self.slot(id);
        loop {
            match slot {
                None => return Err(Refusal::unknown_session(id)),
                Some(Slot::Open(open)) => return Ok(open),
                Some(Slot::Changing(change)) => {
                    // What was opened for those that waited counts, even if somebody closes it.
                    slot = match change.over().await {
                        Some(open) => Some(Slot::Open(open)),
                        None => self.slot(id),
                    };
                }
            }
        }
    }

    /// Adds a new session.
    pub fn insert(&self, id: Arc<str>, open: Arc<OpenSession>) {
        self.lock().insert(id, Slot::Open(open));
    }

    /// Takes a session to open or close it, behind who took it before. What goes on in it, or waits
    /// for it, is cancelled.
    pub fn occupy(self: &Arc<Self>, id: &str) -> Occupied {
        if let Some(slot) = self.slot(id) {
            slot.cancel(None);
        }
        let mut slots = self.lock();
        let id: Arc<str> = Arc::from(id);
        let order = match slots.get(&id) {
            Some(slot) => Arc::clone(slot.order()),
            None => Arc::new(Order::new()),
        };
        let change = Change {
            over: CancellationToken::new(),
            left: Arc::default(),
            order,
        };
        let before = slots.insert(Arc::clone(&id), Slot::Changing(change.clone()));
        Occupied {
            sessions: Arc::clone(self),
            id,
            before,
            change,
        }
    }

    /// The same for a session that is there.
    pub fn occupy_known(self: &Arc<Self>, id: &str) -> Handled<Occupied> {
        match self.slot(id) {
            Some(_) => Ok(self.occupy(id)),
            None => Err(Refusal::unknown_session(id)),
        }
    }

    pub fn ids(&self) -> HashSet<Arc<str>> {
        self.lock().keys().cloned().collect()
    }

    pub fn slots(&self) -> Vec<Slot> {
        self.lock().values().cloned().collect()
    }

    /// Takes all that are open, at the end of the connection.
    pub fn take_open(&self) -> Vec<Arc<OpenSession>> {
        let slots = std::mem::take(&mut *self.lock());
        let open = slots.into_values().filter_map(|slot| match slot {
            Slot::Open(open) => Some(open),
            Slot::Changing(_) => None,
        });
        open.collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Occupied {
    /// The session that was open before, once nobody else changes it.
    pub async fn before(&mut self) -> Option<Arc<OpenSession>> {
        match self.before.take()? {
            Slot::Open(open) => Some(open),
            Slot::Changing(change) => change.over().await,
        }
    }

    /// The order of the requests that wait for it.
    pub fn order(&self) -> Arc<Order> {
        Arc::clone(&self.change.order)
    }

    /// It is open now.
    pub fn opened(self, open: Arc<OpenSession>) {
        *self.change.lock() = Some(open);
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        let left = self.change.lock().clone();
        let mut slots = self.sessions.lock();
        // Somebody else may have taken it meanwhile and waits for this.
        let is_mine = |slot: &Slot| match slot {
            Slot::Open(_) => false,
            Slot::Changing(change) => Arc::ptr_eq(&change.left, &self.change.left),
        };
        if slots.get(&self.id).is_some_and(is_mine) {
            match left {
                Some(open) => slots.insert(Arc::clone(&self.id), Slot::Open(open)),
                None => slots.remove(&self.id),
            };
        }
        drop(slots);
        self.change.over.cancel();
    }
}
