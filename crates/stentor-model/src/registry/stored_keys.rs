//! API keys that the user has stored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_text::spelling::nearest;

use super::Registry;
use super::providers::Provider;
use crate::credential::{Credential, FixedCredential, SharedCredentials};
use crate::login::{LoginStore, StoreError};
use crate::secret::Secret;

/// Why a key was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreKeyError {
    #[error("there is no provider `{provider}`{nearest}")]
    UnknownProvider { provider: String, nearest: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Registry {
    /// The file of logins and keys. Empty where there is no place for one.
    pub fn credentials_file(&self) -> &Path {
        &self.sources.credentials_file
    }

    /// Stores a key for a provider, from the next start on.
    pub async fn store_key(&self, provider: &str, key: &str) -> Result<PathBuf, StoreKeyError> {
        if !self.knows_provider(provider) {
            let known = self.providers().iter().map(|known| known.id.as_str());
            let near = nearest(provider, known).map(|near| format!("; did you mean `{near}`?"));
            return Err(StoreKeyError::UnknownProvider {
                provider: provider.to_owned(),
                nearest: near.unwrap_or_default(),
            });
        }
        let store = LoginStore::new(&self.sources.credentials_file);
        let lock = store.lock().await?;
        store.put_key(&lock, provider, &Secret::new(key))?;
        Ok(self.sources.credentials_file.clone())
    }

    /// Forgets a key that was stored. False when there was none.
    pub async fn forget_key(&self, provider: &str) -> Result<bool, StoreKeyError> {
        let store = LoginStore::new(&self.sources.credentials_file);
        if !store.keys()?.contains_key(provider) {
            return Ok(false);
        }
        let lock = store.lock().await?;
        Ok(store.remove_key(&lock, provider)?)
    }

    pub(super) fn stored_key(&self, provider: &str) -> Option<&Secret> {
        let keys = self.stored_keys.get_or_init(|| {
            let store = LoginStore::new(&self.sources.credentials_file);
            store.keys().unwrap_or_else(|error| {
                tracing::warn!(%error, "the stored keys cannot be read");
                BTreeMap::new()
            })
        });
        keys.get(provider)
    }

    pub(super) fn stored_credentials(
        &self,
        provider: &Provider,
        key: &Secret,
    ) -> SharedCredentials {
        Arc::new(FixedCredential {
            credential: Credential::ApiKey(key.clone()),
            hint: format!("run `stentor login {} --key`", provider.id),
        })
    }
}
