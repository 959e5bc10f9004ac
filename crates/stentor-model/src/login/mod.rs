//! Logging in at providers, step by step.
//!
//! A login has two steps, so that a terminal and a protocol can both drive it: [`Logins::begin`]
//! says where a person has to go, [`Logins::complete`] waits until they have been there, or takes
//! what they paste.

mod source;
mod store;
mod tokens;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::Url;
use stentor_http::Http;
use stentor_journal::clock::SharedClock;
use stentor_oauth::{
    CallbackServer, NoRandomness, PasteError, Proof, Returned, pasted_code, random_text,
};

pub use self::source::LoginCredentials;
pub use self::store::{LoginStore, StoreError, StoreLock, StoredLogin};
use self::tokens::{Approval, DeviceCode, TokenEndpoint};
use crate::configuration::OAuthConfiguration;

/// Why a login did not work.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("there is no login for `{provider}`; available: {known}")]
    UnknownProvider { provider: String, known: String },
    #[error("no login for {provider} is in progress; start one first")]
    NotBegun { provider: String },
    #[error("the login for {provider} was refused: {reason}")]
    Refused { provider: String, reason: String },
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable { provider: String, reason: String },
    #[error(transparent)]
    Pasted(#[from] PasteError),
    #[error(
        "cannot wait for this login: paste the address the browser was redirected to, or \
         `code#state`"
    )]
    NothingToWaitFor,
    #[error("the login for {provider} was cancelled")]
    Cancelled { provider: String },
    #[error("the code for {provider} has expired; start again")]
    TooLate { provider: String },
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A provider one can log in at.
#[derive(Debug, Clone)]
pub struct LoginProvider {
    pub id: String,
    pub name: String,
    pub oauth: OAuthConfiguration,
    pub ca_file: Option<PathBuf>,
}

/// Where a person has to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginStep {
    pub provider: String,
    /// To be opened in a browser.
    pub url: String,
    /// True when [`Logins::complete`] can wait; otherwise something must be pasted.
    pub uses_callback_server: bool,
    /// What a person has to type there.
    pub user_code: Option<String>,
    /// Tells this login from others.
    pub state: String,
    /// What to do, in words.
    pub instructions: String,
}

/// What completes a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginInput {
    /// Wait for the browser to come back, or for the approval on another device.
    Wait,
    /// `code#state`, or the address the browser was sent to.
    Pasted(String),
}

/// Whether one is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginStatus {
    pub id: String,
    pub name: String,
    pub logged_in: bool,
    pub account: Option<String>,
    pub expires_at_ms: Option<u64>,
}

/// The logins of one user.
pub struct Logins {
    providers: Vec<Arc<LoginProvider>>,
    /// A provider's name to the one whose login it uses.
    aliases: HashMap<String, String>,
    store: LoginStore,
    http: Arc<Http>,
    clock: SharedClock,
    /// At most one login per provider is under way; a new one replaces it.
    pending: Mutex<HashMap<String, Arc<LoginInProgress>>>,
}

struct LoginInProgress {
    state: String,
    way: LoginFlow,
}

enum LoginFlow {
    Browser {
        proof: Proof,
        redirect: String,
        server: Option<CallbackServer>,
    },
    Device(DeviceCode),
}

/// Where a browser is sent back to when the configuration does not say.
const USUAL_REDIRECT: &str = "http://localhost:0/callback";

/// The providers whose logins and keys are forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenLogins {
    pub logins: Vec<String>,
    pub keys: Vec<String>,
}

impl Logins {
    /// Logins at `providers`, kept in `store`.
    pub fn new(
        providers: Vec<LoginProvider>,
        aliases: HashMap<String, String>,
        store: LoginStore,
        http: Arc<Http>,
        clock: SharedClock,
    ) -> Self {
        Self {
            providers: providers.into_iter().map(Arc::new).collect(),
            aliases,
            store,
            http,
            clock,
            pending: Mutex::default(),
        }
    }

    /// The providers one can log in at, and whether one is.
    pub fn status(&self) -> Result<Vec<LoginStatus>, LoginError> {
        let logins = self.store.all()?;
        let status = |provider: &Arc<LoginProvider>| {
            let login = logins.get(&provider.id);
            LoginStatus {
                id: provider.id.clone(),
                name: provider.name.clone(),
                logged_in: login.is_some(),
                account: login.and_then(|login| login.account.clone()),
                expires_at_ms: login.and_then(|login| login.expires_at_ms),
            }
        };
        Ok(self.providers.iter().map(status).collect())
    }

    /// Begins a login.
    pub async fn begin(&self, provider: &str) -> Result<LoginStep, LoginError> {
        let provider = self.provider(provider)?;
        // A login begun before gives up its port.
        self.lock_pending().remove(&provider.id);
        let state = random_text()?;
        let (step, way) = match &provider.oauth.device_url {
            Some(url) => self.begin_device(&provider, url, &state).await?,
            None => self.begin_browser(&provider, &state).await?,
        };
        let pending = Arc::new(LoginInProgress { state, way });
        self.lock_pending().insert(provider.id.clone(), pending);
        Ok(step)
    }

    /// Completes the login that was begun at `provider`.
    ///
    /// Waiting has no end of its own: drop it to give up, or call this again with what was pasted
    /// while it waits.
    pub async fn complete(&self, provider: &str, input: LoginInput) -> Result<(), LoginError> {
        let provider = self.provider(provider)?;
        let pending = self.lock_pending().get(&provider.id).cloned();
        let pending = pending.ok_or_else(|| LoginError::NotBegun {
            provider: provider.id.clone(),
        })?;
        let endpoint = self.endpoint(&provider);
        let login = match &pending.way {
            LoginFlow::Browser {
                proof,
                redirect,
                server,
            } => {
                let code = match input {
                    LoginInput::Pasted(text) => pasted_code(&text, &pending.state)?,
                    LoginInput::Wait => wait_for_browser(server.as_ref(), &provider.id).await?,
                };
                let state = &pending.state;
                endpoint
                    .redeem(&code, state, &proof.verifier, redirect)
                    .await?
            }
            LoginFlow::Device(code) => wait_for_approval(&endpoint, code).await?,
        };
        let lock = self.store.lock().await?;
        self.store.put(&lock, &provider.id, &login)?;
        self.lock_pending().remove(&provider.id);
        Ok(())
    }

    /// Takes over the logins that were begun at `other`.
    pub fn take_over(&self, other: &Self) {
        let begun = other.lock_pending().clone();
        self.lock_pending().extend(begun);
    }

    /// Gives up a login that was begun.
    pub fn cancel(&self, provider: &str) {
        if let Ok(provider) = self.provider(provider) {
            self.lock_pending().remove(&provider.id);
        }
    }

    /// Forgets the login at `provider`. False when there was none.
    pub async fn logout(&self, provider: &str) -> Result<bool, LoginError> {
        let provider = self.provider(provider)?;
        let lock = self.store.lock().await?;
        Ok(self.store.remove(&lock, &provider.id)?)
    }

    /// Forgets everything that is stored: logins and keys. The answer has the names of the providers.
    pub async fn forget_all(&self) -> Result<ForgottenLogins, LoginError> {
        let lock = self.store.lock().await?;
        let (logins, keys) = self.store.clear(&lock)?;
        let name = |id: &String| {
            let known = self.providers.iter().find(|provider| provider.id == *id);
            known.map_or(id, |provider| &provider.name).clone()
        };
        Ok(ForgottenLogins {
            logins: logins.iter().map(name).collect(),
            keys: keys.iter().map(name).collect(),
        })
    }

    /// The credentials of the login at `provider`, whether or not there is one now.
    pub fn credentials(&self, provider: &str) -> Result<LoginCredentials, LoginError> {
        let provider = self.provider(provider)?;
        Ok(LoginCredentials::new(
            self.endpoint(&provider),
            self.store.clone(),
        ))
    }

    /// True when one is logged in at `provider`.
    pub fn is_logged_in(&self, provider: &str) -> bool {
        let Ok(provider) = self.provider(provider) else {
            return false;
        };
        match self.store.get(&provider.id) {
            Ok(login) => login.is_some(),
            Err(error) => {
                // It is asked for every provider, and the reason is the same for all.
                static WARNED: Once = Once::new();
                WARNED.call_once(|| tracing::warn!(%error, "the logins cannot be read"));
                false
            }
        }
    }

    fn provider(&self, id: &str) -> Result<Arc<LoginProvider>, LoginError> {
        let find = |id: &str| self.providers.iter().find(|provider| provider.id == id);
        let alias = || self.aliases.get(id).and_then(|id| find(id));
        find(id).or_else(alias).cloned().ok_or_else(|| {
            let known: Vec<&str> = self
                .providers
                .iter()
                .map(|known| known.id.as_str())
                .collect();
            LoginError::UnknownProvider {
                provider: id.to_owned(),
                known: known.join(", "),
            }
        })
    }

    fn endpoint(&self, provider: &Arc<LoginProvider>) -> TokenEndpoint {
        TokenEndpoint {
            provider: Arc::clone(provider),
            http: Arc::clone(&self.http),
            clock: Arc::clone(&self.clock),
        }
    }

    async fn begin_browser(
        &self,
        provider: &LoginProvider,
        state: &str,
    ) -> Result<(LoginStep, LoginFlow), LoginError> {
        let oauth = &provider.oauth;
        let proof = Proof::new()?;
        let wanted = oauth.redirect.as_deref().unwrap_or(USUAL_REDIRECT);
        let server = CallbackServer::listen(wanted, state).await;
        let redirect = server
            .as_ref()
            .map_or(wanted, |server| &server.redirect)
            .to_owned();
        let scopes = oauth.scopes.join(" ");
        let parameters = [
            ("response_type", "code"),
            ("client_id", &oauth.client_id),
            ("redirect_uri", &redirect),
            ("scope", &scopes),
            ("state", state),
            ("code_challenge", &proof.challenge),
            ("code_challenge_method", "S256"),
        ];
        let authorize = oauth.authorize_url.as_deref().unwrap_or_default();
        let more = oauth.authorize_parameters.iter();
        let more = more.map(|(name, value)| (name.as_str(), value.as_str()));
        let url = Url::parse_with_params(authorize, parameters.into_iter().chain(more));
        let url = url.map_err(|error| LoginError::Refused {
            provider: provider.id.clone(),
            reason: format!("`{authorize}` is not an address: {error}"),
        })?;
        let waits = server.is_some();
        let step = LoginStep {
            provider: provider.id.clone(),
            url: url.to_string(),
            uses_callback_server: waits,
            user_code: None,
            state: state.to_owned(),
            instructions: if waits {
                "Open the address and approve. If the browser runs on another machine, paste the \
                 address it is redirected to."
            } else {
                "Open the address, approve, and paste the address the browser is redirected to, \
                 or what the page shows, as `code#state`."
            }
            .to_owned(),
        };
        let way = LoginFlow::Browser {
            proof,
            redirect,
            server,
        };
        Ok((step, way))
    }

    async fn begin_device(
        &self,
        provider: &Arc<LoginProvider>,
        device_url: &str,
        state: &str,
    ) -> Result<(LoginStep, LoginFlow), LoginError> {
        let code = self.endpoint(provider).device_code(device_url).await?;
        let step = LoginStep {
            provider: provider.id.clone(),
            url: code.verification_uri.clone(),
            uses_callback_server: true,
            user_code: Some(code.user_code.clone()),
            state: state.to_owned(),
            instructions: format!("Open the address and enter the code {}.", code.user_code),
        };
        Ok((step, LoginFlow::Device(code)))
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<LoginInProgress>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn wait_for_browser(
    server: Option<&CallbackServer>,
    provider: &str,
) -> Result<String, LoginError> {
    let server = server.ok_or(LoginError::NothingToWaitFor)?;
    match server.wait().await {
        Some(Returned::Code(code)) => Ok(code),
        Some(Returned::Refused(reason)) => Err(LoginError::Refused {
            provider: provider.to_owned(),
            reason,
        }),
        None => Err(LoginError::NothingToWaitFor),
    }
}

async fn wait_for_approval(
    endpoint: &TokenEndpoint,
    code: &DeviceCode,
) -> Result<StoredLogin, LoginError> {
    let mut interval = code.interval;
    let until_ms = endpoint.clock.now_ms() + code.expires_in.saturating_mul(1000);
    loop {
        match endpoint.approval(&code.device_code).await? {
            Approval::Given(login) => return Ok(login),
            Approval::Pending => {}
            Approval::SlowDown(longer) => interval = longer.unwrap_or(interval + 5),
        }
        if endpoint.clock.now_ms() >= until_ms {
            return Err(LoginError::TooLate {
                provider: endpoint.provider.id.clone(),
            });
        }
        tokio::time::sleep(Duration::from_secs(interval)).await;
    }
}
