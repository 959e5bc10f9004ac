//! Choosing the model, how long it thinks and what may run unasked, for the session or for one run,
//! and the other settings of the session.

use std::sync::Arc;

use stentor_journal::store::EntryKind;
use stentor_policy::PermissionMode;

use super::Actor;
use crate::event::{InterruptMode, QueueMode, StateChange};
use crate::model::{NamedBy, ThinkingLevel};
use crate::session::error::SessionError;
use crate::session::options::RunOptions;
use crate::session::settings::{ChosenModel, ForRun};
use crate::session::state::ModelChoice;

impl Actor {
    pub(super) fn set_model(
        &mut self,
        provider: &str,
        id: &str,
    ) -> Result<ModelChoice, SessionError> {
        let info = self.environment.models.find(provider, id, NamedBy::User);
        let info = info.ok_or_else(|| SessionError::UnknownModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
        })?;
        let thinking = info.clamp(self.settings.thinking);
        let choice = ModelChoice {
            model: info,
            thinking,
            is_scoped: false,
        };
        self.choose(&choice)?;
        self.forget_fallback();
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
        self.forget_fallback();
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

    /// The model that is asked now: the one of the run, else the session's.
    pub(super) fn model_of_now(&self) -> Option<&ChosenModel> {
        self.for_run.model.as_ref().or(self.settings.model.as_ref())
    }

    /// How long that model thinks now.
    pub(super) fn thinking_of_now(&self) -> ThinkingLevel {
        let wanted = self.for_run.thinking.unwrap_or(self.settings.thinking);
        let model = self.model_of_now();
        model.map_or(wanted, |chosen| chosen.info.clamp(wanted))
    }

    /// Has the next run differ from the session, or no run any more.
    pub(super) fn set_for_run(&mut self, options: RunOptions) {
        let RunOptions {
            model,
            thinking,
            permission_mode,
        } = options;
        self.for_run = ForRun {
            model: model.map(|info| ChosenModel::new(&self.environment, info)),
            thinking,
            permission_mode,
        };
        self.tell_model_of_now();
    }

    /// Tools go by what the model can take.
    fn tell_model_of_now(&self) {
        let info = self.model_of_now().map(|chosen| Arc::clone(&chosen.info));
        self.host.set_model(info);
    }

    /// The stance where no permission rule decides: a run may be more careful than its session.
    pub(super) fn mode_of_now(&self) -> PermissionMode {
        let mode = self.policy.mode();
        let of_run = self.for_run.permission_mode;
        of_run.map_or(mode, |of_run| mode.more_careful(of_run))
    }

    /// Changes the stance where no permission rule decides. A resumed session has it again.
    pub(super) fn set_permission_mode(&mut self, mode: PermissionMode) {
        self.policy.set_mode(mode);
        self.chosen_mode = Some(mode);
        if let Err(error) = self.note_permission_mode() {
            tracing::warn!(%error, "the mode may differ when the session is resumed");
        }
        self.changed(StateChange::PermissionMode(mode));
    }

    pub(super) fn set_steering_mode(&mut self, mode: QueueMode) {
        self.settings.steering_mode = mode;
        self.changed(StateChange::SteeringMode(mode));
    }

    pub(super) fn set_follow_up_mode(&mut self, mode: QueueMode) {
        self.settings.follow_up_mode = mode;
        self.changed(StateChange::FollowUpMode(mode));
    }

    pub(super) fn set_interrupt_mode(&mut self, mode: InterruptMode) {
        self.settings.interrupt_mode = mode;
        self.signal_steering();
        self.changed(StateChange::InterruptMode(mode));
    }

    pub(super) fn set_auto_compaction(&mut self, on: bool) {
        self.settings.auto_compaction = on;
        self.changed(StateChange::AutoCompaction(on));
    }

    pub(super) fn set_auto_retry(&mut self, on: bool) {
        self.settings.auto_retry = on;
        self.changed(StateChange::AutoRetry(on));
    }

    pub(super) fn choose(&mut self, choice: &ModelChoice) -> Result<(), SessionError> {
        let chosen = ChosenModel::new(&self.environment, choice.model.clone());
        if let Err(error) = &chosen.opened {
            return Err(error.clone().into());
        }
        let (provider, model_id) = (choice.model.provider.clone(), choice.model.id.clone());
        self.append(EntryKind::ModelChange { provider, model_id }, false)?;
        self.settings.model = Some(chosen);
        self.tell_model_of_now();
        self.changed(StateChange::Model(choice.model.clone()));
        self.set_thinking(choice.thinking)?;
        Ok(())
    }
}
