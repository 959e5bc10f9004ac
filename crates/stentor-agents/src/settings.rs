//! What a user writes about an agent in the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use stentor_agent::model::{InputKind, ModelInfo};
use stentor_agent::sandbox::{SandboxMode, SandboxState};
use stentor_client::AgentDialect;
use stentor_tools::sandbox::Restrictions;

use crate::{API, PROVIDER};

/// The window an agent is taken to have: it looks after its own context.
const CONTEXT_WINDOW: u64 = 1_000_000;

/// One table `[agents.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it speaks.
    pub dialect: DialectName,
    /// What is added to its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables with keys of providers that it may have. It gets no others.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The folder it works in; that of the session when absent.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The model it shall use, by the name it has there.
    #[serde(default)]
    pub model: Option<String>,
    /// The mode it shall be in, by the name it has there.
    #[serde(default)]
    pub mode: Option<String>,
    /// How long it shall think, by the name the level has there.
    #[serde(default)]
    pub thinking: Option<String>,
    /// Whether it runs in the sandbox of the session, where that has one.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// Whether it may use the network in the sandbox, whatever commands may.
    #[serde(default)]
    pub network: bool,
    /// Where it may write in the sandbox, besides where commands may.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    /// Seconds of silence in a turn after which it is given up; zero for never. While it runs a tool or
    /// waits for an answer it may be silent.
    #[serde(default = "idle_seconds")]
    pub idle_timeout: u64,
}

/// Half an hour: longer than models think.
fn idle_seconds() -> u64 {
    30 * 60
}

fn yes() -> bool {
    true
}

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialectName {
    /// The Agent Client Protocol.
    Acp,
    /// The RPC mode of omp and pi.
    Omp,
    /// psi's RPC in EDN.
    Psi,
    /// synaps rpc.
    Synaps,
}

impl DialectName {
    /// What a command speaks, by the words with which programs are asked for a dialect: ACP unless
    /// they name another.
    pub fn of_command(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_omp = |pair: &[&str]| matches!(pair, ["--mode", "rpc" | "rpc-ui"]);
        if words.windows(2).any(is_omp) || words.contains(&"--mode=rpc") {
            Self::Omp
        } else if words.contains(&"--rpc-edn") {
            Self::Psi
        } else if words.get(1..).is_some_and(|flags| flags.contains(&"rpc")) {
            Self::Synaps
        } else {
            Self::Acp
        }
    }

    /// What it names.
    pub fn dialect(self) -> AgentDialect {
        match self {
            Self::Acp => AgentDialect::Acp,
            Self::Omp => AgentDialect::Omp,
            Self::Psi => AgentDialect::Psi,
            Self::Synaps => AgentDialect::Synaps,
        }
    }
}

impl AgentSettings {
    /// One that is started with this command and speaks this dialect.
    pub fn of_command(command: Vec<String>, dialect: DialectName) -> Self {
        Self {
            command,
            dialect,
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            cwd: None,
            model: None,
            mode: None,
            thinking: None,
            sandbox: true,
            network: false,
            writable: Vec::new(),
            idle_timeout: idle_seconds(),
        }
    }

    /// What it is held back from in a session with this sandbox.
    pub fn restrictions(&self, sandbox: &SandboxState) -> Option<Restrictions> {
        let mut restrictions = Restrictions::of(sandbox).filter(|_| self.sandbox)?;
        restrictions.network |= self.network;
        if restrictions.mode == SandboxMode::WorkspaceWrite {
            let there = self.writable.iter().filter(|folder| folder.exists());
            let there = there.filter_map(|folder| stentor_policy::resolve(folder));
            restrictions.writable.extend(there);
        }
        Some(restrictions)
    }

    /// How long it may be silent in a turn.
    pub(crate) fn idle_limit(&self) -> Option<Duration> {
        (self.idle_timeout > 0).then(|| Duration::from_secs(self.idle_timeout))
    }

    /// The agent as a model.
    pub(crate) fn info(&self, id: String, name: String, has_levels: bool) -> ModelInfo {
        ModelInfo {
            id,
            name,
            api: API.to_owned(),
            provider: PROVIDER.to_owned(),
            base_url: String::new(),
            reasoning: has_levels,
            input: vec![InputKind::Text, InputKind::Image],
            cost: None,
            context_window: CONTEXT_WINDOW,
            max_tokens: CONTEXT_WINDOW / 2,
            thinking_levels: Vec::new(),
            modes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::KNOWN;

    #[test]
    fn a_command_line_names_its_dialect() {
        for known in KNOWN {
            let line = known.command.join(" ");
            assert_eq!(
                DialectName::of_command(&line).dialect(),
                known.dialect,
                "{line}"
            );
        }
        for (line, dialect) in [
            ("env A=b stentor acp --model x", AgentDialect::Acp),
            ("/bin/rpc", AgentDialect::Acp),
            ("stentor --rpc-edn", AgentDialect::Psi),
            ("pi --mode=rpc --no-session", AgentDialect::Omp),
        ] {
            assert_eq!(DialectName::of_command(line).dialect(), dialect, "{line}");
        }
    }
}
