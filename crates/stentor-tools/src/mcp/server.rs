//! One server from its first start to its end: started, watched, started again, given up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{ClientRequest, PingRequest};
use rmcp::service::{QuitReason, RoleClient, ServiceError};
use stentor_agent::tool_servers::ToolServer;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::{self, Connection, Failure, FarSide};
use super::limits::{
    CALL_PATIENCE, FIRST_BACK_OFF, LISTING_PAUSE, LONGEST_BACK_OFF, PING_LIMIT, START_DELAY, STEADY,
};
use super::listener::Listener;
use super::offer::{Offer, told};
use super::stdio::LastWords;
use crate::process::Launcher;

/// A server somebody uses. Dropping it ends it.
pub(super) struct Server {
    pub post: Arc<Post>,
    _running: DropGuard,
}

/// Where a server is reached while it runs, also by those who do not keep it running.
pub(super) struct Post {
    pub wanted: ToolServer,
    state: watch::Sender<State>,
    /// Told when it is needed, so that it is started at once.
    needed: Notify,
    /// Told when a call failed in a way that may mean that it is of no use any more.
    suspected: Notify,
}

/// How a server is.
#[derive(Clone)]
pub(super) enum State {
    /// It has not been started, or has not answered yet.
    Starting,
    Ready(Arc<Live>),
    /// It failed and is started again. What it brought before stays known.
    Broken {
        why: Arc<str>,
        before: Option<Arc<Offer>>,
    },
    /// It failed too often, or for good.
    GivenUp(Arc<str>),
}

/// A server that runs and has said what it brings.
pub(super) struct Live {
    pub peer: Peer<RoleClient>,
    pub offer: Arc<Offer>,
    pub listener: Listener,
    /// When it was reached, which tells one start of it from the next.
    since: Instant,
}

impl Server {
    /// Starts it in the background, a moment later or when it is needed.
    pub fn start(wanted: ToolServer, cwd: &Path, launcher: &Launcher) -> Self {
        let post = Arc::new(Post {
            wanted,
            state: watch::Sender::new(State::Starting),
            needed: Notify::new(),
            suspected: Notify::new(),
        });
        let over = CancellationToken::new();
        let keeper = Keeper {
            post: Arc::clone(&post),
            cwd: cwd.to_owned(),
            launcher: launcher.clone(),
            over: over.clone(),
        };
        tokio::spawn(keeper.keep());
        Self {
            post,
            _running: over.drop_guard(),
        }
    }
}

impl Post {
    pub fn name(&self) -> &str {
        &self.wanted.name
    }

    pub fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub fn state_now(&self) -> State {
        self.state.borrow().clone()
    }

    /// Has it started now, if it is not.
    pub fn need(&self) {
        self.needed.notify_one();
    }

    /// Has it asked whether it is alive, since a call failed.
    pub fn suspect(&self) {
        self.suspected.notify_one();
    }

    pub fn is_settled(&self) -> bool {
        !matches!(*self.state.borrow(), State::Starting)
    }

    pub fn is_given_up(&self) -> bool {
        matches!(*self.state.borrow(), State::GivenUp(_))
    }

    /// Waits until it is ready or has failed for the first time.
    pub async fn settled(&self) {
        self.need();
        let mut state = self.state();
        // Its end settles it, too.
        let _ = state
            .wait_for(|state| !matches!(state, State::Starting))
            .await;
    }

    /// What it brings, or brought before it failed.
    pub fn offer(&self) -> Option<Arc<Offer>> {
        match &*self.state.borrow() {
            State::Ready(live) => Some(Arc::clone(&live.offer)),
            State::Broken { before, .. } => before.clone(),
            State::Starting | State::GivenUp(_) => None,
        }
    }

    /// The running server. One that is being started again is waited for, for a while. The error is
    /// text for a person.
    pub async fn live(&self) -> Result<Arc<Live>, String> {
        let mut state = self.state();
        let usable = state.wait_for(|state| matches!(state, State::Ready(_) | State::GivenUp(_)));
        let now = match timeout(CALL_PATIENCE, usable).await {
            Ok(Ok(state)) => state.clone(),
            Ok(Err(_)) => return Err("it has been ended".to_owned()),
            Err(_) => self.state_now(),
        };
        match now {
            State::Ready(live) => Ok(live),
            State::Starting => Err("it is still starting".to_owned()),
            State::Broken { why, .. } => Err(format!("{why}; it is being started again")),
            State::GivenUp(why) => Err(why.to_string()),
        }
    }

    /// Why a request failed, for a person: if the server is gone, how it went.
    pub async fn told(&self, live: &Live, error: &ServiceError) -> String {
        let is_gone =
            matches!(error, ServiceError::TransportClosed) && live.peer.is_transport_closed();
        match is_gone {
            true => self.told_gone(live).await,
            false => told(error),
        }
    }

    /// What is said of a request that one whose connection ended did not answer.
    pub async fn told_gone(&self, live: &Live) -> String {
        match self.gone(live).await {
            Some(why) => format!("it ended before it answered: {why}"),
            None => "it ended before it answered".to_owned(),
        }
    }

    /// Waits until one whose connection ended does not count as running any more, so that the next
    /// call finds one that does. Why it ended, for a person, where that is known.
    pub async fn gone(&self, live: &Live) -> Option<Arc<str>> {
        let mut state = self.state();
        let gone = state.wait_for(|state| match state {
            State::Ready(now) => now.since != live.since,
            _ => true,
        });
        let now = timeout(CALL_PATIENCE, gone).await.ok()?.ok()?.clone();
        match now {
            State::Broken { why, .. } | State::GivenUp(why) => Some(why),
            State::Ready(_) | State::Starting => None,
        }
    }
}

/// Keeps a server running.
struct Keeper {
    post: Arc<Post>,
    cwd: PathBuf,
    launcher: Launcher,
    /// Fires when nobody uses it any more.
    over: CancellationToken,
}

impl Keeper {
    async fn keep(self) {
        tokio::select! {
            () = self.post.needed.notified() => {}
            () = sleep(START_DELAY) => {}
            () = self.over.cancelled() => return,
        }
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let Err(failure) = self.run_once().await else {
                return;
            };
            if began.elapsed() >= STEADY {
                failures = 0;
            }
            failures += 1;
            let before = self.post.offer();
            tracing::debug!(
                server = self.post.name(),
                why = failure.why,
                failures,
                "an MCP server failed"
            );
            if failure.is_final || failures > self.post.wanted.restarts {
                let why = match failures {
                    1 => failure.why,
                    times => format!("{} (it failed {times} times in a row)", failure.why),
                };
                self.set(State::GivenUp(why.into()));
                return;
            }
            self.set(State::Broken {
                why: failure.why.into(),
                before,
            });
            tokio::select! {
                () = sleep(back_off(failures)) => {}
                () = self.over.cancelled() => return,
            }
        }
    }

    /// Runs it until it fails, or nobody uses it any more.
    async fn run_once(&self) -> Result<(), Failure> {
        let last_words = LastWords::default();
        let deadline = Instant::now() + self.post.wanted.start_limit;
        let listener = Listener::default();
        let starting = self.start(&listener, &last_words);
        let started = tokio::select! {
            started = timeout_at(deadline, starting) => started,
            () = self.over.cancelled() => return Ok(()),
        };
        let late = || {
            let seconds = self.post.wanted.start_limit.as_secs_f32();
            Failure::passing(format!("it did not start within {seconds} s"))
        };
        let ended = match started.unwrap_or_else(|_| Err(late())) {
            Ok((connection, offer)) => self.attend(connection, offer, listener).await,
            Err(failure) => Err(failure),
        };
        match ended {
            Ok(()) => Ok(()),
            Err(mut failure) => {
                failure.why.push_str(&last_words.told_at_end().await);
                failure.why = self.post.wanted.redacted(&failure.why);
                Err(failure)
            }
        }
    }

    async fn start(
        &self,
        listener: &Listener,
        last_words: &LastWords,
    ) -> Result<(Connection, Offer), Failure> {
        let wanted = &self.post.wanted;
        let launcher = &self.launcher;
        let opening = connection::open(wanted, &self.cwd, launcher, listener.clone(), last_words);
        let mut connection = opening.await?;
        match connection.ask(wanted).await {
            Ok(offer) => Ok((connection, offer)),
            Err(why) => Err(Failure::passing(why)),
        }
    }

    /// Follows a server that works, until it does no more.
    async fn attend(
        &self,
        connection: Connection,
        offer: Offer,
        listener: Listener,
    ) -> Result<(), Failure> {
        let Connection {
            service,
            mut far_side,
        } = connection;
        let peer = service.peer().clone();
        let since = Instant::now();
        let ready = |offer: Offer| {
            self.set(State::Ready(Arc::new(Live {
                peer: peer.clone(),
                offer: Arc::new(offer),
                listener: listener.clone(),
                since,
            })));
        };
        ready(offer);
        let mut ended = Box::pin(service.waiting());
        let mut next_listing = Instant::now();
        let reason = loop {
            let lists_changed = async {
                listener.lists_changed.notified().await;
                sleep_until(next_listing).await;
            };
            tokio::select! {
                reason = &mut ended => break reason,
                () = self.over.cancelled() => {
                    drop(ended);
                    far_side.end().await;
                    return Ok(());
                }
                () = self.post.suspected.notified() => {
                    if !is_alive(&peer).await {
                        drop(ended);
                        far_side.end().await;
                        return Err(Failure::passing("it does not answer any more"));
                    }
                }
                () = lists_changed => {
                    // What it had stays, if it cannot say what it has now.
                    if let Ok(offer) = Offer::ask(&self.post.wanted, &peer).await {
                        ready(offer);
                    }
                    next_listing = Instant::now() + LISTING_PAUSE;
                }
            }
        };
        Err(Failure::passing(self.why(reason, &mut far_side).await))
    }

    async fn why(
        &self,
        reason: Result<QuitReason, tokio::task::JoinError>,
        far_side: &mut FarSide,
    ) -> String {
        match reason {
            Ok(reason) => far_side.told_end(&reason).await,
            Err(error) => error.to_string(),
        }
    }

    fn set(&self, state: State) {
        self.post.state.send_replace(state);
    }
}

/// Whether a server answers at all. That it does not know the question is an answer, too.
async fn is_alive(peer: &Peer<RoleClient>) -> bool {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    let answered = timeout(PING_LIMIT, peer.send_request(ping)).await;
    matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_))))
}

/// How long to wait after so many failures in a row.
fn back_off(failures: u32) -> Duration {
    let doubled = FIRST_BACK_OFF.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_BACK_OFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_the_longest() {
        let waits = [1, 2, 3, 7, 8, 30].map(|failures| back_off(failures).as_millis());
        assert_eq!(waits, [250, 500, 1000, 16_000, 30_000, 30_000]);
    }
}
