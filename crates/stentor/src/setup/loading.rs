//! Reads what a folder says that has just been trusted, for a session that is open.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::commands::CommandCache;
use stentor_agent::folder_texts::FolderTexts;
use stentor_agent::model::ModelRegistry;

use super::{Defaults, load_config, session_launcher};
use crate::config::Config;
use crate::extensions;
use crate::untrusted::joining::{LoadTrusted, TrustedContents};
use crate::user_folders::command_folders;

/// Loads what a folder brings that has just been trusted.
#[derive(Clone)]
pub struct Loader {
    defaults: Defaults,
    cwd: PathBuf,
    /// Where the session finds its templates, skills and agents.
    commands: Option<Arc<CommandCache>>,
    /// The names of the extensions that run without trust.
    running: BTreeSet<String>,
}

impl Loader {
    /// For a session that begins under a configuration.
    pub fn new(
        defaults: Defaults,
        config: &Config,
        cwd: PathBuf,
        commands: Option<Arc<CommandCache>>,
    ) -> Self {
        let found = extensions::find(config).unwrap_or_default();
        Self {
            defaults,
            cwd,
            commands,
            running: found.into_iter().map(|found| found.spec.name).collect(),
        }
    }
}

impl LoadTrusted for Loader {
    fn load(&self) -> Result<TrustedContents, BoxError> {
        for warning in self.defaults.models.reload()? {
            tracing::warn!("{warning}");
        }
        let config = load_config(&self.cwd, &self.defaults.flags, &self.defaults.variables)?;
        let options = self.defaults.options(&config, &self.cwd)?;
        let launcher = session_launcher(&config, &self.cwd)?;
        let extensions = extensions::hooks_except(&config, &launcher, &self.running)?;
        if let Some(commands) = &self.commands {
            commands.set_folders(command_folders(&config));
        }
        Ok(TrustedContents {
            texts: FolderTexts {
                system_prompt: options.system_prompt,
                rules: options.rules,
            },
            extensions,
            servers: options.servers,
        })
    }
}
