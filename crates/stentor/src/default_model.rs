//! The default model of later sessions: the configuration file of the project or of the user names it
//! from then on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::model::{ModelRegistry, NamedBy};
use stentor_model::script;
use stentor_serve::default_model::{DefaultModelScope, DefaultModelStore, StoredDefaultModel};

use crate::choose_model::choose_model;
use crate::config::edit::{ConfigEditError, Document};
use crate::config::{Config, ConfigErrors, Layer, Scope};
use crate::environment::Variables;
use crate::models::Models;
use crate::setup;

const MODEL: &str = "model";
const PROVIDER: &str = "provider";

/// Stores default models in the configuration.
pub struct ConfiguredModel {
    /// The strongest layer: what the command line says counts before any file.
    pub flags: Layer,
    pub variables: Variables,
    pub models: Arc<Models>,
}

/// Why later sessions could not find a scenario again.
#[derive(Debug, thiserror::Error)]
enum ScenarioError {
    #[error("{} is not a scenario file, so later sessions could not find it", .0.display())]
    NotAFile(PathBuf),
    #[error("{} is not UTF-8, so it cannot be kept", .0.display())]
    NotUtf8(PathBuf),
}

impl DefaultModelStore for ConfiguredModel {
    fn store(
        &self,
        provider: &str,
        id: &str,
        scope: DefaultModelScope,
        cwd: &Path,
    ) -> Result<StoredDefaultModel, BoxError> {
        let scope = match scope {
            DefaultModelScope::Project => Scope::Project,
            DefaultModelScope::User => Scope::User,
        };
        // A file with a mistake is the user's to put right first.
        let config = self.load(cwd)?;
        let file = config.file_to_change(scope)?;
        let id = self.lasting(provider, id, cwd)?;
        let line = write(&file, provider, &id)?;
        let without_effect = self.why_another(provider, &id, (&file, line), cwd);
        Ok(StoredDefaultModel {
            file,
            without_effect,
        })
    }
}

impl ConfiguredModel {
    /// The id that means the same model everywhere and later: that of a scenario is its file.
    fn lasting(&self, provider: &str, id: &str, cwd: &Path) -> Result<String, ScenarioError> {
        if provider != script::PROVIDER {
            return Ok(id.to_owned());
        }
        let path = cwd.join(id);
        if !path.is_file() {
            return Err(ScenarioError::NotAFile(path));
        }
        // The working folder may have another of the name by which the user named theirs.
        let path = self.models.script_file(id).unwrap_or(path);
        let path = path.into_os_string().into_string();
        path.map_err(|path| ScenarioError::NotUtf8(path.into()))
    }

    fn load(&self, cwd: &Path) -> Result<Config, ConfigErrors> {
        setup::load_config(cwd, &self.flags, &self.variables)
    }

    /// Why a new session in `cwd` would begin with another model than the one a file now names.
    fn why_another(
        &self,
        provider: &str,
        id: &str,
        (file, line): (&Path, usize),
        cwd: &Path,
    ) -> Option<String> {
        let config = match self.load(cwd) {
            Ok(config) => config,
            Err(why) => return Some(why.to_string()),
        };
        let stored = self.models.find(provider, id, NamedBy::User)?;
        let chosen = match choose_model(&config.model_choice(), &self.models) {
            Ok(chosen) if chosen.info == stored => return None,
            Ok(other) => format!("they begin with {} ({})", other.info.full_name(), other.why),
            Err(why) => why.to_string(),
        };
        // A project's file may not say everything.
        let mut warnings = config.warnings.iter();
        let refused = warnings.find(|warning| *warning.at.file == *file && warning.at.line == line);
        let mut wanted = config.wanted.iter();
        let waits = wanted.find(|wanted| wanted.file == file && wanted.line == Some(line));
        Some(match (refused, waits) {
            (Some(warning), _) => warning.to_string(),
            (None, Some(wanted)) => format!(
                "{}:{line}: ignored, because the project is not trusted: {}",
                file.display(),
                wanted.why
            ),
            (None, None) => chosen,
        })
    }
}

/// Returns the line of the model in the file.
fn write(file: &Path, provider: &str, id: &str) -> Result<usize, ConfigEditError> {
    let mut document = Document::open(file)?;
    document.set(MODEL, &format!("{provider}/{id}"))?;
    // Of two that disagree the provider would count.
    if document.contains_key(PROVIDER) {
        document.set(PROVIDER, provider)?;
    }
    document.save()?;
    Ok(document.line_of(MODEL).unwrap_or(1))
}
