//! Which models there are, which of them can be used, and which one to begin with.
//!
//! Nothing is read, asked or parsed when a registry is made; everything is when it is first needed.

mod configured;
mod foreign;
mod local;
mod logins;
mod model_list;
mod names;
mod provider_lists;
mod providers;
mod stored_keys;
mod windows;
mod yaml;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stentor_agent::fallback::FallbackChains;
use stentor_agent::model::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry, NamedBy, ThinkingLevel,
};
use stentor_http::{Http, HttpSettings, Proxies};
use stentor_journal::clock::SharedClock;

pub use self::configured::SilentProvider;
use self::foreign::ForeignSetup;
pub use self::foreign::{ForeignFolder, ForeignSettings};
pub use self::local::LocalServer;
use self::local::LocalServers;
pub use self::names::{ModelNameError, NamedModel};
use self::provider_lists::{AskedProviders, ModelListResult};
use self::providers::Provider;
pub use self::stored_keys::StoreKeyError;
use crate::catalogue;
use crate::configuration::{ModelsConfiguration, ProvidersConfiguration};
use crate::credential::SharedCredentials;
use crate::hosted::is_hosted;
use crate::login::{LoginError, Logins};
use crate::remote::{ModelEndpoint, RemoteModel};
use crate::secret::Secret;
use crate::wire::Wire;

/// Looks up an environment variable. Given to the code so that a test can fix it.
pub type EnvironmentLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Models that are part of the program, such as the offline guide. They come last, in the order
/// they are given.
pub trait PluggedProvider: Send + Sync {
    /// Its models.
    fn models(&self) -> Vec<Arc<ModelInfo>>;

    /// A model of it that is not listed, if it may have one of that name.
    fn unlisted(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        let _ = (provider, id);
        None
    }

    /// One of them, ready for use.
    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError>;

    /// Why they can be used, in words.
    fn usable(&self) -> String {
        "part of this program".to_owned()
    }

    /// Why one of its models is a good choice when nobody chose, in words; `None` when it is not.
    fn default_reason(&self) -> Option<String>;
}

/// Everything a registry is made from.
pub struct RegistrySources {
    pub environment: EnvironmentLookup,
    /// The `[providers]` table of the configuration.
    pub providers: ProvidersConfiguration,
    /// The `[models]` table of the configuration.
    pub models: ModelsConfiguration,
    /// The providers among them that are used only by who names them: none of them is the default.
    pub only_by_name: Vec<String>,
    /// Where logins are kept.
    pub credentials_file: PathBuf,
    /// Where other programs keep their models; see [`ForeignFolder::usual`].
    pub foreign: Vec<ForeignFolder>,
    /// Where to look for servers on this machine; see [`LocalServer::usual`].
    pub local_servers: Vec<LocalServer>,
    pub plugged: Vec<Arc<dyn PluggedProvider>>,
    pub http: HttpSettings,
    pub clock: SharedClock,
}

/// The models of this program and its user.
pub struct Registry {
    sources: RegistrySources,
    http: Arc<Http>,
    foreign: OnceLock<ForeignSetup>,
    providers: OnceLock<Vec<Provider>>,
    logins: OnceLock<Arc<Logins>>,
    local: LocalServers,
    asked: AskedProviders,
    /// The keys that were stored with `stentor login --key`, read when they are first needed.
    stored_keys: OnceLock<BTreeMap<String, Secret>>,
}

/// The model to begin with when nobody chose one.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultModel {
    pub info: Arc<ModelInfo>,
    /// Why this one, in words: `ANTHROPIC_API_KEY is set`.
    pub reason: String,
}

/// A model and whether it can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    pub info: Arc<ModelInfo>,
    /// Why it can be used; `None` when it cannot.
    pub usable: Option<String>,
    /// What would make it usable.
    pub hint: String,
    /// It is paid for by a subscription, not by what is used.
    pub by_subscription: bool,
}

impl RegistrySources {
    /// What a program usually starts from: nothing configured, logins in `config_dir`, proxies of
    /// the environment, other programs' folders below `home`, servers on their usual ports.
    pub fn usual(
        environment: EnvironmentLookup,
        home: Option<&Path>,
        config_dir: &Path,
        clock: SharedClock,
    ) -> Self {
        Self {
            providers: ProvidersConfiguration::new(),
            models: ModelsConfiguration::new(),
            only_by_name: Vec::new(),
            credentials_file: config_dir.join("credentials.json"),
            foreign: ForeignFolder::usual(home, &environment),
            local_servers: LocalServer::usual(&environment),
            plugged: Vec::new(),
            http: HttpSettings {
                proxies: Proxies::from_environment(&*environment),
                ..HttpSettings::default()
            },
            environment,
            clock,
        }
    }
}

impl Registry {
    /// A registry. Nothing is looked at yet.
    pub fn new(sources: RegistrySources) -> Self {
        let http = Arc::new(Http::new(sources.http.clone()));
        let local = LocalServers::new(sources.local_servers.clone(), Arc::clone(&sources.clock));
        let asked = AskedProviders::new(Arc::clone(&http), Arc::clone(&sources.clock));
        Self {
            sources,
            http,
            foreign: OnceLock::new(),
            providers: OnceLock::new(),
            logins: OnceLock::new(),
            local,
            asked,
            stored_keys: OnceLock::new(),
        }
    }

    /// The HTTP clients, for whoever else goes over the network.
    pub fn http(&self) -> &Arc<Http> {
        &self.http
    }

    /// The model to begin with: what the settings of another program name, else the best of the
    /// first provider that can be used, else one of a server on this machine, else one that is
    /// part of this program.
    ///
    /// A provider whose models nobody has described is asked for them when it is its turn, which may
    /// wait for the network for a moment.
    pub fn default_model(&self) -> Option<DefaultModel> {
        if let Some(named) = self.foreign_default() {
            return Some(named);
        }
        let mut silent = Vec::new();
        let mut default = self
            .first_usable(self.providers(), &mut silent)
            .or_else(|| self.first_usable(&self.local.providers(), &mut silent))
            .or_else(|| self.first_plugged())?;
        for SilentProvider { id, reason } in silent {
            default.reason.push_str(&format!(" ({id}: {reason})"));
        }
        Some(default)
    }

    fn first_plugged(&self) -> Option<DefaultModel> {
        self.sources.plugged.iter().find_map(|plugged| {
            Some(DefaultModel {
                reason: plugged.default_reason()?,
                info: plugged.models().into_iter().next()?,
            })
        })
    }

    /// Every model there is, usable or not, in the order of [`ModelRegistry::available`].
    ///
    /// A provider of which it is not known which models it has, or what they hold, is asked.
    pub fn list(&self) -> Vec<ListedModel> {
        let answers = self.ask_unknown();
        self.list_knowing(&self.local.providers(), NamedBy::User, &answers)
    }

    /// The models that can be used, without those of servers that would have to be asked first.
    pub fn list_without_servers(&self) -> Vec<Arc<ModelInfo>> {
        let listed = self.list_with(&[], NamedBy::User).into_iter();
        listed
            .filter(|listed| listed.usable.is_some())
            .map(|listed| listed.info)
            .collect()
    }

    /// The model a person means by `name`: `provider/id`, an id, or an unmistakable part of one,
    /// with `:level` behind it if they want a thinking level.
    ///
    /// Servers on this machine are looked for only if the name is no model known without them.
    pub fn resolve(&self, name: &str, by: NamedBy) -> Result<NamedModel, ModelNameError> {
        if let Some(named) = names::exactly(name, &self.list_with(&[], by)) {
            return Ok(named);
        }
        let optimistic = |provider: &str, id: &str| self.optimistic(provider, id, by);
        let listed = match by {
            NamedBy::User | NamedBy::OwnFile | NamedBy::Others => self.list(),
            NamedBy::Untrusted => self.list_with(&[], by),
        };
        names::resolve(name, &listed, optimistic)
    }

    /// True when a model of this provider can be opened, described or not.
    pub fn knows_provider(&self, provider: &str) -> bool {
        self.providers().iter().any(|known| known.id == provider) || self.is_looked_for(provider)
    }

    /// True for a provider that nobody configured: a server that was found on this machine.
    pub fn is_found_locally(&self, provider: &str) -> bool {
        self.is_looked_for(provider) && !self.providers().iter().any(|known| known.id == provider)
    }

    /// Why a model of a server on this machine is not there, if it would be one.
    pub fn why_not_local(&self, provider: &str) -> Option<String> {
        let mut servers = self.sources.local_servers.iter();
        let server = servers.find(|server| server.provider == provider)?;
        let (name, port) = (server.name, server.port);
        let is_configured = self.providers().iter().any(|known| known.id == provider);
        (!is_configured).then(|| match self.local.named(provider) {
            None => format!("{name} does not answer on port {port}"),
            Some(_) => format!("{name} on port {port} does not have it"),
        })
    }

    fn is_looked_for(&self, provider: &str) -> bool {
        let mut servers = self.sources.local_servers.iter();
        servers.any(|server| server.provider == provider)
    }

    /// A model nobody described, of a provider that is known: the provider may have it, and is
    /// asked when the model is used.
    pub fn optimistic(&self, provider: &str, id: &str, by: NamedBy) -> Option<Arc<ModelInfo>> {
        let known = self.providers_named(by).find(|known| known.id == provider);
        match known {
            Some(known) => (!id.is_empty()).then(|| self.with_models(known).optimistic(id)),
            None => {
                let mut plugged = self.plugged_named(by).iter();
                plugged.find_map(|plugged| plugged.unlisted(provider, id))
            }
        }
    }

    /// What to do about models of other programs' files that could not be read.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.foreign().warnings.clone();
        for provider in self.providers() {
            warnings.extend(provider.warnings.iter().cloned());
        }
        warnings
    }

    /// The thinking level another program's settings name.
    pub fn default_thinking_level(&self) -> Option<ThinkingLevel> {
        self.foreign().default_thinking_level
    }

    /// What another program's settings say about sessions.
    pub fn foreign_settings(&self) -> &ForeignSettings {
        &self.foreign().settings
    }

    /// True once a request has been made; start-up must not have made one.
    pub fn has_used_http(&self) -> bool {
        self.http.is_in_use()
    }

    fn list_with(&self, local: &[Provider], by: NamedBy) -> Vec<ListedModel> {
        self.list_knowing(local, by, &HashMap::new())
    }

    fn list_knowing(
        &self,
        local: &[Provider],
        by: NamedBy,
        answers: &HashMap<String, ModelListResult>,
    ) -> Vec<ListedModel> {
        let mut listed = Vec::new();
        for provider in self.providers_named(by).chain(local) {
            let answer = answers.get(&provider.id);
            let silent = answer.and_then(|answer| answer.as_ref().err());
            let usable = self.usable(provider).filter(|_| silent.is_none());
            let credential = &provider.credential;
            let by_subscription = provider.has_login && !credential.is_key();
            let said = answer.and_then(|answer| answer.as_ref().ok());
            let said = said.map_or(&[][..], Vec::as_slice);
            for info in provider.models_with(said) {
                listed.push(ListedModel {
                    info,
                    usable: usable.clone(),
                    hint: silent.unwrap_or(&provider.hint).clone(),
                    by_subscription,
                });
            }
        }
        for plugged in self.plugged_named(by) {
            listed.extend(plugged.models().into_iter().map(|info| ListedModel {
                info,
                usable: Some(plugged.usable()),
                hint: String::new(),
                by_subscription: false,
            }));
        }
        listed
    }

    /// The providers whose models somebody can name. Who is not trusted names hosted ones only,
    /// whoever has set up the others.
    fn providers_named(&self, by: NamedBy) -> impl Iterator<Item = &Provider> {
        let providers = self.providers().iter();
        providers.filter(move |provider| match by {
            NamedBy::User | NamedBy::OwnFile | NamedBy::Others => true,
            NamedBy::Untrusted => is_hosted(&provider.base_url),
        })
    }

    /// What is part of this program is not hosted.
    fn plugged_named(&self, by: NamedBy) -> &[Arc<dyn PluggedProvider>] {
        match by {
            NamedBy::User | NamedBy::OwnFile | NamedBy::Others => &self.sources.plugged,
            NamedBy::Untrusted => &[],
        }
    }

    fn providers(&self) -> &[Provider] {
        self.providers.get_or_init(|| {
            providers::assemble(&self.sources, self.foreign(), &self.sources.environment)
        })
    }

    /// The models that step in for others, as configured for other programs.
    pub fn fallback_chains(&self) -> FallbackChains {
        self.foreign().fallback.clone()
    }

    /// When what is done leaves the list of todos, as configured for omp. The inner nothing means
    /// never.
    pub fn todo_clear_delay(&self) -> Option<Option<Duration>> {
        self.foreign().todo_clear_delay
    }

    /// The environment variables that are known to hold keys of providers, set or not: those of the
    /// catalogue, of the configuration, and of other programs' configuration. Others go by their
    /// names, see [`catalogue::is_key_variable`].
    pub fn key_variables(&self) -> Vec<String> {
        let usual = catalogue::providers().iter();
        let usual = usual.flat_map(|known| known.key_env.iter().chain(&known.token_env));
        let configured = self.sources.providers.values();
        let theirs = self.foreign().providers.iter();
        let configured = configured
            .chain(theirs.map(|theirs| &theirs.configuration))
            .filter_map(|provider| provider.api_key_env.as_ref());
        let mut names: Vec<String> = usual.chain(configured).cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn foreign(&self) -> &ForeignSetup {
        self.foreign
            .get_or_init(|| ForeignSetup::read(&self.sources.foreign, &self.sources.environment))
    }

    fn foreign_default(&self) -> Option<DefaultModel> {
        let (provider, id, file) = self.foreign().default_model.as_ref()?;
        let provider = self
            .providers()
            .iter()
            .find(|known| known.id == *provider)?;
        self.usable(provider)?;
        let provider = self.with_models(provider);
        let info = provider.models.iter().find(|info| info.id == *id);
        let info = match info {
            Some(info) => Arc::clone(info),
            None => provider.optimistic(id),
        };
        Some(DefaultModel {
            info,
            reason: format!("{} names it", file.display()),
        })
    }

    /// The best model of the first provider that can be used. Those before it that do not tell which
    /// models they have are added to the silent.
    fn first_usable(
        &self,
        providers: &[Provider],
        silent: &mut Vec<SilentProvider>,
    ) -> Option<DefaultModel> {
        let only_by_name = &self.sources.only_by_name;
        let mut providers = providers
            .iter()
            .filter(|provider| !only_by_name.contains(&provider.id));
        providers.find_map(|provider| {
            let reason = self.usable(provider)?;
            let answers = match provider.models.is_empty() {
                true => self.ask_for_choice(),
                false => HashMap::new(),
            };
            match self.with_models(provider).models.first() {
                Some(info) => Some(DefaultModel {
                    reason,
                    info: Arc::clone(info),
                }),
                None => {
                    silent.extend(self.silence_of(provider, answers.get(&provider.id)));
                    None
                }
            }
        })
    }

    /// Why a provider can be used, in words.
    fn usable(&self, provider: &Provider) -> Option<String> {
        if let Some(reason) = provider.credential.reason() {
            return Some(reason);
        }
        if self.stored_key(&provider.id).is_some() {
            return Some(format!("a key for {} is stored", provider.id));
        }
        let can_log_in = provider.has_login && self.logins().is_logged_in(&provider.id);
        can_log_in.then(|| format!("logged in at {}", provider.id))
    }

    /// What gets one in at a provider, if anything does.
    fn credentials(&self, provider: &Provider) -> Result<Option<SharedCredentials>, LoginError> {
        let stored = || {
            self.stored_key(&provider.id)
                .map(|key| self.stored_credentials(provider, key))
        };
        let known = provider.credential.credentials(&provider.hint);
        match known.or_else(stored) {
            Some(credentials) => Ok(Some(credentials)),
            None if provider.has_login && self.logins().is_logged_in(&provider.id) => {
                let login = self.logins().credentials(&provider.id)?;
                Ok(Some(Arc::new(login)))
            }
            None => Ok(None),
        }
    }

    fn ca_file(&self, provider: &str) -> Option<PathBuf> {
        let configured = self.sources.providers.get(provider);
        configured.and_then(|one| one.ca_file.clone())
    }

    fn no_provider(&self, info: &ModelInfo) -> ModelError {
        let mut servers = self.sources.local_servers.iter();
        match servers.find(|server| server.provider == info.provider) {
            Some(server) => ModelError::new(
                ModelErrorKind::Network,
                format!(
                    "{}: {} does not answer on port {}; start it",
                    info.full_name(),
                    server.name,
                    server.port
                ),
            ),
            None => ModelError::new(
                ModelErrorKind::UnknownModel,
                format!("{}: there is no provider with this name", info.full_name()),
            ),
        }
    }

    fn open_at(
        &self,
        provider: &Provider,
        info: &Arc<ModelInfo>,
    ) -> Result<Arc<dyn Model>, ModelError> {
        let wire = Wire::from_api(&info.api).ok_or_else(|| {
            let known: Vec<&str> = Wire::ALL.into_iter().map(Wire::api).collect();
            ModelError::new(
                ModelErrorKind::InvalidRequest,
                format!(
                    "{}: the API `{}` is not supported; use {}",
                    info.full_name(),
                    info.api,
                    known.join(", ")
                ),
            )
        })?;
        let refused = |why: String| ModelError::new(ModelErrorKind::Auth, why);
        let credentials = self
            .credentials(provider)
            .map_err(|error| refused(error.to_string()))?
            .ok_or_else(|| {
                let (model, hint) = (info.full_name(), &provider.hint);
                refused(format!("{model}: no credentials: {hint}"))
            })?;
        let endpoint = ModelEndpoint {
            info: Arc::clone(info),
            wire,
            base_url: Secret::new(provider.base_url.as_str()),
            credentials,
            headers: provider.headers.clone(),
            ca_file: provider.ca_file.clone(),
            server_tools: Arc::clone(&provider.server_tools),
        };
        let clock = Arc::clone(&self.sources.clock);
        Ok(Arc::new(RemoteModel::new(
            endpoint,
            Arc::clone(&self.http),
            clock,
        )))
    }
}

impl ModelRegistry for Registry {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        let listed = self.list().into_iter();
        listed
            .filter(|listed| listed.usable.is_some())
            .map(|listed| listed.info)
            .collect()
    }

    fn find(&self, provider: &str, id: &str, by: NamedBy) -> Option<Arc<ModelInfo>> {
        let known = self.providers_named(by).find(|known| known.id == provider);
        let local = || match by {
            NamedBy::User | NamedBy::OwnFile | NamedBy::Others => self.local.named(provider),
            NamedBy::Untrusted => None,
        };
        let plugged = || {
            let plugged = self.plugged_named(by).iter();
            plugged.flat_map(|plugged| plugged.models())
        };
        match known {
            Some(known) => {
                let known = self.with_models(known);
                known.models.iter().find(|info| info.id == id).cloned()
            }
            None => match local() {
                Some(server) => server.models.iter().find(|info| info.id == id).cloned(),
                None => plugged().find(|info| info.provider == provider && info.id == id),
            },
        }
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        let is_its = |plugged: &&Arc<dyn PluggedProvider>| {
            let mut models = plugged.models().into_iter();
            models.any(|model| model.provider == info.provider && model.id == info.id)
                || plugged.unlisted(&info.provider, &info.id).is_some()
        };
        if let Some(plugged) = self.sources.plugged.iter().find(is_its) {
            return plugged.open(info);
        }
        if let Some(provider) = self
            .providers()
            .iter()
            .find(|known| known.id == info.provider)
        {
            return self.open_at(provider, info);
        }
        match self.local.named(&info.provider) {
            Some(server) => self.open_at(&server, info),
            None => Err(self.no_provider(info)),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
