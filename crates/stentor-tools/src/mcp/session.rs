//! The servers of one session, as the session's hooks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use stentor_agent::event::{CommandInfo, EventKind, NoticeLevel, NoticeSource};
use stentor_agent::hooks::{CallHooks, HookFuture, Hooks, PromptVerdict};
use stentor_agent::session::{SessionServers, WeakSession};
use stentor_agent::tool::Tool;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::callers::Presence;
use super::limits::PROBLEMS_DELAY;
use super::resource;
use super::server::{McpServer, ServerHandle, ServerState};
use super::tool::McpTool;

/// The servers of one session. Those that no other session uses end with it.
pub(super) struct ServerHooks {
    handles: Arc<[Arc<ServerHandle>]>,
    watched: Arc<[Arc<WatchedServer>]>,
    patience: Duration,
    has_waited: Arc<AtomicBool>,
    problems: Problems,
    session: WeakSession,
    held: Mutex<Option<HeldServers>>,
}

/// What keeps the servers running and the session informed.
struct HeldServers {
    _servers: Vec<Arc<McpServer>>,
    _presences: Vec<Presence>,
    _watching: JoinSet<()>,
}

impl ServerHooks {
    pub fn new(
        servers: Vec<Arc<McpServer>>,
        wanted: &SessionServers,
        session: WeakSession,
    ) -> Self {
        let (patience, problems) = (wanted.patience, wanted.problems.clone());
        let handles: Arc<[Arc<ServerHandle>]> = servers
            .iter()
            .map(|server| Arc::clone(&server.handle))
            .collect();
        let attach = |handle: &Arc<ServerHandle>| handle.callers.attach(session.clone());
        let presences = handles.iter().map(attach).collect();
        let mut watching = JoinSet::new();
        let watched: Arc<[Arc<WatchedServer>]> = handles.iter().map(WatchedServer::new).collect();
        for watched in watched.iter() {
            watching.spawn(Arc::clone(watched).watch(session.clone()));
        }
        let problems = Problems(Arc::new(Mutex::new(problems)));
        let (unwarned, warned) = (problems.clone(), session.clone());
        watching.spawn(async move {
            // Who opened the session listens by then.
            sleep(PROBLEMS_DELAY).await;
            unwarned.warn(&warned);
        });
        Self {
            handles,
            watched,
            patience,
            has_waited: Arc::default(),
            problems,
            session,
            held: Mutex::new(Some(HeldServers {
                _servers: servers,
                _presences: presences,
                _watching: watching,
            })),
        }
    }
}

impl CallHooks for ServerHooks {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for handle in self.handles.iter() {
            for offered in handle.offer().iter().flat_map(|offer| &offer.tools) {
                let (handle, session) = (Arc::clone(handle), self.session.clone());
                tools.push(Arc::new(McpTool::new(handle, offered.clone(), session)));
            }
        }
        tools.extend(resource::tools(&self.handles));
        tools
    }
}

impl Hooks for ServerHooks {
    fn before_prompt(&self, _: Arc<str>) -> HookFuture<PromptVerdict> {
        let (handles, session) = (Arc::clone(&self.handles), self.session.clone());
        let watched = Arc::clone(&self.watched);
        let is_first = !self.has_waited.swap(true, Ordering::AcqRel);
        let patience = self.patience;
        self.problems.warn(&self.session);
        Box::pin(async move {
            if is_first {
                wait_for_start(&handles, patience, &session).await;
            }
            // A short run is over before those who watch have had their turn.
            for watched in watched.iter() {
                watched.warn(&session);
            }
            PromptVerdict::Answer {
                context: Vec::new(),
            }
        })
    }

    fn session_ended(&self) -> HookFuture<()> {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(held);
        Box::pin(std::future::ready(()))
    }
}

/// What is wrong with servers that are not even started, until it was told.
#[derive(Clone)]
struct Problems(Arc<Mutex<Vec<String>>>);

impl Problems {
    fn warn(&self, session: &WeakSession) {
        let untold = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for problem in untold {
            warn(session, problem);
        }
    }
}

/// Waits until all servers are ready or have failed once, but not for ever.
async fn wait_for_start(handles: &[Arc<ServerHandle>], patience: Duration, session: &WeakSession) {
    let all = join_all(handles.iter().map(|handle| handle.ready_or_failed()));
    if timeout(patience, all).await.is_ok() {
        return;
    }
    let late: Vec<String> = handles
        .iter()
        .filter(|handle| handle.is_starting())
        .map(|handle| format!("{:?}", handle.name()))
        .collect();
    let (servers, are) = match late.as_slice() {
        [] => return,
        [_] => ("server", "is"),
        _ => ("servers", "are"),
    };
    let message = format!(
        "The MCP {servers} {} {are} still starting; the answer begins without.",
        late.join(", ")
    );
    warn(session, message);
}

/// A server, and what the session was told of it.
struct WatchedServer {
    handle: Arc<ServerHandle>,
    told: Mutex<ReportedState>,
}

#[derive(Default)]
struct ReportedState {
    is_broken: bool,
    is_given_up: bool,
    problems: Vec<String>,
}

impl WatchedServer {
    fn new(handle: &Arc<ServerHandle>) -> Arc<Self> {
        Arc::new(Self {
            handle: Arc::clone(handle),
            told: Mutex::default(),
        })
    }

    /// Tells the session what is wrong with the server, once for each time it goes wrong.
    fn warn(&self, session: &WeakSession) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.handle.name();
        match self.handle.state_now() {
            ServerState::Starting => {}
            ServerState::Ready(live) => {
                told.is_broken = false;
                if live.offer.problems != told.problems {
                    told.problems.clone_from(&live.offer.problems);
                    for problem in &told.problems {
                        warn(session, format!("The MCP server {name:?}: {problem}."));
                    }
                }
            }
            ServerState::Broken { why, before } => {
                if !std::mem::replace(&mut told.is_broken, true) {
                    let what = match before {
                        Some(_) => "failed and is started again",
                        None => "did not start and is tried again",
                    };
                    warn(session, format!("The MCP server {name:?} {what}: {why}"));
                }
            }
            ServerState::GivenUp(why) => {
                if !std::mem::replace(&mut told.is_given_up, true) {
                    let message = format!("The MCP server {name:?} is given up: {why}");
                    warn(session, message);
                }
            }
        }
    }

    /// Tells the session whenever something is wrong with the server, and that its commands changed.
    async fn watch(self: Arc<Self>, session: WeakSession) {
        let mut state = self.handle.state();
        let mut commands: Vec<CommandInfo> = Vec::new();
        loop {
            state.mark_unchanged();
            self.warn(&session);
            let offer = self.handle.offer();
            let offered: Vec<CommandInfo> = offer
                .iter()
                .flat_map(|offer| offer.prompts.iter().map(|prompt| prompt.info.clone()))
                .collect();
            if offered != commands {
                commands = offered;
                session.commands_changed().await;
            }
            if state.changed().await.is_err() {
                return;
            }
        }
    }
}

fn warn(session: &WeakSession, message: String) {
    session.publish(EventKind::Notice {
        level: NoticeLevel::Warning,
        message,
        from: NoticeSource::Agent,
    });
}
