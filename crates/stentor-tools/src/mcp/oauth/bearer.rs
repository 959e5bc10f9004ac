//! The token of a login, given to the one server it belongs to and renewed in time.

use std::sync::Arc;

use reqwest::Url;
use stentor_agent::tasks;
use stentor_oauth::CredentialFileError;
use stentor_oauth::secret::Secret;

use super::McpLogins;
use super::error::OAuthError;
use super::store::McpLogin;
use super::tokens::McpTokenEndpoint;

/// The token for one server.
///
/// The file is read for every request, so that a login, logout or refresh by another process is seen
/// at once. A refresh token often works only once, so refreshing is done by one process at a time,
/// and whoever waited for the lock looks first whether it has been done.
#[derive(Clone)]
pub(in crate::mcp) struct Bearer {
    logins: Arc<McpLogins>,
    url: Url,
}

/// Why there is no token though there is a login.
#[derive(Debug, thiserror::Error)]
pub(in crate::mcp) enum BearerError {
    /// Only a new login helps.
    #[error("its login has expired ({0})")]
    Over(String),
    #[error("its login could not be renewed: {0}")]
    Failed(OAuthError),
}

impl Bearer {
    /// The token for the server at `url`. `None` where that is no address.
    pub fn new(logins: &Arc<McpLogins>, url: &Url) -> Self {
        let mut url = url.clone();
        url.set_fragment(None);
        Self {
            logins: Arc::clone(logins),
            url,
        }
    }

    /// The token as it should be used now. `None` when there is no login.
    pub async fn current(&self) -> Result<Option<Secret>, BearerError> {
        let Some(login) = self.stored().await? else {
            return Ok(None);
        };
        if !self.is_due(&login) {
            return Ok(Some(login.tokens.access));
        }
        let renewed = self.renewed_unless(|login| !self.is_due(login)).await;
        let now_ms = self.logins.clock.now_ms();
        let lives = login
            .tokens
            .expires_at_ms
            .is_none_or(|at_ms| at_ms > now_ms);
        match renewed {
            Err(_) if lives => Ok(Some(login.tokens.access)),
            renewed => renewed,
        }
    }

    /// Another token than the one that was refused. `None` when there is no other.
    pub async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, BearerError> {
        let renewed = self
            .renewed_unless(|login| login.tokens.access != *refused)
            .await?;
        Ok(renewed.filter(|token| token != refused))
    }

    /// Refreshes the token, unless somebody else has done so.
    async fn renewed_unless(
        &self,
        is_new: impl Fn(&McpLogin) -> bool,
    ) -> Result<Option<Secret>, BearerError> {
        let lock = self.logins.file.lock().await.map_err(failed)?;
        let Some(mut login) = self.stored().await? else {
            return Ok(None);
        };
        let Some(refresh) = login.tokens.refresh.clone().filter(|_| !is_new(&login)) else {
            return Ok(Some(login.tokens.access));
        };
        login.tokens = match self.refresh(&login, &refresh).await {
            Ok(tokens) => tokens,
            Err(OAuthError::Refused(why)) => return Err(BearerError::Over(why)),
            Err(error) => return Err(BearerError::Failed(error)),
        };
        self.logins
            .file
            .put(&lock, &self.url, &login)
            .map_err(failed)?;
        Ok(Some(login.tokens.access))
    }

    async fn refresh(
        &self,
        login: &McpLogin,
        refresh: &Secret,
    ) -> Result<super::tokens::LoginTokens, OAuthError> {
        let url = super::bound_to(&login.token_endpoint)?;
        let endpoint = McpTokenEndpoint {
            http: &self.logins.http.client(None)?,
            url: &url,
            client: &login.client,
            resource: &login.resource,
            now_ms: self.logins.clock.now_ms(),
        };
        endpoint.refresh(refresh).await
    }

    fn is_due(&self, login: &McpLogin) -> bool {
        let now_ms = self.logins.clock.now_ms();
        let due = login
            .tokens
            .renew_at_ms
            .is_some_and(|at_ms| at_ms <= now_ms);
        due && login.tokens.refresh.is_some()
    }

    async fn stored(&self) -> Result<Option<McpLogin>, BearerError> {
        let (logins, url) = (Arc::clone(&self.logins), self.url.clone());
        let read = tasks::spawn_blocking(move || logins.file.get(&url)).await;
        // One that panics has read nothing.
        read.unwrap_or(Ok(None)).map_err(failed)
    }
}

fn failed(error: CredentialFileError) -> BearerError {
    BearerError::Failed(error.into())
}
