//! Another model for one that fails, and the way back.

use std::collections::HashMap;
use std::sync::Arc;

use super::log::SessionLog;
use super::models::ModelSelection;
use crate::event::Fallback;
use crate::fallback::{FallbackChains, FallbackSettings, Selector};
use crate::model::{ModelError, ModelInfo, ThinkingLevel};
use crate::session::state::ModelChoice;
use crate::tasks;
use crate::turn::FallbackPlan;

/// What a session knows of models that failed.
pub(super) struct Fallbacks {
    settings: FallbackSettings,
    /// Read when a model first fails.
    chains: Option<FallbackChains>,
    /// Until when models that failed are not asked, by their full names.
    cooldowns: HashMap<String, u64>,
    active: Option<ActiveFallback>,
}

/// A model stands in for another.
struct ActiveFallback {
    role: String,
    first: Arc<ModelInfo>,
    level_of_first: ThinkingLevel,
    /// The level that was set with the one that stands in.
    level_set: ThinkingLevel,
}

impl Fallbacks {
    pub fn new(settings: FallbackSettings) -> Self {
        Self {
            settings,
            chains: None,
            cooldowns: HashMap::new(),
            active: None,
        }
    }

    /// Which model could step in for the one that failed. `tried` have failed already. The first
    /// time the actor waits until the chains are read.
    pub async fn find(
        &mut self,
        models: &ModelSelection,
        error: &ModelError,
        tried: Vec<String>,
    ) -> Option<FallbackPlan> {
        let failed = models.current()?.info.full_name();
        self.read_chains().await;
        let mut tried = tried;
        tried.push(failed.clone());
        let plan = self.next(models, &tried);
        let now_ms = models.environment.clock.now_ms();
        let cooldown_ms = error.retry_after_ms.unwrap_or(self.settings.cooldown_ms);
        let until = now_ms.saturating_add(cooldown_ms);
        self.cooldowns.retain(|_, until| *until > now_ms);
        self.cooldowns.insert(failed, until);
        plan
    }

    async fn read_chains(&mut self) {
        if self.chains.is_none() {
            let chains = Arc::clone(&self.settings.chains);
            let read = tasks::spawn_blocking(move || chains()).await;
            self.chains = read
                .inspect_err(|error| tracing::warn!(%error, "no chains of models could be read"))
                .ok();
        }
    }

    /// The next model of the chain that can be used. `None` where nothing is configured.
    fn next(&self, selection: &ModelSelection, tried: &[String]) -> Option<FallbackPlan> {
        let chains = self.chains.as_ref()?;
        let current = current_selector(selection)?;
        let models = &*selection.environment.models;
        let key = match &self.active {
            Some(active) => active.role.as_str(),
            None => chains.key_for(&current, models)?,
        };
        let now_ms = selection.environment.clock.now_ms();
        let candidates = chains.after(key, &current, models).into_iter();
        candidates
            .filter_map(|(name, selector)| {
                let Selector { provider, id, .. } = &selector;
                let Some(info) = models.find(provider, id, chains.by) else {
                    if let Some(why) = models.why_not(provider, id, chains.by) {
                        tracing::warn!("{provider}/{id} is not used: {why}");
                    }
                    return None;
                };
                let full_name = info.full_name();
                let cooldown = self.cooldowns.get(&full_name);
                let may = !tried.contains(&full_name)
                    && cooldown.is_none_or(|until| *until <= now_ms)
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

    /// Lets it step in, and gives the name of the model then. `None` when it cannot after all:
    /// somebody chose a model meanwhile.
    pub fn apply(
        &mut self,
        models: &mut ModelSelection,
        log: &mut SessionLog,
        plan: FallbackPlan,
        reason: String,
    ) -> Option<(Fallback, String)> {
        let first = Arc::clone(&models.current()?.info);
        let level_of_first = models.current_thinking();
        if current_selector(models)?.to_string() != plan.from {
            return None;
        }
        let thinking = plan.info.clamp(plan.level.unwrap_or(level_of_first));
        if models.has_run_model() {
            // A model of this run alone gives way for this run alone.
            models.set_for_run(Some(plan.info), Some(thinking));
        } else {
            let choice = ModelChoice {
                model: plan.info,
                thinking,
                is_scoped: false,
            };
            if let Err(error) = models.choose(log, &choice) {
                tracing::warn!(%error, "no fallback model could be used");
                return None;
            }
            self.active = Some(match self.active.take() {
                Some(active) => ActiveFallback {
                    level_set: thinking,
                    ..active
                },
                None => ActiveFallback {
                    role: plan.role.clone(),
                    first,
                    level_of_first,
                    level_set: thinking,
                },
            });
        }
        let fallback = Fallback {
            from: plan.from,
            to: plan.name,
            role: plan.role,
            reason,
        };
        let named = current_selector(models).map(|selector| selector.to_string());
        Some((fallback, named.unwrap_or_default()))
    }

    /// Goes back to the first model when it may be asked again.
    pub fn return_to_first(&mut self, models: &mut ModelSelection, log: &mut SessionLog) {
        let Some(active) = &self.active else {
            return;
        };
        let until = self.cooldowns.get(&active.first.full_name());
        let now_ms = models.environment.clock.now_ms();
        let chains = self.chains.as_ref();
        let stays = !self.settings.returns || chains.is_some_and(|chains| chains.never_return);
        if stays || until.is_some_and(|until| *until > now_ms) {
            return;
        }
        let level = if models.thinking() == active.level_set {
            active.level_of_first
        } else {
            models.thinking()
        };
        let choice = ModelChoice {
            thinking: active.first.clamp(level),
            model: Arc::clone(&active.first),
            is_scoped: false,
        };
        match models.choose(log, &choice) {
            Ok(()) => self.active = None,
            Err(error) => tracing::warn!(%error, "cannot return to the first model yet"),
        }
    }

    /// Somebody chose a model: it stands in for nobody.
    pub fn forget(&mut self) {
        self.active = None;
    }
}

/// The current model with its level, as chains name it.
fn current_selector(models: &ModelSelection) -> Option<Selector> {
    let chosen = models.current()?;
    Some(Selector::of(&chosen.info, models.current_thinking()))
}
