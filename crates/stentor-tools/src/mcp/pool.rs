//! The servers that run, so that the same one is not started twice.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use stentor_agent::tool_servers::ToolServer;

use super::connection::ServerAccess;
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
        access: &ServerAccess,
    ) -> Arc<Server> {
        self.running.retain(|running| {
            let server = running.server.upgrade();
            server.is_some_and(|server| !server.handle.is_given_up())
        });
        let alike = self.running.iter().find(|running| {
            running.wanted == *wanted && running.cwd == cwd && running.launcher == access.launcher
        });
        if let Some(server) = alike.and_then(|running| running.server.upgrade()) {
            return server;
        }
        let server = Arc::new(Server::start(wanted.clone(), cwd, access));
        self.running.push(Running {
            wanted: wanted.clone(),
            cwd: cwd.to_owned(),
            launcher: access.launcher.clone(),
            server: Arc::downgrade(&server),
        });
        server
    }
}
