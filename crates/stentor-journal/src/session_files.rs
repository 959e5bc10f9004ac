//! Where session files are kept, and how they are found there again.

use std::path::{Path, PathBuf};

use crate::store::{self, NewestFirst, StoreError};

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

    /// The stored sessions, newest first: those of `cwd`, or all. Each is read when it is taken.
    pub fn newest_first(&self, cwd: Option<&Path>) -> NewestFirst {
        match (self, cwd) {
            (Self::None, _) => NewestFirst::default(),
            (Self::PerFolder(root) | Self::OmpFolders { root, .. }, None) => {
                NewestFirst::of_all(root)
            }
            (Self::PerFolder(_) | Self::OmpFolders { .. }, Some(cwd)) => {
                let folder = self.folder(cwd);
                let found = folder.map(|folder| NewestFirst::of(&folder));
                // Several working folders may have the same name there: `/x/a/b` and `/x/a-b`.
                found.unwrap_or_default().not_of_others(cwd)
            }
            (Self::Flat(folder), cwd) => NewestFirst::of(folder).working_in(cwd),
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
