//! One server from its first start to its end: started, watched, started again, given up.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stentor_agent::tasks;
use stentor_agent::tool_servers::ToolServer;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::callers::{Callers, ServerFolders};
use super::client::GreetedServer;
use super::connection::{self, ServerAccess, ServerConnection, ServerFailure};
use super::limits::{CALL_PATIENCE, FIRST_BACK_OFF, LISTING_PAUSE};
use super::offer::Offer;
use crate::json_rpc_child::{RequestError, RestartPolicy, Restarts, StderrTail, wait_until_needed};

/// A server somebody uses. Dropping it ends it.
pub(super) struct McpServer {
    pub handle: Arc<ServerHandle>,
    _running: DropGuard,
}

/// Where a server is reached while it runs, also by those who do not keep it running.
pub(super) struct ServerHandle {
    pub wanted: ToolServer,
    state: watch::Sender<ServerState>,
    /// Notified when it is needed, so that it is started at once.
    needed: Notify,
    /// Who uses it.
    pub callers: Arc<Callers>,
    /// Notified when a call failed in a way that may mean that it is of no use any more.
    suspected: Notify,
}

/// How a server is.
#[derive(Clone)]
pub(super) enum ServerState {
    /// It has not been started, or has not answered yet.
    Starting,
    Ready(Arc<LiveServer>),
    /// It failed and is started again. What it brought before stays known.
    Broken {
        why: Arc<str>,
        before: Option<Arc<Offer>>,
    },
    /// It failed too often, or for good.
    GivenUp(Arc<str>),
}

/// A server that runs and has said what it brings.
pub(super) struct LiveServer {
    pub client: GreetedServer,
    pub offer: Arc<Offer>,
    /// When it was reached, which tells one start of it from the next.
    since: Instant,
}

impl McpServer {
    /// Starts it in the background, a moment later or when it is needed.
    pub fn start(wanted: ToolServer, folders: &ServerFolders, access: &ServerAccess) -> Self {
        let handle = Arc::new(ServerHandle {
            wanted,
            state: watch::Sender::new(ServerState::Starting),
            needed: Notify::new(),
            callers: Arc::default(),
            suspected: Notify::new(),
        });
        let over = CancellationToken::new();
        let runner = Runner {
            handle: Arc::clone(&handle),
            folders: folders.clone(),
            access: access.clone(),
            over: over.clone(),
        };
        tasks::spawn(runner.run());
        Self {
            handle,
            _running: over.drop_guard(),
        }
    }
}

impl ServerHandle {
    pub fn name(&self) -> &str {
        &self.wanted.name
    }

    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    pub fn state_now(&self) -> ServerState {
        self.state.borrow().clone()
    }

    /// Has it asked whether it is alive, since a call failed.
    pub fn suspect(&self) {
        self.suspected.notify_one();
    }

    pub fn is_starting(&self) -> bool {
        matches!(*self.state.borrow(), ServerState::Starting)
    }

    pub fn is_given_up(&self) -> bool {
        matches!(*self.state.borrow(), ServerState::GivenUp(_))
    }

    /// Waits until it is ready or has failed for the first time.
    pub async fn ready_or_failed(&self) {
        self.needed.notify_one();
        let mut state = self.state();
        // Its end is a failure, too.
        let _ = state
            .wait_for(|state| !matches!(state, ServerState::Starting))
            .await;
    }

    /// What it brings, or brought before it failed.
    pub fn offer(&self) -> Option<Arc<Offer>> {
        match &*self.state.borrow() {
            ServerState::Ready(live) => Some(Arc::clone(&live.offer)),
            ServerState::Broken { before, .. } => before.clone(),
            ServerState::Starting | ServerState::GivenUp(_) => None,
        }
    }

    /// The running server. One that is being started again is waited for, for a while.
    pub async fn live(&self) -> Result<Arc<LiveServer>, Unavailable> {
        let mut state = self.state();
        let usable = state
            .wait_for(|state| matches!(state, ServerState::Ready(_) | ServerState::GivenUp(_)));
        let now = match timeout(CALL_PATIENCE, usable).await {
            Ok(Ok(state)) => state.clone(),
            Ok(Err(_)) => return Err(Unavailable::Ended),
            Err(_) => self.state_now(),
        };
        match now {
            ServerState::Ready(live) => Ok(live),
            ServerState::Starting => Err(Unavailable::Starting),
            ServerState::Broken { why, .. } => Err(Unavailable::Broken(why)),
            ServerState::GivenUp(why) => Err(Unavailable::GivenUp(why)),
        }
    }

    /// Asks the running server something that takes no longer than a call may.
    pub async fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, Unavailable> {
        let live = self.live().await?;
        let limit = self.wanted.call_limit;
        match timeout(limit, live.client.request(method, params)).await {
            Err(_) => Err(Unavailable::Late(limit)),
            Ok(Err(RequestError::Gone)) => Err(self.ended_early(&live).await),
            Ok(answered) => Ok(answered?),
        }
    }

    /// What became of a request that one whose connection ended did not answer.
    pub async fn ended_early(&self, live: &LiveServer) -> Unavailable {
        match self.gone(live).await {
            Some(why) => Unavailable::EndedBecause(why),
            None => Unavailable::Request(RequestError::Gone),
        }
    }

    /// Waits until one whose connection ended does not count as running any more, so that the next
    /// call finds one that does. Why it ended, for a person, where that is known.
    pub async fn gone(&self, live: &LiveServer) -> Option<Arc<str>> {
        let mut state = self.state();
        let gone = state.wait_for(|state| match state {
            ServerState::Ready(now) => now.since != live.since,
            _ => true,
        });
        let now = timeout(CALL_PATIENCE, gone).await.ok()?.ok()?.clone();
        match now {
            ServerState::Broken { why, .. } | ServerState::GivenUp(why) => Some(why),
            ServerState::Ready(_) | ServerState::Starting => None,
        }
    }
}

/// Why a server does not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unavailable {
    #[error("it has been ended")]
    Ended,
    #[error("it is still starting")]
    Starting,
    #[error("{0}; it is being started again")]
    Broken(Arc<str>),
    #[error("{0}")]
    GivenUp(Arc<str>),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Late(Duration),
    #[error("it ended before it answered: {0}")]
    EndedBecause(Arc<str>),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// Starts a server, watches it, starts it again, gives it up.
struct Runner {
    handle: Arc<ServerHandle>,
    folders: ServerFolders,
    access: ServerAccess,
    /// Fires when nobody uses it any more.
    over: CancellationToken,
}

impl Runner {
    async fn run(self) {
        if !wait_until_needed(&self.handle.needed, &self.over).await {
            return;
        }
        let mut restarts = Restarts::new(RestartPolicy {
            max_restarts: self.handle.wanted.restarts,
            base_delay: FIRST_BACK_OFF,
        });
        loop {
            restarts.starts();
            let Err(ServerFailure { why, is_final }) = self.run_once().await else {
                return;
            };
            let delay = restarts.failed().filter(|_| !is_final);
            let failures = restarts.failures;
            let server = self.handle.name();
            tracing::debug!(server, why, failures, "an MCP server failed");
            let Some(delay) = delay else {
                let why = match failures {
                    1 => why,
                    times => format!("{why} (it failed {times} times in a row)"),
                };
                self.set(ServerState::GivenUp(why.into()));
                return;
            };
            self.set(ServerState::Broken {
                why: why.into(),
                before: self.handle.offer(),
            });
            tokio::select! {
                () = sleep(delay) => {}
                () = self.over.cancelled() => return,
            }
        }
    }

    /// Runs it until it fails, or nobody uses it any more.
    async fn run_once(&self) -> Result<(), ServerFailure> {
        let stderr = StderrTail::default();
        let wanted = &self.handle.wanted;
        let deadline = Instant::now() + wanted.start_limit;
        let started = tokio::select! {
            started = timeout_at(deadline, self.start(&stderr)) => started,
            () = self.over.cancelled() => return Ok(()),
        };
        let late = || {
            let seconds = wanted.start_limit.as_secs_f32();
            ServerFailure::passing(format!("it did not start within {seconds} s"))
        };
        let ended = match started.unwrap_or_else(|_| Err(late())) {
            Ok((connection, offer)) => self.follow(connection, offer).await,
            Err(failure) => Err(failure),
        };
        let Err(mut failure) = ended else {
            return Ok(());
        };
        stderr.closed().await;
        if let Some(text) = stderr.text() {
            failure.why.push_str(&format!("; it said: {text}"));
        }
        failure.why = wanted.redacted(&failure.why);
        Err(failure)
    }

    async fn start(&self, stderr: &StderrTail) -> Result<(ServerConnection, Offer), ServerFailure> {
        let wanted = &self.handle.wanted;
        let mut connection = connection::open(
            wanted,
            &self.folders,
            &self.access,
            &self.handle.callers,
            stderr,
        )
        .await?;
        let offer = connection
            .ask(wanted)
            .await
            .map_err(ServerFailure::passing)?;
        Ok((connection, offer))
    }

    /// Follows a server that works, until it does no more.
    async fn follow(
        &self,
        connection: ServerConnection,
        offer: Offer,
    ) -> Result<(), ServerFailure> {
        let ServerConnection {
            client,
            mut far_side,
        } = connection;
        let since = Instant::now();
        let ready = |offer: Offer| {
            self.set(ServerState::Ready(Arc::new(LiveServer {
                client: client.clone(),
                offer: Arc::new(offer),
                since,
            })));
        };
        ready(offer);
        let mut next_listing = Instant::now();
        loop {
            let lists_changed = async {
                client.notices.lists_changed.notified().await;
                sleep_until(next_listing).await;
            };
            tokio::select! {
                () = client.peer.closed() => {
                    return Err(ServerFailure::passing(far_side.why_it_ended().await));
                }
                () = self.over.cancelled() => {
                    far_side.end().await;
                    return Ok(());
                }
                () = self.handle.suspected.notified() => {
                    if !client.is_alive().await && !client.peer.is_closed() {
                        far_side.end().await;
                        return Err(ServerFailure::passing("it does not answer any more"));
                    }
                }
                () = lists_changed => {
                    // What it had stays, if it cannot say what it has now.
                    if let Ok(offer) = Offer::ask(&self.handle.wanted, &client).await {
                        ready(offer);
                    }
                    next_listing = Instant::now() + LISTING_PAUSE;
                }
            }
        }
    }

    fn set(&self, state: ServerState) {
        self.handle.state.send_replace(state);
    }
}
