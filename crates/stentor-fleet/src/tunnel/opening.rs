//! How a tunnel begins: one node asks another to serve a client of its own.

use std::path::Path;

use async_nats::{Message as NatsMessage, RequestErrorKind};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use stentor_serve::http::ClientPlace;
use stentor_serve::proxy::Upstream;
use stentor_serve::server::Server;
use stentor_wire::attach::{ClientHello, Refused};
use tokio::time::timeout;
use uuid::Uuid;

use super::carrier::Carrier;
use super::ends;
use super::limits::OPEN_WAIT;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::nodes::NodeId;

/// The word of all subjects of tunnels.
const TUNNEL: &str = "tunnel";

const FAILED: u8 = 1;

/// What a node is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Open {
    /// Names the tunnel.
    tunnel: String,
    /// The node that asks.
    from: NodeId,
    client: ClientHello,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Opened {
    Served,
    Refused(Refused),
}

/// Serves clients of other nodes until the server stops. Their environment stays where they are, and
/// their folder may not be here: `place` has those of this node.
pub async fn listen(fleet: Fleet, server: Server, place: ClientPlace) -> Result<(), FleetError> {
    let node = fleet.this_node().clone();
    let subject = fleet.subject(&[TUNNEL, "open", &node.name, &node.life]);
    let failed = FleetError::nats("listen for clients of other nodes");
    let requests = fleet.client().subscribe(subject).await;
    let mut requests = requests.map_err(failed)?;
    tokio::spawn(async move {
        loop {
            let request = tokio::select! {
                request = requests.next() => request,
                () = server.stopping() => None,
            };
            let Some(request) = request else { return };
            let (fleet, server, place) = (fleet.clone(), server.clone(), place.clone());
            tokio::spawn(async move { answer(fleet, server, place, request).await });
        }
    });
    Ok(())
}

async fn answer(fleet: Fleet, server: Server, place: ClientPlace, request: NatsMessage) {
    let Some(reply) = request.reply else { return };
    let opened = match serde_json::from_slice(&request.payload) {
        Ok(open) => serve(&fleet, &server, place, open).await,
        Err(error) => Err(refused(format!("the request cannot be read: {error}"))),
    };
    let (answer, carrier) = match opened {
        Ok(carrier) => (Opened::Served, Some(carrier)),
        Err(why) => (Opened::Refused(why), None),
    };
    let Ok(answer) = serde_json::to_vec(&answer) else {
        return;
    };
    let answered = fleet.client().publish(reply, answer.into()).await;
    if let (Ok(()), Some(carrier)) = (answered, carrier) {
        carrier.run().await;
    }
}

async fn serve(
    fleet: &Fleet,
    server: &Server,
    place: ClientPlace,
    open: Open,
) -> Result<Carrier, Refused> {
    let mut client = open.client;
    client.env = place.env;
    if !Path::new(&client.cwd).is_dir() {
        client.cwd = place.cwd;
    }
    let subject = fleet.subject(&[TUNNEL, &open.tunnel, "in"]);
    let subscriber = fleet.client().subscribe(subject).await;
    let subscriber = subscriber.map_err(|error| refused(error.to_string()))?;
    let upstream = server.upstream(client).await?;
    let (source, sink) = ends::of_dialect(upstream);
    Ok(Carrier {
        fleet: fleet.clone(),
        other: open.from,
        subject: fleet.subject(&[TUNNEL, &open.tunnel, "out"]),
        subscriber,
        source,
        sink,
    })
}

/// Has a node serve a client of this one.
pub(super) async fn open(
    fleet: &Fleet,
    node: NodeId,
    client: ClientHello,
) -> Result<Upstream, Refused> {
    let tunnel = Uuid::new_v4().simple().to_string();
    let name = node.name.clone();
    let gone = |why: String| refused(format!("the node {name} cannot be reached: {why}"));
    let subject = fleet.subject(&[TUNNEL, &tunnel, "out"]);
    // Requests take the same way behind it, so it is there before anything is sent to it.
    let subscriber = fleet.client().subscribe(subject).await;
    let subscriber = subscriber.map_err(|error| gone(error.to_string()))?;
    let request = Open {
        tunnel: tunnel.clone(),
        from: fleet.this_node().clone(),
        client,
    };
    let request = serde_json::to_vec(&request).map_err(|error| gone(error.to_string()))?;
    let subject = fleet.subject(&[TUNNEL, "open", &node.name, &node.life]);
    let answer = ask(fleet, subject, request.into()).await.map_err(gone)?;
    if let Opened::Refused(why) = answer {
        return Err(why);
    }
    let (upstream, end) = Upstream::pair();
    let (source, sink) = ends::of_client(end);
    let carrier = Carrier {
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

async fn ask(fleet: &Fleet, subject: String, request: Bytes) -> Result<Opened, String> {
    let client = fleet.client();
    let request = async_nats::Request::new()
        .payload(request)
        .timeout(Some(OPEN_WAIT));
    let asking = client.send_request(subject, request);
    let answer = match timeout(OPEN_WAIT, asking).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
            return Err("it is not there".to_owned());
        }
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it does not answer in time".to_owned()),
    };
    serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())
}

fn refused(message: String) -> Refused {
    Refused {
        message,
        status: FAILED,
    }
}
