//! What the connection and the writer both know.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;
use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::model::ModelInfo;
use stentor_agent::session::{Session, SessionOptions};
use stentor_agent::tasks;
use stentor_journal::clock::{SharedClock, parse_iso_time, random_uuid};
use stentor_journal::store::ListedSession;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::PsiOptions;
use super::error::OpError;
use super::item::{CausingRequest, ItemPart, ItemParts, PsiItem};
use super::limits::{OFFERED_SESSIONS, WAITING_ITEMS};
use super::live::{PsiSession, SessionOrigin};
use super::loading::{KnownPsiSession, ShownSessions};
use super::login::LoginSlot;
use super::request::PendingIds;
use super::ui::Ui;
use crate::merge::EventPlace;

/// The state of one connection that is not the business of one task alone.
pub(super) struct PsiShared {
    pub agent: Agent,
    pub options: PsiOptions,
    pub pending: PendingIds,
    pub login: LoginSlot,
    items: mpsc::Sender<PsiItem>,
    /// In the order they came.
    sessions: Mutex<Vec<KnownPsiSession>>,
    pub shown_elsewhere: Mutex<ShownSessions>,
    /// Counts uses of sessions, so that it can be told which was used last.
    pub uses: AtomicU64,
    /// The client shows questions.
    pub shows_dialogs: AtomicBool,
    ui: Mutex<Ui>,
    /// Told when a session comes to rest.
    settled: Notify,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
}

impl PsiShared {
    pub fn new(agent: Agent, options: PsiOptions) -> (Arc<Self>, mpsc::Receiver<PsiItem>) {
        let (items, receiver) = mpsc::channel(WAITING_ITEMS);
        let shared = Self {
            agent,
            pending: PendingIds::new(options.max_pending),
            login: LoginSlot::default(),
            options,
            items,
            sessions: Mutex::default(),
            shown_elsewhere: Mutex::default(),
            uses: AtomicU64::new(0),
            shows_dialogs: AtomicBool::new(false),
            ui: Mutex::default(),
            settled: Notify::new(),
            shutdown: CancellationToken::new(),
        };
        (Arc::new(shared), receiver)
    }

    pub fn clock(&self) -> &SharedClock {
        &self.agent.environment().clock
    }

    pub fn time_zone(&self) -> TimeZone {
        if self.options.local_time {
            TimeZone::system()
        } else {
            TimeZone::UTC
        }
    }

    /// Hands parts to the writer.
    pub async fn hand_over(
        &self,
        after: Option<EventPlace>,
        cause: CausingRequest,
        parts: Vec<ItemPart>,
    ) {
        let answer = ItemParts { cause, parts };
        // A writer that is gone means that nobody reads any more.
        self.items.send(PsiItem { after, answer }).await.ok();
    }

    /// Hands parts to the writer that follow nothing in particular, and that no request causes.
    pub async fn write(&self, parts: Vec<ItemPart>) {
        self.hand_over(None, None, parts).await;
    }

    /// The sessions, loaded or not, in the order they came.
    pub fn known(&self) -> Vec<KnownPsiSession> {
        lock(&self.sessions).clone()
    }

    pub fn knows(&self, id: &str) -> bool {
        lock(&self.sessions).iter().any(|known| &**known.id() == id)
    }

    /// Their ids.
    pub fn ids(&self) -> Vec<Arc<str>> {
        let sessions = lock(&self.sessions);
        sessions
            .iter()
            .map(|known| Arc::clone(known.id()))
            .collect()
    }

    /// Those that are loaded.
    pub fn sessions(&self) -> Vec<Arc<PsiSession>> {
        let known = self.known().into_iter();
        let loaded = known.filter_map(|known| match known {
            KnownPsiSession::Live(live) => Some(live),
            KnownPsiSession::Unloaded(_) => None,
        });
        loaded.collect()
    }

    /// Puts a session into the place of the one with its id, if `may` allows it. Nobody looks at
    /// the list meanwhile.
    pub fn replace(&self, new: KnownPsiSession, may: impl FnOnce() -> bool) -> bool {
        let mut sessions = lock(&self.sessions);
        let place = sessions.iter_mut().find(|known| known.id() == new.id());
        match place {
            Some(place) if may() => {
                *place = new;
                true
            }
            _ => false,
        }
    }

    /// Lets a session ask the client's user, if the client shows questions.
    pub async fn let_ask(&self, live: &PsiSession) -> Result<(), OpError> {
        if self.shows_dialogs.load(Ordering::Acquire) {
            live.session.set_can_ask(true).await?;
        }
        Ok(())
    }

    /// The client shows questions no more: nobody is asked, and what is asked gets its default.
    pub async fn stop_asking(&self) -> Result<(), OpError> {
        if self.shows_dialogs.swap(false, Ordering::AcqRel) {
            for live in self.sessions() {
                live.session.set_can_ask(false).await?;
            }
        }
        Ok(())
    }

    /// The options of a session in a folder, whose configuration is read for it.
    pub async fn options_in(&self, cwd: &Path) -> Result<SessionOptions, OpError> {
        let (agent, cwd) = (self.agent.clone(), cwd.to_owned());
        let mut options = tasks::spawn_blocking(move || agent.options(&cwd)).await??;
        // A steer before the first call stays one that an interrupt gives back (section 9.3).
        options.steering_waits_for_first_call = true;
        Ok(options)
    }

    /// Starts a session: the first of a client, or another one. `options` began as
    /// [`PsiShared::options_in`].
    pub async fn start(
        &self,
        mut options: SessionOptions,
        start: impl Fn(&Agent, SessionOptions, NewSession) -> Result<Session, AgentError>,
    ) -> Result<Arc<PsiSession>, OpError> {
        self.make_room().await?;
        options.id = options.id.or_else(|| Some(self.random_id()));
        let origin = SessionOrigin::new(options.cwd.clone(), self.clock().now_ms());
        let session = start(&self.agent, options, NewSession::default())?;
        Ok(self.add(PsiSession::new(session, origin)))
    }

    /// An id that is random from its beginning on: people see and type only the beginning
    /// (section 7), and ids that begin with the time would look alike.
    pub fn random_id(&self) -> String {
        random_uuid(&**self.clock())
    }

    /// Takes up a session that began at a time that its file says.
    pub fn began(&self, session: Session, cwd: PathBuf, time: &str) -> Arc<PsiSession> {
        let created_ms = parse_iso_time(time).unwrap_or_else(|| self.clock().now_ms());
        self.add(PsiSession::new(
            session,
            SessionOrigin::new(cwd, created_ms),
        ))
    }

    /// Takes up a session that was started elsewhere.
    pub fn add(&self, live: Arc<PsiSession>) -> Arc<PsiSession> {
        self.used(&live);
        lock(&self.sessions).push(KnownPsiSession::Live(Arc::clone(&live)));
        live
    }

    /// Forgets the session in which a client was that came to open another one. True when it was that.
    pub fn forget_visited(&self, left: &PsiSession) -> bool {
        let was_visited = self.agent.is_visiting() && left.session.file().is_none();
        if was_visited {
            lock(&self.sessions).retain(|known| *known.id() != left.id);
        }
        was_visited
    }

    pub fn ui(&self) -> MutexGuard<'_, Ui> {
        lock(&self.ui)
    }

    /// A session came to rest, or something else happened that [`PsiShared::idle`] should look at.
    pub fn at_rest(&self) {
        self.settled.notify_waiters();
    }

    /// Waits until nothing runs and nothing is unanswered.
    pub async fn idle(&self) {
        loop {
            let told = self.settled.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            let busy = self
                .sessions()
                .iter()
                .any(|live| live.locked().phase.running);
            if !busy && self.pending.is_empty() {
                return;
            }
            told.await;
        }
    }

    /// The stored sessions of a folder that can be resumed, the newest first.
    pub async fn stored(&self, cwd: &Path) -> Result<Vec<ListedSession>, JoinError> {
        let (agent, cwd) = (self.agent.clone(), cwd.to_path_buf());
        tasks::spawn_blocking(move || {
            let newest = agent.newest_first(Some(&cwd));
            let sound = newest.filter(|session| session.problem.is_none());
            sound.take(OFFERED_SESSIONS).collect()
        })
        .await
    }

    /// The models there are, sorted by provider and id.
    pub fn models(&self) -> Vec<Arc<ModelInfo>> {
        let mut models = self.agent.models().available();
        models.sort_by(|one, other| (&one.provider, &one.id).cmp(&(&other.provider, &other.id)));
        models
    }

    /// Ends every session.
    pub async fn close_all(&self) {
        let closing = self.known().into_iter().map(|known| async move {
            match known {
                KnownPsiSession::Live(live) => live.session.close().await,
                KnownPsiSession::Unloaded(unloaded) => unloaded.closed().await,
            }
        });
        futures_util::future::join_all(closing).await;
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
