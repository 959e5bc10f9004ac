//! What a folder brings to a session that is open when the folder becomes trusted.
//!
//! Its texts (instructions, rules, templates, skills, agents), its extensions and its MCP servers
//! can join a session at any time: the next model call has them. What the session has decided by
//! them already stays as it is: settings, which the client has been shown and may have changed
//! since, permission rules, providers and models, and whatever would take the place of an extension
//! or a server of the same name that runs. Those count from the next session on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::commands::Shelf;
use stentor_agent::hook_chain;
use stentor_agent::hooks::{HookSource, HookedSession, Hooks};
use stentor_agent::model::ModelRegistry;
use stentor_agent::session::{FolderTexts, Session};
use stentor_agent::tool_servers::SessionServers;

use crate::config::Config;
use crate::extensions;
use crate::setup::{self, Defaults};

/// Loads what a folder brings that has just been trusted.
#[derive(Clone)]
pub struct Loader {
    defaults: Defaults,
    cwd: PathBuf,
    /// Where the session finds its templates, skills and agents.
    commands: Option<Arc<Shelf>>,
    /// The names of the extensions that run without trust.
    running: BTreeSet<String>,
}

/// What was loaded for a session, and has not reached it.
pub struct Loaded {
    texts: FolderTexts,
    extensions: Option<Arc<dyn HookSource>>,
    servers: Option<SessionServers>,
}

impl Loader {
    /// For a session that begins under a configuration.
    pub fn new(
        defaults: Defaults,
        config: &Config,
        cwd: PathBuf,
        commands: Option<Arc<Shelf>>,
    ) -> Self {
        let found = extensions::find(config).unwrap_or_default();
        Self {
            defaults,
            cwd,
            commands,
            running: found.into_iter().map(|found| found.spec.name).collect(),
        }
    }

    /// Reads what the folder says now that it is trusted. Waits for the disk. The error is text
    /// for a person.
    pub fn load(&self) -> Result<Loaded, String> {
        for warning in self.defaults.models.reload()? {
            tracing::warn!("{warning}");
        }
        let config = setup::load_config(&self.cwd, &self.defaults.flags);
        let config = config.map_err(|errors| errors.to_string())?;
        let options = self.defaults.options(&config, &self.cwd)?;
        let launcher = setup::session_launcher(&config, &self.cwd)?;
        let extensions = extensions::hooks_except(&config, &launcher, &self.running)?;
        if let Some(commands) = &self.commands {
            commands.set_folders(setup::command_folders(&config));
        }
        Ok(Loaded {
            texts: FolderTexts {
                system_prompt: options.system_prompt,
                rules: options.rules,
            },
            extensions,
            servers: options.servers,
        })
    }
}

impl Loaded {
    /// Gives the session what it can have at once. Returns what is to be asked from now on.
    pub async fn join(self, session: &Session, hooked: HookedSession) -> Option<Arc<dyn Hooks>> {
        let mut attached = Vec::new();
        if let Some(extensions) = self.extensions {
            attached.push(extensions.attach(hooked.clone()));
        }
        if let Some(mut servers) = self.servers {
            let has = |name: &String| hooked.servers.contains(name);
            servers.wanted.retain(|server| !has(&server.name));
            if !servers.is_empty() {
                let brought = servers.starter.attach(&servers, hooked);
                attached.push(brought.hooks);
                session.add_prompts(brought.prompts).await;
            }
        }
        // A session that has ended meanwhile needs nothing any more.
        session.set_folder_texts(self.texts).await.ok()?;
        session.commands_changed().await;
        hook_chain::all_in_one(attached)
    }
}
