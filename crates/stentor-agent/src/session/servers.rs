//! The servers of a session, and how what they bring reaches it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::hook_source::HookedSession;
use crate::commands::PromptSource;
use crate::hooks::Hooks;
use crate::tool_servers::ToolServer;

/// Starts servers, and shares those that several sessions want alike.
pub trait ToolServers: Send + Sync {
    /// Attaches servers to a session that begins. Returns at once: they start a moment later, all
    /// at the same time, and bring what they have when they are ready.
    fn attach(&self, servers: &SessionServers, session: HookedSession) -> AttachedServers;
}

/// What the servers of a session bring to it.
pub struct AttachedServers {
    /// Their tools. The servers end with these, unless other sessions use them.
    pub hooks: Arc<dyn Hooks>,
    pub prompts: Arc<dyn PromptSource>,
}

/// The servers of a session, and who starts them.
#[derive(Clone)]
pub struct SessionServers {
    pub starter: Arc<dyn ToolServers>,
    pub wanted: Vec<ToolServer>,
    /// The folders in which the session works besides its own, for servers that ask.
    pub additional_folders: Vec<PathBuf>,
    /// How long the first prompt waits for servers that are still starting.
    pub patience: Duration,
    /// What is wrong with servers that cannot even be started, for a person.
    pub problems: Vec<String>,
}

impl SessionServers {
    /// Adds a server. It takes the place of one with the same name.
    pub fn add(&mut self, server: ToolServer) {
        let mut wanted = self.wanted.iter_mut();
        match wanted.find(|have| have.name == server.name) {
            Some(have) => *have = server,
            None => self.wanted.push(server),
        }
    }

    /// True when there is nothing to start and nothing to warn of.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.problems.is_empty()
    }
}
