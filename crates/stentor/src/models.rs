//! Where models come from in this program: the network's, scenario files, and the guide.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry};
use stentor_model::offline::{self, GuideModel};
use stentor_model::script::{self, ScriptModel};

/// All models: those of other registries first, the guide last, scenario files by name.
pub struct Models {
    others: Vec<Arc<dyn ModelRegistry>>,
    guide: Arc<GuideModel>,
    /// What a scenario's path is relative to.
    cwd: PathBuf,
    /// By the name they were asked for and by the id they have. One instance for each, so that a
    /// scenario keeps its place.
    scripts: Mutex<HashMap<String, Arc<ScriptModel>>>,
}

impl Models {
    /// The models of `others`, and those that need no network.
    pub fn new(others: Vec<Arc<dyn ModelRegistry>>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            others,
            guide: Arc::new(GuideModel::new()),
            cwd: cwd.into(),
            scripts: Mutex::default(),
        }
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
        let others = self.others.iter().flat_map(|other| other.available());
        others.chain([Arc::clone(self.guide.info())]).collect()
    }

    fn find(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        match provider {
            offline::PROVIDER if id == offline::MODEL => Some(Arc::clone(self.guide.info())),
            script::PROVIDER => match self.script(id) {
                Ok(model) => Some(Arc::clone(model.info())),
                Err(error) => {
                    tracing::warn!("{error}");
                    None
                }
            },
            _ => self
                .others
                .iter()
                .find_map(|other| other.find(provider, id)),
        }
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        match info.provider.as_str() {
            offline::PROVIDER => Ok(Arc::clone(&self.guide) as Arc<dyn Model>),
            script::PROVIDER => Ok(self.script(&info.id)?),
            provider => {
                let holder = self
                    .others
                    .iter()
                    .find(|other| other.find(provider, &info.id).is_some());
                match holder {
                    Some(registry) => registry.open(info),
                    None => Err(ModelError::new(
                        ModelErrorKind::UnknownModel,
                        format!("no model {}; `stentor models` lists them", info.full_name()),
                    )),
                }
            }
        }
    }
}
