//! How a tunnel begins: one node asks another to serve a client of its own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::{Message as NatsMessage, RequestErrorKind};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use stentor_serve::http::DefaultClientPlace;
use stentor_serve::proxy::{Capacity, Upstream};
use stentor_serve::server::Server;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio::time::timeout;
use uuid::Uuid;

use super::carrier::TunnelCarrier;
use super::ends;
use super::limits::OPEN_WAIT;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::nodes::NodeId;
use crate::places::{NodePlaces, WorkingFolder};

/// The word of all subjects of tunnels.
const TUNNEL: &str = "tunnel";

/// The word of what a node is asked, and the words for what that is: to serve a client, and to reserve
/// capacity for the next session of one that it serves.
const ASKED: &str = "asked";
const OPEN: &str = "open";
const RESERVE: &str = "reserve";

/// What a node answers to the latter.
const RESERVED: &str = "reserved";
const FULL: &str = "full";

const FAILED: u8 = 1;

/// What a node is asked.
#[derive(Debug, Serialize, Deserialize)]
struct OpenTunnel {
    /// Names the tunnel.
    tunnel: String,
    /// The node that asks.
    from: NodeId,
    client: ClientHello,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TunnelOpened {
    Served,
    Refused(AttachRefusal),
}

/// Serves clients of other nodes until the server stops. Their environment stays where they are, and
/// their folder may not be here: `place` has those of this node.
pub async fn listen(
    fleet: Fleet,
    server: Server,
    place: DefaultClientPlace,
) -> Result<(), FleetError> {
    let failed = FleetError::nats("listen for clients of other nodes");
    // What is asked of a node has the subject of its life as its beginning.
    let subject = asked_subject(&fleet, fleet.this_node(), "*");
    let requests = fleet.client().subscribe(subject).await;
    let mut requests = requests.map_err(failed)?;
    let places = NodePlaces::new(&fleet.settings().places, &fleet.this_node().name);
    let listener = Arc::new(Listener {
        fleet,
        server,
        place,
        places,
        tunnels: Mutex::default(),
    });
    tokio::spawn(async move {
        loop {
            let request = tokio::select! {
                request = requests.next() => request,
                () = listener.server.stopping() => None,
            };
            let Some(request) = request else { return };
            let listener = Arc::clone(&listener);
            tokio::spawn(async move { listener.answer(request).await });
        }
    });
    Ok(())
}

/// What answers other nodes.
struct Listener {
    fleet: Fleet,
    server: Server,
    place: DefaultClientPlace,
    places: NodePlaces,
    /// Where the clients of the tunnels have the capacity for their sessions from.
    tunnels: Mutex<HashMap<String, Arc<dyn Capacity>>>,
}

impl Listener {
    async fn answer(&self, request: NatsMessage) {
        let Some(reply) = request.reply else { return };
        let client = self.fleet.client();
        if request.subject.ends_with(RESERVE) {
            let tunnel = std::str::from_utf8(&request.payload).unwrap_or_default();
            let capacity = self.tunnels().get(tunnel).cloned();
            let reserved = match capacity {
                Some(capacity) => capacity.reserve().await,
                None => false,
            };
            let answer = if reserved { RESERVED } else { FULL };
            client.publish(reply, answer.into()).await.ok();
            return;
        }
        let opened = match serde_json::from_slice(&request.payload) {
            Ok(open) => self.serve(open).await,
            Err(error) => Err(refused(format!("the request cannot be read: {error}"))),
        };
        let (answer, served) = match opened {
            Ok(served) => (TunnelOpened::Served, Some(served)),
            Err(why) => (TunnelOpened::Refused(why), None),
        };
        let Ok(answer) = serde_json::to_vec(&answer) else {
            return;
        };
        let answered = client.publish(reply, answer.into()).await;
        if let Some((tunnel, carrier)) = served {
            if answered.is_ok() {
                carrier.run().await;
            }
            self.tunnels().remove(&tunnel);
        }
    }

    async fn serve(&self, open: OpenTunnel) -> Result<(String, TunnelCarrier), AttachRefusal> {
        let mut client = open.client;
        client.env.clone_from(&self.place.env);
        let cwd = Path::new(&client.cwd);
        if !cwd.is_dir() && !self.places.can_make(cwd) {
            client.cwd = self.folder_for(&client)?;
        }
        let fleet = &self.fleet;
        let subject = fleet.subject(&[TUNNEL, &open.tunnel, "in"]);
        let subscriber = fleet.client().subscribe(subject).await;
        let subscriber = subscriber.map_err(|error| refused(error.to_string()))?;
        let upstream = self.server.upstream(client).await?;
        let capacity = Arc::clone(&upstream.capacity);
        self.tunnels().insert(open.tunnel.clone(), capacity);
        let (source, sink) = ends::of_dialect(upstream);
        let carrier = TunnelCarrier {
            fleet: fleet.clone(),
            other: open.from,
            subject: fleet.subject(&[TUNNEL, &open.tunnel, "out"]),
            subscriber,
            source,
            sink,
        };
        Ok((open.tunnel, carrier))
    }

    /// Where a client is here whose folder is not: in that of the session it goes on with, else where this
    /// node is. A session that begins in its client's folder begins nowhere else.
    fn folder_for(&self, client: &ClientHello) -> Result<String, AttachRefusal> {
        let mut named = client.args.iter();
        let named = named.find_map(|word| self.fleet.session(word));
        if let Some(WorkingFolder::Here(folder)) = named.map(|it| self.places.working_folder(&it)) {
            return Ok(folder.display().to_string());
        }
        // In ACP, whoever begins a session says where.
        match client.begins && client.dialect != "acp" {
            true => Err(refused(format!(
                "the folder {} is not on the node `{}`",
                client.cwd,
                self.fleet.this_node().name
            ))),
            false => Ok(self.place.cwd.clone()),
        }
    }

    fn tunnels(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Capacity>>> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The capacity of another node, for a client that it serves.
struct CapacityThere {
    fleet: Fleet,
    node: NodeId,
    tunnel: String,
}

impl Capacity for CapacityThere {
    fn reserve(&self) -> BoxFuture<'_, bool> {
        let subject = asked_subject(&self.fleet, &self.node, RESERVE);
        let tunnel = Bytes::copy_from_slice(self.tunnel.as_bytes());
        Box::pin(async move {
            let answer = ask(&self.fleet, subject, tunnel).await;
            answer.is_ok_and(|answer| answer == RESERVED)
        })
    }
}

/// Where a node is asked for something.
fn asked_subject(fleet: &Fleet, node: &NodeId, what: &str) -> String {
    fleet.subject(&[TUNNEL, ASKED, &node.name, &node.life, what])
}

/// Has a node serve a client of this one.
pub(super) async fn open(
    fleet: &Fleet,
    node: NodeId,
    client: ClientHello,
) -> Result<Upstream, AttachRefusal> {
    let tunnel = Uuid::new_v4().simple().to_string();
    let name = node.name.clone();
    let gone = |why: String| refused(format!("the node {name} cannot be reached: {why}"));
    let subject = fleet.subject(&[TUNNEL, &tunnel, "out"]);
    // Requests take the same way behind it, so it is there before anything is sent to it.
    let subscriber = fleet.client().subscribe(subject).await;
    let subscriber = subscriber.map_err(|error| gone(error.to_string()))?;
    let request = OpenTunnel {
        tunnel: tunnel.clone(),
        from: fleet.this_node().clone(),
        client,
    };
    let request = serde_json::to_vec(&request).map_err(|error| gone(error.to_string()))?;
    let subject = asked_subject(fleet, &node, OPEN);
    let answer = ask(fleet, subject, request.into()).await.map_err(&gone)?;
    let answer = serde_json::from_slice(&answer).map_err(|error| gone(error.to_string()))?;
    if let TunnelOpened::Refused(why) = answer {
        return Err(why);
    }
    let capacity = CapacityThere {
        fleet: fleet.clone(),
        node: node.clone(),
        tunnel: tunnel.clone(),
    };
    let (upstream, end) = Upstream::pair(Arc::new(capacity));
    let (source, sink) = ends::of_client(end);
    let carrier = TunnelCarrier {
        fleet: fleet.clone(),
        other: node,
        subject: fleet.subject(&[TUNNEL, &tunnel, "in"]),
        subscriber,
        source,
        sink,
    };
    tokio::spawn(carrier.run());
    Ok(upstream)
}

async fn ask(fleet: &Fleet, subject: String, request: Bytes) -> Result<Bytes, String> {
    let client = fleet.client();
    let request = async_nats::Request::new()
        .payload(request)
        .timeout(Some(OPEN_WAIT));
    let asking = client.send_request(subject, request);
    match timeout(OPEN_WAIT, asking).await {
        Ok(Ok(answer)) => Ok(answer.payload),
        Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
            Err("it is not there".to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it does not answer in time".to_owned()),
    }
}

fn refused(message: String) -> AttachRefusal {
    AttachRefusal {
        message,
        status: FAILED,
    }
}
