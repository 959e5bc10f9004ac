//! Who is connected.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use stentor_agent::live_sessions::LiveStatus;
use stentor_wire::attach::ClientHello;
use tokio::sync::Notify;

use crate::connection::Access;

/// What goes on in a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    pub epoch: String,
    pub pid: u32,
    /// Where it is reached over HTTP, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpStatus>,
    pub clients: Vec<ClientStatus>,
    /// The sessions that are live.
    #[serde(default)]
    pub sessions: Vec<SessionStatus>,
}

/// One live session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    pub id: String,
    pub file: PathBuf,
    /// How many clients have to do with it, without relays that are away.
    pub clients: usize,
}

impl From<LiveStatus> for SessionStatus {
    fn from(live: LiveStatus) -> Self {
        Self {
            id: live.id,
            file: live.file,
            clients: live.clients,
        }
    }
}

/// How a server is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpStatus {
    /// `http://ADDRESS:PORT`
    pub address: String,
    /// The file with its tokens.
    pub token_file: PathBuf,
}

/// One client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    pub dialect: String,
    pub cwd: String,
    /// It only watches.
    pub observes: bool,
    /// It is a relay whose connection broke so many seconds ago and that may come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<u64>,
}

/// The clients that are connected. Clones are the same table.
#[derive(Clone, Default)]
pub(super) struct Clients {
    table: Arc<Mutex<ClientTable>>,
    /// The last one has gone.
    emptied: Arc<Notify>,
}

#[derive(Default)]
struct ClientTable {
    count: u64,
    clients: BTreeMap<u64, ConnectedClient>,
}

struct ConnectedClient {
    status: ClientStatus,
    /// Since when its connection is broken.
    away_since: Option<Instant>,
    /// Another client needs its place.
    must_go: Arc<Notify>,
}

/// Whether a client is there. It outlives the client's place, without effect then.
pub(super) struct ClientPresence {
    clients: Clients,
    number: u64,
    is_away: Arc<AtomicBool>,
    must_go: Arc<Notify>,
}

/// A client's place among them. Dropping it notes that the client is gone.
pub(super) struct ClientSlot {
    clients: Clients,
    number: u64,
    is_away: Arc<AtomicBool>,
    must_go: Arc<Notify>,
}

impl Clients {
    /// A place for one more, unless there are `most` already. Who has been away longest makes way: it
    /// may never come back, and whoever comes now is here.
    pub fn enter(&self, client: &ClientHello, access: Access, most: usize) -> Option<ClientSlot> {
        let mut table = self.lock();
        if table.clients.len() >= most {
            table.remove_longest_away()?;
        }
        table.count += 1;
        let number = table.count;
        let status = ClientStatus {
            dialect: client.dialect.clone(),
            cwd: client.cwd.clone(),
            observes: access == Access::Observe,
            away: None,
        };
        let must_go = Arc::<Notify>::default();
        let client = ConnectedClient {
            status,
            away_since: None,
            must_go: Arc::clone(&must_go),
        };
        table.clients.insert(number, client);
        Some(ClientSlot {
            clients: self.clone(),
            number,
            is_away: Arc::default(),
            must_go,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.lock().clients.is_empty()
    }

    /// Waits until there is none. Others may come meanwhile.
    pub async fn all_gone(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// How many there ever were.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// In the order they came.
    pub fn list(&self) -> Vec<ClientStatus> {
        let table = self.lock();
        let clients = table.clients.values().map(|client| ClientStatus {
            away: client.away_since.map(|since| since.elapsed().as_secs()),
            ..client.status.clone()
        });
        clients.collect()
    }

    fn lock(&self) -> MutexGuard<'_, ClientTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientTable {
    fn remove_longest_away(&mut self) -> Option<()> {
        let away = self.clients.iter();
        let away = away.filter_map(|(number, client)| Some((client.away_since?, *number)));
        let (_, number) = away.min()?;
        self.clients.remove(&number)?.must_go.notify_one();
        Some(())
    }
}

impl ClientSlot {
    pub fn presence(&self) -> ClientPresence {
        ClientPresence {
            clients: self.clients.clone(),
            number: self.number,
            is_away: self.is_away(),
            must_go: Arc::clone(&self.must_go),
        }
    }

    /// True while its client is away.
    pub fn is_away(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_away)
    }
}

impl ClientPresence {
    /// Notes whether its connection is broken, which it may have been before.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
        let mut table = self.clients.lock();
        if let Some(client) = table.clients.get_mut(&self.number) {
            let since = is_away.then(|| client.away_since.unwrap_or_else(Instant::now));
            client.away_since = since;
        }
    }
}

impl ClientPresence {
    /// Waits until another client needs the place of this one, which is away.
    pub async fn must_go(&self) {
        self.must_go.notified().await;
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut table = self.clients.lock();
        table.clients.remove(&self.number);
        if table.clients.is_empty() {
            self.clients.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> ClientHello {
        serde_json::from_str(r#"{ "dialect": "acp", "cwd": "/" }"#).unwrap()
    }

    #[tokio::test]
    async fn who_waits_for_the_last_to_go_keeps_nobody_out() {
        let clients = Clients::default();
        let enter = || clients.enter(&hello(), Access::Drive, 2);
        let first = enter().unwrap();
        let gone = clients.all_gone();
        tokio::pin!(gone);
        assert!(futures_util::poll!(gone.as_mut()).is_pending());
        let second = enter().unwrap();
        assert!(enter().is_none());
        drop(first);
        assert!(futures_util::poll!(gone.as_mut()).is_pending());
        drop(second);
        assert!(futures_util::poll!(gone).is_ready());
        assert!(enter().is_some());
    }

    #[tokio::test]
    async fn who_has_been_away_longest_makes_way_and_nobody_who_is_there_does() {
        let clients = Clients::default();
        let enter = || clients.enter(&hello(), Access::Drive, 3);
        let slots = [enter().unwrap(), enter().unwrap(), enter().unwrap()];
        assert!(enter().is_none());
        let [_, second, third] = slots.each_ref().map(ClientSlot::presence);
        third.set_away(true);
        second.set_away(true);
        let fourth = enter().unwrap();
        third.must_go().await;
        let fifth = enter().unwrap();
        second.must_go().await;
        assert!(enter().is_none());
        // They leave later, and nobody's place with them.
        drop(slots);
        assert_eq!(clients.list().len(), 2);
        drop((fourth, fifth));
        assert!(clients.is_empty());
    }
}
