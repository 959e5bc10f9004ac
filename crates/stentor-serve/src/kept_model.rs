//! Keeping a choice of model for later sessions, as the dialects see it. The binary implements it
//! over its configuration.

use std::path::{Path, PathBuf};

/// Keeps choices of models.
pub trait ModelKeeper: Send + Sync {
    /// Makes a model the one that new sessions begin with; `cwd` is the folder of the session it
    /// was chosen in. It may block. The error is text for a person, and then nothing was changed.
    fn keep(
        &self,
        provider: &str,
        id: &str,
        kept_for: KeptFor,
        cwd: &Path,
    ) -> Result<KeptModel, String>;
}

/// Whose later sessions begin with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFor {
    /// Those of the project.
    Project,
    /// All of the user.
    User,
}

/// A choice that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptModel {
    /// The file that says so.
    pub file: PathBuf,
    /// Why new sessions in the same folder begin with another model all the same, if they do.
    pub without_effect: Option<String>,
}
