//! The access token of a login, refreshed before it expires.

use std::fmt;

use super::LoginError;
use super::store::{LoginStore, StoreError, StoredLogin};
use super::tokens::TokenEndpoint;
use crate::credential::{
    Credential, CredentialError, CredentialFuture, CredentialSource, RenewalFuture,
};
use crate::secret::Secret;

/// A token is refreshed this long before it expires, so that it does not do so under way.
const MARGIN_MS: u64 = 5 * 60 * 1000;

/// Gives out the access token of one login.
///
/// The file is read for every request, so that a login, logout or refresh by another process is
/// seen at once. A refresh token often works only once, so refreshing is done by one process at a
/// time, and whoever waited for the lock looks first whether it has been done.
pub struct LoginCredentials {
    endpoint: TokenEndpoint,
    store: LoginStore,
}

impl LoginCredentials {
    pub(super) fn new(endpoint: TokenEndpoint, store: LoginStore) -> Self {
        Self { endpoint, store }
    }

    async fn current(&self) -> Result<StoredLogin, CredentialError> {
        let login = self.stored()?;
        if self.lives_for(&login, MARGIN_MS) {
            return Ok(login);
        }
        let lock = self
            .store
            .lock()
            .await
            .map_err(|error| self.failed(&error))?;
        let login = self.stored()?;
        if self.lives_for(&login, MARGIN_MS) {
            return Ok(login);
        }
        match self.endpoint.refresh(&login).await {
            Ok(new) => {
                let kept = self.store.put(&lock, self.id(), &new);
                kept.map_err(|error| self.failed(&error))?;
                Ok(new)
            }
            Err(_) if self.lives_for(&login, 0) => Ok(login),
            Err(LoginError::Refused { reason, .. }) => Err(CredentialError::Expired {
                provider: self.id().to_owned(),
                reason,
            }),
            Err(error) => Err(CredentialError::Refresh {
                provider: self.id().to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// Refreshes a token that was refused, unless somebody else has done so.
    async fn renewed(&self, refused: &Secret) -> Result<StoredLogin, LoginError> {
        let lock = self.store.lock().await?;
        let login = self
            .store
            .get(self.id())?
            .ok_or_else(|| LoginError::NotBegun {
                provider: self.id().to_owned(),
            })?;
        if login.access != *refused {
            return Ok(login);
        }
        let new = self.endpoint.refresh(&login).await?;
        self.store.put(&lock, self.id(), &new)?;
        Ok(new)
    }

    fn stored(&self) -> Result<StoredLogin, CredentialError> {
        let login = self
            .store
            .get(self.id())
            .map_err(|error| self.failed(&error))?;
        login.ok_or_else(|| CredentialError::Missing {
            provider: self.id().to_owned(),
            hint: self.hint(),
        })
    }

    fn lives_for(&self, login: &StoredLogin, ms: u64) -> bool {
        let now_ms = self.endpoint.clock.now_ms();
        login
            .expires_at_ms
            .is_none_or(|at_ms| at_ms > now_ms.saturating_add(ms))
    }

    fn failed(&self, error: &StoreError) -> CredentialError {
        CredentialError::Refresh {
            provider: self.id().to_owned(),
            reason: error.to_string(),
        }
    }

    fn id(&self) -> &str {
        &self.endpoint.provider.id
    }
}

impl CredentialSource for LoginCredentials {
    fn credential(&self) -> CredentialFuture<'_> {
        Box::pin(async move { self.current().await.map(bearer) })
    }

    fn renew<'a>(&'a self, stale: &'a Credential) -> RenewalFuture<'a> {
        Box::pin(async move {
            match self.renewed(stale.secret()?).await {
                Ok(login) => Some(bearer(login)),
                Err(error) => {
                    tracing::debug!(%error, "a token that was refused could not be refreshed");
                    None
                }
            }
        })
    }

    fn hint(&self) -> String {
        format!("run `stentor login {}`", self.id())
    }
}

fn bearer(login: StoredLogin) -> Credential {
    Credential::Bearer {
        token: login.access,
        account: login.account,
        base_url: login.base_url,
    }
}

impl fmt::Debug for LoginCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginCredentials")
            .field("provider", &self.id())
            .finish_non_exhaustive()
    }
}
