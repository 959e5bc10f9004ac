//! What both ways over HTTP have in common.

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use stentor_agent::tasks;
use stentor_http::HttpError;
use stentor_wire::sse::{SseDecoder, SseError};

use super::connection::ServerAccess;
use super::limits::MESSAGE_BYTES;
use super::oauth::{Bearer, BearerError, Challenge};
use crate::json_rpc_child::RequestError;

/// Where a server is, and how it is reached.
pub(super) struct McpEndpoint {
    pub client: Client,
    pub url: Url,
    /// Those somebody configured.
    pub headers: HeaderMap,
    /// Its name, for people.
    name: String,
    /// The token of the login to it. None where a header already says who asks.
    bearer: Option<Bearer>,
}

/// Why a request got no response that counts.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpNotSent {
    #[error("{0}")]
    Undelivered(String),
    /// Only a person can help.
    #[error("{0}")]
    NeedsLogin(String),
}

impl From<HttpNotSent> for RequestError {
    fn from(error: HttpNotSent) -> Self {
        match error {
            HttpNotSent::Undelivered(why) => Self::Undelivered(why),
            HttpNotSent::NeedsLogin(why) => Self::NeedsLogin(why),
        }
    }
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum EndpointError {
    #[error("its `url` is invalid: {0}")]
    NoUrl(String),
    #[error("its url begins with {0:?}, not with http")]
    NotHttp(String),
    /// A value may be a secret and is never repeated.
    #[error("the header {0:?} is not one HTTP can carry")]
    Header(String),
    #[error(transparent)]
    Client(#[from] HttpError),
}

/// Why a stream of events cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    #[error("{}", too_long())]
    TooLong,
    #[error("its events cannot be read: {0}")]
    Unreadable(SseError),
    #[error("{0}")]
    Broken(String),
}

impl McpEndpoint {
    pub async fn new(
        access: &ServerAccess,
        name: &str,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Self, EndpointError> {
        let (url, headers) = (address(url)?, header_map(headers)?);
        let http = Arc::clone(&access.http);
        // Building it reads the certificates of the system.
        let client = tasks::spawn_blocking(move || http.client(None)).await;
        let client = client.map_err(|error| HttpError::Client(error.to_string()))??;
        let logins = access.logins.as_ref();
        let logins = logins.filter(|_| !headers.contains_key(AUTHORIZATION));
        Ok(Self {
            client,
            bearer: logins.map(|logins| Bearer::new(logins, &url)),
            url,
            headers,
            name: name.to_owned(),
        })
    }

    /// The same server, but messages go to another address of it.
    pub fn at(self, url: Url) -> Self {
        Self { url, ..self }
    }

    /// Sends a request to the server, with the token of the login to it if there is one. A token that
    /// is refused is renewed, once.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, HttpNotSent> {
        let request = request.headers(self.headers.clone());
        let Some(bearer) = &self.bearer else {
            return self.judged(delivered(request).await?, false);
        };
        let token = bearer.current().await.map_err(|why| self.no_token(&why))?;
        let Some(token) = token else {
            return self.judged(delivered(request).await?, false);
        };
        let again = request.try_clone();
        let response = delivered(request.bearer_auth(token.expose())).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.judged(response, true);
        }
        let renewed = bearer.renewed(&token).await;
        match (renewed.map_err(|why| self.no_token(&why))?, again) {
            (Some(token), Some(again)) => {
                let response = delivered(again.bearer_auth(token.expose())).await?;
                self.judged(response, true)
            }
            _ => self.judged(response, true),
        }
    }

    /// A response, unless it wants a login.
    fn judged(&self, response: Response, had_token: bool) -> Result<Response, HttpNotSent> {
        let name = &self.name;
        let challenge = || Challenge::of(response.headers());
        let why = match response.status() {
            StatusCode::UNAUTHORIZED if self.headers.contains_key(AUTHORIZATION) => {
                "it refuses the Authorization in its `headers`".to_owned()
            }
            StatusCode::UNAUTHORIZED if had_token => {
                format!("it no longer accepts its login: run `stentor mcp login {name}`")
            }
            StatusCode::UNAUTHORIZED => format!(
                "it wants to know who asks: run `stentor mcp login {name}`, or give it a header \
                 such as Authorization"
            ),
            StatusCode::FORBIDDEN if challenge().error.as_deref() == Some("insufficient_scope") => {
                let scope = challenge().scope.unwrap_or_default();
                format!(
                    "its login does not allow this (it wants {scope:?}): set `oauth.scopes` and run \
                     `stentor mcp login {name}`"
                )
            }
            _ => return Ok(response),
        };
        Err(HttpNotSent::NeedsLogin(why))
    }

    fn no_token(&self, why: &BearerError) -> HttpNotSent {
        match why {
            BearerError::Over(_) => {
                let name = &self.name;
                HttpNotSent::NeedsLogin(format!("{why}: run `stentor mcp login {name}`"))
            }
            BearerError::Failed(_) => HttpNotSent::Undelivered(why.to_string()),
        }
    }
}

async fn delivered(request: RequestBuilder) -> Result<Response, HttpNotSent> {
    let response = request.send().await;
    response.map_err(|error| HttpNotSent::Undelivered(shown(error)))
}

pub(super) fn header_map(given: &[(String, String)]) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = || EndpointError::Header(name.clone());
        let parsed: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

fn address(url: &str) -> Result<Url, EndpointError> {
    let parsed = Url::parse(url).map_err(|error| EndpointError::NoUrl(error.to_string()))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        other => Err(EndpointError::NotHttp(other.to_owned())),
    }
}

/// The text of an error without the address, which may carry a secret, and with its causes.
pub(super) fn shown(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

pub(super) fn too_long() -> String {
    format!("it sent more than {} MiB at once", MESSAGE_BYTES >> 20)
}

/// Whether a response is a stream of events.
pub(super) fn has_events(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// The events of a response.
pub(super) struct EventStream {
    response: Response,
    decoder: SseDecoder,
    is_over: bool,
}

impl EventStream {
    pub fn new(response: Response) -> Self {
        Self {
            response,
            decoder: SseDecoder::new(MESSAGE_BYTES),
            is_over: false,
        }
    }

    /// The newest id of an event, by which the stream can be gone on with.
    pub fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    /// The next message.
    pub async fn next_message(&mut self) -> Result<Option<String>, StreamError> {
        loop {
            match self.next().await? {
                Some((name, data)) if name.is_empty() || name == "message" => {
                    return Ok(Some(data));
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next event's name and data; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<(String, String)>, StreamError> {
        loop {
            match self.decoder.next_event() {
                Ok(Some(event)) => {
                    return Ok(Some((event.name.to_owned(), event.data.to_owned())));
                }
                Ok(None) if self.is_over => return Ok(None),
                Ok(None) => {}
                Err(SseError::TooLong { .. }) => return Err(StreamError::TooLong),
                Err(error) => return Err(StreamError::Unreadable(error)),
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| StreamError::Broken(shown(error)))? {
                Some(bytes) => self.decoder.push(&bytes),
                None => {
                    self.is_over = true;
                    self.decoder.finish();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_one_of_http() {
        assert!(address("https://example.org/mcp").is_ok());
        for (url, why) in [
            (
                "example.org",
                "its `url` is invalid: relative URL without a base",
            ),
            (
                "file:///etc/passwd",
                "its url begins with \"file\", not with http",
            ),
        ] {
            assert_eq!(address(url).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn a_wrong_header_is_named_and_its_value_is_not() {
        let wrong = header_map(&[("X".to_owned(), "se\ncret".to_owned())]);
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "the header \"X\" is not one HTTP can carry"
        );
    }
}
