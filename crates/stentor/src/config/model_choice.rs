//! Which model was asked for, when provider, model and thinking level come from different places.

use stentor_agent::model::{NamedBy, ThinkingLevel};

use super::keys::Settings;
use super::source::Sourced;

/// The model that was asked for, as far as anybody asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestedModel {
    pub provider: Option<Sourced<String>>,
    /// The id, perhaps as `provider/id`, without a thinking level.
    pub model: Option<Sourced<String>>,
    pub thinking: Option<Sourced<ThinkingLevel>>,
    /// Who named provider and model.
    pub by: NamedBy,
}

/// A model by its name. Without a provider, any provider's model of that id will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub provider: Option<String>,
    pub id: String,
}

impl ModelName {
    /// The name as people write it.
    pub fn full(&self) -> String {
        match &self.provider {
            Some(provider) => format!("{provider}/{}", self.id),
            None => self.id.clone(),
        }
    }
}

impl RequestedModel {
    /// What the settings ask for.
    ///
    /// A provider asked for more strongly than the model drops a model that belongs to another
    /// one: `--provider openai` does not mean the Claude model of the user's file.
    pub fn of(settings: &Settings) -> Self {
        let text = |set: &Option<Sourced<super::value::NonEmptyName>>| {
            set.clone().map(|set| set.map(|name| name.0))
        };
        let mut choice = Self {
            provider: text(&settings.provider),
            model: text(&settings.model),
            thinking: settings.thinking.clone(),
            by: NamedBy::default(),
        };
        choice.take_level_off_the_model();
        if let (Some(provider), Some(model)) = (&choice.provider, &choice.model)
            && provider.source.rank() > model.source.rank()
            && below(&model.value, &provider.value).is_none()
        {
            choice.model = None;
        }
        choice
    }

    /// The readings of the model's name, the likeliest first; the first that exists is meant.
    ///
    /// Ids may have slashes of their own, so `a/b` is either `b` of provider `a` or the whole id of
    /// the chosen provider.
    pub fn candidates(&self) -> Vec<ModelName> {
        let Some(model) = &self.model else {
            return Vec::new();
        };
        let named = |provider: &str, id: &str| ModelName {
            provider: Some(provider.to_owned()),
            id: id.to_owned(),
        };
        let split = model.value.split_once('/');
        let Some(provider) = &self.provider else {
            let anywhere = ModelName {
                provider: None,
                id: model.value.clone(),
            };
            let prefixed = split.map(|(provider, id)| named(provider, id));
            return prefixed.into_iter().chain([anywhere]).collect();
        };
        let whole = named(&provider.value, &model.value);
        if let Some(id) = below(&model.value, &provider.value) {
            return vec![named(&provider.value, id), whole];
        }
        match split {
            None => vec![whole],
            Some((prefix, id)) if model.source.rank() > provider.source.rank() => {
                vec![named(prefix, id), whole]
            }
            Some((prefix, id)) => vec![whole, named(prefix, id)],
        }
    }

    /// Takes `:high` off the model. Ids may have colons of their own, so only a level counts.
    fn take_level_off_the_model(&mut self) {
        let Some(model) = &mut self.model else { return };
        let Some((id, suffix)) = model.value.rsplit_once(':') else {
            return;
        };
        let Ok(level) = suffix.parse::<ThinkingLevel>() else {
            return;
        };
        let asked_more_strongly = self
            .thinking
            .as_ref()
            .is_some_and(|set| set.source.rank() > model.source.rank());
        if !asked_more_strongly {
            self.thinking = Some(Sourced {
                value: level,
                source: model.source.clone(),
            });
        }
        model.value = id.to_owned();
    }
}

/// The id in `provider/id`.
fn below<'a>(model: &'a str, provider: &str) -> Option<&'a str> {
    model.strip_prefix(provider)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::super::keys::Layer;
    use super::super::source::ValueSource;
    use super::super::value::NonEmptyName;
    use super::*;

    /// `--x` for a flag, `X` for the environment, as in `openai --` or `openai X`.
    fn setting(text: Option<&str>) -> Option<Sourced<NonEmptyName>> {
        let (value, source) = text?.split_once(' ')?;
        let source = match source {
            "flag" => ValueSource::Flag("--x".into()),
            _ => ValueSource::Environment("X".into()),
        };
        Some(Sourced {
            value: NonEmptyName(value.into()),
            source,
        })
    }

    fn readings(provider: Option<&str>, model: Option<&str>) -> (Vec<String>, Option<String>) {
        let layer = Layer {
            provider: setting(provider),
            model: setting(model),
            ..Layer::default()
        };
        let choice = RequestedModel::of(&layer.settle());
        let names = choice
            .candidates()
            .into_iter()
            .map(|name| format!("{} {}", name.provider.as_deref().unwrap_or("*"), name.id));
        let level = choice.thinking.map(|set| set.value.to_string());
        (names.collect(), level)
    }

    #[test]
    fn a_model_is_read_in_the_likeliest_way_first() {
        for (provider, model, names) in [
            (None, None, &[][..]),
            (Some("openai env"), None, &[]),
            (None, Some("gpt env"), &["* gpt"]),
            (
                None,
                Some("openai/gpt env"),
                &["openai gpt", "* openai/gpt"],
            ),
            (Some("openai env"), Some("gpt env"), &["openai gpt"]),
            (
                Some("openai env"),
                Some("openai/gpt env"),
                &["openai gpt", "openai openai/gpt"],
            ),
            (
                Some("router env"),
                Some("meta/llama env"),
                &["router meta/llama", "meta llama"],
            ),
            (
                Some("router env"),
                Some("meta/llama flag"),
                &["meta llama", "router meta/llama"],
            ),
            (Some("openai flag"), Some("claude env"), &[]),
            (
                Some("openai flag"),
                Some("openai/gpt env"),
                &["openai gpt", "openai openai/gpt"],
            ),
        ] {
            let expected: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(
                readings(provider, model),
                (expected, None),
                "{provider:?} {model:?}"
            );
        }
    }

    #[test]
    fn a_level_is_taken_off_the_model_and_other_colons_stay() {
        for (model, name, level) in [
            ("claude:high env", "* claude", Some("high")),
            ("qwen3:8b env", "* qwen3:8b", None),
            ("qwen3:8b:low env", "* qwen3:8b", Some("low")),
        ] {
            let expected = (vec![name.to_owned()], level.map(str::to_owned));
            assert_eq!(readings(None, Some(model)), expected, "{model}");
        }
    }
}
