//! Logging in at providers, as the dialects see it. The binary implements it over whatever keeps
//! the credentials.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::session::SessionError;

/// Logins of the user.
pub trait Login: Send + Sync {
    /// The providers one can log in at.
    fn providers(&self) -> Vec<ProviderLogin>;

    /// Begins a login: says where a person has to go.
    fn begin<'a>(&'a self, provider: &'a str) -> LoginFuture<'a, LoginBegun>;

    /// Completes the login that was begun. Without input it waits for the browser to come back.
    fn complete<'a>(&'a self, provider: &'a str, input: Option<String>) -> LoginFuture<'a, ()>;

    /// Gives up the login that was begun.
    fn cancel(&self, provider: &str);

    /// Forgets all logins and all keys that are stored, those of MCP servers too.
    fn forget_all(&self) -> LoginFuture<'_, ForgottenCredentials>;
}

/// What was stored and is forgotten, by the names that people know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenCredentials {
    /// Providers one was logged in at.
    pub logins: Vec<String>,
    /// Providers of which there was a key.
    pub keys: Vec<String>,
    /// MCP servers one was logged in at.
    pub servers: Vec<String>,
}

impl ForgottenCredentials {
    /// It in words, unless there was nothing.
    pub fn in_words(&self) -> Option<String> {
        let part = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what} {}.", names.join(", ")))
        };
        let parts = [
            part("Logged out of", &self.logins),
            part("Forgot the key of", &self.keys),
            part("Logged out of the MCP server", &self.servers),
        ];
        let words: Vec<String> = parts.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

/// The answer of a [`Login`]. The error is for a person.
pub type LoginFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'a>>;

/// The logins as one sees them who only watches.
pub(crate) struct WatchedLogin(pub Arc<dyn Login>);

impl Login for WatchedLogin {
    fn providers(&self) -> Vec<ProviderLogin> {
        self.0.providers()
    }

    fn begin<'a>(&'a self, _: &'a str) -> LoginFuture<'a, LoginBegun> {
        only_watched()
    }

    fn complete<'a>(&'a self, _: &'a str, _: Option<String>) -> LoginFuture<'a, ()> {
        only_watched()
    }

    fn cancel(&self, _: &str) {}

    fn forget_all(&self) -> LoginFuture<'_, ForgottenCredentials> {
        only_watched()
    }
}

fn only_watched<'a, T: Send + 'a>() -> LoginFuture<'a, T> {
    Box::pin(std::future::ready(Err(SessionError::OnlyObserves.into())))
}

/// A provider one can log in at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderLogin {
    pub id: String,
    pub name: String,
    pub logged_in: bool,
}

/// A login that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginBegun {
    /// To be opened in a browser.
    pub url: String,
    /// True when completing can wait for the browser; otherwise something must be pasted.
    pub uses_callback_server: bool,
    /// What to do, in words.
    pub instructions: String,
    /// What to type on the page, where one has to.
    pub user_code: Option<String>,
}
