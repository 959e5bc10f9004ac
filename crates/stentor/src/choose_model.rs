//! Which model is used, and why.

use std::sync::Arc;

use stentor_agent::model::{ModelError, ModelInfo, ModelRegistry, NamedBy, ThinkingLevel};
use stentor_model::registry::NameError;
use stentor_model::script;

use crate::config::{ModelChoice, ModelName, Source};
use crate::models::Models;

/// The model to use.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenModel {
    pub info: Arc<ModelInfo>,
    pub thinking: Option<ThinkingLevel>,
    /// For a person: where the choice came from.
    pub why: String,
    /// True when somebody asked for it; a resumed session keeps its own model otherwise.
    pub asked_for: bool,
    /// It is of a server that was found on this machine.
    pub is_local: bool,
}

/// Why there is no model to begin with.
#[derive(Debug, thiserror::Error)]
pub enum ChooseModelError {
    #[error("{at}: {why}")]
    Unknown { at: Source, why: NameError },
    #[error(transparent)]
    Scenario(#[from] ModelError),
    #[error(
        "no model of provider `{provider}` can be used ({at}): is a key set for it? `stentor \
         models` lists the models"
    )]
    OfProvider { provider: String, at: Source },
    #[error("there is no model at all")]
    None,
}

/// Finds the model that was asked for, else the best there is.
pub fn choose_model(
    choice: &ModelChoice,
    models: &Models,
) -> Result<ChosenModel, ChooseModelError> {
    let thinking = choice.thinking.as_ref().map(|set| set.value);
    let chosen = |info: Arc<ModelInfo>, why: String, asked_for: bool| ChosenModel {
        is_local: models.registry().is_found_locally(&info.provider),
        info,
        thinking: thinking.or_else(|| models.registry().default_thinking_level()),
        why,
        asked_for,
    };
    if let Some(model) = &choice.model {
        for candidate in &choice.candidates() {
            if let Some(info) = find(candidate, models, choice.by)? {
                return Ok(chosen(info, chosen_by(&model.source), true));
            }
        }
        return match resembling(choice, &model.value, models) {
            Ok(info) => Ok(chosen(info, chosen_by(&model.source), true)),
            Err(why) => Err(ChooseModelError::Unknown {
                at: model.source.clone(),
                why,
            }),
        };
    }
    if let Some(provider) = &choice.provider {
        let available = models.available();
        let mut its = available
            .iter()
            .filter(|info| info.provider == provider.value);
        let first = its.find_map(|info| models.find(&info.provider, &info.id, choice.by));
        return match first {
            Some(info) => Ok(chosen(
                info,
                format!(
                    "the first of provider {}, {}",
                    provider.value,
                    chosen_by(&provider.source)
                ),
                true,
            )),
            None => Err(ChooseModelError::OfProvider {
                provider: provider.value.clone(),
                at: provider.source.clone(),
            }),
        };
    }
    let best = models.registry().default_model();
    best.map(|best| chosen(best.info, best.reason, false))
        .ok_or(ChooseModelError::None)
}

/// The model a shortened or unlisted name stands for.
fn resembling(
    choice: &ModelChoice,
    name: &str,
    models: &Models,
) -> Result<Arc<ModelInfo>, NameError> {
    let full = match &choice.provider {
        Some(provider) if !name.starts_with(&format!("{}/", provider.value)) => {
            format!("{}/{name}", provider.value)
        }
        _ => name.to_owned(),
    };
    let named = models.registry().resolve(&full, choice.by)?;
    Ok(named.info)
}

fn find(
    name: &ModelName,
    models: &Models,
    by: NamedBy,
) -> Result<Option<Arc<ModelInfo>>, ModelError> {
    use stentor_agent::model::Model;
    match &name.provider {
        // Asking for a scenario by name: what is wrong with the file is the answer.
        Some(provider) if provider == script::PROVIDER => models
            .script(&name.id, by)
            .map(|model| Some(Arc::clone(model.info()))),
        Some(provider) => Ok(models.find(provider, &name.id, by)),
        None => {
            let mut available = models.available().into_iter();
            // One that an untrusted folder may not name is as good as not there.
            let found = available.find(|info| info.id == name.id);
            Ok(found.and_then(|info| models.find(&info.provider, &info.id, by)))
        }
    }
}

fn chosen_by(source: &Source) -> String {
    match source {
        Source::Default => "by default".to_owned(),
        Source::File(_) | Source::Environment(_) | Source::Flag(_) => format!("chosen by {source}"),
    }
}
