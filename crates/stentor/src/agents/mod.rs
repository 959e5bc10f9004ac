//! Other agents, as models: those of the configuration, and one of the command line.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo};
use stentor_agent::sandbox::SandboxMode;
use stentor_agents::{AgentModel, AgentSettings, DialectName};
use stentor_model::registry::PluggedProvider;
use stentor_tools::process::Launcher;

use crate::config::table::tables;
use crate::config::{Config, ConfigErrors};
use crate::launcher::launcher;

/// What the agent of `stentor acp --agent` is called.
pub const COMMAND_LINE: &str = "command";

/// The agents of a configuration, as the registry takes them in.
pub struct Agents {
    agents: BTreeMap<String, Arc<AgentSettings>>,
    /// Starts them. Until there is one, none can be used.
    launcher: OnceLock<Launcher>,
    /// Commands are restricted, which an agent would not be.
    has_sandbox: bool,
}

/// The agents of a configuration, by name.
pub fn configured(config: &Config) -> Result<BTreeMap<String, Arc<AgentSettings>>, ConfigErrors> {
    let agents: BTreeMap<String, AgentSettings> = tables("agents", &config.agents)?;
    let shared = agents.into_iter().map(|(name, mut agent)| {
        for variable in std::mem::take(&mut agent.pass_env) {
            let value = config.variables.get(&variable);
            if let Some(value) = value.and_then(|value| value.into_string().ok()) {
                agent.env.entry(variable).or_insert(value);
            }
        }
        (name, Arc::new(agent))
    });
    Ok(shared.collect())
}

impl Agents {
    /// Those of the configuration. Nothing starts them yet.
    pub fn of(config: &Config) -> Result<Self, ConfigErrors> {
        Ok(Self {
            agents: configured(config)?,
            launcher: OnceLock::new(),
            has_sandbox: has_sandbox(config),
        })
    }

    /// Has them started by `launcher`. The first one counts.
    pub fn start_by(&self, launcher: Launcher) {
        self.launcher.get_or_init(|| launcher);
    }

    /// One that a command of the command line starts and that speaks ACP.
    pub fn of_command(config: &Config, command: &str) -> Self {
        let settings = AgentSettings {
            command: ["sh", "-c", &format!("exec {command}")]
                .map(str::to_owned)
                .into(),
            dialect: DialectName::Acp,
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            cwd: None,
            model: None,
            mode: None,
        };
        Self {
            agents: [(COMMAND_LINE.to_owned(), Arc::new(settings))].into(),
            launcher: launcher(config, Vec::new()).into(),
            has_sandbox: has_sandbox(config),
        }
    }
}

fn has_sandbox(config: &Config) -> bool {
    config.settings.sandbox_mode.value != SandboxMode::Off
}

impl PluggedProvider for Agents {
    fn models(&self) -> Vec<Arc<ModelInfo>> {
        let agents = self.agents.iter();
        agents.map(|(name, settings)| settings.info(name)).collect()
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        if self.has_sandbox {
            let text = format!(
                "{}: an agent runs outside the sandbox; to use it, switch the sandbox off",
                info.full_name()
            );
            return Err(ModelError::new(ModelErrorKind::UnknownModel, text));
        }
        match (self.agents.get(&info.id), self.launcher.get()) {
            (Some(settings), Some(launcher)) => Ok(Arc::new(AgentModel::new(
                &info.id,
                Arc::clone(settings),
                launcher.clone(),
            ))),
            _ => {
                let text = format!("{}: there is no such agent", info.full_name());
                Err(ModelError::new(ModelErrorKind::UnknownModel, text))
            }
        }
    }

    fn usable(&self) -> String {
        "an agent that you have set up".to_owned()
    }

    fn default_reason(&self) -> Option<String> {
        // Starting another program is never what nobody asked for.
        None
    }
}
