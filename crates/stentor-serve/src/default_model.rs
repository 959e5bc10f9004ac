//! Storing the default model of later sessions, as the dialects see it. The binary implements it
//! over its configuration.

use std::path::{Path, PathBuf};

use stentor_agent::box_error::BoxError;

/// Stores default models.
pub trait DefaultModelStore: Send + Sync {
    /// Makes a model the one that new sessions begin with; `cwd` is the folder of the session it
    /// was chosen in. It may block. After an error nothing was changed.
    fn store(
        &self,
        provider: &str,
        id: &str,
        scope: DefaultModelScope,
        cwd: &Path,
    ) -> Result<StoredDefaultModel, BoxError>;
}

/// Whose later sessions begin with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultModelScope {
    /// Those of the project.
    Project,
    /// All of the user.
    User,
}

/// A default model that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDefaultModel {
    /// The file that says so.
    pub file: PathBuf,
    /// Why new sessions in the same folder begin with another model all the same, if they do.
    pub without_effect: Option<String>,
}
