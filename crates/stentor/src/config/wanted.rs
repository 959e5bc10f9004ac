//! What a folder brings that waits until the folder is trusted.

use std::path::{Path, PathBuf};

use super::source::{Location, Source};

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
}

impl Wanted {
    pub(super) fn at(what: String, at: &Location, why: &'static str) -> Self {
        Self {
            what,
            file: at.file.to_path_buf(),
            line: Some(at.line),
            why,
        }
    }

    /// A value of a file; what comes from elsewhere is the user's own.
    pub(super) fn of(what: String, source: &Source, why: &'static str) -> Option<Self> {
        match source {
            Source::File(at) => Some(Self::at(what, at, why)),
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
