//! Tools of MCP servers.
//!
//! [`servers`] starts the servers a session wants, all at once and in the background. A server
//! that cannot be used costs its own tools and a text that says why, nothing else. Sessions that
//! want the same server in the same folder share it. Everything that knows the MCP library is in
//! this module: `connection` reaches a server, `tool` makes its tools into ours.

mod connection;
mod name;
mod pool;
mod server;
mod stdio;
mod tool;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex};

use stentor_agent::tool::Tool;
use stentor_agent::tool_servers::{ServersChanged, StartedServers, ToolServer, ToolServers};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use pool::Pool;
use server::{Server, State};

/// Starts MCP servers, and shares those that are wanted alike.
pub fn servers() -> Arc<dyn ToolServers> {
    Arc::new(McpServers {
        pool: Mutex::default(),
    })
}

struct McpServers {
    pool: Mutex<Pool>,
}

impl ToolServers for McpServers {
    fn start(&self, wanted: Vec<ToolServer>, cwd: &Path) -> Arc<dyn StartedServers> {
        let servers: Vec<Arc<Server>> = {
            let mut pool = self.pool.lock().unwrap_or_else(|lock| lock.into_inner());
            wanted
                .into_iter()
                .map(|wanted| pool.get_or_start(wanted, cwd))
                .collect()
        };
        Arc::new(Started::new(servers))
    }
}

/// The servers of one session.
struct Started {
    servers: Vec<Arc<Server>>,
    /// How often something changed.
    changes: watch::Sender<u64>,
    watching: Vec<JoinHandle<()>>,
}

impl Started {
    fn new(servers: Vec<Arc<Server>>) -> Self {
        let changes = watch::Sender::new(0);
        let watching = servers
            .iter()
            .map(|server| {
                let (mut state, changes) = (server.state(), changes.clone());
                tokio::spawn(async move {
                    // A shared server may have been ready before.
                    let mut is_news = !matches!(*state.borrow_and_update(), State::Starting);
                    loop {
                        if is_news {
                            changes.send_modify(|count| *count += 1);
                        }
                        if state.changed().await.is_err() {
                            return;
                        }
                        is_news = true;
                    }
                })
            })
            .collect();
        Self {
            servers,
            changes,
            watching,
        }
    }
}

impl StartedServers for Started {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.servers.iter().flat_map(|server| server.tools());
        tools.map(|tool| tool as Arc<dyn Tool>).collect()
    }

    fn problems(&self) -> Vec<String> {
        let problems = self.servers.iter().filter_map(|server| server.problem());
        problems.collect()
    }

    fn is_settled(&self) -> bool {
        let mut states = self.servers.iter().map(|server| server.state());
        states.all(|state| !matches!(*state.borrow(), State::Starting))
    }

    fn changed(&self, seen: u64) -> ServersChanged<'_> {
        let mut changes = self.changes.subscribe();
        Box::pin(async move {
            if self.servers.is_empty() {
                return None;
            }
            let now = changes.wait_for(|count| *count != seen).await.ok()?;
            Some(*now)
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for watching in &self.watching {
            watching.abort();
        }
    }
}
