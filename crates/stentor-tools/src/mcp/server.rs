//! One server from its start to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{NotificationContext, QuitReason, RoleClient};
use rmcp::{ClientHandler, Peer};
use stentor_agent::tool_servers::ToolServer;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::connection::{self, Connection};
use super::tool::McpTool;

/// How long a server has to answer its first request and to list its tools.
pub(super) const START_LIMIT: Duration = Duration::from_secs(30);
/// More tools than this are no help to a model.
const MAX_TOOLS: usize = 500;

/// A server somebody uses. Dropping it ends it.
pub(super) struct Server {
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
}

/// How far a server is.
pub(super) enum State {
    Starting,
    Ready(Vec<Arc<McpTool>>),
    /// What is wrong, for a person.
    Failed(String),
}

impl Server {
    /// Starts it in the background.
    pub fn start(wanted: ToolServer, cwd: &Path) -> Self {
        let (sender, state) = watch::channel(State::Starting);
        let task = tokio::spawn(serve(wanted, cwd.to_owned(), sender));
        Self { state, task }
    }

    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    pub fn tools(&self) -> Vec<Arc<McpTool>> {
        match &*self.state.borrow() {
            State::Ready(tools) => tools.clone(),
            State::Starting | State::Failed(_) => Vec::new(),
        }
    }

    pub fn problem(&self) -> Option<String> {
        match &*self.state.borrow() {
            State::Failed(why) => Some(why.clone()),
            State::Starting | State::Ready(_) => None,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server may tell us.
#[derive(Clone, Default)]
pub(super) struct Listener {
    tools_changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }
}

async fn serve(wanted: ToolServer, cwd: PathBuf, state: watch::Sender<State>) {
    let name = wanted.name.clone();
    let listener = Listener::default();
    let failed = |why: String| {
        state.send_replace(State::Failed(why));
    };
    let starting = connection::open(&wanted, &cwd, listener.clone());
    let connection = match tokio::time::timeout(START_LIMIT, starting).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(why)) => return failed(format!("The MCP server {name:?} did not start: {why}")),
        Err(_) => {
            let seconds = START_LIMIT.as_secs();
            return failed(format!(
                "The MCP server {name:?} did not start within {seconds} s."
            ));
        }
    };
    let Connection {
        service,
        last_words,
        _process,
    } = connection;
    let peer = service.peer().clone();
    match tools(&name, &peer).await {
        Ok(tools) => drop(state.send_replace(State::Ready(tools))),
        Err(why) => return failed(format!("The MCP server {name:?} lists no tools: {why}")),
    }
    let mut ended = std::pin::pin!(service.waiting());
    let reason = loop {
        tokio::select! {
            reason = &mut ended => break reason,
            () = listener.tools_changed.notified() => {
                // What it had stays when it cannot say what it has now.
                if let Ok(tools) = tools(&name, &peer).await {
                    state.send_replace(State::Ready(tools));
                }
            }
        }
    };
    let why = match reason {
        Ok(QuitReason::Closed) => "it closed the connection".to_owned(),
        Ok(_) => "the connection broke".to_owned(),
        Err(error) => error.to_string(),
    };
    failed(format!(
        "The MCP server {name:?} is gone: {why}{}",
        last_words.told()
    ));
}

async fn tools(server: &str, peer: &Peer<RoleClient>) -> Result<Vec<Arc<McpTool>>, String> {
    let listing = tokio::time::timeout(START_LIMIT, peer.list_all_tools());
    let mut listed = listing
        .await
        .map_err(|_| "it did not answer in time".to_owned())?
        .map_err(|error| error.to_string())?;
    listed.truncate(MAX_TOOLS);
    let tools = listed.into_iter();
    Ok(tools
        .map(|tool| Arc::new(McpTool::new(server, tool, peer.clone())))
        .collect())
}
