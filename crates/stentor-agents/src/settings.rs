//! What a user writes about an agent in the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use stentor_agent::model::{InputKind, ModelInfo};
use stentor_client::Dialect;

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
    /// What it names.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Acp => Dialect::Acp,
            Self::Omp => Dialect::Omp,
            Self::Psi => Dialect::Psi,
            Self::Synaps => Dialect::Synaps,
        }
    }
}

impl AgentSettings {
    /// The agent as a model.
    pub fn info(&self, name: &str) -> Arc<ModelInfo> {
        Arc::new(ModelInfo {
            id: name.to_owned(),
            name: format!("{name} (agent)"),
            api: API.to_owned(),
            provider: PROVIDER.to_owned(),
            base_url: String::new(),
            reasoning: false,
            input: vec![InputKind::Text, InputKind::Image],
            cost: None,
            context_window: CONTEXT_WINDOW,
            max_tokens: CONTEXT_WINDOW / 2,
            thinking_levels: Vec::new(),
        })
    }
}
