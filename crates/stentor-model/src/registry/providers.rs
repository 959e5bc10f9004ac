//! Putting providers together from the catalogue, the configuration, the environment and the
//! files of other programs.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use stentor_agent::model::ModelInfo;
use stentor_text::redaction::public_address;

use super::foreign::ForeignSetup;
use super::{EnvironmentLookup, RegistrySources};
use crate::catalogue::{self, CatalogueProvider};
use crate::configuration::{ModelConfiguration, ModelOverride, ProviderConfiguration};
use crate::credential::{Credential, FixedCredential, FromCommand, SharedCredentials};
use crate::secret::Secret;

/// A provider with everything that is known about it.
#[derive(Debug, Clone)]
pub(super) struct Provider {
    pub id: String,
    pub api: String,
    pub base_url: String,
    pub headers: Vec<(String, Secret)>,
    pub ca_file: Option<PathBuf>,
    /// Tools that it runs itself.
    pub server_tools: Arc<[Value]>,
    pub credential: ConfiguredCredential,
    /// True when one can log in there.
    pub has_login: bool,
    /// What would open it, in words.
    pub hint: String,
    pub models: Vec<Arc<ModelInfo>>,
    /// The ids of models of which nobody says how long their contexts are.
    pub unknown_windows: Vec<String>,
    pub warnings: Vec<String>,
}

/// How one gets in without logging in.
#[derive(Debug, Clone)]
pub(super) enum ConfiguredCredential {
    /// There is no key.
    Missing,
    /// No key is asked for.
    NotNeeded {
        reason: String,
    },
    Key {
        key: Secret,
        reason: String,
    },
    Token {
        token: Secret,
        reason: String,
    },
    /// Shared, so that the command is run once.
    Command {
        source: Arc<FromCommand>,
        reason: String,
    },
}

impl ConfiguredCredential {
    /// True for a key, which is paid for by what is used.
    pub(super) fn is_key(&self) -> bool {
        match self {
            Self::Key { .. } | Self::Command { .. } => true,
            Self::Missing | Self::NotNeeded { .. } | Self::Token { .. } => false,
        }
    }

    /// Why one gets in, in words.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Missing => None,
            Self::NotNeeded { reason }
            | Self::Key { reason, .. }
            | Self::Token { reason, .. }
            | Self::Command { reason, .. } => Some(reason.clone()),
        }
    }

    /// What gets one in.
    pub(super) fn credentials(&self, hint: &str) -> Option<SharedCredentials> {
        let fixed = |credential: Credential| -> SharedCredentials {
            Arc::new(FixedCredential {
                credential,
                hint: hint.to_owned(),
            })
        };
        match self {
            Self::Missing => None,
            Self::NotNeeded { .. } => Some(fixed(Credential::None)),
            Self::Key { key, .. } => Some(fixed(Credential::ApiKey(key.clone()))),
            Self::Token { token, .. } => Some(fixed(Credential::Bearer {
                token: token.clone(),
                account: None,
                base_url: None,
            })),
            Self::Command { source, .. } => Some(Arc::clone(source) as SharedCredentials),
        }
    }
}

impl Provider {
    /// The models, with what the provider itself says: how long contexts are where nobody else does,
    /// and which models there are besides.
    pub(super) fn models_with(&self, said: &[Arc<ModelInfo>]) -> Vec<Arc<ModelInfo>> {
        let mut models = self.models.clone();
        for said in said {
            let described = models.iter_mut().find(|info| info.id == said.id);
            match described {
                Some(info) if self.unknown_windows.contains(&info.id) => {
                    let info = Arc::make_mut(info);
                    info.context_window = said.context_window;
                    info.max_tokens = info.max_tokens.min(said.context_window / 2);
                }
                Some(_) => {}
                None => models.push(Arc::clone(said)),
            }
        }
        models
    }

    /// A model of this provider that nobody has described: it is taken for one like the
    /// provider's best.
    pub(super) fn optimistic(&self, id: &str) -> Arc<ModelInfo> {
        let like = self.models.first();
        let unknown = ModelConfiguration {
            id: id.to_owned(),
            ..ModelConfiguration::default()
        };
        let mut info = unknown.to_info(&self.id, &self.api, &self.base_url);
        if let Some(like) = like {
            info.reasoning = like.reasoning;
            info.input.clone_from(&like.input);
            info.context_window = like.context_window;
            info.max_tokens = like.max_tokens;
        }
        Arc::new(info)
    }
}

/// All providers but those on this machine: what the user configured first, then the catalogue,
/// then what other programs know.
pub(super) fn assemble(
    sources: &RegistrySources,
    foreign: &ForeignSetup,
    environment: &EnvironmentLookup,
) -> Vec<Provider> {
    let mut providers = Vec::new();
    let describe = |id: &str| {
        let own = sources
            .providers
            .get(id)
            .map(|one| (one, "your configuration".to_owned()));
        let theirs = foreign.providers.iter().find(|theirs| theirs.id == id);
        own.or_else(|| {
            theirs.map(|theirs| (&theirs.configuration, theirs.file.display().to_string()))
        })
    };
    for id in sources.providers.keys() {
        if catalogue::provider(id).is_none() {
            providers
                .extend(describe(id).map(|(one, origin)| added(id, one, &origin, environment)));
        }
    }
    for known in catalogue::providers() {
        providers.push(catalogued(known, describe(&known.id), environment));
    }
    for theirs in &foreign.providers {
        let is_there = providers
            .iter()
            .any(|known: &Provider| known.id == theirs.id);
        if !is_there {
            let origin = theirs.file.display().to_string();
            providers.push(added(
                &theirs.id,
                &theirs.configuration,
                &origin,
                environment,
            ));
        }
    }
    for (name, change) in &sources.models {
        apply(name, change, &mut providers);
    }
    providers
}

/// Changes what is known about one model, or adds it where its provider is known.
fn apply(name: &str, change: &ModelOverride, providers: &mut [Provider]) {
    let parts = name.split_once('/');
    let provider = parts.and_then(|(id, _)| providers.iter_mut().find(|known| known.id == id));
    let (Some((_, id)), Some(provider)) = (parts, provider) else {
        if let Some(first) = providers.first_mut() {
            let warning = format!("[models.\"{name}\"] names no known provider; use `provider/id`");
            first.warnings.push(warning);
        }
        return;
    };
    match provider.models.iter_mut().find(|info| info.id == id) {
        Some(info) => change.apply(Arc::make_mut(info)),
        None => {
            let mut info = provider.optimistic(id);
            change.apply(Arc::make_mut(&mut info));
            provider.models.push(info);
            provider.unknown_windows.push(id.to_owned());
        }
    }
    if change.context_window.is_some() {
        provider.unknown_windows.retain(|unknown| unknown != id);
    }
}

/// A provider the catalogue does not know.
fn added(
    id: &str,
    configured: &ProviderConfiguration,
    origin: &str,
    environment: &EnvironmentLookup,
) -> Provider {
    let api = configured
        .api
        .clone()
        .unwrap_or_else(|| "openai-completions".to_owned());
    let base_url = configured.base_url.clone().unwrap_or_default();
    let mut warnings = Vec::new();
    if base_url.is_empty() {
        warnings.push(format!("{origin}: the provider `{id}` has no `base_url`"));
    }
    let own_key = key_of(id, configured, origin, environment);
    let names_a_key = configured.api_key_env.is_some() || configured.oauth.is_some();
    let credential = match own_key {
        Some(credential) => credential,
        // Nothing said about a key: a server that wants none, as most of one's own do.
        None if !names_a_key && !base_url.is_empty() => ConfiguredCredential::NotNeeded {
            reason: format!("{id} is in {origin}"),
        },
        None => ConfiguredCredential::Missing,
    };
    Provider {
        id: id.to_owned(),
        headers: headers(configured),
        ca_file: configured.ca_file.clone(),
        server_tools: server_tools(configured),
        credential,
        has_login: configured.oauth.is_some(),
        hint: hint(id, configured, &[], configured.oauth.is_some()),
        models: models(&configured.models, id, &api, &base_url),
        unknown_windows: unknown_windows(&configured.models),
        api,
        base_url,
        warnings,
    }
}

/// A provider of the catalogue, with what a user says about it.
fn catalogued(
    known: &CatalogueProvider,
    configured: Option<(&ProviderConfiguration, String)>,
    environment: &EnvironmentLookup,
) -> Provider {
    let nothing = ProviderConfiguration::default();
    let (configured, origin) = match &configured {
        Some((configured, origin)) => (*configured, origin.as_str()),
        None => (&nothing, ""),
    };
    let from_environment = known
        .base_url_env
        .as_deref()
        .and_then(|name| environment(name));
    let base_url = configured
        .base_url
        .clone()
        .or(from_environment.filter(|url| !url.is_empty()))
        .unwrap_or_else(|| known.base_url.clone());
    let base_url = base_url.trim_end_matches('/').to_owned();
    let api = configured.api.clone().unwrap_or_else(|| known.api.clone());
    let mut entries = configured.models.clone();
    for model in &known.models {
        if !entries.iter().any(|entry| entry.id == model.id) {
            entries.push(model.clone());
        }
    }
    let own_key = key_of(&known.id, configured, origin, environment);
    let has_login = known.oauth.is_some() || configured.oauth.is_some();
    let usual = known.headers.iter();
    let usual = usual.map(|(name, value)| (name.clone(), Secret::new(value.as_str())));
    Provider {
        id: known.id.clone(),
        headers: usual.chain(headers(configured)).collect(),
        ca_file: configured.ca_file.clone(),
        server_tools: server_tools(configured),
        credential: own_key.unwrap_or_else(|| usual_key(known, environment)),
        has_login,
        hint: hint(
            &known.id,
            configured,
            &known.key_env,
            has_login || known.login_as.is_some(),
        ),
        models: models(&entries, &known.id, &api, &base_url),
        unknown_windows: unknown_windows(&entries),
        api,
        base_url,
        warnings: Vec::new(),
    }
}

fn models(
    entries: &[ModelConfiguration],
    id: &str,
    api: &str,
    base_url: &str,
) -> Vec<Arc<ModelInfo>> {
    let public = public_address(base_url);
    let infos = entries.iter();
    let infos = infos.map(|entry| entry.to_info_at(id, api, base_url, &public));
    infos.map(Arc::new).collect()
}

fn unknown_windows(entries: &[ModelConfiguration]) -> Vec<String> {
    let unknown = entries
        .iter()
        .filter(|entry| entry.context_window.is_none());
    unknown.map(|entry| entry.id.clone()).collect()
}

fn server_tools(configured: &ProviderConfiguration) -> Arc<[Value]> {
    let tools = configured.server_tools.iter();
    tools.cloned().map(Value::Object).collect()
}

fn headers(configured: &ProviderConfiguration) -> Vec<(String, Secret)> {
    let headers = configured.headers.iter();
    headers
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The key a configuration gives, if it gives one.
fn key_of(
    id: &str,
    configured: &ProviderConfiguration,
    origin: &str,
    environment: &EnvironmentLookup,
) -> Option<ConfiguredCredential> {
    if let Some(key) = configured.api_key.clone().filter(|key| !key.is_empty()) {
        return Some(ConfiguredCredential::Key {
            key,
            reason: format!("{origin} has a key for {id}"),
        });
    }
    if let Some(command) = &configured.api_key_command {
        return Some(ConfiguredCredential::Command {
            source: Arc::new(FromCommand::new(id, command.as_str())),
            reason: format!("{origin} has a key command for {id}"),
        });
    }
    let name = configured.api_key_env.as_deref()?;
    let key = environment(name).filter(|key| !key.is_empty())?;
    Some(ConfiguredCredential::Key {
        key: Secret::new(key),
        reason: format!("{name} is set"),
    })
}

/// The key in one of the provider's usual variables.
fn usual_key(known: &CatalogueProvider, environment: &EnvironmentLookup) -> ConfiguredCredential {
    let set = |name: &String| {
        let value = environment(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| (Secret::new(value), format!("{name} is set")))
    };
    if let Some((key, reason)) = known.key_env.iter().find_map(set) {
        return ConfiguredCredential::Key { key, reason };
    }
    match known.token_env.iter().find_map(set) {
        Some((token, reason)) => ConfiguredCredential::Token { token, reason },
        None => ConfiguredCredential::Missing,
    }
}

fn hint(
    id: &str,
    configured: &ProviderConfiguration,
    key_env: &[String],
    can_log_in: bool,
) -> String {
    if configured.api_key_command.is_some() {
        return format!("check what `api_key_command` of {id} prints");
    }
    let variable = configured.api_key_env.as_ref().or(key_env.first());
    match (variable, can_log_in) {
        (Some(name), true) => format!("set {name}, or run `stentor login {id}`"),
        (Some(name), false) => format!("set {name}"),
        (None, true) => format!("run `stentor login {id}`"),
        (None, false) => format!("check the key of {id}"),
    }
}
