//! Who is connected.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use stentor_agent::live_sessions::LiveStatus;
use stentor_wire::attach::ClientHello;
use tokio::sync::OwnedSemaphorePermit;

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
    /// How many clients have to do with it.
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
}

/// The clients that are connected. Clones are the same table.
#[derive(Clone, Default)]
pub(super) struct Clients {
    table: Arc<Mutex<ClientTable>>,
}

#[derive(Default)]
struct ClientTable {
    count: u64,
    clients: BTreeMap<u64, ClientStatus>,
}

/// A client's place among them. Dropping it notes that the client is gone.
pub(super) struct ClientSlot {
    clients: Clients,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Clients {
    pub fn enter(
        &self,
        client: &ClientHello,
        access: Access,
        permit: OwnedSemaphorePermit,
    ) -> ClientSlot {
        let mut table = self.lock();
        table.count += 1;
        let number = table.count;
        let status = ClientStatus {
            dialect: client.dialect.clone(),
            cwd: client.cwd.clone(),
            observes: access == Access::Observe,
        };
        table.clients.insert(number, status);
        ClientSlot {
            clients: self.clone(),
            number,
            _permit: permit,
        }
    }

    /// How many there ever were.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// In the order they came.
    pub fn list(&self) -> Vec<ClientStatus> {
        self.lock().clients.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, ClientTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.clients.lock().clients.remove(&self.number);
    }
}
