//! Which model is used, and why.

use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ModelRegistry, ThinkingLevel};
use stentor_model::{offline, script};

use crate::config::suggest::nearest;
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
}

/// Finds the model that was asked for, else the best there is. The error is text for a person.
pub fn choose_model(choice: &ModelChoice, models: &Models) -> Result<ChosenModel, String> {
    let chosen = |info: Arc<ModelInfo>, why: String, asked_for: bool| ChosenModel {
        info,
        thinking: choice.thinking.as_ref().map(|set| set.value),
        why,
        asked_for,
    };
    let candidates = choice.candidates();
    if let Some(model) = &choice.model {
        for candidate in &candidates {
            if let Some(info) = find(candidate, models)? {
                return Ok(chosen(info, said_by(&model.source), true));
            }
        }
        return Err(unknown(&model.value, &model.source, models));
    }
    let available = models.available();
    if let Some(provider) = &choice.provider {
        let first = available
            .iter()
            .find(|info| info.provider == provider.value);
        return match first {
            Some(info) => Ok(chosen(
                Arc::clone(info),
                format!(
                    "the first of provider {}, {}",
                    provider.value,
                    said_by(&provider.source)
                ),
                true,
            )),
            None => Err(format!(
                "no model of provider `{}` can be used ({}): is there a key for it? `stentor models` lists what there is",
                provider.value, provider.source
            )),
        };
    }
    let best = available.into_iter().next();
    best.map(|info| {
        let why = if info.provider == offline::PROVIDER {
            "no key is configured: this one works by rule, without a network"
        } else {
            "the best of those there is a key for"
        };
        chosen(info, why.to_owned(), false)
    })
    .ok_or_else(|| "there is no model at all".to_owned())
}

fn find(name: &ModelName, models: &Models) -> Result<Option<Arc<ModelInfo>>, String> {
    use stentor_agent::model::Model;
    match &name.provider {
        // Asking for a scenario by name: what is wrong with the file is the answer.
        Some(provider) if provider == script::PROVIDER => models
            .script(&name.id)
            .map(|model| Some(Arc::clone(model.info())))
            .map_err(|error| error.to_string()),
        Some(provider) => Ok(models.find(provider, &name.id)),
        None => {
            let mut available = models.available().into_iter();
            Ok(available.find(|info| info.id == name.id))
        }
    }
}

fn said_by(source: &Source) -> String {
    match source {
        Source::Default => "by default".to_owned(),
        Source::File(_) | Source::Environment(_) | Source::Flag(_) => format!("chosen by {source}"),
    }
}

fn unknown(model: &str, source: &Source, models: &Models) -> String {
    let available = models.available();
    let names: Vec<String> = available.iter().map(|info| info.full_name()).collect();
    let ids = available.iter().map(|info| info.id.as_str());
    let near = nearest(model, names.iter().map(String::as_str).chain(ids));
    let hint = near.map_or(String::new(), |name| format!(" did you mean `{name}`?"));
    format!("unknown model `{model}` ({source});{hint} `stentor models` lists what there is")
}
