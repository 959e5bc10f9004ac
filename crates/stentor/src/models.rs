//! Where models come from in this program: the network's, scenario files, and the guide.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry};
use stentor_model::offline::{self, GuideModel};
use stentor_model::registry::Registry;
use stentor_model::script::{self, ScriptModel};

/// All models: the network's first, the guide last, scenario files by name.
pub struct Models {
    network: Registry,
    guide: Arc<GuideModel>,
    /// What a scenario's path is relative to.
    cwd: PathBuf,
    /// By the name they were asked for and by the id they have. One instance for each, so that a
    /// scenario keeps its place.
    scripts: Mutex<HashMap<String, Arc<ScriptModel>>>,
}

impl Models {
    /// The models of `network`, and those that need none.
    pub fn new(network: Registry, cwd: impl Into<PathBuf>) -> Self {
        Self {
            network,
            guide: Arc::new(GuideModel::new()),
            cwd: cwd.into(),
            scripts: Mutex::default(),
        }
    }

    /// The models that are spoken to over the network.
    pub fn network(&self) -> &Registry {
        &self.network
    }

    /// The model that works without one.
    pub fn guide(&self) -> &Arc<ModelInfo> {
        self.guide.info()
    }

    /// The model that plays a scenario file, or what is wrong with the file.
    pub fn script(&self, name: &str) -> Result<Arc<ScriptModel>, ModelError> {
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = scripts.get(name) {
            return Ok(Arc::clone(known));
        }
        let model = ScriptModel::load(self.cwd.join(name))
            .map_err(|error| ModelError::new(ModelErrorKind::UnknownModel, error.to_string()))?;
        scripts.insert(name.to_owned(), Arc::clone(&model));
        scripts.insert(model.info().id.clone(), Arc::clone(&model));
        Ok(model)
    }
}

impl ModelRegistry for Models {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        let mut available = self.network.available();
        available.push(Arc::clone(self.guide()));
        available
    }

    fn find(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        match provider {
            offline::PROVIDER if id == offline::MODEL => Some(Arc::clone(self.guide())),
            script::PROVIDER => match self.script(id) {
                Ok(model) => Some(Arc::clone(model.info())),
                Err(error) => {
                    tracing::warn!("{error}");
                    None
                }
            },
            _ => self.network.find(provider, id),
        }
    }

    fn resolve(&self, name: &str) -> Option<Arc<ModelInfo>> {
        match name.split_once('/') {
            Some((provider @ (offline::PROVIDER | script::PROVIDER), id)) => {
                self.find(provider, id)
            }
            _ => self.network.resolve(name).ok().map(|named| named.info),
        }
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        match info.provider.as_str() {
            offline::PROVIDER => Ok(Arc::clone(&self.guide) as Arc<dyn Model>),
            script::PROVIDER => Ok(self.script(&info.id)?),
            _ => self.network.open(info),
        }
    }
}
