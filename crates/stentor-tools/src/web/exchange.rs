//! One request: where it goes, within a limit of time, and as much of what comes back as is wanted.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use stentor_http::{Http, deepest};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::address::not_public;
use super::error::FetchError;
use super::location::{AllowedPrivate, WebLocation};
use super::resolver::{GuardedResolver, refused_address, system_lookup};

/// Pages as text are worth most.
const WANTED: &str = "text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.8, \
                      */*;q=0.5";

/// How requests are made.
pub(super) struct WebExchange {
    http: Arc<Http>,
    pub allowed: AllowedPrivate,
    pub timeout: Duration,
    /// For addresses on the internet.
    guarded: OnceLock<Client>,
    /// For those that the user allows wherever they are.
    unguarded: OnceLock<Client>,
}

/// What a server answers.
pub(super) enum WebAnswer {
    Page(OpenedResponse),
    /// Somewhere else, and how much of the time is left.
    Redirect {
        location: WebLocation,
        left: Duration,
    },
}

/// A response whose body is still to be read.
pub(super) struct OpenedResponse {
    pub location: WebLocation,
    pub response: Response,
    left: Duration,
    seconds: u64,
}

/// The beginning of a body, or all of it.
pub(super) struct PageBody {
    pub bytes: Vec<u8>,
    pub is_whole: bool,
}

impl WebExchange {
    pub fn new(http: Arc<Http>, allowed: AllowedPrivate, timeout: Duration) -> Self {
        Self {
            http,
            allowed,
            timeout,
            guarded: OnceLock::new(),
            unguarded: OnceLock::new(),
        }
    }

    /// Asks for `location`, once. Of the time for a whole call so much is `left`.
    pub async fn ask(
        &self,
        location: WebLocation,
        headers: &HeaderMap,
        left: Duration,
        cancel: &CancellationToken,
    ) -> Result<WebAnswer, FetchError> {
        let opened = self.open(location, headers, left, cancel).await?;
        if !opened.response.status().is_redirection() {
            return Ok(WebAnswer::Page(opened));
        }
        let status = opened.response.status().as_u16();
        let to = opened.response.headers().get(LOCATION);
        let to = to.map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
        let to = to.ok_or(FetchError::NoLocation(status))?;
        let location = opened.location.redirected(&to, &self.allowed);
        Ok(WebAnswer::Redirect {
            location: location.map_err(|reason| FetchError::BadRedirect {
                to,
                reason: Box::new(reason),
            })?,
            left: opened.left,
        })
    }

    async fn open(
        &self,
        location: WebLocation,
        headers: &HeaderMap,
        left: Duration,
        cancel: &CancellationToken,
    ) -> Result<OpenedResponse, FetchError> {
        let seconds = self.timeout.as_secs();
        let client = self.client(&location)?;
        let request = client
            .get(location.url.clone())
            .header(ACCEPT, WANTED)
            .header(ACCEPT_ENCODING, "identity")
            .headers(headers.clone());
        let since = Instant::now();
        let sent = tokio::select! {
            () = cancel.cancelled() => return Err(FetchError::Aborted),
            sent = timeout(left, request.send()) => sent,
        };
        let host = location.host().to_owned();
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(match refused_address(&error) {
                    Some(refused) => location.private(refused.address, refused.what),
                    None => FetchError::Unreachable {
                        host,
                        reason: deepest(&error),
                    },
                });
            }
            Err(_) => return Err(FetchError::TooSlow { host, seconds }),
        };
        Ok(OpenedResponse {
            location,
            response,
            left: left.saturating_sub(since.elapsed()),
            seconds,
        })
    }

    fn client(&self, location: &WebLocation) -> Result<&Client, FetchError> {
        let proxies = self.http.proxy_hosts();
        if location.is_allowed_private {
            return built(&self.unguarded, || self.build(None));
        }
        if proxies.iter().any(|proxy| proxy == location.host()) {
            return Err(FetchError::Proxy(location.host().to_owned()));
        }
        built(&self.guarded, || {
            self.build(Some(GuardedResolver {
                lookup: system_lookup(),
                guard: not_public,
                exempt: proxies,
            }))
        })
    }

    fn build(&self, resolver: Option<GuardedResolver>) -> Result<Client, FetchError> {
        let no_file: Option<&Path> = None;
        // A connection that waits for another page would cost memory and be used without a look at
        // its address.
        let builder = self.http.builder(no_file)?.redirect(Policy::none());
        let builder = builder.pool_max_idle_per_host(0);
        let builder = match resolver {
            Some(resolver) => builder.dns_resolver(resolver),
            None => builder,
        };
        Ok(stentor_http::finish(builder)?)
    }
}

/// What is in the cell, made if need be. Who comes second uses what the first made.
fn built(
    cell: &OnceLock<Client>,
    make: impl FnOnce() -> Result<Client, FetchError>,
) -> Result<&Client, FetchError> {
    if let Some(client) = cell.get() {
        return Ok(client);
    }
    let client = make()?;
    Ok(cell.get_or_init(|| client))
}

impl OpenedResponse {
    /// How long the body is, if the server says so.
    pub fn length(&self) -> Option<u64> {
        let length = self.response.headers().get(CONTENT_LENGTH)?;
        length.to_str().ok()?.parse().ok()
    }

    /// A body that would have to be unpacked is not read: it could unpack to anything.
    pub fn check_encoding(&self) -> Result<(), FetchError> {
        let encoding = self.response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.map(|value| String::from_utf8_lossy(value.as_bytes()));
        match encoding {
            Some(encoding) if !["", "identity"].contains(&encoding.trim()) => Err(
                FetchError::Compressed(self.location.host().to_owned(), encoding.into_owned()),
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// Reads the body up to so many bytes and not one piece further.
    pub async fn read(
        mut self,
        most_bytes: usize,
        cancel: &CancellationToken,
    ) -> Result<PageBody, FetchError> {
        let host = || self.location.host().to_owned();
        let mut bytes = Vec::new();
        let response = &mut self.response;
        let reading = async {
            while bytes.len() <= most_bytes {
                match response.chunk().await {
                    Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                    Ok(None) => break,
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        let read = tokio::select! {
            () = cancel.cancelled() => return Err(FetchError::Aborted),
            read = timeout(self.left, reading) => read,
        };
        match read {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let reason = deepest(&error);
                return Err(FetchError::Broken {
                    host: host(),
                    reason,
                });
            }
            Err(_) => {
                let seconds = self.seconds;
                return Err(FetchError::TooSlow {
                    host: host(),
                    seconds,
                });
            }
        }
        let is_whole = bytes.len() <= most_bytes;
        bytes.truncate(most_bytes);
        Ok(PageBody { bytes, is_whole })
    }
}
