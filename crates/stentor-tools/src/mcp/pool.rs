//! The servers that run, so that the same one is not started twice.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use stentor_agent::tool_servers::ToolServer;

use super::server::Server;
use crate::process::Launcher;

/// The servers somebody uses. Who used one last ends it.
#[derive(Default)]
pub(super) struct Pool {
    running: Vec<Running>,
}

/// A server, and what must be the same for two sessions to share it.
struct Running {
    wanted: ToolServer,
    cwd: PathBuf,
    launcher: Launcher,
    server: Weak<Server>,
}

impl Pool {
    /// The server as it is wanted: a running one, or a new one if it was given up or is not there.
    pub fn get_or_start(
        &mut self,
        wanted: &ToolServer,
        cwd: &Path,
        launcher: &Launcher,
    ) -> Arc<Server> {
        self.running.retain(|running| {
            let server = running.server.upgrade();
            server.is_some_and(|server| !server.post.is_given_up())
        });
        let alike = self.running.iter().find(|running| {
            running.wanted == *wanted && running.cwd == cwd && running.launcher == *launcher
        });
        if let Some(server) = alike.and_then(|running| running.server.upgrade()) {
            return server;
        }
        let server = Arc::new(Server::start(wanted.clone(), cwd, launcher));
        self.running.push(Running {
            wanted: wanted.clone(),
            cwd: cwd.to_owned(),
            launcher: launcher.clone(),
            server: Arc::downgrade(&server),
        });
        server
    }
}
