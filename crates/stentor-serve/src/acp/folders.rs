//! Paths that clients give: they are absolute (section 5.1).

use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::error::{AcpResult, Refusal};
use super::limits;

/// What a relative path could be meant from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseFolders {
    /// The folder the program was started in.
    pub current: Option<PathBuf>,
    /// The user's home, for `~`.
    pub home: Option<PathBuf>,
}

impl BaseFolders {
    /// Refuses a relative path, with the absolute one it could have meant.
    pub(super) fn must_be_absolute(&self, name: &str, path: &Path) -> AcpResult<()> {
        if path.is_absolute() {
            return Ok(());
        }
        let Some(meant) = self.meant(path) else {
            let text = format!("{name} must be an absolute path");
            return Err(Refusal::invalid_params(text));
        };
        let shown = meant.display().to_string();
        let place = match path.starts_with("~") {
            true => "with your home for `~`",
            false => "seen from the folder the agent was started in",
        };
        let text = format!("{name} must be an absolute path; {place} it would be {shown}");
        Err(Refusal {
            data: Some(json!({ "field": name, "absolute": shown })),
            ..Refusal::invalid_params(text)
        })
    }

    fn meant(&self, path: &Path) -> Option<PathBuf> {
        let is_repeatable = !path.as_os_str().is_empty()
            && path.as_os_str().len() <= limits::REPEATED_PATH_BYTES
            && path.to_str().is_some();
        let (base, rest) = match path.strip_prefix("~") {
            Ok(rest) => (self.home.as_ref(), rest),
            Err(_) => (self.current.as_ref(), path),
        };
        let mut meant = base.filter(|_| is_repeatable)?.clone();
        for part in rest.components() {
            match part {
                Component::ParentDir => {
                    meant.pop();
                }
                Component::Normal(name) => meant.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Some(meant)
    }
}
