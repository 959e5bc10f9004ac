//! What commands are held back from: the vocabulary. How they are is the business of whoever runs
//! them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a command may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Nothing.
    ReadOnly,
    /// Files in the working folder, in the folder for temporary files, and where the user says.
    WorkspaceWrite,
    /// Whatever the user may.
    #[default]
    Off,
}

impl SandboxMode {
    /// All modes, strictest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Off];

    /// Its name in the configuration and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SandboxMode {
    type Err = UnknownSandboxMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownSandboxMode(text.to_owned()))
    }
}

/// A word that is no sandbox mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sandbox mode `{0}`: use read-only, workspace-write or off")]
pub struct UnknownSandboxMode(pub String);

/// What really holds for the commands of a session, which may be less than was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxState {
    pub mode: SandboxMode,
    /// Whether commands may use the network.
    pub network: bool,
    /// Where commands may write, besides the working folder. Empty unless the mode is
    /// [`SandboxMode::WorkspaceWrite`].
    pub writable: Vec<PathBuf>,
    /// Files and folders that commands may not read.
    #[serde(skip)]
    pub unreadable: Vec<PathBuf>,
    /// What was asked for and does not hold, each with its reason, for a person.
    pub gaps: Vec<String>,
}

impl Default for SandboxState {
    /// No sandbox.
    fn default() -> Self {
        Self {
            mode: SandboxMode::Off,
            network: true,
            writable: Vec::new(),
            unreadable: Vec::new(),
            gaps: Vec::new(),
        }
    }
}

impl SandboxState {
    /// The state, where there is something to report: a sandbox that holds, or one that was asked for
    /// and does not. Dialects whose originals know no sandbox say nothing of none.
    pub fn to_report(&self) -> Option<&Self> {
        (self.is_on() || !self.gaps.is_empty()).then_some(self)
    }

    /// True when commands are held back from something.
    pub fn is_on(&self) -> bool {
        self.mode != SandboxMode::Off || !self.network
    }
}

impl fmt::Display for SandboxState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_on(), self.network) {
            (false, _) => f.write_str("off"),
            (true, true) => write!(f, "{}, with network", self.mode),
            (true, false) => write!(f, "{}, no network", self.mode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_by_the_name_it_shows() {
        for mode in SandboxMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        let wrong = "all".parse::<SandboxMode>().unwrap_err().to_string();
        assert_eq!(
            wrong,
            "unknown sandbox mode `all`: use read-only, workspace-write or off"
        );
    }
}
