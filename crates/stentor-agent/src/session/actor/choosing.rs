//! Choosing the model and how long it thinks.

use super::Actor;
use crate::event::StateChange;
use crate::model::ThinkingLevel;
use crate::session::error::SessionError;
use crate::session::settings::ChosenModel;
use crate::session::state::ModelChoice;
use crate::store::EntryKind;

impl Actor {
    pub(super) fn set_model(
        &mut self,
        provider: &str,
        id: &str,
    ) -> Result<ModelChoice, SessionError> {
        let info = self.environment.models.find(provider, id).ok_or_else(|| {
            SessionError::UnknownModel {
                provider: provider.to_owned(),
                id: id.to_owned(),
            }
        })?;
        let thinking = info.clamp(self.settings.thinking);
        let choice = ModelChoice {
            model: info,
            thinking,
            is_scoped: false,
        };
        self.choose(&choice)?;
        Ok(choice)
    }

    pub(super) fn cycle_model(
        &mut self,
        backward: bool,
    ) -> Result<Option<ModelChoice>, SessionError> {
        let Some(choice) = self.settings.next_model(&self.environment, backward) else {
            return Ok(None);
        };
        self.choose(&choice)?;
        Ok(Some(choice))
    }

    pub(super) fn set_thinking(
        &mut self,
        level: ThinkingLevel,
    ) -> Result<ThinkingLevel, SessionError> {
        let level = self.settings.info().map_or(level, |info| info.clamp(level));
        if level != self.settings.thinking {
            let thinking_level = Some(level.to_string());
            self.append(EntryKind::ThinkingLevelChange { thinking_level }, false)?;
            self.settings.thinking = level;
            self.changed(StateChange::ThinkingLevel(level));
        }
        Ok(level)
    }

    pub(super) fn cycle_thinking(&mut self) -> Result<Option<ThinkingLevel>, SessionError> {
        match self.settings.next_level() {
            Some(level) => self.set_thinking(level).map(Some),
            None => Ok(None),
        }
    }

    fn choose(&mut self, choice: &ModelChoice) -> Result<(), SessionError> {
        let chosen = ChosenModel::new(&self.environment, choice.model.clone());
        if let Err(error) = &chosen.opened {
            return Err(error.clone().into());
        }
        let (provider, model_id) = (choice.model.provider.clone(), choice.model.id.clone());
        self.append(EntryKind::ModelChange { provider, model_id }, false)?;
        self.settings.model = Some(chosen);
        self.host.set_model(Some(choice.model.clone()));
        self.changed(StateChange::Model(choice.model.clone()));
        self.set_thinking(choice.thinking)?;
        Ok(())
    }
}
