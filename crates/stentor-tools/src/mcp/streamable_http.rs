//! Streamable HTTP: each message is posted, and what the server has to say comes as the response, as
//! one message or as a stream of events. What it says of its own accord comes in a stream we ask for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode};
use stentor_wire::jsonrpc::Id;
use tokio::sync::Mutex;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::client::ServerMessages;
use super::http::{EventStream, McpEndpoint, has_events, shown, too_long};
use super::limits::{MESSAGE_BYTES, POST_LIMIT, RECONNECT_PAUSE, RECONNECTS};
use crate::json_rpc_child::{GRACE, MessageInbox, NotSent, Outgoing, RequestError};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A server behind an address.
pub(super) struct StreamableHttp {
    endpoint: McpEndpoint,
    /// Several responses are read at a time; each message is taken alone.
    inbox: Mutex<MessageInbox<ServerMessages>>,
    peer: Arc<crate::json_rpc_child::Peer>,
    /// By which the server knows us, if it wants to.
    session: OnceLock<HeaderValue>,
    /// The revision of the protocol that was agreed on.
    version: OnceLock<HeaderValue>,
}

impl StreamableHttp {
    pub fn new(endpoint: McpEndpoint, inbox: MessageInbox<ServerMessages>) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            peer: Arc::clone(&inbox.peer),
            inbox: Mutex::new(inbox),
            session: OnceLock::new(),
            version: OnceLock::new(),
        })
    }

    /// Notes the revision of the protocol, which every request names from now on.
    pub fn agreed_on(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            // It is agreed on once.
            let _ = self.version.set(version);
        }
    }

    /// Posts everything. Requests, whose answers may take long, do not hold up each other; everything
    /// else arrives in order.
    pub async fn post_all(self: Arc<Self>, mut outgoing: Outgoing) {
        let mut posts = JoinSet::new();
        let mut open: HashMap<Id, AbortHandle> = HashMap::new();
        while let Some(message) = outgoing.next().await {
            while posts.try_join_next().is_some() {}
            open.retain(|_, post| !post.is_finished());
            // Nobody waits for that response any more.
            if let Some(post) = message.cancels.and_then(|id| open.remove(&id)) {
                post.abort();
            }
            match message.request {
                Some(id) => {
                    let http = Arc::clone(&self);
                    let post = http.request(id.clone(), message.line);
                    open.insert(id, posts.spawn(post));
                }
                None => {
                    let posted = timeout(POST_LIMIT, self.send(Method::POST, message.line, None));
                    if let Ok(Err(error)) = posted.await {
                        tracing::debug!(%error, "a message to an MCP server was not accepted");
                    }
                }
            }
        }
    }

    /// Reads what the server says of its own accord, if it does, and asks for it again when the
    /// stream ends. Calls work without it, so one that keeps failing is left at that.
    pub async fn listen(self: Arc<Self>) {
        let mut last_id: Option<String> = None;
        let mut failures = 0;
        while failures < RECONNECTS {
            failures += 1;
            match self.events(last_id.as_deref()).await {
                Ok(Some(mut events)) => {
                    while let Ok(Some(message)) = events.next_message().await {
                        failures = 0;
                        if self.inbox.lock().await.take(&message).await.is_err() {
                            return;
                        }
                    }
                    last_id = events.last_id().map(str::to_owned).or(last_id);
                }
                // It has nothing to say.
                Ok(None) => return,
                Err(error) => tracing::debug!(%error, "no events of an MCP server"),
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    /// Lets the server forget us.
    pub async fn end_session(&self) {
        if self.session.get().is_some() {
            let ended = timeout(GRACE, self.send(Method::DELETE, Vec::new(), None));
            if let Ok(Err(error)) = ended.await {
                tracing::debug!(%error, "an MCP server was not told that its session is over");
            }
        }
    }

    async fn request(self: Arc<Self>, id: Id, line: Vec<u8>) {
        if let Err(error) = self.ask(&id, line).await {
            self.peer.answered(&id, Err(error));
        }
    }

    async fn ask(&self, id: &Id, line: Vec<u8>) -> Result<(), RequestError> {
        let response = self.send(Method::POST, line, None).await?;
        if let Some(session) = response.headers().get(SESSION) {
            // The first one counts: it is the answer to the greeting.
            let _ = self.session.set(session.clone());
        }
        if has_events(&response) {
            return self.answer_in(EventStream::new(response), id).await;
        }
        let text = bounded(response).await?;
        // That the connection is over shows elsewhere.
        let _ = self.inbox.lock().await.take(&text).await;
        match self.peer.waits_for(id) {
            true => Err(RequestError::Unreadable("it is no answer".to_owned())),
            false => Ok(()),
        }
    }

    /// Reads a stream until the answer came. One that broke is gone on with, if the server can.
    async fn answer_in(&self, mut events: EventStream, id: &Id) -> Result<(), RequestError> {
        let mut reconnects = 0;
        loop {
            let broke = loop {
                match events.next_message().await {
                    Ok(Some(message)) => {
                        let taken = self.inbox.lock().await.take(&message).await;
                        if taken.is_err() || !self.peer.waits_for(id) {
                            return Ok(());
                        }
                    }
                    Ok(None) => {
                        break "it ended its stream of events before it answered".to_owned();
                    }
                    Err(error) => break error.to_string(),
                }
            };
            let last_id = events.last_id().map(str::to_owned);
            reconnects += 1;
            if last_id.is_none() || reconnects > RECONNECTS {
                return Err(RequestError::Undelivered(broke));
            }
            sleep(RECONNECT_PAUSE).await;
            let again = self.events(last_id.as_deref()).await?;
            events = again.ok_or(RequestError::Undelivered(broke))?;
        }
    }

    /// The events since that one; `None` where the server has none to offer.
    async fn events(&self, last_id: Option<&str>) -> Result<Option<EventStream>, RequestError> {
        let response = self.send(Method::GET, Vec::new(), last_id).await?;
        Ok(has_events(&response).then(|| EventStream::new(response)))
    }

    async fn send(
        &self,
        method: Method,
        body: Vec<u8>,
        last_id: Option<&str>,
    ) -> Result<Response, RequestError> {
        let McpEndpoint { client, url, .. } = &self.endpoint;
        let accepted = match method {
            Method::POST => "text/event-stream, application/json",
            _ => "text/event-stream",
        };
        let is_get = method == Method::GET;
        let mut request = client.request(method, url.clone()).header(ACCEPT, accepted);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        for (name, value) in [(SESSION, &self.session), (PROTOCOL_VERSION, &self.version)] {
            if let Some(value) = value.get() {
                request = request.header(name, value);
            }
        }
        if let Some(last_id) = last_id {
            request = request.header(LAST_EVENT, last_id);
        }
        let response = self.endpoint.send(request).await?;
        let status = response.status();
        // That is how a server says that it has no events of its own.
        if status.is_success() || (is_get && status == StatusCode::METHOD_NOT_ALLOWED) {
            return Ok(response);
        }
        Err(self.refused(&response, is_get))
    }

    /// What a status means.
    fn refused(&self, response: &Response, is_get: bool) -> RequestError {
        let status = response.status();
        // Some that have no events of their own answer a request for them in the same way.
        if status == StatusCode::NOT_FOUND && self.session.get().is_some() && !is_get {
            self.peer.give_up("it does not know its session any more");
            return RequestError::NotSent(NotSent::Gone);
        }
        let leads_elsewhere = status.is_redirection() && response.headers().contains_key(LOCATION);
        RequestError::Undelivered(match leads_elsewhere {
            true => format!("it answered with HTTP {status}, which leads to another server"),
            false => format!("it answered with HTTP {status}"),
        })
    }
}

/// A body, read no further than it may be long.
async fn bounded(mut response: Response) -> Result<String, RequestError> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| RequestError::Undelivered(shown(error)))?;
        match chunk {
            None => break,
            Some(chunk) if body.len() + chunk.len() > MESSAGE_BYTES => {
                return Err(RequestError::Undelivered(too_long()));
            }
            Some(chunk) => body.extend_from_slice(&chunk),
        }
    }
    String::from_utf8(body).map_err(|_| RequestError::Unreadable("it is not UTF-8".to_owned()))
}
