//! The older transport over HTTP: a stream of server-sent events, whose first one names the address
//! that messages are posted to.

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::task::JoinSet;

use super::client::ServerMessages;
use super::http::{EventStream, HttpNotSent, McpEndpoint, StreamError, has_events};
use super::limits::POST_LIMIT;
use crate::json_rpc_child::{MessageInbox, Outgoing, Peer, RequestError};

/// Why the stream could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseOpenError {
    #[error(transparent)]
    NotSent(#[from] HttpNotSent),
    #[error("it answered with HTTP {0}")]
    Status(reqwest::StatusCode),
    #[error("it sends no events; perhaps its transport is the newer \"http\"")]
    NoEvents,
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("its event stream ended before it named the address for messages")]
    NoAddress,
    #[error("its address for messages is invalid: {0}")]
    BadAddress(String),
    /// What is posted carries secrets.
    #[error("it wants messages posted elsewhere, to {0}, which could give secrets away")]
    OtherOrigin(String),
}

/// Opens the stream, learns where to post, and has both served.
pub(super) async fn open(
    endpoint: McpEndpoint,
    outgoing: Outgoing,
    inbox: MessageInbox<ServerMessages>,
    work: &mut JoinSet<()>,
) -> Result<(), SseOpenError> {
    let asked = endpoint
        .client
        .get(endpoint.url.clone())
        .header(ACCEPT, "text/event-stream");
    let response = endpoint.send(asked).await?;
    if !response.status().is_success() {
        return Err(SseOpenError::Status(response.status()));
    }
    if !has_events(&response) {
        return Err(SseOpenError::NoEvents);
    }
    let mut events = EventStream::new(response);
    let url = address(&mut events, &endpoint.url).await?;
    let peer = Arc::clone(&inbox.peer);
    work.spawn(read(events, inbox));
    work.spawn(post_all(endpoint.at(url), outgoing, peer));
    Ok(())
}

/// The address in the first event. It must be of the same origin.
async fn address(events: &mut EventStream, url: &Url) -> Result<Url, SseOpenError> {
    loop {
        let (name, data) = events.next().await?.ok_or(SseOpenError::NoAddress)?;
        if name != "endpoint" {
            continue;
        }
        let address = url.join(data.trim());
        let address = address.map_err(|error| SseOpenError::BadAddress(error.to_string()))?;
        return match address.origin() == url.origin() {
            true => Ok(address),
            false => Err(SseOpenError::OtherOrigin(
                address.origin().ascii_serialization(),
            )),
        };
    }
}

async fn read(mut events: EventStream, mut inbox: MessageInbox<ServerMessages>) {
    loop {
        match events.next_message().await {
            Ok(Some(message)) => {
                if inbox.take(&message).await.is_err() {
                    return;
                }
            }
            Ok(None) => return inbox.peer.give_up("it ended its stream of events"),
            Err(error) => return inbox.peer.give_up(error.to_string()),
        }
    }
}

/// Posts messages one after the other, so that they arrive in order.
async fn post_all(endpoint: McpEndpoint, mut outgoing: Outgoing, peer: Arc<Peer>) {
    while let Some(message) = outgoing.next().await {
        let post = endpoint
            .client
            .post(endpoint.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .timeout(POST_LIMIT)
            .body(message.line);
        let error = match endpoint.send(post).await {
            Ok(response) if response.status().is_success() => continue,
            Ok(response) => {
                let status = response.status();
                RequestError::Undelivered(format!("it answered with HTTP {status}"))
            }
            Err(error) => error.into(),
        };
        tracing::debug!(%error, "a message to an MCP server was not accepted");
        if let Some(id) = message.request {
            peer.answered(&id, Err(error));
        }
    }
}
