//! A model behind a wire: asks over HTTP and reads the answer as it comes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use stentor_agent::model::{
    CallStream, Model, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest,
    ModelStream, Purpose,
};
use stentor_http::{Http, HttpLimits};
use stentor_journal::clock::SharedClock;
use stentor_journal::message::ToolCall;
use stentor_text::redaction::{names_a_secret, secrets_in_address};
use stentor_wire::sse::SseDecoder;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

use crate::answer::{AnswerBuilder, StreamFault};
use crate::call::{CallTarget, HttpCall};
use crate::credential::{Credential, CredentialError, SharedCredentials};
use crate::echo::EchoFilter;
use crate::failure::{AskedModel, fault_in};
use crate::held_answer::HeldAnswers;
use crate::reading::ResponseReading;
use crate::response::{FirstBytes, ResponseBody};
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
pub struct ModelEndpoint {
    pub info: Arc<ModelInfo>,
    pub wire: Wire,
    /// Where the API is. Unlike the one in `info` it may hold a password.
    pub base_url: Secret,
    pub credentials: SharedCredentials,
    /// Sent with every request; they replace what the wire sends under the same name.
    pub headers: Vec<(String, Secret)>,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Tools that the provider runs itself, in the words of its API.
    pub server_tools: Arc<[Value]>,
}

impl ModelEndpoint {
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
    shared: Arc<RemoteShared>,
    held: HeldAnswers,
}

struct RemoteShared {
    endpoint: ModelEndpoint,
    http: Arc<Http>,
    clock: SharedClock,
}

impl RemoteModel {
    /// A model at `endpoint`. Nothing is opened until it is asked.
    pub fn new(endpoint: ModelEndpoint, http: Arc<Http>, clock: SharedClock) -> Self {
        Self {
            shared: Arc::new(RemoteShared {
                endpoint,
                http,
                clock,
            }),
            held: HeldAnswers::default(),
        }
    }
}

impl Model for RemoteModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.shared.endpoint.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let held = self.held.clone();
        let begin = match held.take_for(&request) {
            Some(reading) => StreamState::Held(reading),
            None => StreamState::Asking(Arc::clone(&self.shared), Box::new(request)),
        };
        Box::pin(stream::unfold((begin, held), async |(state, held)| {
            let (event, state) = next(state, &held).await?;
            Some((event, (state, held)))
        }))
    }

    fn runs_itself(&self, call: &ToolCall) -> bool {
        self.held.has(&call.id)
    }

    fn elsewhere(&self, call: &ToolCall) -> Option<CallStream> {
        self.held.follow(&call.id)
    }

    fn takes_messages(&self) -> bool {
        !self.held.is_incomplete()
    }

    fn run_ended(&self) {
        self.held.clear();
    }
}

/// How far an answer is.
enum StreamState {
    Asking(Arc<RemoteShared>, Box<ModelRequest>),
    Held(Arc<Mutex<ResponseReading>>),
    Reading(OwnedMutexGuard<ResponseReading>),
    Over,
}

async fn next(
    state: StreamState,
    held: &HeldAnswers,
) -> Option<(Result<ModelEvent, ModelError>, StreamState)> {
    let mut reading = match state {
        StreamState::Over => return None,
        StreamState::Held(reading) => reading.lock_owned().await,
        StreamState::Reading(reading) => reading,
        StreamState::Asking(shared, request) => match shared.ask(&request).await {
            Ok(reading) => Arc::new(Mutex::new(reading)).lock_owned().await,
            Err(error) => return Some((Err(error), StreamState::Over)),
        },
    };
    let event = reading.next().await?;
    let state = match &event {
        Ok(ModelEvent::Finished(_)) => {
            held.hold(reading);
            StreamState::Over
        }
        Ok(_) => StreamState::Reading(reading),
        Err(_) => StreamState::Over,
    };
    Some((event, state))
}

impl RemoteShared {
    async fn ask(&self, request: &ModelRequest) -> Result<ResponseReading, ModelError> {
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
        self.check(response, asked, request.purpose).await
    }

    async fn send(
        &self,
        request: &ModelRequest,
        credential: &Credential,
        asked: &mut AskedModel,
    ) -> Result<reqwest::Response, ModelError> {
        asked.credentials.extend(credential.secret().cloned());
        let target = CallTarget {
            info: &self.endpoint.info,
            credential,
            base_url: self.base_url(credential).trim_end_matches('/'),
            server_tools: &self.endpoint.server_tools,
        };
        let call = self.endpoint.wire.encode(target, request);
        let http_request = self.build(call, asked)?;
        let limits = self.http.limits();
        timeout(Duration::from_millis(limits.answer_ms), http_request.send())
            .await
            .map_err(|_| asked.unanswered(limits))?
            .map_err(|error| asked.unreachable(&error))
    }

    fn build(
        &self,
        call: HttpCall,
        asked: &AskedModel,
    ) -> Result<reqwest::RequestBuilder, ModelError> {
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
        asked: AskedModel,
        purpose: Purpose,
    ) -> Result<ResponseReading, ModelError> {
        let limits = *self.http.limits();
        let status = response.status();
        let body = ResponseBody::announced(status, response.headers());
        if status.is_success() && body == ResponseBody::Events {
            return Ok(ResponseReading {
                response,
                events: SseDecoder::new(limits.event_bytes),
                first_bytes: FirstBytes::default(),
                waited: Duration::ZERO,
                decoder: self.endpoint.wire.decoder(),
                answer: match purpose {
                    Purpose::WebSearch => AnswerBuilder::listing_sources(),
                    Purpose::Compaction | Purpose::Aside => AnswerBuilder::hiding_server_calls(),
                    Purpose::Turn => AnswerBuilder::new(),
                },
                echo: EchoFilter::new(self.endpoint.keys().chain(&asked.credentials)),
                asked,
                limits,
                failed: None,
            });
        }
        let text = match (&body, status.is_success()) {
            (ResponseBody::Events | ResponseBody::Json, _) | (_, false) => {
                body_of(&mut response, &limits).await
            }
            (ResponseBody::Html | ResponseBody::Nothing | ResponseBody::Compressed(_), true) => {
                beginning_of(&mut response).await
            }
        };
        if status.is_success() {
            return Err(match body {
                ResponseBody::Json => {
                    // A server that answers 200 and then explains why it does not answer.
                    let value = serde_json::from_slice(&text).unwrap_or_default();
                    asked.broken(StreamFault::Provider(fault_in(&value)))
                }
                ResponseBody::Events
                | ResponseBody::Nothing
                | ResponseBody::Html
                | ResponseBody::Compressed(_) => {
                    asked.no_answer(status.as_u16(), &body.description(&text))
                }
            });
        }
        let body = text;
        let now_ms = self.clock.now_ms();
        Err(asked.refused(status.as_u16(), response.headers(), &body, now_ms))
    }

    fn asked(&self) -> AskedModel {
        let endpoint = &self.endpoint;
        AskedModel {
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

fn no_credential(asked: &AskedModel, error: &CredentialError) -> ModelError {
    let kind = match error {
        CredentialError::Refresh { .. } => ModelErrorKind::Network,
        CredentialError::Command { .. }
        | CredentialError::Missing { .. }
        | CredentialError::Expired { .. } => ModelErrorKind::Auth,
    };
    ModelError::new(kind, format!("{}/{}: {error}", asked.provider, asked.model))
}

/// The body of an error response, as far as it comes and is worth reading.
async fn body_of(response: &mut reqwest::Response, limits: &HttpLimits) -> Vec<u8> {
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
