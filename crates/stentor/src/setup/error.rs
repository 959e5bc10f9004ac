//! Why no session can be started in a folder.

use std::io;
use std::path::PathBuf;

use stentor_tools::sandbox::SandboxRefusal;

use crate::choose_model::ChooseModelError;
use crate::config::{ConfigErrors, ValueSource};

/// What keeps a session from being set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Sandbox(#[from] SandboxRefusal),
    #[error(transparent)]
    Model(#[from] ChooseModelError),
    #[error("{at}: unknown tool `{name}`;{} there are {}", hint(near.as_deref()), known.join(", "))]
    UnknownTool {
        /// What names it.
        at: ValueSource,
        name: String,
        near: Option<String>,
        known: Vec<String>,
    },
}

/// Why a folder cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot work in {}: {why}", folder.display())]
    Unreachable { folder: PathBuf, why: io::Error },
    #[error("cannot work in {}: it is not a folder", .0.display())]
    NotAFolder(PathBuf),
}

fn hint(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(" did you mean `{near}`?"))
}
