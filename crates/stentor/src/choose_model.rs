//! Which model is used, and why.

use std::sync::Arc;

use stentor_agent::model::{ModelError, ModelInfo, ModelRegistry, NamedBy, ThinkingLevel};
use stentor_model::registry::ModelNameError;
use stentor_model::script;

use crate::config::{ModelName, RequestedModel, ValueSource};
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
    Unknown {
        at: ValueSource,
        why: ModelNameError,
    },
    #[error(transparent)]
    Scenario(#[from] ModelError),
    #[error(
        "no model of provider `{provider}` can be used ({at}): is a key set for it? `stentor \
         models` lists the models"
    )]
    OfProvider { provider: String, at: ValueSource },
    #[error("no model is available")]
    None,
}

/// Finds the model that was asked for, else the best there is.
pub fn choose_model(
    choice: &RequestedModel,
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
        let candidates = choice.candidates();
        for candidate in &candidates {
            if let Some(info) = described(candidate, models, choice.by)? {
                return Ok(chosen(info, chosen_by(&model.source), true));
            }
        }
        return match resembling(&candidates, models, choice.by) {
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

/// The model that the first of these names stands for that is shortened, or of a provider that may
/// have it though nobody has described it.
fn resembling(
    candidates: &[ModelName],
    models: &Models,
    by: NamedBy,
) -> Result<Arc<ModelInfo>, ModelNameError> {
    let registry = models.registry();
    let is_known = |name: &&ModelName| match &name.provider {
        Some(provider) => registry.knows_provider(provider),
        None => true,
    };
    let likely = candidates.iter().filter(is_known);
    // Where no provider is known, the error is about the likeliest.
    let mut names = likely.chain(candidates).map(ModelName::full);
    let first = names.next().unwrap_or_default();
    let why = match registry.resolve(&first, by) {
        Ok(named) => return Ok(named.info),
        Err(why) => why,
    };
    let mut others = names.filter_map(|name| registry.resolve(&name, by).ok());
    others.next().map(|named| named.info).ok_or(why)
}

/// The model that has exactly this name, if somebody has described it.
fn described(
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
        Some(provider) => Ok(models.registry().find(provider, &name.id, by)),
        None => {
            let mut available = models.available().into_iter();
            // One that an untrusted folder may not name is as good as not there.
            let found = available.find(|info| info.id == name.id);
            Ok(found.and_then(|info| models.find(&info.provider, &info.id, by)))
        }
    }
}

fn chosen_by(source: &ValueSource) -> String {
    match source {
        ValueSource::Default => "by default".to_owned(),
        ValueSource::File(_) | ValueSource::Environment(_) | ValueSource::Flag(_) => {
            format!("chosen by {source}")
        }
    }
}
