//! What a folder brings that waits until the folder is trusted.

use std::path::{Path, PathBuf};

use super::source::{ConfigLocation, ValueSource};

/// Something a folder brings that waits until the folder is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequirement {
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

/// Why something waits that is a program.
pub const RUNS_PROGRAM: &str = "it would run a program";

impl TrustRequirement {
    /// Whether it runs something, which people must not overlook among much else.
    pub fn runs_something(&self) -> bool {
        self.why.starts_with(RUNS_PROGRAM)
    }

    /// What has a line in the folder's configuration.
    pub(super) fn at(what: String, at: &ConfigLocation, why: &'static str, at_once: bool) -> Self {
        Self {
            what,
            file: at.file.to_path_buf(),
            line: Some(at.line),
            why,
            at_once,
        }
    }

    /// A value of a file; what comes from elsewhere is the user's own.
    pub(super) fn of(
        what: String,
        source: &ValueSource,
        why: &'static str,
        at_once: bool,
    ) -> Option<Self> {
        match source {
            ValueSource::File(at) => Some(Self::at(what, at, why, at_once)),
            ValueSource::Default | ValueSource::Environment(_) | ValueSource::Flag(_) => None,
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
