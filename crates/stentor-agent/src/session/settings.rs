//! The settings of a session that clients change while it lives.

use std::sync::Arc;

use stentor_policy::PermissionMode;

use super::options::{CompactionSettings, Environment, ScopedModel, SessionOptions};
use super::state::ModelChoice;
use crate::budget::Budget;
use crate::event::{InterruptMode, QueueMode};
use crate::model::{Model, ModelError, ModelInfo, ThinkingLevel};

/// The settings of a session.
pub(super) struct Settings {
    pub model: Option<ChosenModel>,
    pub thinking: ThinkingLevel,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
    pub auto_compaction: bool,
    pub auto_retry: bool,
    pub compaction: CompactionSettings,
    pub budget: Budget,
    pub scoped_models: Vec<ScopedModel>,
}

/// The model in use, or why it cannot be used. The reason is told when somebody prompts.
pub(super) struct ChosenModel {
    pub info: Arc<ModelInfo>,
    pub opened: Result<Arc<dyn Model>, ModelError>,
}

/// What the run that is going on has otherwise than its session.
#[derive(Default)]
pub(super) struct ForRun {
    pub model: Option<ChosenModel>,
    pub thinking: Option<ThinkingLevel>,
    pub permission_mode: Option<PermissionMode>,
}

impl ChosenModel {
    pub fn new(environment: &Environment, info: Arc<ModelInfo>) -> Self {
        let opened = environment.models.open(&info);
        Self { info, opened }
    }
}

impl Settings {
    /// The settings of a new session.
    pub fn new(environment: &Environment, options: &SessionOptions) -> Self {
        let model = options
            .model
            .clone()
            .map(|info| ChosenModel::new(environment, info));
        let wanted = options.thinking.unwrap_or(ThinkingLevel::Medium);
        let thinking = model
            .as_ref()
            .map_or(wanted, |chosen| chosen.info.clamp(wanted));
        Self {
            model,
            thinking,
            steering_mode: options.steering_mode,
            follow_up_mode: options.follow_up_mode,
            interrupt_mode: options.interrupt_mode,
            auto_compaction: options.auto_compaction,
            auto_retry: options.auto_retry,
            compaction: options.compaction,
            budget: options.budget,
            scoped_models: options.scoped_models.clone(),
        }
    }

    pub fn info(&self) -> Option<&Arc<ModelInfo>> {
        self.model.as_ref().map(|chosen| &chosen.info)
    }

    /// The model after the current one. `None` when there is no other.
    pub fn next_model(&self, environment: &Environment, backward: bool) -> Option<ModelChoice> {
        let is_scoped = !self.scoped_models.is_empty();
        let choices: Vec<ScopedModel> = if is_scoped {
            self.scoped_models.clone()
        } else {
            let available = environment.models.available();
            available
                .into_iter()
                .map(|model| ScopedModel {
                    model,
                    thinking: None,
                })
                .collect()
        };
        let is_current = |choice: &ScopedModel| {
            self.info().is_some_and(|info| {
                info.provider == choice.model.provider && info.id == choice.model.id
            })
        };
        let current = choices.iter().position(is_current);
        if choices.is_empty() || (choices.len() == 1 && current.is_some()) {
            return None;
        }
        let count = choices.len();
        let next = match (current, backward) {
            (Some(at), false) => (at + 1) % count,
            (Some(at), true) => (at + count - 1) % count,
            (None, _) => 0,
        };
        let choice = choices.into_iter().nth(next)?;
        let thinking = choice.model.clamp(choice.thinking.unwrap_or(self.thinking));
        Some(ModelChoice {
            model: choice.model,
            thinking,
            is_scoped,
        })
    }

    /// The thinking level after the current one, round and round. `None` when there is no other.
    pub fn next_level(&self) -> Option<ThinkingLevel> {
        let levels = self.info()?.levels();
        if levels.len() < 2 {
            return None;
        }
        let at = levels.iter().position(|level| *level == self.thinking);
        levels
            .get(at.map_or(0, |at| (at + 1) % levels.len()))
            .copied()
    }
}
