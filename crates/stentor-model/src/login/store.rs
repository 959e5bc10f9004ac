//! The logins on disk: one file only its owner can read, shared by processes running at once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stentor_oauth::CredentialFile;
pub use stentor_oauth::{CredentialFileError as StoreError, CredentialLock as StoreLock};

use crate::secret::Secret;

/// What is kept of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// Milliseconds since the epoch; `None` when it does not expire.
    pub expires_at_ms: Option<u64>,
    pub account: Option<String>,
    pub base_url: Option<String>,
}

/// The file of logins.
#[derive(Debug, Clone)]
pub struct LoginStore {
    file: CredentialFile,
}

#[derive(Default, Serialize, Deserialize)]
struct CredentialContent {
    #[serde(default)]
    logins: BTreeMap<String, LoginEntry>,
    /// API keys, by provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, String>,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct LoginEntry {
    access: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
}

impl LoginStore {
    /// The logins in this file, which need not exist. An empty path is a place for none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            file: CredentialFile::new(path),
        }
    }

    /// Waits for the right to change the file.
    pub async fn lock(&self) -> Result<StoreLock, StoreError> {
        self.file.lock().await
    }

    /// The login at `provider`, if there is one.
    pub fn get(&self, provider: &str) -> Result<Option<StoredLogin>, StoreError> {
        let mut content = self.read()?;
        Ok(content.logins.remove(provider).map(StoredLogin::from))
    }

    /// All logins.
    pub fn all(&self) -> Result<BTreeMap<String, StoredLogin>, StoreError> {
        let logins = self.read()?.logins.into_iter();
        Ok(logins.map(|(id, entry)| (id, entry.into())).collect())
    }

    /// Keeps a login, replacing the one before.
    pub fn put(
        &self,
        lock: &StoreLock,
        provider: &str,
        login: &StoredLogin,
    ) -> Result<(), StoreError> {
        let mut content = self.read()?;
        content.logins.insert(provider.to_owned(), login.into());
        self.file.write(lock, &content)
    }

    /// Forgets a login. False when there was none.
    pub fn remove(&self, lock: &StoreLock, provider: &str) -> Result<bool, StoreError> {
        let mut content = self.read()?;
        let was_there = content.logins.remove(provider).is_some();
        if was_there {
            self.file.write(lock, &content)?;
        }
        Ok(was_there)
    }

    /// Forgets every login and every key, and says of which providers.
    pub fn clear(&self, lock: &StoreLock) -> Result<(Vec<String>, Vec<String>), StoreError> {
        let mut content = self.read()?;
        if content.logins.is_empty() && content.keys.is_empty() {
            return Ok(Default::default());
        }
        let logins = std::mem::take(&mut content.logins);
        let keys = std::mem::take(&mut content.keys);
        self.file.write(lock, &content)?;
        Ok((logins.into_keys().collect(), keys.into_keys().collect()))
    }

    /// The API keys, by provider.
    pub fn keys(&self) -> Result<BTreeMap<String, Secret>, StoreError> {
        let keys = self.read()?.keys.into_iter();
        Ok(keys.map(|(id, key)| (id, Secret::new(key))).collect())
    }

    /// Stores an API key, replacing the one before.
    pub fn put_key(
        &self,
        lock: &StoreLock,
        provider: &str,
        key: &Secret,
    ) -> Result<(), StoreError> {
        let mut content = self.read()?;
        let key = key.expose().to_owned();
        content.keys.insert(provider.to_owned(), key);
        self.file.write(lock, &content)
    }

    /// Forgets an API key. False when there was none.
    pub fn remove_key(&self, lock: &StoreLock, provider: &str) -> Result<bool, StoreError> {
        let mut content = self.read()?;
        let was_there = content.keys.remove(provider).is_some();
        if was_there {
            self.file.write(lock, &content)?;
        }
        Ok(was_there)
    }

    fn read(&self) -> Result<CredentialContent, StoreError> {
        self.file.read()
    }
}

impl From<LoginEntry> for StoredLogin {
    fn from(entry: LoginEntry) -> Self {
        Self {
            access: Secret::new(entry.access),
            refresh: entry.refresh.map(Secret::new),
            expires_at_ms: entry.expires_at_ms,
            account: entry.account,
            base_url: entry.base_url,
        }
    }
}

impl From<&StoredLogin> for LoginEntry {
    fn from(login: &StoredLogin) -> Self {
        Self {
            access: login.access.expose().to_owned(),
            refresh: login
                .refresh
                .as_ref()
                .map(|token| token.expose().to_owned()),
            expires_at_ms: login.expires_at_ms,
            account: login.account.clone(),
            base_url: login.base_url.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn login(access: &str) -> StoredLogin {
        StoredLogin {
            access: Secret::new(access),
            refresh: Some(Secret::new("r")),
            expires_at_ms: Some(7),
            account: None,
            base_url: None,
        }
    }

    #[tokio::test]
    async fn logins_are_kept_in_a_file_only_the_owner_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/credentials.json");
        let store = LoginStore::new(&path);
        assert_eq!(store.get("acme").unwrap(), None);
        let lock = store.lock().await.unwrap();
        store.put(&lock, "acme", &login("a")).unwrap();
        store.put(&lock, "other", &login("o")).unwrap();
        assert_eq!(store.get("acme").unwrap(), Some(login("a")));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(store.remove(&lock, "acme").unwrap());
        assert!(!store.remove(&lock, "acme").unwrap());
        assert_eq!(store.all().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_file_others_can_read_is_made_private_and_what_is_unknown_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.json");
        std::fs::write(&path, r#"{"logins":{},"future":1}"#).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let store = LoginStore::new(&path);
        let lock = store.lock().await.unwrap();
        store.file.write(&lock, &store.read().unwrap()).unwrap();
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("\"future\": 1")
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_damaged_file_is_named_without_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.json");
        std::fs::write(&path, "{\"logins\": secret-token").unwrap();
        let error = LoginStore::new(&path).get("acme").unwrap_err().to_string();
        assert!(
            error.contains("credentials.json") && !error.contains("secret-token"),
            "{error}"
        );
    }
}
