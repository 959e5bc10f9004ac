//! How a tunnel begins: one node asks another to serve a client of its own.

use std::path::Path;
use std::sync::Arc;

use async_nats::Message as NatsMessage;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use stentor_serve::http::DefaultClientPlace;
use stentor_serve::proxy::{Capacity, Upstream};
use stentor_serve::server::Server;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use uuid::Uuid;

use super::asking::{
    FULL, KNOWN, KNOWS, OPEN, RESERVE, RESERVED, TUNNEL, UNKNOWN, ask, asked_subject,
};
use super::carrier::{TunnelCarrier, TunnelRoute};
use super::ends;
use super::limits::OPEN_WAIT;
use super::table::TunnelTable;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::nodes::NodeId;
use crate::places::{NodePlaces, WorkingFolder};

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
    tunnels: TunnelTable,
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
        tunnels,
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
    tunnels: TunnelTable,
}

impl Listener {
    async fn answer(&self, request: NatsMessage) {
        let Some(reply) = request.reply else { return };
        let client = self.fleet.client();
        if let Some(answer) = self.answer_about(&request.subject, &request.payload).await {
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
        if let Some(carrier) = served
            && answered.is_ok()
        {
            carrier.run().await;
        }
    }

    /// The answer to a question about a tunnel that is there, if it is one.
    async fn answer_about(&self, subject: &str, tunnel: &[u8]) -> Option<&'static str> {
        let tunnel = std::str::from_utf8(tunnel).unwrap_or_default();
        match subject.rsplit('.').next() {
            Some(RESERVE) => {
                let reserved = match self.tunnels.capacity(tunnel) {
                    Some(capacity) => capacity.reserve().await,
                    None => false,
                };
                Some(if reserved { RESERVED } else { FULL })
            }
            Some(KNOWS) => Some(match self.tunnels.knows(tunnel) {
                true => KNOWN,
                false => UNKNOWN,
            }),
            _ => None,
        }
    }

    async fn serve(&self, open: OpenTunnel) -> Result<TunnelCarrier, AttachRefusal> {
        let mut client = open.client;
        client.env.clone_from(&self.place.env);
        if !self.places.offers(Path::new(&client.cwd)).await {
            client.cwd = self.folder_for(&client).await?;
        }
        let fleet = &self.fleet;
        let subject = fleet.subject(&[TUNNEL, &open.tunnel, "in"]);
        let subscriber = fleet.client().subscribe(subject).await;
        let subscriber = subscriber.map_err(|error| refused(error.to_string()))?;
        let upstream = self.server.upstream(client).await?;
        let capacity = Arc::clone(&upstream.capacity);
        let known = self.tunnels.enter(open.tunnel.clone(), Some(capacity));
        let route = TunnelRoute {
            other: open.from,
            subject: fleet.subject(&[TUNNEL, &open.tunnel, "out"]),
            subscriber,
        };
        let ends = ends::of_dialect(upstream);
        Ok(TunnelCarrier::new(fleet.clone(), known, route, ends))
    }

    /// Where a client is here whose folder is not: in that of the session it goes on with, else where this
    /// node is. A session that begins in its client's folder begins nowhere else.
    async fn folder_for(&self, client: &ClientHello) -> Result<String, AttachRefusal> {
        let mut named = client.args.iter();
        let named = named.find_map(|word| self.fleet.session(word));
        if let Some(named) = named
            && let WorkingFolder::Here(folder) = self.places.find_working_folder(&named).await
        {
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
            let answer = ask(&self.fleet, subject, tunnel, OPEN_WAIT).await;
            answer.is_ok_and(|answer| answer == RESERVED)
        })
    }
}

/// Has a node serve a client of this one.
pub(super) async fn open(
    fleet: &Fleet,
    tunnels: &TunnelTable,
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
    let answer = ask(fleet, subject, request.into(), OPEN_WAIT).await;
    let answer = answer.map_err(&gone)?;
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
    let known = tunnels.enter(tunnel.clone(), None);
    let route = TunnelRoute {
        other: node,
        subject: fleet.subject(&[TUNNEL, &tunnel, "in"]),
        subscriber,
    };
    let carrier = TunnelCarrier::new(fleet.clone(), known, route, ends::of_client(end));
    tokio::spawn(carrier.run());
    Ok(upstream)
}

fn refused(message: String) -> AttachRefusal {
    AttachRefusal {
        message,
        status: FAILED,
    }
}
