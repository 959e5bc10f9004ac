//! The folders a user trusts: a file of their own, which only they can read.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stentor_agent::project_files::{FileOwner, NotRead};
use stentor_journal::private_file;

/// A folder that is trusted as long as it belongs to the same user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedFolder {
    /// With its links resolved.
    pub folder: String,
    /// The number of the user it belonged to.
    pub owner: u32,
    /// When it was trusted.
    pub since: String,
}

/// Why trust could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustStoreError {
    #[error("cannot {what} {path}: {error}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("{path} is not read, so no folder in it is trusted: {why}", path = path.display())]
    NotRead { path: PathBuf, why: NotRead },
    #[error(
        "{path} is damaged, so no folder in it is trusted: {problem}; repair or remove it",
        path = path.display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error("{path} is locked by another process", path = path.display())]
    Busy { path: PathBuf },
    #[error("{} is not UTF-8, so it cannot be kept", .0.display())]
    NotUtf8(PathBuf),
    #[error(
        "there are already {MOST_FOLDERS} trusted folders; remove some with `stentor trust --revoke`"
    )]
    Full,
}

/// The file's name in the user's configuration folder.
const FILE: &str = "trusted_folders.json";
const VERSION: u32 = 1;
/// Read at every start.
const MOST_FOLDERS: usize = 10_000;
/// A larger file is not ours.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;
/// How long another process is waited for; a change takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    version: u32,
    folders: Vec<TrustedFolder>,
}

/// Where trust is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    path: PathBuf,
}

impl TrustStore {
    /// The store in the user's configuration folder.
    pub fn in_folder(config_dir: &Path) -> Self {
        Self {
            path: config_dir.join(FILE),
        }
    }

    /// Every folder that was trusted. A file that is not there has none.
    pub fn all(&self) -> Result<Vec<TrustedFolder>, TrustStoreError> {
        let damaged = |problem: String| TrustStoreError::Damaged {
            path: self.path.clone(),
            problem,
        };
        let bytes = match FileOwner::Private.read(&self.path, LARGEST_BYTES) {
            Ok(bytes) => bytes,
            Err(NotRead::Missing) => return Ok(Vec::new()),
            Err(why) => {
                return Err(TrustStoreError::NotRead {
                    path: self.path.clone(),
                    why,
                });
            }
        };
        let content: TrustFile =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        match content.version {
            VERSION => Ok(content.folders),
            other => Err(damaged(format!("version {other} is not known here"))),
        }
    }

    /// Trusts a folder from now on, as long as it has the owner it has now.
    pub fn trust(&self, folder: &Path, now: &str) -> Result<TrustedFolder, TrustStoreError> {
        let trusted = TrustedFolder {
            folder: text_of(folder)?,
            owner: fs::metadata(folder)
                .map_err(self.cannot("look at", folder))?
                .uid(),
            since: now.to_owned(),
        };
        self.change(|folders| {
            folders.retain(|known| known.folder != trusted.folder);
            if folders.len() >= MOST_FOLDERS {
                return Err(TrustStoreError::Full);
            }
            folders.push(trusted.clone());
            Ok(trusted)
        })
    }

    /// Trusts a folder no longer. False if it was not trusted.
    pub fn revoke(&self, folder: &Path) -> Result<bool, TrustStoreError> {
        // One that is gone can be revoked, too.
        let text = text_of(folder).or_else(|_| plain_text(folder))?;
        self.change(|folders| {
            let before = folders.len();
            folders.retain(|known| known.folder != text);
            Ok(folders.len() < before)
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<TrustedFolder>) -> Result<T, TrustStoreError>,
    ) -> Result<T, TrustStoreError> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        private_file::create_folder(folder).map_err(self.cannot("make", folder))?;
        let _lock = self.lock()?;
        let mut folders = self.all()?;
        let done = change(&mut folders)?;
        let content = TrustFile {
            version: VERSION,
            folders,
        };
        let text = serde_json::to_vec_pretty(&content).map_err(io::Error::from);
        let written = text.and_then(|mut text| {
            text.push(b'\n');
            private_file::replace(&self.path, &text)
        });
        written.map_err(self.cannot("write", &self.path))?;
        Ok(done)
    }

    /// Keeps other processes from changing the file.
    fn lock(&self) -> Result<File, TrustStoreError> {
        let path = self.path.with_extension("lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(self.cannot("lock", &path))?;
        let patient_until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(self.cannot("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= patient_until => {
                    return Err(TrustStoreError::Busy {
                        path: self.path.clone(),
                    });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn cannot(
        &self,
        what: &'static str,
        path: &Path,
    ) -> impl Fn(io::Error) -> TrustStoreError + use<> {
        let path = path.to_owned();
        move |error| TrustStoreError::Io {
            what,
            path: path.clone(),
            error,
        }
    }
}

fn text_of(folder: &Path) -> Result<String, TrustStoreError> {
    let resolved = folder.canonicalize().map_err(|error| TrustStoreError::Io {
        what: "look at",
        path: folder.to_owned(),
        error,
    })?;
    plain_text(&resolved)
}

fn plain_text(folder: &Path) -> Result<String, TrustStoreError> {
    let text = folder.to_str().map(str::to_owned);
    text.ok_or_else(|| TrustStoreError::NotUtf8(folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_trusted_once_and_for_its_owner_and_can_be_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let (config, repo) = (dir.path().join("config"), dir.path().join("repo"));
        fs::create_dir(&repo).unwrap();
        let store = TrustStore::in_folder(&config);
        assert_eq!(store.all().unwrap(), []);
        assert!(!store.revoke(&repo).unwrap());
        for now in ["then", "now"] {
            store.trust(&repo, now).unwrap();
        }
        let all = store.all().unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].since, "now");
        assert_eq!(all[0].owner, fs::metadata(&repo).unwrap().uid());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&config.join(FILE)), 0o600);
        assert_eq!(mode(&config), 0o700);
        fs::remove_dir(&repo).unwrap();
        let gone = dir.path().canonicalize().unwrap().join("repo");
        assert!(store.revoke(&gone).unwrap());
        assert_eq!(store.all().unwrap(), []);
    }

    #[test]
    fn a_damaged_file_trusts_nobody_and_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = TrustStore::in_folder(dir.path());
        fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(matches!(store.all(), Err(TrustStoreError::Damaged { .. })));
        assert!(store.trust(dir.path(), "now").is_err());
        assert_eq!(fs::read_to_string(dir.path().join(FILE)).unwrap(), "{");
    }
}
