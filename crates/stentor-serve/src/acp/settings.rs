//! Modes and configuration options: the model, how long it thinks, what it may do (section 10).

use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;
use stentor_agent::model::{ModelInfo, ModelRegistry, ThinkingLevel, UnknownThinkingLevel};
use stentor_agent::session::{Session, SessionState};
use stentor_policy::{PermissionMode, UnknownPermissionMode};

use super::error::{AcpResult, Refusal};

/// The ids of the options.
const MODE: &str = "mode";
const MODEL: &str = "model";
const THINKING: &str = "thinking";
const AGENT_MODE: &str = "agent_mode";

/// What is set in a session.
#[derive(Clone)]
pub(super) struct SessionSettings {
    pub models: Arc<dyn ModelRegistry>,
    pub model: Option<Arc<ModelInfo>>,
    pub thinking: ThinkingLevel,
    pub mode: PermissionMode,
}

impl SessionSettings {
    /// As they are in `state`.
    pub fn of(models: &Arc<dyn ModelRegistry>, state: &SessionState) -> Self {
        Self {
            models: Arc::clone(models),
            model: state.model.clone(),
            thinking: state.thinking,
            mode: state.permission_mode,
        }
    }

    /// The modes, in the older form.
    pub fn modes(&self) -> acp::SessionModeState {
        let modes = MODES.map(|mode| {
            let (name, description) = name_and_description(mode);
            acp::SessionMode::new(mode.as_str(), name).description(description.to_owned())
        });
        acp::SessionModeState::new(self.mode.as_str(), modes.to_vec())
    }

    /// All options, the most important first.
    pub fn options(&self) -> Vec<acp::SessionConfigOption> {
        let mut options = vec![self.mode_option()];
        options.extend(self.model_option());
        options.extend(self.thinking_option());
        options.extend(self.agent_mode_option());
        options
    }

    fn mode_option(&self) -> acp::SessionConfigOption {
        let values = MODES.map(|mode| {
            let (name, description) = name_and_description(mode);
            acp::SessionConfigSelectOption::new(mode.as_str(), name)
                .description(description.to_owned())
        });
        acp::SessionConfigOption::select(MODE, "Permissions", self.mode.as_str(), values.to_vec())
            .description("What is done without asking.".to_owned())
            .category(acp::SessionConfigOptionCategory::Mode)
    }

    fn model_option(&self) -> Option<acp::SessionConfigOption> {
        let current = self.model.as_ref()?;
        let mut models = self.models.available();
        if !models
            .iter()
            .any(|info| info.provider == current.provider && info.id == current.id)
        {
            models.insert(0, Arc::clone(current));
        }
        let values: Vec<acp::SessionConfigSelectOption> = models
            .iter()
            .map(|info| {
                acp::SessionConfigSelectOption::new(info.full_name(), info.name.clone())
                    .description(info.full_name())
            })
            .collect();
        Some(
            acp::SessionConfigOption::select(MODEL, "Model", current.full_name(), values)
                .category(acp::SessionConfigOptionCategory::Model),
        )
    }

    /// Only where there is a choice.
    fn thinking_option(&self) -> Option<acp::SessionConfigOption> {
        let levels = self.model.as_ref()?.levels();
        if levels.len() < 2 {
            return None;
        }
        let values: Vec<acp::SessionConfigSelectOption> = levels
            .iter()
            .map(|level| acp::SessionConfigSelectOption::new(level.as_str(), capital(level)))
            .collect();
        Some(
            acp::SessionConfigOption::select(THINKING, "Thinking", self.thinking.as_str(), values)
                .description("How long the model thinks before it answers.".to_owned())
                .category(acp::SessionConfigOptionCategory::ThoughtLevel),
        )
    }

    /// The modes of a model that is an agent. Each is the model under another name.
    fn agent_mode_option(&self) -> Option<acp::SessionConfigOption> {
        let current = self.model.as_ref()?;
        if current.modes.is_empty() {
            return None;
        }
        let modes = current.modes.iter();
        let values = modes.map(|mode| {
            let name = format!("{}/{}", current.provider, mode.id);
            acp::SessionConfigSelectOption::new(name, mode.name.clone())
        });
        let values: Vec<acp::SessionConfigSelectOption> = values.collect();
        let current = current.full_name();
        Some(
            acp::SessionConfigOption::select(AGENT_MODE, "Mode of the agent", current, values)
                .description("A mode of the agent that answers, from its next turn on.".to_owned())
                .category(acp::SessionConfigOptionCategory::ModelConfig),
        )
    }
}

/// A change of a setting.
pub(super) enum SettingChange {
    Mode(String),
    Title(String),
    /// By its full name.
    Model(String),
    Option {
        id: String,
        value: Value,
    },
}

impl SettingChange {
    pub async fn apply(self, session: &Session) -> AcpResult<()> {
        match self {
            Self::Mode(mode) => session.set_permission_mode(parse_mode(&mode)?).await?,
            Self::Title(title) => session.set_name(&title).await?,
            Self::Model(name) => {
                let (provider, id) = name.split_once('/').ok_or_else(|| {
                    Refusal::invalid_params(format!(
                        "{:?} is no model: give provider/id, as the option lists them.",
                        name.chars().take(80).collect::<String>()
                    ))
                })?;
                session.set_model(provider, id).await?;
            }
            Self::Option {
                id,
                value: Value::String(value),
            } => match id.as_str() {
                MODE => Box::pin(Self::Mode(value).apply(session)).await?,
                MODEL | AGENT_MODE => Box::pin(Self::Model(value).apply(session)).await?,
                THINKING => {
                    let level = value.parse();
                    let level = level.map_err(|error: UnknownThinkingLevel| {
                        Refusal::invalid_params(error.to_string())
                    })?;
                    session.set_thinking(level).await?;
                }
                _ => {
                    return Err(Refusal::invalid_params(format!(
                        "There is no option {:?}: the options are {MODE}, {MODEL} and {THINKING}.",
                        id.chars().take(80).collect::<String>()
                    )));
                }
            },
            Self::Option { .. } => {
                return Err(Refusal::invalid_params(
                    "value must be one of the values that the option lists, which are strings",
                ));
            }
        }
        Ok(())
    }
}

/// A mode by its id.
pub(super) fn parse_mode(value: &str) -> AcpResult<PermissionMode> {
    let mode = value.parse();
    mode.map_err(|error: UnknownPermissionMode| Refusal::invalid_params(error.to_string()))
}

/// In the order in which they are offered.
const MODES: [PermissionMode; 5] = [
    PermissionMode::Ask,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::ReadOnly,
    PermissionMode::All,
];

fn name_and_description(mode: PermissionMode) -> (&'static str, &'static str) {
    match mode {
        PermissionMode::Ask => (
            "Ask",
            "Reads in the folder freely and asks before everything else.",
        ),
        PermissionMode::AcceptEdits => (
            "Accept edits",
            "Reads and changes files in the folder freely and asks before commands.",
        ),
        PermissionMode::Plan => ("Plan", "Only reads until you have accepted a plan."),
        PermissionMode::ReadOnly => ("Read only", "Only reads in the folder, and asks nothing."),
        PermissionMode::All => ("Everything allowed", "Never asks."),
    }
}

fn capital(level: &ThinkingLevel) -> String {
    let mut letters = level.as_str().chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
