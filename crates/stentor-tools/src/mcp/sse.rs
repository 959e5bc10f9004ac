//! The older transport over HTTP: a stream of server-sent events, whose first one names the address
//! that messages are posted to.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url};
use stentor_wire::sse::SseDecoder;
use tokio::sync::mpsc;

use super::http::{address, client, headers, told};
use super::limits::{MESSAGE_BYTES, POST_LIMIT};
use super::wire::{Ending, FarEnd, Inbox, Outgoing, Over, Refuser, Wire, wire};

/// Opens the stream and learns where to post. The error is text for a person.
pub(super) async fn open(
    url: &str,
    given: &[(String, String)],
    ending: Ending,
) -> Result<Wire, String> {
    let (client, headers, url) = (client()?, headers(given)?, address(url)?);
    let asked = client
        .get(url.clone())
        .headers(headers.clone())
        .header(ACCEPT, "text/event-stream");
    let response = asked.send().await.map_err(told)?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("it answered with HTTP {status}"));
    }
    let is_stream = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return Err("it sends no events; perhaps its transport is the newer \"http\"".to_owned());
    }
    let mut events = Events {
        response,
        decoder: SseDecoder::new(MESSAGE_BYTES),
        is_over: false,
    };
    let endpoint = endpoint(&mut events, &url).await?;
    Ok(wire(ending, |FarEnd { outgoing, inbox }| {
        let post = Post {
            client,
            endpoint,
            headers,
            refuser: inbox.refuser(),
        };
        [Box::pin(read(events, inbox)), Box::pin(post.all(outgoing))]
    }))
}

/// The address in the first event. It must be of the same origin: what is posted carries secrets.
async fn endpoint(events: &mut Events, url: &Url) -> Result<Url, String> {
    loop {
        let Some((name, data)) = events.next().await? else {
            return Err("its events end before they say where to post".to_owned());
        };
        if name != "endpoint" {
            continue;
        }
        let endpoint = url.join(data.trim());
        let endpoint = endpoint.map_err(|error| format!("where to post is no address: {error}"))?;
        return match endpoint.origin() == url.origin() {
            true => Ok(endpoint),
            false => Err(format!(
                "it wants messages posted elsewhere, to {}, which could give secrets away",
                endpoint.origin().ascii_serialization()
            )),
        };
    }
}

/// The events of a response.
struct Events {
    response: Response,
    decoder: SseDecoder,
    is_over: bool,
}

impl Events {
    /// The next event's name and data; `None` at the end.
    async fn next(&mut self) -> Result<Option<(String, String)>, String> {
        loop {
            match self.decoder.next_event() {
                Ok(Some(event)) => {
                    return Ok(Some((event.name.to_owned(), event.data.to_owned())));
                }
                Ok(None) if self.is_over => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(format!("its events cannot be read: {error}")),
            }
            match self.response.chunk().await.map_err(told)? {
                Some(bytes) => self.decoder.push(&bytes),
                None => {
                    self.is_over = true;
                    self.decoder.finish();
                }
            }
        }
    }
}

async fn read(mut events: Events, mut inbox: Inbox) {
    loop {
        let taken = match events.next().await {
            Ok(Some((name, data))) if name.is_empty() || name == "message" => {
                inbox.take(&data).await
            }
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(inbox.end("it ended its stream of events")),
            Err(why) => Err(inbox.end(why)),
        };
        if taken == Err(Over) {
            return;
        }
    }
}

/// What posts messages, one after the other so that they arrive in order.
struct Post {
    client: Client,
    endpoint: Url,
    headers: HeaderMap,
    refuser: Refuser,
}

impl Post {
    async fn all(self, mut outgoing: mpsc::Receiver<Outgoing>) {
        while let Some(Outgoing { request, text }) = outgoing.recv().await {
            let Err(why) = self.one(text).await else {
                continue;
            };
            tracing::debug!(why, "a message to an MCP server was not accepted");
            if let Some(request) = request
                && self.refuser.fail(request, why).await.is_err()
            {
                return;
            }
        }
    }

    async fn one(&self, text: Vec<u8>) -> Result<(), String> {
        let posted = self
            .client
            .post(self.endpoint.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .timeout(POST_LIMIT)
            .body(text)
            .send();
        let status = posted.await.map_err(told)?.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("it answered with HTTP {status}")),
        }
    }
}
