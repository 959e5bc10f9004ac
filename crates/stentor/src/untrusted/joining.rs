//! What a folder brings to a session that is open when the folder becomes trusted.
//!
//! Its texts (instructions, rules, templates, skills, agents), its extensions and its MCP servers
//! can join a session at any time: the next model call has them. What the session has decided by
//! them already stays as it is: settings, which the client has been shown and may have changed
//! since, permission rules, providers and models, and whatever would take the place of an extension
//! or a server of the same name that runs. Those count from the next session on.

use std::sync::Arc;

use stentor_agent::box_error::BoxError;
use stentor_agent::folder_texts::FolderTexts;
use stentor_agent::hook_chain;
use stentor_agent::hooks::Hooks;
use stentor_agent::session::{HookSource, HookedSession, Session, SessionServers};

/// Reads what a folder says.
pub trait LoadTrusted: Send + Sync {
    /// Reads it now that the folder is trusted. Waits for the disk.
    fn load(&self) -> Result<TrustedContents, BoxError>;
}

/// What was loaded for a session, and has not reached it.
pub struct TrustedContents {
    pub texts: FolderTexts,
    pub extensions: Option<Arc<dyn HookSource>>,
    pub servers: Option<SessionServers>,
}

impl TrustedContents {
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
