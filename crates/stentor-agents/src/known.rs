//! Agents that are known by name. Those on the `PATH` are offered, never started unasked.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use stentor_client::AgentDialect;

/// An agent that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownAgent {
    /// What its entry would be called.
    pub name: &'static str,
    /// The program and its arguments.
    pub command: &'static [&'static str],
    /// What it speaks then.
    pub dialect: AgentDialect,
}

/// All of them.
pub const KNOWN: [KnownAgent; 8] = [
    known("goose", &["goose", "acp"], AgentDialect::Acp),
    known("codex", &["codex-acp"], AgentDialect::Acp),
    known("opencode", &["opencode", "acp"], AgentDialect::Acp),
    known("gemini", &["gemini", "--acp"], AgentDialect::Acp),
    known("claude", &["claude-agent-acp"], AgentDialect::Acp),
    known("pi", &["pi", "--mode", "rpc"], AgentDialect::Omp),
    known("omp", &["omp", "--mode", "rpc"], AgentDialect::Omp),
    known("synaps", &["synaps", "rpc"], AgentDialect::Synaps),
];

const fn known(
    name: &'static str,
    command: &'static [&'static str],
    dialect: AgentDialect,
) -> KnownAgent {
    KnownAgent {
        name,
        command,
        dialect,
    }
}

impl KnownAgent {
    /// True when its program is in one of the folders of a `PATH`.
    pub fn is_in(&self, path: &OsStr) -> bool {
        let Some(program) = self.command.first() else {
            return false;
        };
        std::env::split_paths(path).any(|folder| is_program(&folder.join(program)))
    }

    /// The entry with which the user gets it.
    pub fn entry(&self) -> String {
        let words: Vec<String> = self
            .command
            .iter()
            .map(|word| format!("{word:?}"))
            .collect();
        format!(
            "[agents.{}]\ncommand = [{}]\ndialect = \"{}\"\n",
            self.name,
            words.join(", "),
            self.dialect
        )
    }
}

fn is_program(path: &Path) -> bool {
    let about = path.metadata();
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
