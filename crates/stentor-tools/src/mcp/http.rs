//! What both ways over HTTP have in common.

use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use stentor_agent::tasks;
use stentor_http::{Http, HttpError};
use stentor_wire::sse::{SseDecoder, SseError};

use super::limits::MESSAGE_BYTES;

/// Where a server is, and how it is reached.
pub(super) struct Endpoint {
    pub client: Client,
    pub url: Url,
    /// Those somebody configured.
    pub headers: HeaderMap,
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

impl Endpoint {
    pub async fn new(
        http: &Arc<Http>,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Self, EndpointError> {
        let (url, headers) = (address(url)?, header_map(headers)?);
        let http = Arc::clone(http);
        // Building it reads the certificates of the system.
        let client = tasks::spawn_blocking(move || http.client(None)).await;
        let client = client.map_err(|error| HttpError::Client(error.to_string()))??;
        Ok(Self {
            client,
            url,
            headers,
        })
    }
}

fn header_map(given: &[(String, String)]) -> Result<HeaderMap, EndpointError> {
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
