//! The servers that run, so that the same one is not started twice.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use stentor_agent::tool_servers::ToolServer;

use super::server::{Server, State};

/// The servers somebody uses. Who used one last ends it.
#[derive(Default)]
pub(super) struct Pool {
    servers: HashMap<(ToolServer, PathBuf), Weak<Server>>,
}

impl Pool {
    /// The server as it is wanted: a running one, or a new one if it has failed or is not there.
    pub fn get_or_start(&mut self, wanted: ToolServer, cwd: &Path) -> Arc<Server> {
        self.servers.retain(|_, server| server.strong_count() > 0);
        let key = (wanted, cwd.to_owned());
        if let Some(server) = self.servers.get(&key).and_then(Weak::upgrade)
            && !matches!(*server.state().borrow(), State::Failed(_))
        {
            return server;
        }
        let server = Arc::new(Server::start(key.0.clone(), cwd));
        self.servers.insert(key, Arc::downgrade(&server));
        server
    }
}
