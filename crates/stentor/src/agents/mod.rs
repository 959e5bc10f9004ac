//! Other agents, as models: those of the configuration, and one of the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo};
use stentor_agents::{
    AgentModel, AgentSettings, AgentVariant, ConfiguredAgent, DialectName, PROVIDER,
};
use stentor_model::registry::PluggedProvider;
use stentor_tools::process::Launcher;

use crate::config::table::{at_home, base, key_error, tables};
use crate::config::{Config, ConfigErrors};
use crate::launcher::launcher;

/// What the agent of `stentor acp --agent` is called.
pub const COMMAND_LINE: &str = "command";

/// The agents of a configuration, as the registry takes them in.
pub struct Agents {
    agents: Vec<Arc<ConfiguredAgent>>,
    /// Starts them. Until there is one, none can be used.
    launcher: OnceLock<Launcher>,
}

/// The agents of a configuration, by name.
pub fn configured(config: &Config) -> Result<BTreeMap<String, AgentSettings>, ConfigErrors> {
    let mut agents: BTreeMap<String, AgentSettings> = tables("agents", &config.agents)?;
    let mut errors = Vec::new();
    let home = config.places.home.as_deref();
    for raw in &config.agents {
        let Some(agent) = agents.get_mut(&raw.name) else {
            continue;
        };
        if raw.name.contains('/') || raw.name.is_empty() {
            let why = "the name of an agent is not empty and has no `/`";
            errors.push(key_error("agents", raw, "", why));
        }
        if agent.command.first().is_none_or(String::is_empty) {
            let why = "`command` names no program, as in [\"goose\", \"acp\"]";
            errors.push(key_error("agents", raw, "command", why));
        }
        for variable in std::mem::take(&mut agent.pass_env) {
            let value = config.variables.get(&variable);
            if let Some(value) = value.and_then(|value| value.into_string().ok()) {
                agent.env.entry(variable).or_insert(value);
            }
        }
        let expanded = |path: PathBuf| match path.into_os_string().into_string() {
            Ok(path) => PathBuf::from(at_home(path, home)),
            Err(path) => path.into(),
        };
        let cwd = agent.cwd.take().map(expanded);
        agent.cwd = cwd.map(|folder| base(raw).join(folder));
        let writable = std::mem::take(&mut agent.writable).into_iter();
        agent.writable = writable
            .map(|folder| base(raw).join(expanded(folder)))
            .collect();
    }
    match errors.is_empty() {
        true => Ok(agents),
        false => Err(ConfigErrors(errors)),
    }
}

/// The context window of a model, if that is known: an agent that has not told its own is taken to have
/// a large one.
pub fn known_window(info: &ModelInfo) -> Option<u64> {
    let is_assumed = || {
        let settings = AgentSettings::of_command(Vec::new(), DialectName::Acp);
        let untold = ConfiguredAgent::new("", settings).info(&AgentVariant::default());
        info.context_window == untold.context_window
    };
    let is_known = info.provider != PROVIDER || !is_assumed();
    is_known.then_some(info.context_window)
}

impl Agents {
    /// Those of the configuration. Nothing starts them yet.
    pub fn of(config: &Config) -> Result<Self, ConfigErrors> {
        let agents = configured(config)?.into_iter();
        let agents = agents.map(|(name, settings)| Arc::new(ConfiguredAgent::new(name, settings)));
        Ok(Self {
            agents: agents.collect(),
            launcher: OnceLock::new(),
        })
    }

    /// Has them started by `launcher`. The first one counts.
    pub fn start_by(&self, launcher: Launcher) {
        self.launcher.get_or_init(|| launcher);
    }

    /// One that a command of the command line starts.
    pub fn of_command(config: &Config, command: &str) -> Self {
        let dialect = DialectName::of_command(command);
        let command = ["sh", "-c", &format!("exec {command}")].map(str::to_owned);
        let settings = AgentSettings::of_command(command.into(), dialect);
        Self {
            agents: vec![Arc::new(ConfiguredAgent::new(COMMAND_LINE, settings))],
            launcher: launcher(config, Vec::new()).into(),
        }
    }

    /// The agent that an id means, and in which form.
    fn named(&self, id: &str) -> Option<(&Arc<ConfiguredAgent>, AgentVariant)> {
        let mut agents = self.agents.iter();
        agents.find_map(|agent| Some((agent, agent.form_of(id)?)))
    }
}

impl PluggedProvider for Agents {
    fn models(&self) -> Vec<Arc<ModelInfo>> {
        let agents = self.agents.iter();
        agents.flat_map(|agent| agent.models()).collect()
    }

    fn unlisted(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        let (agent, form) = self.named(id).filter(|_| provider == PROVIDER)?;
        Some(agent.info(&form))
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        match (self.named(&info.id), self.launcher.get()) {
            (Some((agent, form)), Some(launcher)) => Ok(Arc::new(AgentModel::new(
                Arc::clone(agent),
                form,
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
