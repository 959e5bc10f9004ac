//! What model a person means.

use std::cmp::Reverse;
use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ThinkingLevel};

use super::ListedModel;
use stentor_text::spelling::distance;

/// The model a name stands for, and the thinking level named with it.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedModel {
    pub info: Arc<ModelInfo>,
    pub thinking: Option<ThinkingLevel>,
}

/// Why a name stands for no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    #[error("there is no model `{name}`{nearest}; `stentor models` lists them all")]
    Unknown { name: String, nearest: String },
}

/// How many names an error lists.
const NAMES_LISTED: usize = 5;

/// Finds the model whose whole name this is, with or without a level behind it.
pub(super) fn exactly(name: &str, models: &[ListedModel]) -> Option<NamedModel> {
    let name = name.trim();
    if let Some(info) = exact(name, models) {
        return Some(NamedModel {
            info,
            thinking: None,
        });
    }
    let (name, thinking) = split_level(name);
    exact(name, models).map(|info| NamedModel { info, thinking })
}

/// Finds the model. `optimistic` makes one up for a provider that is known.
pub(super) fn resolve(
    name: &str,
    models: &[ListedModel],
    optimistic: impl Fn(&str, &str) -> Option<Arc<ModelInfo>>,
) -> Result<NamedModel, ModelNameError> {
    if let Some(named) = exactly(name, models) {
        return Ok(named);
    }
    let (name, thinking) = split_level(name.trim());
    let info = resembling(name, models, optimistic)?;
    Ok(NamedModel { info, thinking })
}

fn split_level(name: &str) -> (&str, Option<ThinkingLevel>) {
    match name.rsplit_once(':') {
        Some((before, level)) => match level.parse() {
            Ok(level) => (before, Some(level)),
            Err(_) => (name, None),
        },
        None => (name, None),
    }
}

/// `provider/id`, or an id; among equal ids the first that can be used.
fn exact(name: &str, models: &[ListedModel]) -> Option<Arc<ModelInfo>> {
    let full = models.iter().find(|listed| listed.info.full_name() == name);
    let same_id = || models.iter().filter(|listed| listed.info.id == name);
    full.or_else(|| same_id().find(|listed| listed.usable.is_some()))
        .or_else(|| same_id().next())
        .map(|listed| Arc::clone(&listed.info))
}

fn resembling(
    name: &str,
    models: &[ListedModel],
    optimistic: impl Fn(&str, &str) -> Option<Arc<ModelInfo>>,
) -> Result<Arc<ModelInfo>, ModelNameError> {
    let all: Vec<&ListedModel> = models.iter().collect();
    let qualified = name.split_once('/').filter(|(_, id)| !id.is_empty());
    // Who names a provider means one of its models before any other's.
    let of_provider: Vec<&ListedModel> = qualified.map_or_else(Vec::new, |(provider, _)| {
        let its = all.iter().filter(|listed| listed.info.provider == provider);
        its.copied().collect()
    });
    if let Some((_, id)) = qualified
        && let Some(info) = newest_like(id, &of_provider)
    {
        return Ok(info);
    }
    // What can be used before what cannot.
    let usable: Vec<&ListedModel> = all
        .iter()
        .filter(|listed| listed.usable.is_some())
        .copied()
        .collect();
    if let Some(info) = newest_like(name, &usable).or_else(|| newest_like(name, &all)) {
        return Ok(info);
    }
    if let Some((provider, id)) = qualified
        && !is_misspelt(id, &of_provider)
        && let Some(info) = optimistic(provider, id)
    {
        return Ok(info);
    }
    Err(unknown(
        name,
        if of_provider.is_empty() {
            &all
        } else {
            &of_provider
        },
    ))
}

/// The newest whose id begins with this; else the newest that has it anywhere in its name.
fn newest_like(name: &str, models: &[&ListedModel]) -> Option<Arc<ModelInfo>> {
    let wanted = name.to_lowercase();
    if wanted.is_empty() {
        return None;
    }
    let begins = |listed: &ListedModel| listed.info.id.to_lowercase().starts_with(&wanted);
    let contains = |listed: &ListedModel| {
        let info = &listed.info;
        let names = [&info.id, &info.name];
        names
            .into_iter()
            .any(|name| name.to_lowercase().contains(&wanted))
    };
    let of = |fits: &dyn Fn(&ListedModel) -> bool| {
        let found = models.iter().filter(|listed| fits(listed));
        newest(&found.copied().collect::<Vec<_>>())
    };
    of(&begins).or_else(|| of(&contains))
}

/// Shorter words differ by a letter or two from too many others.
const SHORTEST_MISSPELT: usize = 4;

/// True when a word of an id is nearly one of those that the models of a provider are made of.
/// Numbers do not count: a model with another one is a new model, which may well exist.
fn is_misspelt(id: &str, models: &[&ListedModel]) -> bool {
    let words = |id: &str| -> Vec<String> {
        let id = id.to_lowercase();
        let words = id.split(|c: char| !c.is_ascii_alphabetic());
        words
            .filter(|word| word.len() >= SHORTEST_MISSPELT)
            .map(str::to_owned)
            .collect()
    };
    let known: Vec<String> = models
        .iter()
        .flat_map(|listed| words(&listed.info.id))
        .collect();
    words(id).iter().any(|word| {
        let mut distances = known.iter().map(|known| distance(word, known));
        !known.contains(word)
            && distances.any(|distance| distance <= word.len() / SHORTEST_MISSPELT)
    })
}

/// Of several models the newest; of several that are equally new the one that is listed first.
fn newest(found: &[&ListedModel]) -> Option<Arc<ModelInfo>> {
    let newest = found
        .iter()
        .rev()
        .max_by_key(|listed| version(&listed.info.id));
    newest.map(|listed| Arc::clone(&listed.info))
}

/// Larger numbers in an id are no part of a version but a date, or how large the model is.
const LARGEST_VERSION_PART: u64 = 99;

/// What an id says about how new a model is: the numbers of its version, then its date.
fn version(id: &str) -> (Vec<u64>, u64) {
    // What follows a colon says how large a model is, what stands before a slash who made it.
    let id = id.rsplit('/').next().unwrap_or(id);
    let id = id.split(':').next().unwrap_or(id);
    let words = id.split(|c: char| !c.is_ascii_alphanumeric());
    let numbers = words.filter_map(|word| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse::<u64>().ok()
    });
    let (version, others): (Vec<u64>, Vec<u64>) =
        numbers.partition(|number| *number <= LARGEST_VERSION_PART);
    (version, others.into_iter().max().unwrap_or(0))
}

fn unknown(name: &str, models: &[&ListedModel]) -> ModelNameError {
    let wanted = name.to_lowercase();
    let short = wanted.rsplit('/').next().unwrap_or(&wanted);
    let mut near: Vec<(usize, Reverse<_>, String)> = models
        .iter()
        .map(|listed| {
            let id = listed.info.id.to_lowercase();
            let id = id.rsplit('/').next().unwrap_or(&id);
            // A single word may be meant for one of those in an id.
            let words = id.split('-').filter(|_| short.len() >= SHORTEST_MISSPELT);
            let parts = words.chain([id]);
            let distance = parts.map(|part| distance(short, part)).min();
            let newest_first = Reverse(version(id));
            let name = listed.info.full_name();
            (distance.unwrap_or(usize::MAX), newest_first, name)
        })
        .filter(|(distance, ..)| *distance <= (short.len() / 2).max(2))
        .collect();
    near.sort();
    let nearest = if near.is_empty() {
        String::new()
    } else {
        let names = near.into_iter().take(3).map(|(.., name)| name);
        format!(" (the nearest: {})", names_of(names))
    };
    ModelNameError::Unknown {
        name: name.to_owned(),
        nearest,
    }
}

fn names_of(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let shown = names.get(..NAMES_LISTED).unwrap_or(&names).join(", ");
    match names.len().saturating_sub(NAMES_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::ModelConfiguration;

    fn model(provider: &str, id: &str, usable: bool) -> ListedModel {
        let entry = ModelConfiguration {
            id: id.into(),
            ..ModelConfiguration::default()
        };
        ListedModel {
            info: Arc::new(entry.to_info(provider, "openai-completions", "")),
            usable: usable.then(|| "yes".to_owned()),
            hint: String::new(),
            by_subscription: false,
        }
    }

    fn resolve_short(name: &str) -> Result<String, String> {
        let models = [
            model("anthropic", "claude-opus-5-5", true),
            model("anthropic", "claude-sonnet-5-5", true),
            model("anthropic", "claude-sonnet-5", true),
            model("anthropic", "fable-5", false),
            model("router", "anthropic/fable-9", true),
            model("openai", "gpt-6-sol", false),
            model("copilot", "gpt-6-sol", true),
            model("groq", "openai/gpt-oss-120b", false),
            model("ollama", "qwen3:8b", true),
        ];
        let optimistic = |provider: &str, id: &str| {
            (provider == "anthropic").then(|| model(provider, id, true).info)
        };
        match resolve(name, &models, optimistic) {
            Ok(named) => Ok(match named.thinking {
                Some(level) => format!("{} at {level}", named.info.full_name()),
                None => named.info.full_name(),
            }),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_name_means_what_a_person_would_expect() {
        for (name, expected) in [
            ("anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
            ("claude-opus-5-5:high", "anthropic/claude-opus-5-5 at high"),
            ("opus", "anthropic/claude-opus-5-5"),
            ("sonnet", "anthropic/claude-sonnet-5-5"),
            ("claude-sonnet", "anthropic/claude-sonnet-5-5"),
            ("claude", "anthropic/claude-opus-5-5"),
            ("Opus:off", "anthropic/claude-opus-5-5 at off"),
            ("anthropic/opus", "anthropic/claude-opus-5-5"),
            (
                "anthropic/Sonnet:high",
                "anthropic/claude-sonnet-5-5 at high",
            ),
            ("anthropic/fable", "anthropic/fable-5"),
            ("router/fable", "router/anthropic/fable-9"),
            ("fable", "router/anthropic/fable-9"),
            ("openai/gpt-oss", "groq/openai/gpt-oss-120b"),
            ("anthropic/claude-sonnet-6", "anthropic/claude-sonnet-6"),
            ("claude-sonnet-5", "anthropic/claude-sonnet-5"),
            ("gpt-6-sol", "copilot/gpt-6-sol"),
            ("openai/gpt-6-sol", "openai/gpt-6-sol"),
            ("groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
            ("openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
            ("oss", "groq/openai/gpt-oss-120b"),
            ("qwen3:8b", "ollama/qwen3:8b"),
            ("qwen3:8b:low", "ollama/qwen3:8b at low"),
            ("anthropic/claude-future-9", "anthropic/claude-future-9"),
        ] {
            assert_eq!(resolve_short(name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn the_newest_is_the_one_with_the_highest_version_then_date() {
        for (older, newer) in [
            ("claude-sonnet-5", "claude-sonnet-5-5"),
            ("claude-sonnet-4-20250514", "claude-sonnet-4-5"),
            ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"),
            ("gpt-5.1", "gpt-6-sol"),
            ("qwen2:72b", "qwen3:8b"),
        ] {
            assert!(version(older) < version(newer), "{older} {newer}");
        }
    }

    #[test]
    fn a_name_that_means_nothing_is_answered_with_the_nearest_names() {
        for (name, expected) in [
            (
                "claude-opsu-5-5",
                "there is no model `claude-opsu-5-5` (the nearest: anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-sonnet-5); `stentor models` lists them all",
            ),
            (
                "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
                "there is no model `zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz`; `stentor models` lists them all",
            ),
            (
                "anthropic/sonet:high",
                "there is no model `anthropic/sonet` (the nearest: anthropic/claude-sonnet-5-5, anthropic/claude-sonnet-5); `stentor models` lists them all",
            ),
            (
                "anthropic/claud-opus-5-6",
                "there is no model `anthropic/claud-opus-5-6` (the nearest: anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5); `stentor models` lists them all",
            ),
            ("", "there is no model ``; `stentor models` lists them all"),
        ] {
            assert_eq!(resolve_short(name).unwrap_err(), expected, "{name}");
        }
    }
}
