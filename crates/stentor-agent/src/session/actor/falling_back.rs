//! Another model for one that fails, and the way back.

use std::collections::HashMap;
use std::sync::Arc;

use super::Actor;
use crate::event::Fallback;
use crate::fallback::{FallbackChains, Selector};
use crate::model::{ModelError, ModelInfo, ThinkingLevel};
use crate::session::settings::ChosenModel;
use crate::session::state::ModelChoice;
use crate::turn::FallbackPlan;

/// What a session knows of models that failed.
#[derive(Default)]
pub(super) struct Fallbacks {
    /// Looked up when a model first fails.
    chains: Option<FallbackChains>,
    /// Until when models that failed are left alone, by their full names.
    left_alone: HashMap<String, u64>,
    active: Option<Active>,
}

/// A model stands in for another.
struct Active {
    role: String,
    first: Arc<ModelInfo>,
    level_of_first: ThinkingLevel,
    /// The level that was set with the one that stands in.
    level_set: ThinkingLevel,
}

impl Actor {
    /// Which model could step in for the one that failed. `tried` have failed already.
    pub(super) fn find_fallback(
        &mut self,
        error: &ModelError,
        tried: &[String],
    ) -> Option<FallbackPlan> {
        let chosen = self.model_of_now()?;
        let failed = chosen.info.full_name();
        let current = Selector::of(&chosen.info, self.thinking_of_now());
        let chains = match self.fallbacks.chains.take() {
            Some(chains) => chains,
            None => self.fallback.all(),
        };
        let mut tried = tried.to_vec();
        tried.push(failed.clone());
        let plan = self.next_in(&chains, &current, &tried);
        self.fallbacks.chains = Some(chains);
        let now_ms = self.environment.clock.now_ms();
        let cooldown_ms = error.retry_after_ms.unwrap_or(self.fallback.cooldown_ms);
        let until = now_ms.saturating_add(cooldown_ms);
        self.fallbacks.left_alone.retain(|_, until| *until > now_ms);
        self.fallbacks.left_alone.insert(failed, until);
        plan
    }

    /// The next model of the chain that can be used. `None` where nothing is configured.
    fn next_in(
        &self,
        chains: &FallbackChains,
        current: &Selector,
        tried: &[String],
    ) -> Option<FallbackPlan> {
        let models = &*self.environment.models;
        let active = self.fallbacks.active.as_ref();
        let key = match active {
            Some(active) => active.role.as_str(),
            None => chains.key_for(current, models)?,
        };
        let now_ms = self.environment.clock.now_ms();
        let candidates = chains.after(key, current, models).into_iter();
        candidates
            .filter_map(|(name, selector)| {
                let info = models.find(&selector.provider, &selector.id, chains.by)?;
                let full_name = info.full_name();
                let left_alone = self.fallbacks.left_alone.get(&full_name);
                let may = !tried.contains(&full_name)
                    && left_alone.is_none_or(|until| *until <= now_ms)
                    && models.open(&info).is_ok();
                may.then(|| FallbackPlan {
                    role: key.to_owned(),
                    from: current.to_string(),
                    name,
                    info,
                    level: selector.level,
                })
            })
            .next()
    }

    /// Lets it step in. `None` when it cannot after all: somebody chose a model meanwhile.
    pub(super) fn apply_fallback(
        &mut self,
        plan: FallbackPlan,
        reason: String,
    ) -> Option<Fallback> {
        let chosen = self.model_of_now()?;
        let first = Arc::clone(&chosen.info);
        let level_of_first = self.thinking_of_now();
        if Selector::of(&first, level_of_first).to_string() != plan.from {
            return None;
        }
        let thinking = plan.info.clamp(plan.level.unwrap_or(level_of_first));
        if self.for_run.model.is_some() {
            // A model of this run alone gives way for this run alone.
            self.for_run.model = Some(ChosenModel::new(&self.environment, plan.info));
            self.for_run.thinking = Some(thinking);
        } else {
            let choice = ModelChoice {
                model: plan.info,
                thinking,
                is_scoped: false,
            };
            if let Err(error) = self.choose(&choice) {
                tracing::warn!(%error, "no fallback model could be used");
                return None;
            }
            let active = self.fallbacks.active.take();
            self.fallbacks.active = Some(match active {
                Some(active) => Active {
                    level_set: thinking,
                    ..active
                },
                None => Active {
                    role: plan.role.clone(),
                    first,
                    level_of_first,
                    level_set: thinking,
                },
            });
        }
        Some(Fallback {
            from: plan.from,
            to: plan.name,
            role: plan.role,
            reason,
        })
    }

    /// The model of now with its level, as chains name it.
    pub(super) fn model_named(&self) -> String {
        let level = self.thinking_of_now();
        let chosen = self.model_of_now();
        chosen.map_or_else(String::new, |chosen| {
            Selector::of(&chosen.info, level).to_string()
        })
    }

    /// Goes back to the first model when it may be asked again.
    pub(super) fn return_from_fallback(&mut self) {
        let Some(active) = &self.fallbacks.active else {
            return;
        };
        let until = self.fallbacks.left_alone.get(&active.first.full_name());
        let now_ms = self.environment.clock.now_ms();
        let chains = self.fallbacks.chains.as_ref();
        let stays = !self.fallback.returns || chains.is_some_and(|chains| chains.never_return);
        if stays || until.is_some_and(|until| *until > now_ms) {
            return;
        }
        let level = if self.settings.thinking == active.level_set {
            active.level_of_first
        } else {
            self.settings.thinking
        };
        let choice = ModelChoice {
            thinking: active.first.clamp(level),
            model: Arc::clone(&active.first),
            is_scoped: false,
        };
        match self.choose(&choice) {
            Ok(()) => self.fallbacks.active = None,
            Err(error) => tracing::warn!(%error, "cannot return to the first model yet"),
        }
    }

    /// Somebody chose a model: it stands in for nobody.
    pub(super) fn forget_fallback(&mut self) {
        self.fallbacks.active = None;
    }
}
