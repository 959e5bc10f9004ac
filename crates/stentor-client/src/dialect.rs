//! The names of the dialects.

use std::fmt;
use std::str::FromStr;

/// What an agent speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentDialect {
    /// The Agent Client Protocol: goose, codex-acp, opencode, gemini, claude-agent-acp.
    Acp,
    /// The RPC mode of omp and pi.
    Omp,
    /// psi's RPC in EDN.
    Psi,
    /// synaps rpc.
    Synaps,
}

impl AgentDialect {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Acp, Self::Omp, Self::Psi, Self::Synaps];

    /// Its name in configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Omp => "omp",
            Self::Psi => "psi",
            Self::Synaps => "synaps",
        }
    }
}

impl fmt::Display for AgentDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AgentDialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == text)
            .ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

/// A word that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{0}`: use acp, omp, psi or synaps")]
pub struct UnknownDialect(pub String);
