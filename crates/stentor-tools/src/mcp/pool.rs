//! The servers that run, so that the same one is not started twice.

use std::sync::{Arc, Weak};

use stentor_agent::tool_servers::ToolServer;

use super::callers::ServerFolders;
use super::connection::ServerAccess;
use super::server::McpServer;
use crate::process::Launcher;

/// The servers somebody uses. Who used one last ends it.
#[derive(Default)]
pub(super) struct ServerPool {
    running: Vec<PooledServer>,
}

/// A server, and what must be the same for two sessions to share it.
struct PooledServer {
    wanted: ToolServer,
    folders: ServerFolders,
    launcher: Launcher,
    server: Weak<McpServer>,
}

impl ServerPool {
    /// The server as it is wanted: a running one, or a new one if it was given up or is not there.
    pub fn get_or_start(
        &mut self,
        wanted: &ToolServer,
        folders: &ServerFolders,
        access: &ServerAccess,
    ) -> Arc<McpServer> {
        self.running.retain(|running| {
            let server = running.server.upgrade();
            server.is_some_and(|server| !server.handle.is_given_up())
        });
        let alike = self.running.iter().find(|running| {
            running.wanted == *wanted
                && running.folders == *folders
                && running.launcher == access.launcher
        });
        if let Some(server) = alike.and_then(|running| running.server.upgrade()) {
            return server;
        }
        let server = Arc::new(McpServer::start(wanted.clone(), folders, access));
        self.running.push(PooledServer {
            wanted: wanted.clone(),
            folders: folders.clone(),
            launcher: access.launcher.clone(),
            server: Arc::downgrade(&server),
        });
        server
    }
}
