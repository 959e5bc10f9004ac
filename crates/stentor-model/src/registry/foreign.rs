//! The models that users of `pi` and `omp` have described for those, known here without copying.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use stentor_agent::agent_folders::AgentFolders;
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_agent::fallback::{FallbackChain, FallbackChains};
use stentor_agent::model::{InputKind, NamedBy, ThinkingLevel};
use stentor_agent::project_files::{FileOwner, NotRead};

use super::EnvironmentLookup;
use super::yaml::read_yaml;
use crate::configuration::{CostConfiguration, ModelConfiguration, ProviderConfiguration};
use crate::secret::Secret;

/// A larger file is no list of models any more.
const LARGEST_BYTES: u64 = 4 * 1024 * 1024;

/// A folder in which another program keeps its models and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFolder(pub PathBuf);

impl ForeignFolder {
    /// The agent folders of `pi` and `omp`.
    pub fn usual(home: Option<&Path>, environment: &EnvironmentLookup) -> Vec<Self> {
        let folders = AgentFolders::find(home, |name| environment(name));
        folders.all().into_iter().map(Self).collect()
    }
}

/// What other programs' settings say about sessions; absent where they say nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignSettings {
    pub steering_mode: Option<QueueMode>,
    pub follow_up_mode: Option<QueueMode>,
    pub interrupt_mode: Option<InterruptMode>,
    pub auto_compaction: Option<bool>,
    pub auto_retry: Option<bool>,
}

/// What was found in such folders.
#[derive(Debug, Default)]
pub(super) struct ForeignSetup {
    pub providers: Vec<ForeignProvider>,
    /// Provider, model and the file that names them.
    pub default_model: Option<(String, String, PathBuf)>,
    pub default_thinking_level: Option<ThinkingLevel>,
    pub settings: ForeignSettings,
    /// The models that step in for others.
    pub fallback: FallbackChains,
    /// omp's `tasks.todoClearDelay`.
    pub todo_clear_delay: Option<Option<Duration>>,
    /// What could not be read, for people.
    pub warnings: Vec<String>,
}

/// A provider and the file that describes it.
#[derive(Debug)]
pub(super) struct ForeignProvider {
    pub id: String,
    pub configuration: ProviderConfiguration,
    pub file: PathBuf,
}

#[derive(Deserialize)]
struct ModelsFile {
    #[serde(default)]
    providers: BTreeMap<String, Value>,
}

/// Unknown words are passed over here: they mean something to the program the file is for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TheirProvider {
    name: Option<String>,
    base_url: Option<String>,
    api: Option<String>,
    api_key: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Each is read by itself: one that is wrong does no harm to the others.
    #[serde(default)]
    models: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TheirModel {
    id: String,
    name: Option<String>,
    api: Option<String>,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    input: Vec<String>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    cost: Option<TheirCost>,
    /// pi's: what the provider calls a level, null where it has none.
    #[serde(skip)]
    thinking_level_map: BTreeMap<String, Value>,
    /// omp's.
    #[serde(skip)]
    thinking: TheirThinking,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a map")]
struct TheirThinking {
    efforts: Vec<String>,
    min_level: Option<String>,
    max_level: Option<String>,
}

/// Whose file it is: their models have other levels where the file says nothing of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForeignFamily {
    Pi,
    Omp,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TheirCost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl ForeignSetup {
    /// Reads what there is. A file that is missing says nothing, one that is wrong leaves a
    /// warning.
    pub(super) fn read(folders: &[ForeignFolder], environment: &EnvironmentLookup) -> Self {
        let mut foreign = Self::default();
        for ForeignFolder(folder) in folders {
            for name in ["models.json", "models.yml", "models.yaml"] {
                foreign.read_models(&folder.join(name), environment);
            }
            for name in ["settings.json", "config.yml", "config.yaml"] {
                foreign.read_settings(&folder.join(name));
            }
        }
        foreign
    }

    fn read_models(&mut self, file: &Path, environment: &EnvironmentLookup) {
        let Some(value) = self.value_of(file) else {
            return;
        };
        let models: ModelsFile = match serde_json::from_value(value) {
            Ok(models) => models,
            Err(error) => return self.warn(file, &error),
        };
        let family = if is_json(file) {
            ForeignFamily::Pi
        } else {
            ForeignFamily::Omp
        };
        for (id, value) in models.providers {
            if self.providers.iter().any(|known| known.id == id) {
                continue;
            }
            let mut theirs: TheirProvider = match serde_json::from_value(without_nulls(value)) {
                Ok(theirs) => theirs,
                Err(error) => {
                    self.warn(file, &format!("provider `{id}`: {error}"));
                    continue;
                }
            };
            let mut models = Vec::with_capacity(theirs.models.len());
            for (index, value) in std::mem::take(&mut theirs.models).into_iter().enumerate() {
                let read = TheirModel::read(value, &mut |what| {
                    let nth = index + 1;
                    self.warn_of_part(file, &format!("provider `{id}`, model {nth}: {what}"));
                });
                models.extend(read.map(|model| model.configuration(family)));
            }
            let mut configuration = theirs.configuration(environment);
            configuration.models = models;
            self.providers.push(ForeignProvider {
                id,
                configuration,
                file: file.to_owned(),
            });
        }
    }

    fn read_settings(&mut self, file: &Path) {
        let Some(value) = self.value_of(file) else {
            return;
        };
        let word = |name: &str| value.get(name).and_then(Value::as_str);
        let pair = match (word("defaultProvider"), word("defaultModel")) {
            (Some(provider), Some(model)) => Some((provider, model)),
            _ => value
                .pointer("/modelRoles/default")
                .and_then(Value::as_str)
                .and_then(|name| name.split_once('/')),
        };
        if let (Some((provider, model)), None) = (pair, &self.default_model) {
            self.default_model = Some((provider.to_owned(), model.to_owned(), file.to_owned()));
        }
        let level = word("defaultThinkingLevel").and_then(|word| word.parse().ok());
        self.default_thinking_level = self.default_thinking_level.or(level);
        let queue_mode = |name: &str| word(name).and_then(QueueMode::parse);
        let switch = |path: &str| value.pointer(path).and_then(Value::as_bool);
        let settings = &mut self.settings;
        settings.steering_mode = settings.steering_mode.or(queue_mode("steeringMode"));
        settings.follow_up_mode = settings.follow_up_mode.or(queue_mode("followUpMode"));
        let interrupt_mode = word("interruptMode").and_then(InterruptMode::parse);
        settings.interrupt_mode = settings.interrupt_mode.or(interrupt_mode);
        let auto_compaction = switch("/compaction/enabled");
        settings.auto_compaction = settings.auto_compaction.or(auto_compaction);
        settings.auto_retry = settings.auto_retry.or(switch("/retry/enabled"));
        let seconds = value
            .pointer("/tasks/todoClearDelay")
            .and_then(Value::as_i64);
        let delay = seconds.map(|seconds| u64::try_from(seconds).ok().map(Duration::from_secs));
        self.todo_clear_delay = self.todo_clear_delay.or(delay);
        if self.fallback.chains.is_empty() {
            self.fallback = fallback_chains(&value);
        }
    }

    fn value_of(&mut self, file: &Path) -> Option<Value> {
        let bytes = match FileOwner::Own.read(file, LARGEST_BYTES) {
            Ok(bytes) => bytes,
            Err(NotRead::Missing) => return None,
            Err(why) => {
                self.warn(file, &why);
                return None;
            }
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                self.warn(file, &error);
                return None;
            }
        };
        let read = if is_json(file) {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        } else {
            read_yaml(&text).map_err(|error| error.to_string())
        };
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.warn(file, &error);
                None
            }
        }
    }

    fn warn(&mut self, file: &Path, error: &dyn std::fmt::Display) {
        self.warnings
            .push(format!("{} cannot be used: {error}", file.display()));
    }

    fn warn_of_part(&mut self, file: &Path, what: &str) {
        self.warnings.push(format!("{}: {what}", file.display()));
    }
}

/// In these files null is another way to say nothing.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            Value::Object(fields)
        }
        other => other,
    }
}

fn is_json(file: &Path) -> bool {
    let extension = file.extension();
    extension.is_some_and(|extension| extension == "json")
}

impl TheirProvider {
    /// All but its models.
    fn configuration(self, environment: &EnvironmentLookup) -> ProviderConfiguration {
        let mut configuration = ProviderConfiguration {
            name: self.name,
            base_url: self.base_url,
            api: self.api,
            headers: self
                .headers
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
            ..ProviderConfiguration::default()
        };
        // A key is a command after `!`, the name of a variable that is set, or the key itself.
        match self.api_key {
            Some(key) if key.starts_with('!') => {
                configuration.api_key_command = key.get(1..).map(str::to_owned);
            }
            Some(key) if environment(&key).is_some() => configuration.api_key_env = Some(key),
            Some(key) => configuration.api_key = Some(Secret::new(key)),
            None => {}
        }
        configuration
    }
}

impl TheirModel {
    /// Reads one. What is wrong about its levels is left out, anything else makes it unusable;
    /// either is said.
    fn read(value: Value, warn: &mut dyn FnMut(String)) -> Option<Self> {
        let mut value = without_nulls(value);
        let mut levels = |name: &str| value.as_object_mut().and_then(|fields| fields.remove(name));
        let map = levels("thinkingLevelMap");
        let thinking = levels("thinking").map(without_nulls);
        let mut model: Self = match serde_json::from_value(value) {
            Ok(model) => model,
            Err(error) => {
                warn(format!("it cannot be used: {error}"));
                return None;
            }
        };
        match map.map(serde_json::from_value).transpose() {
            Ok(map) => model.thinking_level_map = map.unwrap_or_default(),
            Err(error) => warn(format!("`thinkingLevelMap` is ignored: {error}")),
        }
        match thinking.map(serde_json::from_value).transpose() {
            Ok(thinking) => model.thinking = thinking.unwrap_or_default(),
            Err(error) => warn(format!("`thinking` is ignored: {error}")),
        }
        Some(model)
    }

    /// The levels of a model that reasons; none where it has all.
    fn levels(&self, family: ForeignFamily) -> Vec<ThinkingLevel> {
        let all = ThinkingLevel::ALL.into_iter();
        match family {
            ForeignFamily::Pi => all
                .filter(|level| {
                    let named = |name| self.thinking_level_map.get(name);
                    match level {
                        // Beyond what every model has, it must be named, by either name.
                        ThinkingLevel::Xhigh => ["xhigh", "max"]
                            .into_iter()
                            .filter_map(named)
                            .any(|value| !value.is_null()),
                        _ => named(level.as_str()).is_none_or(|value| !value.is_null()),
                    }
                })
                .collect(),
            ForeignFamily::Omp => {
                let level = |name: &String| name.parse().ok();
                let named: Vec<ThinkingLevel> =
                    self.thinking.efforts.iter().filter_map(level).collect();
                let lowest = self.thinking.min_level.as_ref().and_then(level);
                let highest = self.thinking.max_level.as_ref().and_then(level);
                if named.is_empty() && lowest.is_none() && highest.is_none() {
                    return Vec::new();
                }
                all.filter(|level| {
                    *level == ThinkingLevel::Off
                        || named.contains(level)
                        || named.is_empty()
                            && lowest.is_none_or(|lowest| *level >= lowest)
                            && highest.is_none_or(|highest| *level <= highest)
                })
                .collect()
            }
        }
    }

    fn configuration(self, family: ForeignFamily) -> ModelConfiguration {
        let thinking_levels = if self.reasoning {
            self.levels(family)
        } else {
            Vec::new()
        };
        let known = |word: &String| match word.as_str() {
            "text" => Some(InputKind::Text),
            "image" => Some(InputKind::Image),
            "document" => Some(InputKind::Document),
            "audio" => Some(InputKind::Audio),
            _ => None,
        };
        ModelConfiguration {
            id: self.id,
            name: self.name,
            api: self.api,
            reasoning: self.reasoning,
            input: self.input.iter().filter_map(known).collect(),
            // Where the file says nothing, a hosted model is taken for what pi and omp take it for.
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            cost: self.cost.map(|cost| CostConfiguration {
                input: cost.input,
                output: cost.output,
                cache_read: cost.cache_read,
                cache_write: cost.cache_write,
            }),
            thinking_levels,
        }
    }
}

/// omp's `retry.fallbackChains`, with the models of its roles. What is no list of names is passed
/// over, as omp does.
fn fallback_chains(settings: &Value) -> FallbackChains {
    let is_off = |name: &str| settings.pointer(name) == Some(&Value::Bool(false));
    let chains = settings.pointer("/retry/fallbackChains");
    let Some(chains) = chains.and_then(Value::as_object) else {
        return FallbackChains::default();
    };
    if is_off("/retry/enabled") || is_off("/retry/modelFallback") {
        return FallbackChains::default();
    }
    let chains = chains.iter().filter_map(|(key, entries)| {
        let entries = entries.as_array()?.iter().filter_map(Value::as_str);
        Some(FallbackChain {
            key: key.clone(),
            entries: entries.map(str::to_owned).collect(),
        })
    });
    let roles = settings.get("modelRoles").and_then(Value::as_object);
    let roles = roles.into_iter().flatten().filter_map(|(role, model)| {
        let model = model.as_str()?;
        Some((role.clone(), model.to_owned()))
    });
    FallbackChains {
        chains: chains.collect(),
        roles: roles.collect(),
        never_return: settings.pointer("/retry/fallbackRevertPolicy")
            == Some(&Value::String("never".to_owned())),
        // They lie in the user's home.
        by: NamedBy::OwnFile,
    }
}
