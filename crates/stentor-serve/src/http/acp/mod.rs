//! ACP's own HTTP transport, as its TypeScript SDK speaks it: messages of the client are posted, those
//! of the agent come on event streams, one for the connection and one for each session.

mod connection;
mod first_message;
mod limits;
mod message;
mod streams;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Request, StatusCode};
use stentor_agent::tasks;
use tokio::time::timeout;

pub(super) use first_message::FirstMessage;

use super::answer::{HttpAnswer, HttpRefusal, empty, json, text};
use super::{HttpShared, limits as http_limits};
use crate::connection::Access;
use connection::{AcpConnection, NoConnection};
use message::{BadMessage, PostedMessage};
use streams::{Route, StreamRefusal};

/// The header that names a connection.
pub(super) const CONNECTION_ID: &str = "acp-connection-id";

/// The header that names a session.
const SESSION_ID: &str = "acp-session-id";

const EVENT_STREAM: &str = "text/event-stream";

/// The connections over HTTP that are open, by their ids.
#[derive(Clone, Default)]
pub(super) struct AcpConnections {
    open: Arc<Mutex<HashMap<String, Arc<AcpConnection>>>>,
}

impl AcpConnections {
    fn get(&self, id: &str) -> Option<Arc<AcpConnection>> {
        self.lock().get(id).cloned()
    }

    fn insert(&self, connection: &Arc<AcpConnection>) {
        let id = connection.id().to_owned();
        self.lock().insert(id, Arc::clone(connection));
    }

    fn remove(&self, id: &str) -> Option<Arc<AcpConnection>> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<AcpConnection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a request of the transport.
pub(super) async fn answer(
    http: Arc<HttpShared>,
    request: Request<Incoming>,
    access: Access,
) -> HttpAnswer {
    let answered = match *request.method() {
        Method::POST => post(&http, request, access).await,
        Method::GET => get(&http, request.headers(), access),
        Method::DELETE => delete(&http, request.headers(), access),
        _ => Err(text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed").into()),
    };
    answered.unwrap_or_else(|refusal| *refusal)
}

/// A message of the client.
async fn post(
    http: &HttpShared,
    request: Request<Incoming>,
    access: Access,
) -> Result<HttpAnswer, HttpRefusal> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(text(status, "Unsupported Media Type").into());
    }
    let body = body_of(body).await?;
    let message = PostedMessage::read(&body).map_err(|bad| match bad {
        BadMessage::Batch => json(StatusCode::BAD_REQUEST, message::BATCH),
        other => text(StatusCode::BAD_REQUEST, other.to_string()),
    })?;
    if message.is_initialize() {
        if parts.headers.contains_key(CONNECTION_ID) {
            let why = "Initialize not allowed on existing connection";
            return Err(text(StatusCode::BAD_REQUEST, why).into());
        }
        return initialize(http, &message, parts.uri.query(), access).await;
    }
    let connection = connection_of(http, &parts.headers, access)?;
    let session = session_of(&parts.headers)?;
    let accepted = connection.forward(&message, session).await;
    accepted.map_err(|bad| text(bad.status(), bad.to_string()))?;
    Ok(empty(StatusCode::ACCEPTED))
}

async fn initialize(
    http: &HttpShared,
    message: &PostedMessage<'_>,
    query: Option<&str>,
    access: Access,
) -> Result<HttpAnswer, HttpRefusal> {
    let Some(id) = message.id() else {
        let why = "Initialize request must include an ID";
        return Err(text(StatusCode::BAD_REQUEST, why).into());
    };
    let client = http.options.place.client("acp", query, access);
    let failed = |response: Bytes| json(StatusCode::INTERNAL_SERVER_ERROR, response);
    let admitted = http.server.admit(client, access).await;
    let admitted = admitted.map_err(|why| failed(message::failed(id, &why.message)))?;
    let opened = AcpConnection::open(admitted, message, access).await;
    let (connection, response, lines) = opened.map_err(|why| match why {
        NoConnection::Answered(response) => failed(response.into()),
        why @ (NoConnection::Ended | NoConnection::Io(_)) => {
            failed(message::failed(id, &why.to_string()))
        }
    })?;
    let mut answer = json(StatusCode::OK, response);
    if let Ok(id) = HeaderValue::from_str(connection.id()) {
        answer.headers_mut().insert(CONNECTION_ID, id);
    }
    http.acp.insert(&connection);
    let connections = http.acp.clone();
    tasks::spawn(async move {
        connection.route(lines).await;
        connections.remove(connection.id());
    });
    Ok(answer)
}

/// A stream of the agent's messages.
fn get(http: &HttpShared, headers: &HeaderMap, access: Access) -> Result<HttpAnswer, HttpRefusal> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if !accept.is_some_and(|types| types.to_ascii_lowercase().contains(EVENT_STREAM)) {
        return Err(text(StatusCode::NOT_ACCEPTABLE, "Not Acceptable").into());
    }
    let connection = connection_of(http, headers, access)?;
    let route = match session_of(headers)? {
        Some(session) => Route::Session(session.to_owned()),
        None => Route::Connection,
    };
    match connection.events(route) {
        Ok(events) => {
            let mut answer = super::answer::empty(StatusCode::OK);
            *answer.body_mut() = events;
            let event_stream = HeaderValue::from_static(EVENT_STREAM);
            answer.headers_mut().insert(CONTENT_TYPE, event_stream);
            Ok(answer)
        }
        Err(StreamRefusal::Receiver) => {
            let why = "Outbound stream already has an active receiver";
            Err(text(StatusCode::CONFLICT, why).into())
        }
        Err(StreamRefusal::TooMany) => {
            Err(text(StatusCode::BAD_REQUEST, "too many session streams").into())
        }
        Err(StreamRefusal::Ended) => Err(unknown()),
    }
}

fn delete(
    http: &HttpShared,
    headers: &HeaderMap,
    access: Access,
) -> Result<HttpAnswer, HttpRefusal> {
    let connection = connection_of(http, headers, access)?;
    http.acp.remove(connection.id()).ok_or_else(unknown)?;
    connection.end();
    Ok(empty(StatusCode::ACCEPTED))
}

/// The connection a request names, if its bearer may what the one who opened it may.
fn connection_of(
    http: &HttpShared,
    headers: &HeaderMap,
    access: Access,
) -> Result<Arc<AcpConnection>, HttpRefusal> {
    let id = headers
        .get(CONNECTION_ID)
        .and_then(|value| value.to_str().ok());
    let missing = || text(StatusCode::BAD_REQUEST, "Missing Acp-Connection-Id");
    let connection = http.acp.get(id.ok_or_else(missing)?);
    let connection = connection.filter(|connection| connection.access() == access);
    connection.ok_or_else(unknown)
}

fn unknown() -> HttpRefusal {
    text(StatusCode::NOT_FOUND, "Unknown Acp-Connection-Id").into()
}

fn session_of(headers: &HeaderMap) -> Result<Option<&str>, HttpRefusal> {
    let Some(value) = headers.get(SESSION_ID) else {
        return Ok(None);
    };
    let id = value.to_str().ok();
    let id = id.filter(|id| !id.is_empty() && id.len() <= limits::MAX_ID_BYTES);
    let invalid = || text(StatusCode::BAD_REQUEST, "Invalid Acp-Session-Id").into();
    id.ok_or_else(invalid).map(Some)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

async fn body_of(body: Incoming) -> Result<Bytes, HttpRefusal> {
    let body = Limited::new(body, http_limits::MAX_MESSAGE_BYTES).collect();
    match timeout(http_limits::BODY_WAIT, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let why = format!(
                "a message is at most {} bytes",
                http_limits::MAX_MESSAGE_BYTES
            );
            Err(text(StatusCode::PAYLOAD_TOO_LARGE, why).into())
        }
        Err(_) => Err(text(
            StatusCode::REQUEST_TIMEOUT,
            "the message did not come in time",
        )
        .into()),
    }
}
