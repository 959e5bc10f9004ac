//! Asking configured providers for their models: which they have, and whether they answer at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use stentor_agent::model::ModelInfo;
use stentor_http::{Http, HttpError, deepest};
use stentor_journal::clock::SharedClock;

use super::providers::Provider;
use super::windows::{ListedModel, ModelList, Windows};
use crate::configuration::ModelConfiguration;
use crate::credential::{Credential, CredentialError};
use crate::wire::Wire;

/// Nobody waits longer for a list of models.
const LIMIT: Duration = Duration::from_secs(2);
/// How long an answer is remembered.
const MEMORY_MS: u64 = 30_000;
/// A list of models is shorter than this.
const LONGEST_ANSWER_BYTES: usize = 4 << 20;

/// What a provider said, or why it said nothing.
pub(super) type Asked = Result<Vec<Arc<ModelInfo>>, String>;

/// Why a provider gave no list.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("it does not answer within {} s", LIMIT.as_secs())]
    TooSlow,
    #[error(transparent)]
    Client(#[from] HttpError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error("it does not answer: {}", deepest(.0))]
    NoAnswer(#[from] reqwest::Error),
    #[error("it answers {0}")]
    Status(StatusCode),
    #[error("what it answers is no list of models")]
    NoList,
}

impl AskError {
    /// True when the provider answers and has no list, or none that is understood.
    fn is_only_no_list(&self) -> bool {
        match self {
            Self::Status(status) => {
                matches!(
                    *status,
                    StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
                )
            }
            Self::NoList => true,
            Self::TooSlow | Self::Client(_) | Self::Credential(_) | Self::NoAnswer(_) => false,
        }
    }
}

/// Asks providers when somebody wants to know, and remembers for a while what they said.
pub(super) struct AskedProviders {
    http: Arc<Http>,
    clock: SharedClock,
    remembered: Mutex<HashMap<String, (u64, Asked)>>,
}

impl AskedProviders {
    pub(super) fn new(http: Arc<Http>, clock: SharedClock) -> Self {
        Self {
            http,
            clock,
            remembered: Mutex::default(),
        }
    }

    /// What these providers say, all asked at once. Waits for them.
    pub(super) fn ask(&self, providers: &[&Provider]) -> HashMap<String, Asked> {
        let now_ms = self.clock.now_ms();
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        remembered.retain(|_, (at_ms, _)| now_ms.saturating_sub(*at_ms) < MEMORY_MS);
        let unknown = providers
            .iter()
            .filter(|one| !remembered.contains_key(&one.id));
        let answers: Vec<(String, Asked)> = std::thread::scope(|scope| {
            let asked: Vec<_> = unknown
                .map(|provider| scope.spawn(|| (provider.id.clone(), self.ask_one(provider))))
                .collect();
            let answers = asked.into_iter().map(std::thread::ScopedJoinHandle::join);
            answers.filter_map(Result::ok).collect()
        });
        for (id, answer) in answers {
            remembered.insert(id, (now_ms, answer));
        }
        let wanted = providers.iter().filter_map(|provider| {
            let (_, answer) = remembered.get(&provider.id)?;
            Some((provider.id.clone(), answer.clone()))
        });
        wanted.collect()
    }

    /// What a provider said a while ago, if it was asked.
    pub(super) fn remembered(&self, provider: &str) -> Option<Asked> {
        let remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        remembered.get(provider).map(|(_, answer)| answer.clone())
    }

    fn ask_one(&self, provider: &Provider) -> Asked {
        // A thread of its own may have a runtime of its own.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let listed = runtime.block_on(async {
            match tokio::time::timeout(LIMIT, self.list(provider)).await {
                Ok(listed) => listed,
                Err(_) => Err(AskError::TooSlow),
            }
        });
        let listed = match listed {
            // What somebody has described can be used without a list.
            Err(error) if error.is_only_no_list() && !provider.models.is_empty() => Vec::new(),
            listed => listed.map_err(|error| error.to_string())?,
        };
        let windows = Windows::at(&provider.base_url, &listed);
        let to_info = |model: ListedModel| {
            let entry = ModelConfiguration {
                context_window: Some(windows.window_of(&model)),
                id: model.id,
                ..ModelConfiguration::default()
            };
            Arc::new(entry.to_info(&provider.id, &provider.api, &provider.base_url))
        };
        Ok(listed.into_iter().map(to_info).collect())
    }

    async fn list(&self, provider: &Provider) -> Result<Vec<ListedModel>, AskError> {
        let client = self.http.client(provider.ca_file.as_deref())?;
        let mut request = client.get(format!("{}/models", provider.base_url));
        for (name, value) in &provider.headers {
            request = request.header(name, value.expose());
        }
        if let Some(credentials) = provider.credential.credentials(&provider.hint) {
            match credentials.credential().await? {
                Credential::None => {}
                Credential::ApiKey(key) => request = request.bearer_auth(key.expose()),
                Credential::Bearer { token, .. } => request = request.bearer_auth(token.expose()),
            }
        }
        let response = request.send().await?;
        let status = response.status();
        if !status.is_success() {
            return Err(AskError::Status(status));
        }
        let bytes = response.bytes().await?;
        let bytes = bytes
            .get(..LONGEST_ANSWER_BYTES.min(bytes.len()))
            .unwrap_or_default();
        let list: ModelList = serde_json::from_slice(bytes).map_err(|_| AskError::NoList)?;
        Ok(list.data)
    }
}

/// True for a provider that has a list of models to ask for.
pub(super) fn can_be_asked(provider: &Provider) -> bool {
    let wire = Wire::from_api(&provider.api);
    let lists = matches!(wire, Some(Wire::OpenAiChat | Wire::OpenAiResponses));
    lists && !provider.base_url.is_empty() && provider.credential.reason().is_some()
}
