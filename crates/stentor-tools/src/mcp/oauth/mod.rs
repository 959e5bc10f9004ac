//! Logging in to servers behind an address, by OAuth as MCP has it.
//!
//! A login is only ever begun by a person who names the server (`stentor mcp login`): a server that
//! wants one fails with a sentence that says so, and nothing opens by itself. What a server and its
//! authorization server claim is checked before anything is sent there (`discovery`), a client is
//! registered or taken from the configuration (`client`), tokens are asked for (`tokens`), stored
//! under the server's own address (`store`) and given to no other (`bearer`). `login` is the order of
//! the steps.

mod bearer;
mod challenge;
mod client;
mod discovery;
mod error;
mod fetch;
mod login;
mod store;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_http::Http;
use stentor_journal::clock::SharedClock;

pub(super) use bearer::{Bearer, BearerError};
pub(super) use challenge::Challenge;
pub use error::OAuthError;
pub use login::BegunLogin;
use store::LoginFile;

/// The logins to MCP servers of one user.
pub struct McpLogins {
    file: LoginFile,
    http: Arc<Http>,
    clock: SharedClock,
}

impl McpLogins {
    /// Logins kept in this file, which need not exist. An empty path is a place for none.
    pub fn new(path: impl Into<PathBuf>, http: Arc<Http>, clock: SharedClock) -> Self {
        Self {
            file: LoginFile::new(path),
            http,
            clock,
        }
    }

    /// Begins a login to a server: the answer has the address to open.
    pub async fn begin(self: &Arc<Self>, server: &ToolServer) -> Result<BegunLogin, OAuthError> {
        login::begin(self, server).await
    }

    /// Forgets the login to a server. False when there was none.
    pub async fn logout(&self, server: &ToolServer) -> Result<bool, OAuthError> {
        let url = address_of(server)?;
        let lock = self.file.lock().await?;
        Ok(self.file.remove(&lock, &url)?)
    }

    /// Forgets the logins to all servers. The answer has their hosts: an address may hold a secret.
    pub async fn forget_all(&self) -> Result<Vec<String>, OAuthError> {
        let lock = self.file.lock().await?;
        let addresses = self.file.clear(&lock)?.into_iter();
        let host = |address: String| {
            let url = Url::parse(&address).ok();
            url.and_then(|url| url.host_str().map(str::to_owned))
        };
        Ok(addresses.filter_map(host).collect())
    }

    /// True when there is a login to this server.
    pub fn is_logged_in(&self, server: &ToolServer) -> bool {
        let Ok(url) = address_of(server) else {
            return false;
        };
        matches!(self.file.get(&url), Ok(Some(_)))
    }
}

/// The address that a login belongs to.
fn address_of(server: &ToolServer) -> Result<Url, OAuthError> {
    let (ToolServerTransport::Http { url, headers } | ToolServerTransport::Sse { url, headers }) =
        &server.transport
    else {
        return Err(OAuthError::NoAddress);
    };
    if headers.iter().any(|(name, _)| is_authorization(name)) {
        return Err(OAuthError::OwnHeader);
    }
    bound_to(url)
}

/// Whether this header already says who asks.
pub(super) fn is_authorization(header: &str) -> bool {
    header.eq_ignore_ascii_case("authorization")
}

/// An address as logins are stored under it.
fn bound_to(url: &str) -> Result<Url, OAuthError> {
    let mut url = Url::parse(url).map_err(|error| OAuthError::BadAddress(error.to_string()))?;
    url.set_fragment(None);
    Ok(url)
}

/// True for an address on this machine.
fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_own = |ip: std::net::IpAddr| ip.is_loopback();
        host == "localhost" || bare.parse().is_ok_and(is_own)
    })
}
