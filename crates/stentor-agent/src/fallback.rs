//! Models that step in for one that fails: which they are, by the chains somebody configured.
//!
//! A chain has a key: a model (`provider/id`, perhaps with `:level`), a provider (`provider/*`), or
//! the name of a role, of which `default` is the one that counts for every model. An entry of a
//! chain is a model, or `provider/*`: the model of the same id at another provider.

use std::sync::Arc;

use crate::model::{ModelInfo, ModelRegistry, NamedBy, ThinkingLevel};

/// The role whose chain counts for every model that has no other.
pub const DEFAULT_ROLE: &str = "default";

/// What somebody configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FallbackChains {
    pub chains: Vec<FallbackChain>,
    /// The model of each role.
    pub roles: Vec<(String, String)>,
    /// True: a model that gave way does not come back by itself.
    pub never_return: bool,
    /// Who wrote them.
    pub by: NamedBy,
}

/// The models that step in, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackChain {
    pub key: String,
    pub entries: Vec<String>,
}

/// How a session falls back. The chains are looked up when a model fails.
#[derive(Clone)]
pub struct FallbackSettings {
    pub chains: Arc<dyn Fn() -> FallbackChains + Send + Sync>,
    /// How long a model that failed is left alone, where it does not say so itself.
    pub cooldown_ms: u64,
    /// Whether the first model comes back when that time is over.
    pub returns: bool,
}

impl Default for FallbackSettings {
    fn default() -> Self {
        Self {
            chains: Arc::new(FallbackChains::default),
            cooldown_ms: 300_000,
            returns: true,
        }
    }
}

/// A model as it is written in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    pub provider: String,
    pub id: String,
    pub level: Option<ThinkingLevel>,
}

impl Selector {
    /// The selector of a model in use.
    pub fn of(info: &ModelInfo, level: ThinkingLevel) -> Self {
        Self {
            provider: info.provider.clone(),
            id: info.id.clone(),
            level: info.reasoning.then_some(level),
        }
    }

    /// Reads `provider/id` or `provider/id:level`. An id may have a colon of its own.
    fn parse(text: &str, models: &dyn ModelRegistry, by: NamedBy) -> Option<Self> {
        let (provider, rest) = text.trim().split_once('/')?;
        let selector = |id: &str, level| Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            level,
        };
        let with_level = rest.rsplit_once(':').and_then(|(id, level)| {
            let level: ThinkingLevel = level.parse().ok()?;
            Some(selector(id, Some(level)))
        });
        match with_level {
            Some(with_level) if models.find(provider, rest, by).is_none() => Some(with_level),
            _ if rest.is_empty() => None,
            _ => Some(selector(rest, None)),
        }
    }

    fn is_same_model(&self, other: &Self) -> bool {
        self.provider == other.provider && self.id == other.id
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)?;
        match self.level {
            Some(level) => write!(f, ":{level}"),
            None => Ok(()),
        }
    }
}

impl FallbackChains {
    /// These models for every other one.
    pub fn for_any_model(entries: Vec<String>, by: NamedBy) -> Self {
        Self {
            chains: vec![FallbackChain {
                key: DEFAULT_ROLE.to_owned(),
                entries,
            }],
            roles: Vec::new(),
            never_return: false,
            by,
        }
    }

    /// The key of the chain that counts for a model: that of the model itself, of its provider, of
    /// a role that has it, or of the default.
    pub fn key_for(&self, current: &Selector, models: &dyn ModelRegistry) -> Option<&str> {
        let keys = || self.chains.iter().map(|chain| chain.key.as_str());
        let named = |exact: bool| {
            keys().filter(|key| is_model(key)).find(|key| {
                Selector::parse(key, models, self.by).is_some_and(|key| {
                    key.is_same_model(current)
                        && (key.level == current.level || (!exact && key.level.is_none()))
                })
            })
        };
        let of_provider = || {
            let fitting = keys().filter(|key| {
                let prefix = key.strip_suffix('*');
                prefix.is_some_and(|prefix| {
                    format!("{}/{}", current.provider, current.id).starts_with(prefix)
                })
            });
            fitting.max_by_key(|key| key.len())
        };
        let of_role = || {
            let has_it = |key: &&str| {
                let model = self
                    .role(key)
                    .and_then(|text| Selector::parse(text, models, self.by));
                model.is_some_and(|model| model.is_same_model(current))
            };
            let roles = || keys().filter(|key| !key.contains('/')).filter(has_it);
            let default = roles().find(|key| *key == DEFAULT_ROLE);
            default.or_else(|| roles().next())
        };
        let default = || keys().find(|key| *key == DEFAULT_ROLE);
        named(true)
            .or_else(|| named(false))
            .or_else(of_provider)
            .or_else(of_role)
            .or_else(default)
    }

    /// The models of a chain that come after `current`, each with its name in the chain; all of
    /// them when it is not in it.
    pub fn after(
        &self,
        key: &str,
        current: &Selector,
        models: &dyn ModelRegistry,
    ) -> Vec<(String, Selector)> {
        let primary = if is_model(key) {
            Selector::parse(key, models, self.by)
        } else {
            self.role(key)
                .and_then(|text| Selector::parse(text, models, self.by))
        };
        let primary = primary.unwrap_or_else(|| current.clone());
        let mut chain = vec![(primary.to_string(), primary)];
        let entries = self.chains.iter().find(|chain| chain.key == key);
        for entry in entries.map_or(&[][..], |chain| &chain.entries) {
            let selector = match entry.trim().strip_suffix('*') {
                Some(prefix) => elsewhere(prefix, current, models, self.by),
                None => Selector::parse(entry, models, self.by)
                    .map(|one| (entry.trim().to_owned(), one)),
            };
            match selector {
                Some((name, one)) if chain.iter().all(|(_, have)| *have != one) => {
                    chain.push((name, one));
                }
                _ => {}
            }
        }
        let exact = chain.iter().position(|(_, one)| one == current);
        let at = exact.or_else(|| chain.iter().position(|(_, one)| one.is_same_model(current)));
        match at {
            Some(at) => chain.split_off(at + 1),
            None => chain,
        }
    }

    fn role(&self, name: &str) -> Option<&str> {
        let found = self.roles.iter().find(|(role, _)| role == name);
        found.map(|(_, model)| model.as_str())
    }
}

fn is_model(key: &str) -> bool {
    key.contains('/') && !key.ends_with('*')
}

/// The model of the same id elsewhere. `prefix` is `provider/` or `provider/maker/`; a provider that
/// resells models of several makers has their names before its ids, others do not.
fn elsewhere(
    prefix: &str,
    current: &Selector,
    models: &dyn ModelRegistry,
    by: NamedBy,
) -> Option<(String, Selector)> {
    let (provider, maker) = prefix.strip_suffix('/')?.split_once('/').map_or_else(
        || (prefix.trim_end_matches('/'), None),
        |(provider, maker)| (provider, Some(maker)),
    );
    let bare = current.id.rsplit('/').next().unwrap_or(&current.id);
    let id = match maker {
        Some(maker) => format!("{maker}/{bare}"),
        None if models.find(provider, &current.id, by).is_none() => bare.to_owned(),
        None => current.id.clone(),
    };
    let selector = Selector {
        provider: provider.to_owned(),
        id,
        level: None,
    };
    Some((selector.to_string(), selector))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ModelError};

    /// Every model there is at these providers.
    struct Known(&'static [&'static str]);

    impl ModelRegistry for Known {
        fn available(&self) -> Vec<Arc<ModelInfo>> {
            Vec::new()
        }

        fn find(&self, provider: &str, id: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
            let name = format!("{provider}/{id}");
            let known = self.0.contains(&name.as_str());
            known.then(|| {
                let info = serde_json::json!({"id": id, "name": id, "api": "a", "provider": provider,
                    "baseUrl": "", "reasoning": true, "input": ["text"],
                    "cost": {"input":0,"output":0,"cacheRead":0,"cacheWrite":0},
                    "contextWindow": 1, "maxTokens": 1});
                Arc::new(serde_json::from_value(info).unwrap())
            })
        }

        fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
            unreachable!("nothing is opened here")
        }
    }

    const KNOWN: Known = Known(&["p/a", "p/b", "q/a", "r/maker/a", "p/free:high"]);

    fn chains(list: &[(&str, &[&str])], roles: &[(&str, &str)]) -> FallbackChains {
        FallbackChains {
            chains: list
                .iter()
                .map(|(key, entries)| FallbackChain {
                    key: (*key).to_owned(),
                    entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
                })
                .collect(),
            roles: roles
                .iter()
                .map(|(role, model)| ((*role).to_owned(), (*model).to_owned()))
                .collect(),
            never_return: false,
            by: NamedBy::User,
        }
    }

    fn selector(text: &str) -> Selector {
        Selector::parse(text, &KNOWN, NamedBy::User).unwrap()
    }

    #[test]
    fn a_level_is_read_unless_it_is_part_of_the_id() {
        assert_eq!(selector("p/a:high").level, Some(ThinkingLevel::High));
        assert_eq!(selector("p/free:high").id, "free:high");
        assert_eq!(selector("p/a:fast").id, "a:fast");
        assert_eq!(Selector::parse("p/", &KNOWN, NamedBy::User), None);
        assert_eq!(Selector::parse("nothing", &KNOWN, NamedBy::User), None);
    }

    #[test]
    fn the_most_particular_chain_counts() {
        let all = chains(
            &[
                ("default", &["p/b"]),
                ("smol", &["p/b"]),
                ("p/*", &["p/b"]),
                ("p/a", &["p/b"]),
                ("p/a:high", &["p/b"]),
            ],
            &[("smol", "q/a"), ("default", "p/a")],
        );
        for (current, key) in [
            ("p/a:high", "p/a:high"),
            ("p/a:low", "p/a"),
            ("p/b", "p/*"),
            ("q/a", "smol"),
            ("r/maker/a", "default"),
        ] {
            assert_eq!(
                all.key_for(&selector(current), &KNOWN),
                Some(key),
                "{current}"
            );
        }
        assert_eq!(chains(&[], &[]).key_for(&selector("p/a"), &KNOWN), None);
    }

    #[test]
    fn what_follows_in_a_chain_steps_in_and_what_is_not_in_it_has_all_of_it() {
        let all = chains(
            &[("default", &["p/b", "q/a:low", "nonsense", "p/b"])],
            &[("default", "p/a")],
        );
        let after = |current: &str| {
            let names = all.after("default", &selector(current), &KNOWN);
            names.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(after("p/a:high"), ["p/b", "q/a:low"]);
        assert_eq!(after("p/b"), ["q/a:low"]);
        assert_eq!(after("q/a:low"), Vec::<String>::new());
        assert_eq!(after("r/maker/a"), ["p/a", "p/b", "q/a:low"]);
    }

    #[test]
    fn the_same_model_is_found_at_another_provider() {
        let all = chains(&[("p/*", &["q/*", "r/maker/*"])], &[]);
        let names = all.after("p/*", &selector("p/a"), &KNOWN);
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["q/a", "r/maker/a"]);
        let back = chains(&[("r/*", &["p/*"])], &[]);
        let names = back.after("r/*", &selector("r/maker/a"), &KNOWN);
        assert_eq!(names[0].0, "p/a");
    }
}
