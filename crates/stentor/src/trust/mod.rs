//! Which folders the user trusts. [`store`] keeps what `stentor trust` was told.

pub mod store;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stentor_agent::project_files::TrustedOwners;

use store::{TrustStore, TrustStoreError, TrustedFolder};

/// The folders that the user trusts.
#[derive(Debug, Default)]
pub struct Trust {
    /// Those of `stentor trust`: each for itself and for its owner.
    stored: Vec<TrustedFolder>,
    /// Those of `trusted_projects`: with everything below them that belongs to their owner, to us
    /// or to the system.
    listed: Vec<PathBuf>,
}

impl Trust {
    /// What is kept in the user's folder and what is listed in their configuration. A damaged file
    /// trusts nobody.
    pub fn read(config_dir: Option<&Path>, listed: &[PathBuf]) -> (Self, Option<TrustStoreError>) {
        let stored = config_dir.map(|dir| TrustStore::in_folder(dir).all());
        let (stored, problem) = match stored {
            None => (Vec::new(), None),
            Some(Ok(stored)) => (stored, None),
            Some(Err(problem)) => (Vec::new(), Some(problem)),
        };
        let listed = listed
            .iter()
            .filter_map(|folder| folder.canonicalize().ok());
        let trust = Self {
            stored,
            listed: listed.collect(),
        };
        (trust, problem)
    }

    /// Whether a folder is trusted.
    pub fn covers(&self, folder: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else {
            return false;
        };
        let Some(owner) = owner_of(&folder) else {
            return false;
        };
        let is_stored =
            |known: &TrustedFolder| Path::new(&known.folder) == folder && known.owner == owner;
        // In a folder that others can write to, anybody can make one.
        let is_listed = |above: &PathBuf| {
            folder.starts_with(above)
                && (TrustedOwners::ours().include(&folder, owner) || owner_of(above) == Some(owner))
        };
        self.stored.iter().any(is_stored) || self.listed.iter().any(is_listed)
    }

    /// Whose files are read in a folder: those of who owns a trusted one as well.
    pub fn owners(&self, cwd: &Path) -> TrustedOwners {
        let mut above = cwd.ancestors();
        let trusted = above.find(|folder| self.covers(folder));
        let trusted = trusted.and_then(|folder| {
            let folder = folder.canonicalize().ok()?;
            let owner = owner_of(&folder)?;
            Some((folder, owner))
        });
        let ours = TrustedOwners::ours();
        match trusted {
            Some((folder, owner)) => ours.and_in(folder, owner),
            None => ours,
        }
    }
}

fn owner_of(folder: &Path) -> Option<u32> {
    Some(fs::metadata(folder).ok()?.uid())
}
