//! MCP servers: what they bring to sessions, and how they are kept running.
//!
//! A server's program or address is reached when a session that wants it has begun, all servers at
//! once and in the background; nothing waits for them but the first prompt, and that not for long.
//! Sessions that want the same server in the same way share it. A server that cannot be used costs
//! what it would have brought and a warning with its name, nothing else:
//!
//! - it is started again with growing pauses when it fails, and given up when that does not help;
//! - calls have a time limit, and fail with a clear result when it dies under them;
//! - what it sends is bounded, and it is read no faster than a person could make use of
//!   (`json_rpc_child` sees to that, `limits` has the numbers that are MCP's own).
//!
//! `session` is what a session sees of all this, `pool` shares servers among sessions, `server`
//! runs one, `connection` reaches it (a program's pipes, `streamable_http` and `sse` are the ways
//! there, `oauth` who we are there), `client` speaks to it in the messages of `protocol`, `offer` is
//! what it brings (`offered_tools` of its tools), and `tool`, `prompt` and `resource` make that ours.
//! What it asks of us (`requests`) is for the session that uses it (`callers`): `elicitation` is a
//! question to a person, `sampling` one to the session's model.

mod callers;
mod client;
mod connection;
mod content;
mod elicitation;
mod form;
mod http;
mod limits;
mod name;
pub mod oauth;
mod offer;
mod offered_tools;
mod pool;
mod probe;
mod prompt;
mod protocol;
mod requests;
mod resource;
mod sampling;
mod server;
mod session;
mod sse;
mod streamable_http;
mod tool;

use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::session::{AttachedServers, HookedSession, SessionServers, ToolServers};
use stentor_http::Http;

pub use connection::ServerAccess;
pub use name::full_name;
pub use probe::{ProbedServer, ServerContents, probe};

use callers::ServerFolders;
use oauth::McpLogins;
use pool::ServerPool;
use prompt::ServerPrompts;
use server::McpServer;
use session::ServerHooks;

use crate::process::Launcher;

/// The servers that run in this process. Cheap to clone.
#[derive(Clone, Default)]
pub struct McpServers {
    pool: Arc<Mutex<ServerPool>>,
    http: Arc<Http>,
    logins: Option<Arc<McpLogins>>,
}

impl McpServers {
    /// No servers yet. Those behind an address will be reached by `http`, as who one is logged in.
    pub fn new(http: Arc<Http>, logins: Arc<McpLogins>) -> Self {
        Self {
            pool: Arc::default(),
            http,
            logins: Some(logins),
        }
    }

    /// What starts servers for sessions whose programs are held back like this.
    pub fn starter(&self, launcher: Launcher) -> Arc<dyn ToolServers> {
        Arc::new(ServerStarter {
            pool: Arc::clone(&self.pool),
            access: ServerAccess {
                launcher,
                http: Arc::clone(&self.http),
                logins: self.logins.clone(),
            },
        })
    }
}

struct ServerStarter {
    pool: Arc<Mutex<ServerPool>>,
    access: ServerAccess,
}

impl ToolServers for ServerStarter {
    fn attach(&self, servers: &SessionServers, session: HookedSession) -> AttachedServers {
        let folders = ServerFolders {
            cwd: session.cwd.to_path_buf(),
            additional: servers.additional_folders.clone(),
        };
        let running: Vec<Arc<McpServer>> = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = servers.wanted.iter();
            wanted
                .map(|wanted| pool.get_or_start(wanted, &folders, &self.access))
                .collect()
        };
        let prompts = ServerPrompts::new(&running, servers.patience);
        AttachedServers {
            hooks: Arc::new(ServerHooks::new(running, servers, session.session)),
            prompts: Arc::new(prompts),
        }
    }
}
