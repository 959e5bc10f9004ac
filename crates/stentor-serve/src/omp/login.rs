//! Logging in to providers, as far as this dialect knows of it.

use std::future::Future;
use std::pin::Pin;

use stentor_agent::dialog::{Dialog, DialogAnswer};

/// A provider one can log in to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LoginProvider {
    pub id: String,
    pub name: String,
    /// True when logging in can work here.
    pub available: bool,
    /// True when there are credentials already.
    pub authenticated: bool,
}

/// What a login may ask of the person in front of the client.
pub trait LoginUi: Send + Sync {
    /// Has the client open a page, or show its address.
    fn open_url(&self, url: &str, instructions: Option<&str>);

    /// Tells how far it is.
    fn progress(&self, message: &str);

    /// Asks something.
    fn ask(&self, dialog: Dialog) -> Pin<Box<dyn Future<Output = DialogAnswer> + Send + '_>>;
}

/// A login that is going on. The error is text for a person.
pub type LoginFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// How one logs in; the program implements it.
pub trait Logins: Send + Sync {
    /// The providers one can log in to.
    fn providers(&self) -> Vec<LoginProvider>;

    /// Logs in. Dropping the future gives it up.
    fn login<'a>(&'a self, provider: &'a str, ui: &'a dyn LoginUi) -> LoginFuture<'a>;
}

/// There is no provider one could log in to.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLogins;

impl Logins for NoLogins {
    fn providers(&self) -> Vec<LoginProvider> {
        Vec::new()
    }

    fn login<'a>(&'a self, provider: &'a str, _: &'a dyn LoginUi) -> LoginFuture<'a> {
        let why = format!("Unknown login provider: {provider}");
        Box::pin(std::future::ready(Err(why)))
    }
}
