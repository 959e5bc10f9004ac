//! Asking configured providers for their models: which they have, and whether they answer at all.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use stentor_agent::model::ModelInfo;
use stentor_http::{Http, HttpError, deepest};
use stentor_journal::clock::SharedClock;

use super::model_list::ListForm;
use super::providers::Provider;
use super::windows::{LIMIT_OF_ALL, ServerModel, Windows};
use crate::configuration::ModelConfiguration;
use crate::credential::{Credential, CredentialError, SharedCredentials};
use crate::hosted::is_hosted;

/// Nobody waits longer for a list of models, but a test on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });
/// How long an answer is remembered.
const MEMORY_MS: u64 = 30_000;
/// A list of models is shorter than this.
const LONGEST_ANSWER_BYTES: usize = 4 << 20;

/// What a provider said, or why it said nothing.
pub(super) type ModelListResult = Result<Vec<Arc<ModelInfo>>, String>;

/// A provider that is to be asked, and what gets one in there.
pub(super) struct ModelListRequest {
    pub provider: Provider,
    pub form: ListForm,
    pub credentials: Option<SharedCredentials>,
}

/// Why a provider gave no list.
#[derive(Debug, thiserror::Error)]
enum ModelListError {
    #[error("it does not answer within {} s", .0.as_secs_f32())]
    TooSlow(Duration),
    #[error(transparent)]
    Client(#[from] HttpError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error("`{0}` is not a usable header; check the key and the configured headers")]
    Header(String),
    #[error("it does not answer: {}", deepest(.0))]
    NoAnswer(#[from] reqwest::Error),
    #[error("it answers {0}")]
    Status(StatusCode),
    #[error("its answer is not a list of models")]
    NoList,
    #[error("its answer is longer than {} MiB", LONGEST_ANSWER_BYTES >> 20)]
    TooLong,
}

impl ModelListError {
    /// True when the provider answers and has no list, or none that is understood.
    fn is_only_no_list(&self) -> bool {
        match self {
            Self::Status(status) => {
                matches!(
                    *status,
                    StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
                )
            }
            Self::NoList | Self::TooLong => true,
            Self::TooSlow(_)
            | Self::Client(_)
            | Self::Credential(_)
            | Self::Header(_)
            | Self::NoAnswer(_) => false,
        }
    }
}

/// Asks providers when somebody wants to know, and remembers for a while what they said.
pub(super) struct AskedProviders {
    shared: Arc<ModelListsShared>,
    clock: SharedClock,
}

struct ModelListsShared {
    http: Arc<Http>,
    memory: Mutex<HashMap<String, ProviderMemory>>,
    /// A provider has answered, or has not in time.
    answered: Condvar,
}

/// What is known of one provider.
#[derive(Default)]
struct ProviderMemory {
    is_being_asked: bool,
    /// It has given its list and is asked only what its models hold.
    has_listed: bool,
    /// What it said last, and when.
    last: Option<(u64, ModelListResult)>,
}

impl AskedProviders {
    pub(super) fn new(http: Arc<Http>, clock: SharedClock) -> Self {
        let shared = ModelListsShared {
            http,
            memory: Mutex::default(),
            answered: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
            clock,
        }
    }

    /// What these providers say, all asked at once. Waits for them, but no longer than `patience`:
    /// what comes later is there for who asks next. One that has given its list by then answers, so
    /// that what its models hold is waited for, too; those questions have a limit of their own.
    pub(super) fn ask(
        &self,
        questions: Vec<ModelListRequest>,
        patience: Duration,
    ) -> HashMap<String, ModelListResult> {
        let until = Instant::now() + patience;
        let now_ms = self.clock.now_ms();
        let ids: Vec<String> = questions
            .iter()
            .map(|question| question.provider.id.clone())
            .collect();
        let due = self.shared.due(questions, now_ms);
        for question in due {
            let answer = ProviderAnswer {
                shared: Arc::clone(&self.shared),
                id: question.provider.id.clone(),
                at_ms: now_ms,
                said: None,
            };
            // Where there can be no thread, the answer is dropped, which says that there is none.
            let thread = std::thread::Builder::new();
            let _ = thread.spawn(move || answer.of(&question));
        }
        let mut memory = self.shared.memory();
        let is_open = |memory: &HashMap<String, ProviderMemory>, is_late: bool| {
            let mut all = ids.iter().filter_map(|id| memory.get(id));
            all.any(|known| known.is_being_asked && (known.has_listed || !is_late))
        };
        let latest = until + LIMIT_OF_ALL;
        loop {
            let now = Instant::now();
            let end = if now < until { until } else { latest };
            if now >= latest || !is_open(&memory, now >= until) {
                break;
            }
            let left = end.saturating_duration_since(now);
            let waited = self.shared.answered.wait_timeout(memory, left);
            (memory, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let answers = ids.into_iter().map(|id| {
            let last = memory.get(&id).and_then(|known| known.last.as_ref());
            let answer = match last {
                Some((_, answer)) => answer.clone(),
                None => Err(ModelListError::TooSlow(patience).to_string()),
            };
            (id, answer)
        });
        answers.collect()
    }

    /// What a provider said a while ago, if it was asked.
    pub(super) fn remembered(&self, provider: &str) -> Option<ModelListResult> {
        let memory = self.shared.memory();
        let (_, answer) = memory.get(provider)?.last.as_ref()?;
        Some(answer.clone())
    }
}

impl ModelListsShared {
    fn memory(&self) -> MutexGuard<'_, HashMap<String, ProviderMemory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that nobody asks already and whose last answer is too old, or missing. They count as
    /// being asked from now on.
    fn due(&self, questions: Vec<ModelListRequest>, now_ms: u64) -> Vec<ModelListRequest> {
        let mut memory = self.memory();
        let is_fresh =
            |(at_ms, _): &(u64, ModelListResult)| now_ms.saturating_sub(*at_ms) < MEMORY_MS;
        let mut is_due = |question: &ModelListRequest| {
            let known = memory.entry(question.provider.id.clone()).or_default();
            let is_known = known.is_being_asked || known.last.as_ref().is_some_and(is_fresh);
            known.is_being_asked = known.is_being_asked || !is_known;
            !is_known
        };
        questions.into_iter().filter(|one| is_due(one)).collect()
    }
}

/// The answer of a provider that is being asked. Whoever waits for it is woken in any case.
struct ProviderAnswer {
    shared: Arc<ModelListsShared>,
    id: String,
    at_ms: u64,
    said: Option<ModelListResult>,
}

impl ProviderAnswer {
    fn of(mut self, question: &ModelListRequest) {
        self.said = Some(ask_one(&self.shared.http, question, || self.has_listed()));
    }

    fn has_listed(&self) {
        if let Some(known) = self.shared.memory().get_mut(&self.id) {
            known.has_listed = true;
        }
    }
}

impl Drop for ProviderAnswer {
    fn drop(&mut self) {
        let said = self.said.take();
        let said = said.unwrap_or_else(|| Err("it could not be asked".to_owned()));
        let known = ProviderMemory {
            is_being_asked: false,
            has_listed: false,
            last: Some((self.at_ms, said)),
        };
        self.shared.memory().insert(self.id.clone(), known);
        self.shared.answered.notify_all();
    }
}

fn ask_one(http: &Http, question: &ModelListRequest, has_listed: impl FnOnce()) -> ModelListResult {
    let provider = &question.provider;
    // A thread of its own may have a runtime of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let listed = runtime.block_on(async {
        match tokio::time::timeout(LIMIT, list(http, question)).await {
            Ok(listed) => listed,
            Err(_) => Err(ModelListError::TooSlow(LIMIT)),
        }
    });
    let listed = match listed {
        // What somebody has described can be used without a list.
        Err(error) if error.is_only_no_list() && !provider.models.is_empty() => Vec::new(),
        listed => listed.map_err(|error| error.to_string())?,
    };
    has_listed();
    let windows = Windows::at(&provider.base_url, &listed);
    let is_hosted = is_hosted(&provider.base_url);
    let to_info = |model: ServerModel| {
        // What a hosted model holds that nobody says is known well enough.
        let says = !is_hosted || windows.knows(&model);
        let entry = ModelConfiguration {
            context_window: says.then(|| windows.window_of(&model)),
            id: model.id,
            ..ModelConfiguration::default()
        };
        Arc::new(entry.to_info(&provider.id, &provider.api, &provider.base_url))
    };
    Ok(listed.into_iter().map(to_info).collect())
}

async fn list(
    http: &Http,
    question: &ModelListRequest,
) -> Result<Vec<ServerModel>, ModelListError> {
    let provider = &question.provider;
    let client = http.client(provider.ca_file.as_deref())?;
    let credential = match &question.credentials {
        Some(credentials) => credentials.credential().await?,
        None => Credential::None,
    };
    let own = question.form.headers(&credential).into_iter();
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let configured = provider.headers.iter();
    let configured = configured.map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let mut headers = HeaderMap::new();
    for (name, value) in own.chain(configured) {
        let key = HeaderName::from_bytes(name.as_bytes());
        let (Ok(key), Ok(mut value)) = (key, HeaderValue::from_str(&value)) else {
            return Err(ModelListError::Header(name));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let base_url = match &credential {
        Credential::Bearer {
            base_url: Some(given),
            ..
        } => given,
        Credential::Bearer { .. } | Credential::None | Credential::ApiKey(_) => &provider.base_url,
    };
    let address = question.form.address(base_url.trim_end_matches('/'));
    let mut response = client.get(address).headers(headers).send().await?;
    let status = response.status();
    if !status.is_success() {
        return Err(ModelListError::Status(status));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST_ANSWER_BYTES {
            return Err(ModelListError::TooLong);
        }
    }
    question
        .form
        .read(&bytes)
        .map_err(|_| ModelListError::NoList)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use stentor_journal::clock::CountingClock;

    use super::super::providers::ConfiguredCredential;
    use super::*;

    fn question(address: std::net::SocketAddr) -> ModelListRequest {
        let provider = Provider {
            id: "acme".to_owned(),
            api: "openai-completions".to_owned(),
            base_url: format!("http://{address}/v1"),
            headers: Vec::new(),
            ca_file: None,
            server_tools: Arc::new([]),
            credential: ConfiguredCredential::Missing,
            has_login: false,
            hint: String::new(),
            models: Vec::new(),
            unknown_windows: Vec::new(),
            warnings: Vec::new(),
        };
        ModelListRequest {
            provider,
            form: ListForm::OpenAi,
            credentials: None,
        }
    }

    #[test]
    fn what_the_models_hold_is_waited_for_once_they_are_listed() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (listed, is_listed) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let list = r#"{"data":[{"id":"mine"}]}"#;
            let properties = r#"{"default_generation_settings":{"n_ctx":4096}}"#;
            for body in [list, properties] {
                let (mut socket, _) = listener.accept().unwrap();
                let _ = socket.read(&mut [0; 1024]);
                if body == properties {
                    listed.send(()).unwrap();
                    // Long enough for somebody to ask who does not wait for a list.
                    std::thread::sleep(Duration::from_millis(50));
                }
                let length = body.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}");
                let _ = socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
            }
        });
        let http = Arc::new(Http::new(stentor_http::HttpSettings::default()));
        let asked = AskedProviders::new(http, Arc::new(CountingClock::starting_at(1000)));
        asked.ask(vec![question(address)], Duration::ZERO);
        is_listed.recv().unwrap();
        let mut answers = asked.ask(vec![question(address)], Duration::ZERO);
        let models = answers.remove("acme").unwrap().unwrap();
        assert_eq!(models[0].context_window, 4096);
    }

    #[test]
    fn an_answer_without_an_end_is_given_up() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // It goes on until nobody listens any more.
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            while socket.write_all(&[b' '; 1 << 16]).is_ok() {}
        });
        let question = question(address);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let http = Http::new(stentor_http::HttpSettings::default());
        let listed = runtime.block_on(list(&http, &question));
        // What the client has open ends with it.
        drop((http, runtime));
        let error = listed.err().unwrap();
        assert_eq!(error.to_string(), "its answer is longer than 4 MiB");
        server.join().unwrap();
    }
}
