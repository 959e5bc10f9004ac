//! The logins on disk: one file only its owner can read, shared by processes running at once.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use stentor_journal::private_file;

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

/// Why the logins cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the logins in {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("the logins in {path} are damaged ({reason}); remove the file and log in again")]
    Damaged { path: PathBuf, reason: String },
    #[error("there is no folder for logins, because HOME is not set")]
    NoFolder,
    #[error("another process has locked the logins in {path}; try again later")]
    Busy { path: PathBuf },
}

/// The file of logins.
#[derive(Debug, Clone)]
pub struct LoginStore {
    path: PathBuf,
}

/// The right to change the file, held by one process at a time. Ends when it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    logins: BTreeMap<String, Entry>,
    /// API keys, by provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, String>,
    /// What a newer version wrote and this one does not know.
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
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

const OWNER_ONLY: u32 = 0o600;
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

impl LoginStore {
    /// The logins in this file, which need not exist. An empty path is a place for none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
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

    /// Waits for the right to change the file.
    pub async fn lock(&self) -> Result<StoreLock, StoreError> {
        if self.path.as_os_str().is_empty() {
            return Err(StoreError::NoFolder);
        }
        let path = self.path.with_extension("lock");
        self.make_folder()?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(OWNER_ONLY)
            .open(&path)
            .map_err(|source| self.io(source))?;
        let mut waited = Duration::ZERO;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(StoreLock { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.io(error.into())),
            }
            if waited >= LONGEST_WAIT {
                return Err(StoreError::Busy {
                    path: self.path.clone(),
                });
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
            waited += BETWEEN_TRIES;
        }
    }

    /// Keeps a login, replacing the one before.
    pub fn put(
        &self,
        _: &StoreLock,
        provider: &str,
        login: &StoredLogin,
    ) -> Result<(), StoreError> {
        let mut content = self.read()?;
        content.logins.insert(provider.to_owned(), login.into());
        self.write(&content)
    }

    /// Forgets a login. False when there was none.
    pub fn remove(&self, _: &StoreLock, provider: &str) -> Result<bool, StoreError> {
        let mut content = self.read()?;
        let was_there = content.logins.remove(provider).is_some();
        if was_there {
            self.write(&content)?;
        }
        Ok(was_there)
    }

    /// Forgets every login and every key.
    pub fn clear(&self, _: &StoreLock) -> Result<(), StoreError> {
        let mut content = self.read()?;
        if content.logins.is_empty() && content.keys.is_empty() {
            return Ok(());
        }
        content.logins.clear();
        content.keys.clear();
        self.write(&content)
    }

    /// The API keys, by provider.
    pub fn keys(&self) -> Result<BTreeMap<String, Secret>, StoreError> {
        let keys = self.read()?.keys.into_iter();
        Ok(keys.map(|(id, key)| (id, Secret::new(key))).collect())
    }

    /// Stores an API key, replacing the one before.
    pub fn put_key(&self, _: &StoreLock, provider: &str, key: &Secret) -> Result<(), StoreError> {
        let mut content = self.read()?;
        let key = key.expose().to_owned();
        content.keys.insert(provider.to_owned(), key);
        self.write(&content)
    }

    /// Forgets an API key. False when there was none.
    pub fn remove_key(&self, _: &StoreLock, provider: &str) -> Result<bool, StoreError> {
        let mut content = self.read()?;
        let was_there = content.keys.remove(provider).is_some();
        if was_there {
            self.write(&content)?;
        }
        Ok(was_there)
    }

    fn read(&self) -> Result<Content, StoreError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            // Where there is no folder, there is no file in it.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Content::default());
            }
            Err(error) => return Err(self.io(error)),
        };
        self.keep_private(&file);
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| self.io(error))?;
        serde_json::from_str(&text).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            // Where, not what: the text around a mistake may be a token.
            reason: format!("line {}, column {}", error.line(), error.column()),
        })
    }

    /// Whatever made others able to read the file, they no longer are.
    fn keep_private(&self, file: &File) {
        let Ok(metadata) = file.metadata() else {
            return;
        };
        if metadata.permissions().mode() & 0o077 != 0 {
            tracing::warn!(path = %self.path.display(), "the logins were readable by others; \
                                                         fixed");
            let _ = file.set_permissions(std::fs::Permissions::from_mode(OWNER_ONLY));
        }
    }

    /// Replaces the file at once: whoever reads sees the old or the new, never a half.
    fn write(&self, content: &Content) -> Result<(), StoreError> {
        self.make_folder()?;
        let text = serde_json::to_vec_pretty(content).map_err(|error| self.io(error.into()))?;
        private_file::replace(&self.path, &text).map_err(|error| self.io(error))
    }

    fn make_folder(&self) -> Result<(), StoreError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let made = private_file::create_folder(folder);
        made.map_err(|error| self.io(error))
    }

    fn io(&self, source: io::Error) -> StoreError {
        StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

impl From<Entry> for StoredLogin {
    fn from(entry: Entry) -> Self {
        Self {
            access: Secret::new(entry.access),
            refresh: entry.refresh.map(Secret::new),
            expires_at_ms: entry.expires_at_ms,
            account: entry.account,
            base_url: entry.base_url,
        }
    }
}

impl From<&StoredLogin> for Entry {
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

    #[test]
    fn a_file_others_can_read_is_made_private_and_what_is_unknown_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.json");
        std::fs::write(&path, r#"{"logins":{},"future":1}"#).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let store = LoginStore::new(&path);
        store.write(&store.read().unwrap()).unwrap();
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
