//! Credentials on disk: one file only its owner can read, shared by processes running at once.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stentor_journal::private_file;

/// Why the credentials cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CredentialFileError {
    #[error("cannot use the logins in {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("the logins in {path} are damaged ({reason}); remove the file and log in again")]
    Damaged { path: PathBuf, reason: String },
    #[error("there is no folder for logins, because HOME is not set")]
    NoFolder,
    #[error("another process has locked the logins in {path}; try again later")]
    Busy { path: PathBuf },
}

/// A file of credentials.
#[derive(Debug, Clone)]
pub struct CredentialFile {
    path: PathBuf,
}

/// The right to change the file, held by one process at a time. Ends when it is dropped.
#[derive(Debug)]
pub struct CredentialLock {
    _file: File,
}

const OWNER_ONLY: u32 = 0o600;
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

impl CredentialFile {
    /// This file, which need not exist. An empty path is a place for none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Waits for the right to change the file.
    pub async fn lock(&self) -> Result<CredentialLock, CredentialFileError> {
        if self.path.as_os_str().is_empty() {
            return Err(CredentialFileError::NoFolder);
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
                Ok(()) => return Ok(CredentialLock { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.io(error.into())),
            }
            if waited >= LONGEST_WAIT {
                return Err(CredentialFileError::Busy {
                    path: self.path.clone(),
                });
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
            waited += BETWEEN_TRIES;
        }
    }

    /// What is in the file. Where there is none, nothing.
    pub fn read<T: DeserializeOwned + Default>(&self) -> Result<T, CredentialFileError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            // Where there is no folder, there is no file in it.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(T::default());
            }
            Err(error) => return Err(self.io(error)),
        };
        self.keep_private(&file);
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| self.io(error))?;
        serde_json::from_str(&text).map_err(|error| CredentialFileError::Damaged {
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
    pub fn write(
        &self,
        _: &CredentialLock,
        content: &impl Serialize,
    ) -> Result<(), CredentialFileError> {
        self.make_folder()?;
        let text = serde_json::to_vec_pretty(content).map_err(|error| self.io(error.into()))?;
        private_file::replace(&self.path, &text).map_err(|error| self.io(error))
    }

    fn make_folder(&self) -> Result<(), CredentialFileError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let made = private_file::create_folder(folder);
        made.map_err(|error| self.io(error))
    }

    fn io(&self, source: io::Error) -> CredentialFileError {
        CredentialFileError::Io {
            path: self.path.clone(),
            source,
        }
    }
}
