//! A model behind a wire: asks over HTTP and reads the answer as it comes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use stentor_agent::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelStream,
};
use stentor_http::{Http, Limits};
use stentor_journal::clock::SharedClock;
use stentor_text::redaction::{names_a_secret, secrets_in_address};
use stentor_wire::sse::SseDecoder;
use tokio::time::{Instant, timeout};

use crate::answer::{AnswerBuilder, Decoder, StreamFault};
use crate::call::{Call, Target};
use crate::credential::{Credential, CredentialError, SharedCredentials};
use crate::echo::EchoFilter;
use crate::failure::{Asked, fault_in};
use crate::response::{Body, FirstBytes};
use crate::secret::Secret;
use crate::wire::Wire;

/// The most of an error response that is read.
const ERROR_BODY_BYTES: usize = 64 << 10;

/// The most that is read of what is known to be no answer, for the words that say so.
const NO_ANSWER_BYTES: usize = 4 << 10;
/// And how long it is waited for that.
const NO_ANSWER_TIME: Duration = Duration::from_secs(1);

/// Where a model is and how to get in.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub info: Arc<ModelInfo>,
    pub wire: Wire,
    /// Where the API is. Unlike the one in `info` it may hold a password.
    pub base_url: Secret,
    pub credentials: SharedCredentials,
    /// Sent with every request; they replace what the wire sends under the same name.
    pub headers: Vec<(String, Secret)>,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
}

impl Endpoint {
    /// The values of headers that are keys; others are words that an answer may well have.
    fn keys(&self) -> impl Iterator<Item = &Secret> {
        let headers = self.headers.iter();
        headers
            .filter(|(name, _)| names_a_secret(name))
            .map(|(_, value)| value)
    }

    fn secrets_in_address(&self) -> impl Iterator<Item = Secret> {
        let parts = secrets_in_address(self.base_url.expose()).into_iter();
        parts.map(Secret::new)
    }
}

/// A model that is asked over HTTP.
pub struct RemoteModel {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    http: Arc<Http>,
    clock: SharedClock,
}

impl RemoteModel {
    /// A model at `endpoint`. Nothing is opened until it is asked.
    pub fn new(endpoint: Endpoint, http: Arc<Http>, clock: SharedClock) -> Self {
        Self {
            shared: Arc::new(Shared {
                endpoint,
                http,
                clock,
            }),
        }
    }
}

impl Model for RemoteModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.shared.endpoint.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let begin = StreamState::Asking(Arc::clone(&self.shared), Box::new(request));
        Box::pin(stream::unfold(begin, next))
    }
}

/// How far an answer is.
enum StreamState {
    Asking(Arc<Shared>, Box<ModelRequest>),
    Reading(Box<Reading>),
    Over,
}

async fn next(state: StreamState) -> Option<(Result<ModelEvent, ModelError>, StreamState)> {
    let mut reading = match state {
        StreamState::Over => return None,
        StreamState::Reading(reading) => reading,
        StreamState::Asking(shared, request) => match shared.ask(&request).await {
            Ok(reading) => Box::new(reading),
            Err(error) => return Some((Err(error), StreamState::Over)),
        },
    };
    match reading.next().await {
        Some(Ok(event)) => Some((Ok(event), StreamState::Reading(reading))),
        Some(Err(error)) => Some((Err(error), StreamState::Over)),
        None => None,
    }
}

impl Shared {
    async fn ask(&self, request: &ModelRequest) -> Result<Reading, ModelError> {
        let mut asked = self.asked();
        let credentials = &self.endpoint.credentials;
        let credential = credentials
            .credential()
            .await
            .map_err(|error| no_credential(&asked, &error))?;
        let mut response = self.send(request, &credential, &mut asked).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(renewed) = credentials.renew(&credential).await
        {
            response = self.send(request, &renewed, &mut asked).await?;
        }
        self.check(response, asked).await
    }

    async fn send(
        &self,
        request: &ModelRequest,
        credential: &Credential,
        asked: &mut Asked,
    ) -> Result<reqwest::Response, ModelError> {
        asked.credentials.extend(credential.secret().cloned());
        let target = Target {
            info: &self.endpoint.info,
            credential,
            base_url: self.base_url(credential).trim_end_matches('/'),
        };
        let call = self.endpoint.wire.encode(target, request);
        let http_request = self.build(call, asked)?;
        let limits = self.http.limits();
        timeout(Duration::from_millis(limits.answer_ms), http_request.send())
            .await
            .map_err(|_| asked.unanswered(limits))?
            .map_err(|error| asked.unreachable(&error))
    }

    fn build(&self, call: Call, asked: &Asked) -> Result<reqwest::RequestBuilder, ModelError> {
        let invalid = |what: String| asked.plain(ModelErrorKind::InvalidRequest, &what);
        let client = self
            .http
            .client(self.endpoint.ca_file.as_deref())
            .map_err(|error| invalid(error.to_string()))?;
        let mut request = client
            .post(&call.url)
            .header(CONTENT_TYPE, "application/json");
        let mut headers = reqwest::header::HeaderMap::new();
        let own = call
            .headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let configured = self.endpoint.headers.iter();
        let configured = configured.map(|(name, value)| (name.clone(), value.expose().to_owned()));
        for (name, value) in own.chain(configured) {
            let wrong = || {
                invalid(format!(
                    "`{name}` is not a usable header; check the key and the configured headers"
                ))
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        request = request.headers(headers);
        Ok(request.body(call.body))
    }

    async fn check(
        &self,
        mut response: reqwest::Response,
        asked: Asked,
    ) -> Result<Reading, ModelError> {
        let limits = *self.http.limits();
        let status = response.status();
        let body = Body::announced(status, response.headers());
        if status.is_success() && body == Body::Events {
            return Ok(Reading {
                response,
                events: SseDecoder::new(limits.event_bytes),
                first_bytes: FirstBytes::default(),
                waited: Duration::ZERO,
                decoder: self.endpoint.wire.decoder(),
                answer: AnswerBuilder::new(),
                echo: EchoFilter::new(self.endpoint.keys().chain(&asked.credentials)),
                asked,
                limits,
                failed: None,
            });
        }
        let text = match (&body, status.is_success()) {
            (Body::Events | Body::Json, _) | (_, false) => body_of(&mut response, &limits).await,
            (Body::Html | Body::Nothing | Body::Compressed(_), true) => {
                beginning_of(&mut response).await
            }
        };
        if status.is_success() {
            return Err(match body {
                Body::Json => {
                    // A server that answers 200 and then explains why it does not answer.
                    let value = serde_json::from_slice(&text).unwrap_or_default();
                    asked.broken(StreamFault::Provider(fault_in(&value)))
                }
                Body::Events | Body::Nothing | Body::Html | Body::Compressed(_) => {
                    asked.no_answer(status.as_u16(), &body.description(&text))
                }
            });
        }
        let body = text;
        let now_ms = self.clock.now_ms();
        Err(asked.refused(status.as_u16(), response.headers(), &body, now_ms))
    }

    fn asked(&self) -> Asked {
        let endpoint = &self.endpoint;
        Asked {
            provider: endpoint.info.provider.clone(),
            model: endpoint.info.id.clone(),
            login_hint: endpoint.credentials.hint(),
            credentials: Vec::new(),
            secrets: endpoint
                .headers
                .iter()
                .map(|(_, value)| value.clone())
                .chain(endpoint.secrets_in_address())
                .collect(),
        }
    }

    fn base_url<'a>(&'a self, credential: &'a Credential) -> &'a str {
        match credential {
            Credential::Bearer {
                base_url: Some(url),
                ..
            } => url,
            Credential::None | Credential::ApiKey(_) | Credential::Bearer { .. } => {
                self.endpoint.base_url.expose()
            }
        }
    }
}

fn no_credential(asked: &Asked, error: &CredentialError) -> ModelError {
    let kind = match error {
        CredentialError::Refresh { .. } => ModelErrorKind::Network,
        CredentialError::Command { .. }
        | CredentialError::Missing { .. }
        | CredentialError::Expired { .. } => ModelErrorKind::Auth,
    };
    ModelError::new(kind, format!("{}/{}: {error}", asked.provider, asked.model))
}

/// The body of an error response, as far as it comes and is worth reading.
async fn body_of(response: &mut reqwest::Response, limits: &Limits) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES {
        let patience = Duration::from_millis(limits.silence_ms);
        match timeout(patience, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    body.truncate(ERROR_BODY_BYTES);
    body
}

/// The beginning of a body that is no answer: its head has said so, and the rest may never come.
async fn beginning_of(response: &mut reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < NO_ANSWER_BYTES
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend_from_slice(&chunk);
        }
    };
    // What has come by then will do.
    let _ = timeout(NO_ANSWER_TIME, reading).await;
    body.truncate(NO_ANSWER_BYTES);
    body
}

/// An answer that is coming in.
struct Reading {
    response: reqwest::Response,
    events: SseDecoder,
    /// What came before the first event, in case none comes.
    first_bytes: FirstBytes,
    /// How long it was waited since the last event. Comments, which servers send to keep a
    /// connection, are no sign that the model still works.
    waited: Duration,
    decoder: Box<dyn Decoder>,
    answer: AnswerBuilder,
    echo: EchoFilter,
    asked: Asked,
    limits: Limits,
    /// Reported once everything that came before it has been.
    failed: Option<ModelError>,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.echo.pop() {
                return Some(Ok(event));
            }
            if let Some(event) = self.answer.pop() {
                self.echo.push(event);
                continue;
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            if self.answer.is_finished() {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.failed = Some(error);
                self.echo.flush();
            }
        }
    }

    /// Takes the next event out of what has arrived, or waits for more.
    async fn advance(&mut self) -> Result<(), ModelError> {
        let since = Instant::now();
        if self.decode_one()? {
            return Ok(());
        }
        let limit = Duration::from_millis(self.limits.silence_ms);
        let patience = limit.saturating_sub(self.waited);
        // Whoever sends comments without a pause is never waited for.
        let next = match patience.is_zero() {
            true => None,
            false => timeout(patience, self.response.chunk()).await.ok(),
        };
        self.waited += since.elapsed();
        let broken = match next {
            Some(Ok(Some(chunk))) => {
                self.first_bytes.push(&chunk);
                self.events.push(&chunk);
                return Ok(());
            }
            Some(Ok(None)) => None,
            Some(Err(error)) => Some(self.asked.lost(&error)),
            None => Some(self.asked.silent(self.limits.silence_ms)),
        };
        self.end_of_input(broken)
    }

    /// Nothing more will come. An answer that says it is complete is complete, however the
    /// connection ended.
    fn end_of_input(&mut self, broken: Option<ModelError>) -> Result<(), ModelError> {
        if broken.is_none() {
            self.events.finish();
            while !self.answer.is_finished() && self.decode_one()? {}
        }
        if self.answer.is_finished() {
            return Ok(());
        }
        if broken.is_none()
            && let Some(body) = self.first_bytes.instead_of_events()
        {
            let status = self.response.status().as_u16();
            return Err(self.asked.no_answer(status, &body));
        }
        self.decoder
            .closed(&mut self.answer)
            .map_err(|fault| broken.unwrap_or_else(|| self.asked.broken(fault)))
    }

    fn decode_one(&mut self) -> Result<bool, ModelError> {
        let event = self
            .events
            .next_event()
            .map_err(|error| self.asked.broken(error.into()))?;
        let Some(event) = event else {
            return Ok(false);
        };
        self.waited = Duration::ZERO;
        self.first_bytes.seen_event();
        self.decoder
            .event(event.name, event.data, &mut self.answer)
            .map_err(|fault| self.asked.broken(fault))?;
        if self.decoder.held_bytes() > self.limits.event_bytes {
            let limit = self.limits.event_bytes;
            let what = format!("more than {limit} bytes of it arrived out of order");
            return Err(self.asked.broken(StreamFault::TooLong(what)));
        }
        if self.answer.is_drained() {
            self.answer.nothing();
        }
        Ok(true)
    }
}
