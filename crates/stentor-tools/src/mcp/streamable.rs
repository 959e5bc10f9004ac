//! Streamable HTTP with a bound on what a server may send at once.
//!
//! The library's own client reads a JSON answer whole, however long it is. This one posts by itself
//! and leaves the rest to that client.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::http;
use super::limits::MESSAGE_BYTES;

/// The transport to a server at `url`. The error is text for a person.
pub(super) fn transport(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<BoundedHttp>, String> {
    let url = http::address(url)?;
    let mut custom = HashMap::new();
    for (name, value) in http::headers(headers)? {
        custom.extend(name.map(|name| (name, value)));
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(
        BoundedHttp(http::client()?),
        config,
    ))
}

/// A client that takes no message of more than so many bytes.
#[derive(Clone)]
pub(super) struct BoundedHttp(Client);

/// What the network says, without the address, which may carry a secret.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failed(String);

type HttpError = StreamableHttpError<Failed>;
type Posted = Result<StreamableHttpPostResponse, HttpError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

const SESSION: &str = "Mcp-Session-Id";

impl StreamableHttpClient for BoundedHttp {
    type Error = Failed;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Posted {
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let mut request = self
            .0
            .post(&*uri)
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&message)?);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(id) = &session_id {
            request = request.header(SESSION, &**id);
        }
        let response = request.send().await.map_err(failed)?;
        judge(&response, session_id.is_some())?;
        let session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            let events = events(response, asked);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if asked.is_none() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let body = bounded(response).await?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(error) => Err(unexpected(format!("its answer cannot be read: {error}"))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let Self(client) = self;
        let deleted = client.delete_session(uri, session_id, auth, headers);
        deleted.await.map_err(ours)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let Self(client) = self;
        client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event,
                auth,
                headers,
                MESSAGE_BYTES,
            )
            .await
            .map_err(ours)
    }
}

/// What a status means, unless it means that all is well.
fn judge(response: &Response, has_session: bool) -> Result<(), HttpError> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    Err(match status {
        StatusCode::NOT_FOUND if has_session => StreamableHttpError::SessionExpired,
        StatusCode::UNAUTHORIZED => {
            let challenge = header(response, WWW_AUTHENTICATE.as_str()).unwrap_or_default();
            StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))
        }
        _ if status.is_redirection() && header(response, LOCATION.as_str()).is_some() => {
            unexpected(format!(
                "it answered with HTTP {status}, which leads to another server"
            ))
        }
        _ => unexpected(format!("it answered with HTTP {status}")),
    })
}

fn failed(error: reqwest::Error) -> HttpError {
    StreamableHttpError::Client(Failed(http::told(error)))
}

/// An error of the library's own client. Those that it acts upon stay what they are.
fn ours(error: StreamableHttpError<reqwest::Error>) -> HttpError {
    match error {
        StreamableHttpError::Client(error) => failed(error),
        StreamableHttpError::ServerDoesNotSupportSse => {
            StreamableHttpError::ServerDoesNotSupportSse
        }
        StreamableHttpError::ServerDoesNotSupportDeleteSession => {
            StreamableHttpError::ServerDoesNotSupportDeleteSession
        }
        StreamableHttpError::SessionExpired => StreamableHttpError::SessionExpired,
        StreamableHttpError::AuthRequired(error) => StreamableHttpError::AuthRequired(error),
        StreamableHttpError::HttpStatus(error) => StreamableHttpError::HttpStatus(error),
        other => unexpected(other.to_string()),
    }
}

fn unexpected(why: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(why))
}

fn too_long() -> String {
    format!("it sent more than {} MiB at once", MESSAGE_BYTES >> 20)
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(value.to_str().ok()?.to_owned())
}

/// A body, read no further than it may be long.
async fn bounded(mut response: Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > MESSAGE_BYTES {
            return Err(unexpected(too_long()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The events of a response, none longer than a message may be. Instead of a longer one the request
/// is answered with an error, since the library keeps the reason of a broken stream to itself.
fn events(response: Response, asked: Option<RequestId>) -> Events {
    let is_too_long = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_too_long);
    let mut since_event = 0;
    let chunks = response
        .bytes_stream()
        .map_err(std::io::Error::other)
        .map(move |chunk| {
            let chunk = chunk?;
            // A blank line ends an event. One that lies across two chunks is seen with the next.
            let ends = memchr::memmem::rfind(&chunk, b"\n\n")
                .max(memchr::memmem::rfind(&chunk, b"\n\r\n"));
            since_event = match ends {
                Some(end) => chunk.len() - end,
                None => since_event + chunk.len(),
            };
            match since_event > MESSAGE_BYTES {
                true => {
                    noted.store(true, Ordering::Release);
                    Err(std::io::Error::other(too_long()))
                }
                false => Ok(chunk),
            }
        });
    SseStream::from_bytes_stream(chunks)
        .map(move |event| match event {
            Err(_) if is_too_long.load(Ordering::Acquire) => Ok(refusal(asked.clone())),
            event => event,
        })
        .boxed()
}

/// An event that answers a request in the name of the server.
fn refusal(asked: Option<RequestId>) -> Sse {
    let error = ErrorData::internal_error(too_long(), None);
    let answer = ServerJsonRpcMessage::error(error, asked);
    Sse {
        data: serde_json::to_string(&answer).ok(),
        ..Sse::default()
    }
}
