//! Whether what the servers acknowledge is on their disks.
//!
//! A JetStream server acknowledges a write before it is synced unless `sync_interval` is `always`:
//! with the usual setting a power loss takes up to two minutes of acknowledged writes with it. A
//! session must not say that something is stored that may be gone, so a node starts only where this
//! can be seen, or where its operator says what holds.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::settings::Durability;

/// How long a monitoring address may take.
const WAIT: Duration = Duration::from_secs(5);

/// A longer answer of a monitoring address is not read.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a server says of its JetStream.
#[derive(Debug, Deserialize)]
struct Jsz {
    server_id: String,
    #[serde(default)]
    config: JszConfig,
}

#[derive(Debug, Default, Deserialize)]
struct JszConfig {
    #[serde(default)]
    sync_always: bool,
}

impl Fleet {
    /// An error unless what is acknowledged is known to be durable.
    pub async fn check_durability(&self) -> Result<(), FleetError> {
        match (&self.settings().durability, &self.settings().monitor) {
            (Some(Durability::None), _) => {
                tracing::warn!(
                    "what the fleet acknowledges may be lost with the power: `durability` is \"none\""
                );
                Ok(())
            }
            (Some(Durability::Synced), _) => Ok(()),
            (Some(Durability::Replicated), _) => self.check_replicas(),
            (None, Some(monitor)) => self.check_monitors(monitor).await,
            (None, None) => Err(FleetError::Durability(
                "nothing says how durable the servers are".to_owned(),
            )),
        }
    }

    fn check_replicas(&self) -> Result<(), FleetError> {
        const ENOUGH: usize = 3;
        let replicas = self.journal_stream().cached_info().config.num_replicas;
        match replicas >= ENOUGH {
            true => Ok(()),
            false => Err(FleetError::Durability(format!(
                "`durability` is \"replicated\", and {replicas} server(s) hold each journal; that \
                 needs at least {ENOUGH} (`replicas`, when the stream is made)"
            ))),
        }
    }

    /// All servers that are named must sync always, and the one that this node is connected to must
    /// be among them.
    async fn check_monitors(&self, monitors: &str) -> Result<(), FleetError> {
        let mut has_ours = false;
        for monitor in monitors.split(',').map(str::trim) {
            let jsz = asked(monitor).await.map_err(|why| {
                FleetError::Durability(format!("the monitoring address {monitor}: {why}"))
            })?;
            if !jsz.config.sync_always {
                return Err(FleetError::Durability(format!(
                    "the server at {monitor} acknowledges writes before they are on its disk"
                )));
            }
            has_ours |= jsz.server_id == self.client().server_info().server_id;
        }
        match has_ours {
            true => Ok(()),
            false => Err(FleetError::Durability(format!(
                "{monitors} is not the monitoring address of the server this node is connected to"
            ))),
        }
    }
}

/// What a monitoring address says.
async fn asked(monitor: &str) -> Result<Jsz, String> {
    let answer = tokio::time::timeout(WAIT, get(monitor)).await;
    let answer = answer.map_err(|_| "it does not answer".to_owned())?;
    let answer = answer.map_err(|why| why.to_string())?;
    let begin = memchr::memmem::find(&answer, b"\r\n\r\n").map(|at| at + 4);
    let body = begin.and_then(|begin| answer.get(begin..));
    let body = body.ok_or_else(|| "it does not speak HTTP".to_owned())?;
    serde_json::from_slice(body).map_err(|why| format!("it has no /jsz: {why}"))
}

async fn get(monitor: &str) -> std::io::Result<Vec<u8>> {
    let host = monitor.strip_prefix("http://").unwrap_or(monitor);
    let host = host.trim_end_matches('/');
    let mut stream = TcpStream::connect(host).await?;
    // Of this version an answer ends with its connection and comes in one piece.
    let request = format!("GET /jsz?config=1 HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer).await?;
    Ok(answer)
}
