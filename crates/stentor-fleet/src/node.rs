//! A node: it keeps its lease, takes sessions over whose owner is gone, and hands its own over when
//! it stops.

mod control;
mod membership;
mod takeover;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::directory::SessionActivity;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::log::Log;
use crate::places::NodePlaces;
use crate::store::{FleetStore, NodeSessions};

pub use control::{ControlAnswer, ControlRequest};

/// How often in its lease a node renews it.
const RENEWALS: u32 = 4;

/// The part of its lease that a node leaves itself to stop what runs when it is cut off.
const MARGIN: u32 = 8;

/// How long the sessions may take to be handed over when the node stops.
const HAND_OVER_WAIT: Duration = Duration::from_secs(15);

/// What is said of the sessions of a node that was not heard of for longer than its lease.
const CUT_OFF: &str = "this node was cut off from the fleet, so another one may have taken it over";

/// The same where its servers answer and refuse what it writes.
const REFUSED: &str = "the servers of the fleet do not store what this node writes, so another one may \
                       have taken it over";

/// This node of the fleet. Clones are the same node.
#[derive(Clone)]
pub struct Node {
    shared: Arc<NodeShared>,
}

struct NodeShared {
    store: FleetStore,
    sessions: Arc<dyn NodeSessions>,
    started_ms: u64,
    /// Fires when the node may not go on.
    failed: CancellationToken,
    /// Ends its tasks.
    end: CancellationToken,
    /// The sessions that are being taken over.
    taking: Mutex<HashSet<String>>,
    /// The sessions that could not be taken over, and when: for a lease it is the turn of others.
    failed_to_take: Mutex<HashMap<String, Instant>>,
    /// When the last renewal began that was acknowledged.
    renewed: watch::Sender<Instant>,
    /// The disks are being asked which places are there.
    is_looking: AtomicBool,
    /// What the servers said when they refused the last renewal.
    refusal: Mutex<Option<String>>,
    /// What this node says of itself has changed.
    changed: Notify,
}

impl Node {
    /// Joins the fleet with the sessions that `sessions` has live.
    pub async fn join(
        store: FleetStore,
        sessions: Arc<dyn NodeSessions>,
    ) -> Result<Self, FleetError> {
        store.set_node(Arc::clone(&sessions));
        let shared = NodeShared {
            started_ms: store.now_ms(),
            store,
            sessions,
            failed: CancellationToken::new(),
            end: CancellationToken::new(),
            taking: Mutex::default(),
            failed_to_take: Mutex::default(),
            renewed: watch::Sender::new(Instant::now()),
            is_looking: AtomicBool::new(false),
            refusal: Mutex::default(),
            changed: Notify::new(),
        };
        let node = Self {
            shared: Arc::new(shared),
        };
        node.check_name().await?;
        node.check_places().await?;
        let began = Instant::now();
        let revision = node.enter().await?;
        node.shared.renewed.send_replace(began);
        node.fleet().look().await?;
        let control = node.subscribe_control().await?;
        for task in [
            tokio::spawn(node.clone().keep_lease(revision)),
            tokio::spawn(node.clone().watch_lease()),
            tokio::spawn(node.clone().take_over()),
            tokio::spawn(node.clone().note_activities()),
            tokio::spawn(node.clone().follow()),
            tokio::spawn(node.clone().remove_deleted()),
            tokio::spawn(node.clone().answer_control(control)),
        ] {
            // They end with the node.
            drop(task);
        }
        Ok(node)
    }

    /// The fleet.
    pub fn fleet(&self) -> &Fleet {
        self.shared.store.fleet()
    }

    /// The places of this node, with what it has seen of them.
    pub fn places(&self) -> &NodePlaces {
        self.shared.store.places()
    }

    /// Waits until the node may not go on, because another process has its name.
    pub async fn failed(&self) {
        self.shared.failed.cancelled().await;
    }

    /// Has other nodes take the sessions of this one, and takes none itself. Called before the
    /// sessions are closed: what goes on in them is noted now.
    pub async fn begin_hand_over(&self) {
        self.shared.store.set_draining();
        self.shared.changed.notify_one();
        let unfinished = self.unfinished().await;
        for (log, file) in self.shared.store.open_sessions() {
            log.hand_over(state_after(unfinished.contains(&file)), None);
        }
    }

    /// Waits until the sessions, which are closed now, are released, and leaves the fleet.
    pub async fn leave(&self) {
        let released = async {
            for (log, _) in self.shared.store.open_sessions() {
                let mut progress = log.progress();
                progress.wait_for(|progress| progress.ended).await.ok();
            }
        };
        if tokio::time::timeout(HAND_OVER_WAIT, released)
            .await
            .is_err()
        {
            tracing::warn!("not all sessions were released in time");
        }
        self.shared.end.cancel();
        let name = &self.fleet().this_node().name;
        let gone = self.fleet().node_bucket().purge(name).await;
        if let Err(why) = gone {
            tracing::warn!(%why, "the node could not leave the fleet");
        }
    }

    /// Renews the lease.
    async fn keep_lease(self, mut revision: u64) {
        let mut ticks = self.ticks();
        // One that takes longer is tried again: what counts is when it began.
        let wait = self.fleet().lease() / RENEWALS;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.shared.changed.notified() => {}
                () = self.shared.end.cancelled() => return,
            }
            let began = Instant::now();
            match tokio::time::timeout(wait, self.renew(revision)).await {
                Ok(Ok(renewed)) => {
                    self.set_refusal(None);
                    revision = renewed;
                    self.shared.renewed.send_replace(began);
                }
                Ok(Err(FleetError::NameTaken(name))) => {
                    tracing::error!("{}", FleetError::NameTaken(name));
                    self.stop_all("another process has the name of this node");
                    self.shared.failed.cancel();
                    return;
                }
                Ok(Err(why)) => {
                    tracing::warn!(%why, "the lease of this node could not be renewed");
                    self.set_refusal(Some(&why));
                }
                Err(_) => tracing::warn!("the lease of this node could not be renewed in time"),
            }
        }
    }

    /// Stops what runs here before another node may take it: the lease ends after the last renewal
    /// that was acknowledged, and nobody needs to answer for that to be known.
    async fn watch_lease(self) {
        let lease = self.fleet().lease();
        let safe = lease.saturating_sub(lease / MARGIN);
        let mut renewed = self.shared.renewed.subscribe();
        loop {
            let deadline = *renewed.borrow_and_update() + safe;
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {
                    self.stop_all(&self.why_silent());
                    tokio::select! {
                        _ = renewed.changed() => {}
                        () = self.shared.end.cancelled() => return,
                    }
                }
                _ = renewed.changed() => {}
                () = self.shared.end.cancelled() => return,
            }
        }
    }

    /// Notes what the servers said to the last renewal, if they refused it.
    fn set_refusal(&self, why: Option<&FleetError>) {
        let refusal = why
            .filter(|why| why.is_refusal())
            .map(FleetError::to_string);
        let noted = self.shared.refusal.lock();
        *noted.unwrap_or_else(PoisonError::into_inner) = refusal;
    }

    /// Why the lease was not renewed.
    fn why_silent(&self) -> String {
        let refusal = self.shared.refusal.lock();
        let refusal = refusal.unwrap_or_else(PoisonError::into_inner);
        match &*refusal {
            Some(why) => format!("{REFUSED}: {why}"),
            None => CUT_OFF.to_owned(),
        }
    }

    async fn follow(self) {
        tokio::select! {
            () = self.fleet().follow() => {}
            () = self.shared.end.cancelled() => {}
        }
    }

    /// Removes what this node has of sessions that are deleted, also while it was not there.
    async fn remove_deleted(self) {
        loop {
            tokio::select! {
                deleted = self.fleet().deleted() => self.shared.store.remove_copies(deleted).await,
                () = self.shared.end.cancelled() => return,
            }
        }
    }

    /// Nothing more may be written to the sessions of this node, and what runs in them is stopped.
    fn stop_all(&self, why: &str) {
        for (log, _) in self.shared.store.open_sessions() {
            log.stop(why);
        }
    }

    /// Notes what goes on in the sessions, for the directory. A session that waits for the fleet
    /// answers late, so the lease does not wait for this.
    async fn note_activities(self) {
        let mut ticks = self.ticks();
        loop {
            tokio::select! {
                _ = ticks.tick() => self.note_activities_once().await,
                () = self.shared.end.cancelled() => return,
            }
        }
    }

    fn ticks(&self) -> tokio::time::Interval {
        let lease = self.fleet().lease();
        let mut ticks = tokio::time::interval(lease / RENEWALS);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        ticks
    }

    async fn note_activities_once(&self) {
        let now_ms = self.shared.store.now_ms();
        let activities = self.shared.sessions.activities().await;
        let open = self.shared.store.open_sessions();
        for (file, state) in activities {
            let Some((log, _)) = open.iter().find(|(_, of)| *of == file) else {
                continue;
            };
            log.set_state(state, now_ms);
            // It began before the node was drained, and something was said in it only now.
            if self.is_draining() && !state.is_unfinished() {
                self.hand_over(log, file, SessionActivity::Stored, None)
                    .await;
            }
        }
    }

    /// The files of the sessions in which something is to be gone on with.
    async fn unfinished(&self) -> HashSet<PathBuf> {
        let activities = self.shared.sessions.activities().await;
        let unfinished = activities.into_iter();
        let unfinished = unfinished.filter(|(_, state)| state.is_unfinished());
        unfinished.map(|(file, _)| file).collect()
    }

    /// Has another node take a session: `wanted`, or whichever can.
    async fn hand_over(
        &self,
        log: &Log,
        file: PathBuf,
        state: SessionActivity,
        wanted: Option<String>,
    ) {
        log.hand_over(state, wanted);
        let why = "the session moves to another node of the fleet".to_owned();
        self.shared.sessions.suspend(file, why).await;
        let mut progress = log.progress();
        let released = progress.wait_for(|progress| progress.ended);
        if tokio::time::timeout(HAND_OVER_WAIT, released)
            .await
            .is_err()
        {
            tracing::warn!(session = %log.id, "not released in time");
        }
    }

    fn is_draining(&self) -> bool {
        self.shared.store.is_draining()
    }

    fn taking(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        let taking = &self.shared.taking;
        taking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed_to_take(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
        let failed = &self.shared.failed_to_take;
        failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the directory says of a session that was handed over.
fn state_after(is_unfinished: bool) -> SessionActivity {
    match is_unfinished {
        true => SessionActivity::HandedOver,
        false => SessionActivity::Stored,
    }
}
