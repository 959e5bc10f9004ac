//! What nodes ask each other about tunnels, besides what goes through them.

use std::time::Duration;

use async_nats::RequestErrorKind;
use bytes::Bytes;
use tokio::time::timeout;

use super::limits::ASK_WAIT;
use crate::fleet::Fleet;
use crate::nodes::NodeId;

/// The word of all subjects of tunnels.
pub(super) const TUNNEL: &str = "tunnel";

/// The word of what a node is asked, and the words for what that is: to serve a client, to reserve
/// capacity for the next session of one that it serves, and whether it knows a tunnel.
const ASKED: &str = "asked";
pub(super) const OPEN: &str = "open";
pub(super) const RESERVE: &str = "reserve";
pub(super) const KNOWS: &str = "knows";

/// What a node answers to the second.
pub(super) const RESERVED: &str = "reserved";
pub(super) const FULL: &str = "full";

/// What it answers to the last.
pub(super) const KNOWN: &str = "known";
pub(super) const UNKNOWN: &str = "unknown";

/// Where this life of a node is asked for something.
pub(super) fn asked_subject(fleet: &Fleet, node: &NodeId, what: &str) -> String {
    fleet.subject(&[TUNNEL, ASKED, &node.name, &node.life, what])
}

/// Asks a node.
pub(super) async fn ask(
    fleet: &Fleet,
    subject: String,
    request: Bytes,
    wait: Duration,
) -> Result<Bytes, String> {
    let client = fleet.client();
    let request = async_nats::Request::new()
        .payload(request)
        .timeout(Some(wait));
    let asking = client.send_request(subject, request);
    match timeout(wait, asking).await {
        Ok(Ok(answer)) => Ok(answer.payload),
        Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
            Err("it is not there".to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it does not answer in time".to_owned()),
    }
}

/// True when a node says that it does not know a tunnel. One that does not answer may be cut off.
pub(super) async fn has_forgotten(fleet: &Fleet, node: &NodeId, tunnel: &str) -> bool {
    let subject = asked_subject(fleet, node, KNOWS);
    let tunnel = Bytes::copy_from_slice(tunnel.as_bytes());
    let answer = ask(fleet, subject, tunnel, ASK_WAIT).await;
    answer.is_ok_and(|answer| answer == UNKNOWN)
}

/// What the servers say of whether this life of a node is there. `None` when they say nothing: then it may
/// be.
pub(super) async fn is_there(fleet: &Fleet, node: &NodeId) -> Option<bool> {
    let asked = timeout(ASK_WAIT, fleet.is_there_now(node)).await;
    asked.ok()?.ok()
}
