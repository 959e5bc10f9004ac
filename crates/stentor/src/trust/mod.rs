//! What a folder may bring, decided in one place.
//!
//! Whoever wrote a repository wrote everything in it: its configuration, its agents, its rules, the
//! programs it wants started. Cloning it and starting stentor in it must not run its author's
//! commands. So a folder that the user does not trust may say only what [`allowed`] lists, each line
//! with its reason; what else it [`brought`] waits until the user trusts it, which [`store`] keeps.
//! [`question`] says so, once, and asks where somebody can answer; [`loading`] has what a yes allows
//! join the session. [`always`] is what no folder may say, trusted or not.

pub mod allowed;
pub mod always;
pub mod brought;
pub mod loading;
pub mod question;
pub mod store;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stentor_agent::project_files::Owners;

use crate::config::{Location, Source};
use store::{StoreError, TrustStore, TrustedFolder};

/// The folders that the user trusts.
#[derive(Debug, Default)]
pub struct Trust {
    /// Those of `stentor trust`: each for itself and for its owner.
    stored: Vec<TrustedFolder>,
    /// Those of `trusted_projects`: with everything below them that belongs to their owner, to us
    /// or to the system.
    listed: Vec<PathBuf>,
}

/// Something a folder brings that waits until the folder is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// For a person: a key, an agent, a server.
    pub what: String,
    pub file: PathBuf,
    /// Where in the file, for what has a line of its own.
    pub line: Option<usize>,
    /// Why it waits.
    pub why: &'static str,
    /// A yes counts for it in the session that asks; else from the next session on.
    pub at_once: bool,
}

impl Trust {
    /// What is kept in the user's folder and what is listed in their configuration. A damaged file
    /// trusts nobody.
    pub fn read(config_dir: Option<&Path>, listed: &[PathBuf]) -> (Self, Option<StoreError>) {
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
                && (Owners::ours().include(&folder, owner) || owner_of(above) == Some(owner))
        };
        self.stored.iter().any(is_stored) || self.listed.iter().any(is_listed)
    }

    /// Whose files are read in a folder: those of who owns a trusted one as well.
    pub fn owners(&self, cwd: &Path) -> Owners {
        let mut above = cwd.ancestors();
        let trusted = above.find(|folder| self.covers(folder));
        let trusted = trusted.and_then(|folder| {
            let folder = folder.canonicalize().ok()?;
            let owner = owner_of(&folder)?;
            Some((folder, owner))
        });
        let ours = Owners::ours();
        match trusted {
            Some((folder, owner)) => ours.and_in(folder, owner),
            None => ours,
        }
    }
}

fn owner_of(folder: &Path) -> Option<u32> {
    Some(fs::metadata(folder).ok()?.uid())
}

/// Why something waits that is a program.
const RUNS_PROGRAM: &str = "it would run a program";

impl Wanted {
    /// Whether it runs something, which people must not overlook among much else.
    fn runs_something(&self) -> bool {
        self.why.starts_with(RUNS_PROGRAM)
    }

    /// What has a line in the folder's configuration.
    fn at(what: String, at: &Location, why: &'static str, at_once: bool) -> Self {
        Self {
            what,
            file: at.file.to_path_buf(),
            line: Some(at.line),
            why,
            at_once,
        }
    }

    /// A value of a file; what comes from elsewhere is the user's own.
    fn of(what: String, source: &Source, why: &'static str, at_once: bool) -> Option<Self> {
        match source {
            Source::File(at) => Some(Self::at(what, at, why, at_once)),
            Source::Default | Source::Environment(_) | Source::Flag(_) => None,
        }
    }

    /// Where it is, as seen from the folder.
    pub fn place(&self, root: &Path) -> String {
        let file = self.file.strip_prefix(root).unwrap_or(&self.file).display();
        match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_string(),
        }
    }
}
