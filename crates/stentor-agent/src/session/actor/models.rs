//! Which model is asked and how long it thinks: for the session, or for one run.

use std::sync::Arc;

use super::log::SessionLog;
use crate::event::{EventKind, StateChange};
use crate::hub::Hub;
use crate::model::{Model, ModelError, ModelInfo, NamedBy, ThinkingLevel};
use crate::session::error::SessionError;
use crate::session::options::{Environment, ScopedModel, SessionOptions};
use crate::session::state::{ModelChoice, ReplacedModel};
use crate::session::tool_host::SessionToolHost;

/// The model in use, or why it cannot be used. The reason is given when somebody prompts.
pub(super) struct CurrentModel {
    pub info: Arc<ModelInfo>,
    pub opened: Result<Arc<dyn Model>, ModelError>,
}

/// The choice of a model.
pub(super) struct ModelSelection {
    pub environment: Environment,
    hub: Hub,
    /// Tools go by what the model can take.
    host: Arc<SessionToolHost>,
    chosen: Option<CurrentModel>,
    thinking: ThinkingLevel,
    /// The level the session began at, whether or not its model had it.
    begun_at: ThinkingLevel,
    /// What cycling goes through; all available models when empty.
    scoped: Vec<ScopedModel>,
    /// What the run that is going on has instead.
    run_model: Option<CurrentModel>,
    run_thinking: Option<ThinkingLevel>,
    /// What the session's file names and cannot be used.
    pub replaced: Option<Arc<ReplacedModel>>,
}

impl ModelSelection {
    pub fn new(
        environment: Environment,
        hub: Hub,
        host: Arc<SessionToolHost>,
        options: &SessionOptions,
    ) -> Self {
        let mut selection = Self {
            environment,
            hub,
            host,
            chosen: None,
            thinking: options.thinking.unwrap_or(ThinkingLevel::Medium),
            begun_at: ThinkingLevel::Medium,
            scoped: options.scoped_models.clone(),
            run_model: None,
            run_thinking: None,
            replaced: None,
        };
        if let Some(info) = options.model.clone() {
            selection.begin_with(info);
        }
        selection.begin_at(selection.thinking);
        selection
    }

    /// The model a session begins with: nothing is recorded or published.
    pub fn begin_with(&mut self, info: Arc<ModelInfo>) {
        self.chosen = Some(self.opened(info));
        self.update_host();
    }

    /// The level a session begins with.
    pub fn begin_at(&mut self, level: ThinkingLevel) {
        self.begun_at = level;
        self.thinking = self.info().map_or(level, |info| info.clamp(level));
    }

    /// The model of that name: what the session has already, where that can become it.
    fn opened(&self, info: Arc<ModelInfo>) -> CurrentModel {
        let had = [&self.chosen, &self.run_model].into_iter().flatten();
        let mut had = had.filter_map(|chosen| chosen.opened.as_ref().ok());
        let switched = had.find_map(|model| model.switched_to(&info));
        let opened = match switched {
            Some(model) => Ok(model),
            None => self.environment.models.open(&info),
        };
        CurrentModel { info, opened }
    }

    /// The session's model.
    pub fn info(&self) -> Option<&Arc<ModelInfo>> {
        self.chosen.as_ref().map(|chosen| &chosen.info)
    }

    /// The session's thinking level.
    pub fn thinking(&self) -> ThinkingLevel {
        self.thinking
    }

    pub fn scoped(&self) -> &[ScopedModel] {
        &self.scoped
    }

    /// The model that is asked now: the one of the run, else the session's.
    pub fn current(&self) -> Option<&CurrentModel> {
        self.run_model.as_ref().or(self.chosen.as_ref())
    }

    /// How long that model thinks now.
    pub fn current_thinking(&self) -> ThinkingLevel {
        let wanted = self.run_thinking.unwrap_or(self.thinking);
        let model = self.current();
        model.map_or(wanted, |chosen| chosen.info.clamp(wanted))
    }

    /// Why nothing can be answered, if that is so.
    pub fn must_be_usable(&self) -> Result<(), SessionError> {
        let chosen = self.current().ok_or(SessionError::NoModel)?;
        match &chosen.opened {
            Ok(_) => Ok(()),
            Err(error) => Err(error.clone().into()),
        }
    }

    pub fn has_run_model(&self) -> bool {
        self.run_model.is_some()
    }

    /// Has the next run differ from the session, or no run any more.
    pub fn set_for_run(&mut self, model: Option<Arc<ModelInfo>>, thinking: Option<ThinkingLevel>) {
        self.run_model = model.map(|info| self.opened(info));
        self.run_thinking = thinking;
        self.update_host();
    }

    pub fn set(
        &mut self,
        log: &mut SessionLog,
        provider: &str,
        id: &str,
    ) -> Result<ModelChoice, SessionError> {
        let info = self.environment.models.find(provider, id, NamedBy::User);
        let info = info.ok_or_else(|| SessionError::UnknownModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
        })?;
        let choice = ModelChoice {
            thinking: info.clamp(self.thinking),
            model: info,
            is_scoped: false,
        };
        self.choose(log, &choice)?;
        Ok(choice)
    }

    /// Chooses the model after the current one. `None` when there is no other.
    pub fn cycle(
        &mut self,
        log: &mut SessionLog,
        backward: bool,
    ) -> Result<Option<ModelChoice>, SessionError> {
        let Some(choice) = self.next(backward) else {
            return Ok(None);
        };
        self.choose(log, &choice)?;
        Ok(Some(choice))
    }

    pub fn set_thinking(
        &mut self,
        log: &mut SessionLog,
        level: ThinkingLevel,
    ) -> Result<ThinkingLevel, SessionError> {
        let level = self.info().map_or(level, |info| info.clamp(level));
        if level != self.thinking {
            log.note_thinking(level, false)?;
            self.thinking = level;
            self.publish_change(StateChange::ThinkingLevel(level));
        }
        Ok(level)
    }

    /// Chooses the level after the current one, round and round. `None` when there is no other.
    pub fn cycle_thinking(
        &mut self,
        log: &mut SessionLog,
    ) -> Result<Option<ThinkingLevel>, SessionError> {
        let levels = self.info().map(|info| info.levels()).unwrap_or_default();
        if levels.len() < 2 {
            return Ok(None);
        }
        let at = levels.iter().position(|level| *level == self.thinking);
        match levels.get(at.map_or(0, |at| (at + 1) % levels.len())) {
            Some(level) => self.set_thinking(log, *level).map(Some),
            None => Ok(None),
        }
    }

    /// Chooses a model for the session, if it can be used.
    pub fn choose(
        &mut self,
        log: &mut SessionLog,
        choice: &ModelChoice,
    ) -> Result<(), SessionError> {
        let chosen = self.opened(Arc::clone(&choice.model));
        if let Err(error) = &chosen.opened {
            return Err(error.clone().into());
        }
        log.note_model(&choice.model, false)?;
        self.chosen = Some(chosen);
        self.update_host();
        self.publish_change(StateChange::Model(Arc::clone(&choice.model)));
        self.set_thinking(log, choice.thinking)?;
        Ok(())
    }

    /// Has the session's model under the form that it has taken itself. Another model than the
    /// session's is none of its business.
    pub fn become_form(&mut self, log: &mut SessionLog, info: Arc<ModelInfo>) {
        let Some(chosen) = self.chosen.as_mut().filter(|chosen| chosen.info != info) else {
            return;
        };
        let opened = chosen.opened.as_ref().ok();
        let Some(model) = opened.and_then(|model| model.switched_to(&info)) else {
            return;
        };
        if chosen.info.full_name() != info.full_name()
            && let Err(error) = log.note_model(&info, false)
        {
            tracing::warn!(%error, "the form of a model could not be recorded");
        }
        let had_levels = chosen.info.reasoning;
        *chosen = CurrentModel {
            info: Arc::clone(&info),
            opened: Ok(model),
        };
        self.update_host();
        self.publish_change(StateChange::Model(Arc::clone(&info)));
        if info.reasoning && !had_levels {
            // Nobody can have chosen one so far.
            self.thinking = info.clamp(self.begun_at);
            self.publish_change(StateChange::ThinkingLevel(self.thinking));
        }
    }

    /// The model after the current one. `None` when there is no other.
    fn next(&self, backward: bool) -> Option<ModelChoice> {
        let is_scoped = !self.scoped.is_empty();
        let choices: Vec<ScopedModel> = if is_scoped {
            self.scoped.clone()
        } else {
            let available = self.environment.models.available();
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

    fn update_host(&self) {
        let info = self.current().map(|chosen| Arc::clone(&chosen.info));
        self.host.set_model(info);
    }

    fn publish_change(&self, change: StateChange) {
        self.hub.publish(EventKind::StateChanged(change));
    }
}
