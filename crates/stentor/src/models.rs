//! Where models come from in this program: the network's, scenario files, and the guide.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use stentor_agent::box_error::BoxError;
use stentor_agent::model::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry, NamedBy, ThinkingLevel,
};
use stentor_journal::clock::SystemClock;
use stentor_model::login::Logins;
use stentor_model::offline::GuideModel;
use stentor_model::registry::{ModelNameError, NamedModel, PluggedProvider, Registry};
use stentor_model::script::{self, ScriptModel};
use stentor_tools::mcp::McpServers;
use stentor_tools::mcp::oauth::McpLogins;

use crate::config::ConfigErrors;

/// All models: the registry's, with the guide last among them, and scenario files by name.
pub struct Models {
    /// Replaced as a whole when it is read again.
    registry: RwLock<Arc<Registry>>,
    /// Reads everything again that models are known from.
    again: Option<ReadAgain>,
    /// What a scenario's path is relative to.
    cwd: PathBuf,
    /// The same for one that a file of the user's own names.
    own_folder: Option<PathBuf>,
    scripts: Mutex<Scripts>,
}

/// The scenarios that the user has named. One instance for each, so that a scenario keeps its place.
#[derive(Default)]
struct Scripts {
    by_file: HashMap<PathBuf, Arc<ScriptModel>>,
    /// By the name they were given, and by the id they have.
    by_name: HashMap<String, Arc<ScriptModel>>,
}

/// Why a scenario that somebody else names is not played.
const ONLY_THE_USER: &str =
    "only a flag, the environment, your own file or your client can name a scenario file";

/// Why a name that a person gave means no model.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(transparent)]
    Name(#[from] ModelNameError),
    #[error(transparent)]
    Scenario(#[from] ModelError),
}

/// Makes a registry of what is on disk now.
type ReadAgain = Box<dyn Fn() -> Result<Registry, ConfigErrors> + Send + Sync>;

/// The guide, as the registry takes it in.
#[derive(Default)]
pub struct Guide(Arc<GuideModel>);

impl PluggedProvider for Guide {
    fn models(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }

    fn default_reason(&self) -> Option<String> {
        Some("no key is configured: this one follows rules and needs no network".to_owned())
    }
}

impl Models {
    /// The models of `registry`, and scenario files relative to `cwd`; relative to `own_folder` if a
    /// file of the user's own names them.
    pub fn new(registry: Registry, cwd: impl Into<PathBuf>, own_folder: Option<PathBuf>) -> Self {
        Self {
            registry: RwLock::new(Arc::new(registry)),
            again: None,
            cwd: cwd.into(),
            own_folder,
            scripts: Mutex::default(),
        }
    }

    /// The same, with a way to read the registry again.
    #[must_use]
    pub fn read_again_by(
        mut self,
        again: impl Fn() -> Result<Registry, ConfigErrors> + Send + Sync + 'static,
    ) -> Self {
        self.again = Some(Box::new(again));
        self
    }

    /// The models that are known by name, as they are now.
    pub fn registry(&self) -> Arc<Registry> {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&registry)
    }

    /// No MCP servers yet, to be reached by the HTTP client of the models.
    pub fn mcp_servers(&self) -> McpServers {
        McpServers::new(Arc::clone(self.registry().http()), self.mcp_logins())
    }

    /// The logins to MCP servers, beside those of the models.
    pub fn mcp_logins(&self) -> Arc<McpLogins> {
        let registry = self.registry();
        let beside = registry.credentials_file();
        // Where there is no folder for the ones, there is none for the others.
        let file = match beside.as_os_str().is_empty() {
            true => PathBuf::new(),
            false => beside.with_file_name("mcp-credentials.json"),
        };
        let http = Arc::clone(registry.http());
        Arc::new(McpLogins::new(file, http, Arc::new(SystemClock)))
    }

    /// The logins at their providers.
    pub fn logins(&self) -> Arc<Logins> {
        Arc::clone(self.registry().logins())
    }

    /// The model that plays a scenario file, or what is wrong with the file. A scenario says which
    /// tools are called, as a program does, so only the user can name one; what others name must
    /// be one that the user has named already.
    pub fn script(&self, name: &str, by: NamedBy) -> Result<Arc<ScriptModel>, ModelError> {
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let named = scripts.by_name.get(name).cloned();
        let (file, named) = match by {
            NamedBy::User => (Some(self.cwd.join(name)), named),
            NamedBy::OwnFile => {
                let file = self.own_folder.as_ref().map(|folder| folder.join(name));
                // One of the same name elsewhere is another.
                let is_there = file.as_ref().is_some_and(|file| file.exists());
                (file, named.filter(|_| !is_there))
            }
            NamedBy::Others | NamedBy::Untrusted => (None, named),
        };
        let known = file.as_ref().and_then(|file| scripts.by_file.get(file));
        if let Some(known) = known.cloned().or(named) {
            return Ok(known);
        }
        let Some(file) = file else {
            let message = format!("script/{name} is not used: {ONLY_THE_USER}");
            return Err(ModelError::new(ModelErrorKind::UnknownModel, message));
        };
        let model = ScriptModel::load(&file)
            .map_err(|error| ModelError::new(ModelErrorKind::UnknownModel, error.to_string()))?;
        for name in [name, &model.info().id] {
            let first = scripts.by_name.entry(name.to_owned());
            first.or_insert_with(|| Arc::clone(&model));
        }
        scripts.by_file.insert(file, Arc::clone(&model));
        Ok(model)
    }

    /// The model that a person means by a name, and the thinking level named with it.
    pub fn resolve_for_person(
        &self,
        name: &str,
        by: NamedBy,
    ) -> Result<(Arc<ModelInfo>, Option<ThinkingLevel>), ResolveError> {
        if let Some((script::PROVIDER, id)) = name.split_once('/') {
            let model = self.script(id, by)?;
            return Ok((Arc::clone(model.info()), None));
        }
        let named = self.registry().resolve(name, by)?;
        Ok((named.info, named.thinking))
    }

    /// The names in full, with their levels, that a person means by these. What means nothing stays as
    /// it is: whoever uses it reports that.
    pub fn full_names(&self, names: &[String], by: NamedBy) -> Vec<String> {
        let full = |name: &String| {
            let is_pattern = name.ends_with('*');
            let is_script = name.trim().starts_with("script/");
            if is_pattern || is_script {
                return name.clone();
            }
            match self.registry().resolve(name, by) {
                Ok(NamedModel { info, thinking }) => match thinking {
                    Some(level) => format!("{}:{level}", info.full_name()),
                    None => info.full_name(),
                },
                Err(why) => {
                    tracing::warn!("{why}");
                    name.clone()
                }
            }
        };
        names.iter().map(full).collect()
    }

    /// The file of a scenario that has been named.
    pub fn script_file(&self, name: &str) -> Option<PathBuf> {
        let scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        let named = scripts.by_name.get(name)?;
        let mut files = scripts.by_file.iter();
        let (file, _) = files.find(|(_, model)| Arc::ptr_eq(model, named))?;
        Some(file.clone())
    }
}

impl ModelRegistry for Models {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        self.registry().available()
    }

    fn reload(&self) -> Result<Vec<String>, BoxError> {
        let Some(again) = &self.again else {
            return Ok(Vec::new());
        };
        let read = again()?;
        // A login that a person is in the middle of goes on.
        read.logins().take_over(&self.logins());
        let warnings = read.warnings();
        let mut registry = self
            .registry
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *registry = Arc::new(read);
        Ok(warnings)
    }

    fn find(&self, provider: &str, id: &str, by: NamedBy) -> Option<Arc<ModelInfo>> {
        if provider != script::PROVIDER {
            let registry = self.registry();
            let described = registry.find(provider, id, by);
            return described.or_else(|| registry.optimistic(provider, id, by));
        }
        match self.script(id, by) {
            Ok(model) => Some(Arc::clone(model.info())),
            Err(error) => {
                // What others name, their caller reports by `why_not`.
                if matches!(by, NamedBy::User | NamedBy::OwnFile) {
                    tracing::warn!("{error}");
                }
                None
            }
        }
    }

    fn why_not(&self, provider: &str, _: &str, by: NamedBy) -> Option<String> {
        match by {
            NamedBy::Others | NamedBy::Untrusted if provider == script::PROVIDER => {
                Some(ONLY_THE_USER.to_owned())
            }
            NamedBy::Untrusted => None,
            NamedBy::User | NamedBy::OwnFile | NamedBy::Others => {
                self.registry().why_not_local(provider)
            }
        }
    }

    fn is_described(&self, provider: &str, id: &str) -> bool {
        match provider {
            script::PROVIDER => self.find(provider, id, NamedBy::User).is_some(),
            _ => self.registry().find(provider, id, NamedBy::User).is_some(),
        }
    }

    fn resolve(&self, name: &str, by: NamedBy) -> Option<Arc<ModelInfo>> {
        match name.split_once('/') {
            Some((script::PROVIDER, id)) => self.find(script::PROVIDER, id, by),
            _ => self
                .registry()
                .resolve(name, by)
                .ok()
                .map(|named| named.info),
        }
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        if info.provider == script::PROVIDER {
            // Whoever has the description of one had it from a name that counted.
            return Ok(self.script(&info.id, NamedBy::Others)?);
        }
        self.registry().open(info)
    }
}
