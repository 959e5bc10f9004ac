//! Where session files are kept, and how they are found there again.

use std::path::{Path, PathBuf};

use crate::store::{self, Listed, StoreError};

/// Where session files are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFiles {
    /// In a folder per working folder, below this one, named as pi names them.
    PerFolder(PathBuf),
    /// The same with omp's names.
    OmpFolders {
        root: PathBuf,
        home: Option<PathBuf>,
        temp: PathBuf,
    },
    /// All in this folder.
    Flat(PathBuf),
    /// Nowhere.
    None,
}

impl SessionFiles {
    /// Where sessions of `cwd` are kept; `None` when nowhere.
    pub fn folder(&self, cwd: &Path) -> Option<PathBuf> {
        match self {
            Self::PerFolder(root) => Some(root.join(store::encoded_cwd(cwd))),
            Self::OmpFolders { root, home, temp } => {
                Some(root.join(store::omp_encoded_cwd(cwd, home.as_deref(), temp)))
            }
            Self::Flat(folder) => Some(folder.clone()),
            Self::None => None,
        }
    }

    /// The stored sessions, newest first: those of `cwd`, or all.
    pub fn list(&self, cwd: Option<&Path>) -> Vec<Listed> {
        match (self, cwd) {
            (Self::None, _) => Vec::new(),
            (Self::PerFolder(root) | Self::OmpFolders { root, .. }, None) => store::list_all(root),
            (Self::PerFolder(_) | Self::OmpFolders { .. }, Some(cwd)) => self
                .folder(cwd)
                .map_or_else(Vec::new, |folder| store::list(&folder)),
            (Self::Flat(folder), cwd) => {
                let mut listed = store::list(folder);
                if let Some(cwd) = cwd {
                    listed.retain(|session| Path::new(&session.cwd) == cwd);
                }
                listed
            }
        }
    }

    /// The file of a session by path, id or unique beginning of an id.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, StoreError> {
        store::find(&self.root(), wanted)
    }

    /// What all of them are in.
    pub fn root(&self) -> PathBuf {
        match self {
            Self::PerFolder(root) | Self::OmpFolders { root, .. } | Self::Flat(root) => {
                root.clone()
            }
            Self::None => PathBuf::new(),
        }
    }
}
