//! Servers that bring tools of their own, such as MCP servers: the vocabulary.
//!
//! Who speaks to such servers is elsewhere; a dialect only hands on which ones its client wants and
//! gives a session the tools they turn out to have.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::tool::Tool;

/// A server somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolServer {
    /// Unique among the servers of a session; part of the names of its tools.
    pub name: String,
    pub transport: ToolServerTransport,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolServerTransport {
    /// A program that is started and spoken to through its pipes.
    Stdio {
        command: PathBuf,
        args: Vec<String>,
        /// What is added to the environment.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        headers: Vec<(String, String)>,
    },
}

/// Starts servers.
pub trait ToolServers: Send + Sync {
    /// Begins to start the servers of a session that works in `cwd`, all at the same time, and
    /// returns at once.
    fn start(&self, servers: Vec<ToolServer>, cwd: &Path) -> Arc<dyn StartedServers>;
}

/// The servers of one session. Dropping the last handle ends those that no other session uses.
pub trait StartedServers: Send + Sync {
    /// The tools of the servers that are ready.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// What went wrong so far, one text for a person for each server that cannot be used.
    fn problems(&self) -> Vec<String>;

    /// True when every server is either ready or given up.
    fn is_settled(&self) -> bool;

    /// Waits until tools or problems are others than when `seen` was the number of changes, and
    /// returns the new number. `None`: nothing will change any more.
    fn changed(&self, seen: u64) -> ServersChanged<'_>;
}

/// The answer to [`StartedServers::changed`].
pub type ServersChanged<'a> = Pin<Box<dyn Future<Output = Option<u64>> + Send + 'a>>;
