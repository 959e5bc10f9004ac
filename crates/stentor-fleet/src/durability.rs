//! Whether what the servers acknowledge is on their disks.
//!
//! A JetStream server acknowledges a write before it is synced unless `sync_interval` is `always`:
//! with the usual setting a power loss takes up to two minutes of acknowledged writes with it. A
//! session must not say that something is stored that may be gone, so a node starts only where this
//! can be seen, or where its operator says what holds.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::connection::usual_monitors;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::settings::Durability;

/// How long a monitoring address may take.
const WAIT: Duration = Duration::from_secs(5);

/// A longer answer of a monitoring address is not read.
const MAX_BYTES: u64 = 1024 * 1024;

/// What a server says of itself.
#[derive(Debug, Default, Deserialize)]
struct Varz {
    server_id: String,
    #[serde(default)]
    server_name: String,
    #[serde(default)]
    jetstream: VarzJetStream,
}

#[derive(Debug, Default, Deserialize)]
struct VarzJetStream {
    #[serde(default)]
    config: VarzConfig,
}

#[derive(Debug, Default, Deserialize)]
struct VarzConfig {
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
            (None, None) => self.check_usual_monitors().await,
        }
    }

    /// Nobody said where the servers are monitored: most are where it is usual.
    async fn check_usual_monitors(&self) -> Result<(), FleetError> {
        let url = self.settings().url.as_deref().unwrap_or_default();
        let monitors = usual_monitors(url);
        let checked = self.check_monitors(&monitors).await;
        checked.map_err(|why| match why {
            FleetError::Durability(why) => FleetError::Durability(format!(
                "nothing says how durable the servers are, and at {monitors} it cannot be seen: {why}"
            )),
            other => other,
        })
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

    /// Every server that holds a part of the fleet must be seen to sync always, but for those that
    /// are down.
    async fn check_monitors(&self, monitors: &str) -> Result<(), FleetError> {
        let mut seen = HashSet::new();
        let mut unanswered = Vec::new();
        for monitor in monitors.split(',').map(str::trim) {
            let varz = match asked(monitor).await {
                Ok(varz) => varz,
                Err(why) => {
                    unanswered.push(format!("the monitoring address {monitor}: {why}"));
                    continue;
                }
            };
            if !varz.jetstream.config.sync_always {
                return Err(FleetError::Durability(format!(
                    "the server at {monitor} acknowledges writes before they are on its disk"
                )));
            }
            let ours = self.client().server_info();
            if varz.server_name == ours.server_name && varz.server_id != ours.server_id {
                return Err(FleetError::Durability(format!(
                    "the server at {monitor} is another one than that of the same name which this node \
                     is connected to"
                )));
            }
            seen.insert(varz.server_name);
        }
        let unseen = self.unseen(&seen).await?;
        match (unseen, unanswered.is_empty()) {
            (None, true) => Ok(()),
            (None, false) => {
                tracing::warn!("{}", unanswered.join("; "));
                Ok(())
            }
            (Some(_), false) => Err(FleetError::Durability(unanswered.join("; "))),
            (Some(server), true) => Err(FleetError::Durability(format!(
                "the server `{server}` holds journals, and its monitoring address is not among {monitors}"
            ))),
        }
    }

    /// A server that holds a part of the fleet, is not down and was not seen.
    async fn unseen(&self, seen: &HashSet<String>) -> Result<Option<String>, FleetError> {
        for name in self.durable_streams() {
            let stream = self.jetstream().get_stream(name).await;
            let stream = stream.map_err(FleetError::nats("look at its streams"))?;
            let cluster = stream.cached_info().cluster.clone();
            let leader = cluster.as_ref().and_then(|cluster| cluster.leader.clone());
            let leader = leader.unwrap_or_else(|| self.client().server_info().server_name);
            let replicas = cluster.map(|cluster| cluster.replicas).unwrap_or_default();
            let replicas = replicas.into_iter().filter(|replica| !replica.offline);
            let mut servers = replicas.map(|replica| replica.name).chain([leader]);
            if let Some(unseen) = servers.find(|server| !seen.contains(server)) {
                return Ok(Some(unseen));
            }
        }
        Ok(None)
    }
}

/// What a monitoring address says.
async fn asked(monitor: &str) -> Result<Varz, NoAnswer> {
    if monitor.starts_with("https://") {
        return Err(NoAnswer::Https);
    }
    let answer = tokio::time::timeout(WAIT, get(monitor)).await;
    let answer = answer.map_err(|_| NoAnswer::Late)??;
    let begin = memchr::memmem::find(&answer, b"\r\n\r\n").map(|at| at + 4);
    let body = begin.and_then(|begin| answer.get(begin..));
    Ok(serde_json::from_slice(body.ok_or(NoAnswer::NotHttp)?)?)
}

/// Why a monitoring address says nothing.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("it is only asked over http, not over https")]
    Https,
    #[error("it does not answer")]
    Late,
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("it does not speak HTTP")]
    NotHttp,
    #[error("it has no /varz: {0}")]
    NotMonitoring(#[from] serde_json::Error),
}

async fn get(monitor: &str) -> std::io::Result<Vec<u8>> {
    let host = monitor.strip_prefix("http://").unwrap_or(monitor);
    let host = host.trim_end_matches('/');
    let mut stream = TcpStream::connect(host).await?;
    // Of this version an answer ends with its connection and comes in one piece.
    let request = format!("GET /varz HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer).await?;
    Ok(answer)
}
