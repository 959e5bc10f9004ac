//! The sessions that are live in a server, which its clients share.
//!
//! A session is known by its file. Who opens one that is live joins it. When a client leaves, what
//! runs goes on; a session that nobody has to do with is unloaded when it has been idle for a while.
//! Clients that only watch keep nobody from a session: it is closed all the same when somebody wants
//! to delete it or to go on with it elsewhere.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use stentor_journal::store::JournalStore;
use tokio::runtime::RuntimeFlavor;
use tokio::sync::broadcast;

use crate::event::{EventKind, NoticeLevel, NoticeSource, Queues};
use crate::session::{AttachmentKind, Session, WeakSession};
use crate::tasks;

/// Sessions at once that a client may not have heard of yet.
const SUSPENDED: usize = 1024;

/// How long opening a session waits for its unloading.
const UNLOAD_WAIT: Duration = Duration::from_secs(5);

/// The live sessions of a server. Clones are the same table.
#[derive(Clone)]
pub struct LiveSessions {
    shared: Arc<LiveSessionsShared>,
    /// True while the client that has this is not there, but may come back.
    is_away: Arc<AtomicBool>,
}

struct LiveSessionsShared {
    table: Mutex<SessionTable>,
    unload_after: Duration,
    /// Something was unloaded.
    unloaded: Condvar,
    /// The ids of sessions that are about to go on elsewhere. Who is too slow to hear of one misses it.
    suspended: broadcast::Sender<Arc<str>>,
}

/// The live sessions, by file.
#[derive(Default)]
struct SessionTable {
    sessions: HashMap<PathBuf, LiveSession>,
    /// Counts the sessions that were ever taken up.
    count: u64,
}

struct LiveSession {
    /// Which of all that were taken up it is: another one may have the same file later.
    number: u64,
    /// The handle that is nobody's: it really closes the session.
    session: Session,
    /// The clients that may drive it.
    drivers: usize,
    /// The clients that only watch: it is nobody's because of them.
    observers: usize,
    /// Somebody could drive it at some time.
    was_driven: bool,
    /// Counts how often somebody came.
    joins: u64,
    /// It is being closed; its file is not free yet.
    is_closing: bool,
    /// Whether each of the clients is away, by when it came.
    away: HashMap<u64, Arc<AtomicBool>>,
}

/// A live session, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveStatus {
    pub id: String,
    pub file: PathBuf,
    /// How many clients have to do with it, without those that are away.
    pub clients: usize,
}

/// Whether a session was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It is not live here.
    NotLive,
    Closed,
    /// A client uses it, or something goes on in it.
    InUse,
}

/// Why a session is closed that clients may be watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseReason {
    /// It was idle for long enough, and nobody watches.
    Idle,
    Unsaid,
    Deleted,
    Released,
}

/// What goes on in a live session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveActivity {
    Idle,
    Running,
    /// It waits for the answer to a question.
    Asking,
}

impl LiveSessions {
    /// Sessions that nobody has to do with are unloaded when they were idle for so long.
    pub fn new(unload_after: Duration) -> Self {
        let shared = LiveSessionsShared {
            table: Mutex::default(),
            unload_after,
            unloaded: Condvar::new(),
            suspended: broadcast::channel(SUSPENDED).0,
        };
        Self {
            shared: Arc::new(shared),
            is_away: Arc::default(),
        }
    }

    /// The same sessions for a client that is away while `is_away` is true.
    #[must_use]
    pub fn of_client(&self, is_away: Arc<AtomicBool>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            is_away,
        }
    }

    /// A client's handle of the session in a file, which `open` opens if it is not live. Waits if
    /// it is just being unloaded.
    pub fn join_or_open<E>(
        &self,
        file: &Path,
        observes: bool,
        open: impl FnOnce() -> Result<Session, E>,
    ) -> Result<Session, E> {
        let key = key(file);
        let mut table = self.shared.when_free(&key);
        if let Some(live) = table.sessions.get_mut(&key) {
            return Ok(self.client(&key, live, true, observes));
        }
        let session = open()?;
        Ok(self.insert(table, session, observes))
    }

    /// A client's handle of the session in a file, if it is live.
    pub fn join(&self, file: &Path, observes: bool) -> Option<Session> {
        let key = key(file);
        let mut table = self.shared.when_free(&key);
        let live = table.sessions.get_mut(&key)?;
        Some(self.client(&key, live, true, observes))
    }

    /// Whether the session in a file is live.
    pub fn contains(&self, file: &Path) -> bool {
        self.shared.lock().sessions.contains_key(&key(file))
    }

    /// Takes up a session that a client has started, whose handle is given back. One that is stored
    /// nowhere is its client's alone.
    pub fn start(&self, session: Session, observes: bool) -> Session {
        self.insert(self.shared.lock(), session, observes)
    }

    /// How many clients may drive the session in a file.
    pub fn drivers(&self, file: &Path) -> usize {
        let table = self.shared.lock();
        table
            .sessions
            .get(&key(file))
            .map_or(0, |live| live.drivers)
    }

    /// Closes the session in a file, which is to be deleted, unless a client uses it: then it is false.
    /// Who only watches learns of it.
    pub async fn close_unused(&self, file: &Path) -> bool {
        let key = key(file);
        let (number, session) = {
            let mut table = self.shared.when_free(&key);
            match table.sessions.get_mut(&key) {
                None => return true,
                Some(live) if live.drivers > 0 => return false,
                Some(live) => {
                    live.is_closing = true;
                    (live.number, live.session.clone())
                }
            }
        };
        let close = self
            .shared
            .close(&key, number, session, CloseReason::Deleted);
        close.await;
        true
    }

    /// Lets go of the session in a file, unless a client uses it or something goes on in it. Who only
    /// watches learns of it.
    pub async fn release(&self, file: &Path) -> ReleaseOutcome {
        let key = key(file);
        let number = match self.shared.when_free(&key).sessions.get(&key) {
            None => return ReleaseOutcome::NotLive,
            Some(live) => live.number,
        };
        let is_unused = |live: &LiveSession| live.drivers == 0;
        match self.shared.idle(&key, number, is_unused).await {
            UnloadCheck::Yes(session) => {
                let close = self
                    .shared
                    .close(&key, number, session, CloseReason::Released);
                close.await;
                ReleaseOutcome::Closed
            }
            UnloadCheck::NotYet | UnloadCheck::NotOurs => ReleaseOutcome::InUse,
        }
    }

    /// Stops whatever runs and closes all sessions. Whether a call may run is asked again when its
    /// session is opened.
    pub async fn close_all(&self) {
        let all: Vec<(PathBuf, u64, Session)> = {
            let mut table = self.shared.lock();
            let live = table.sessions.iter_mut().map(|(key, live)| {
                live.is_closing = true;
                (key.clone(), live.number, live.session.clone())
            });
            live.collect()
        };
        let closing = all.into_iter().map(|(key, number, session)| {
            let shared = Arc::clone(&self.shared);
            async move {
                session.suspend().await;
                shared.forget(&key, number);
            }
        });
        futures_util::future::join_all(closing).await;
    }

    /// Ends the session in a file, whoever uses it, and publishes why. Whether a call may run is asked
    /// again where it is opened next.
    pub async fn suspend(&self, file: &Path, why: String) {
        let key = key(file);
        let found = {
            let mut table = self.shared.when_free(&key);
            table.sessions.get_mut(&key).map(|live| {
                live.is_closing = true;
                (live.number, live.session.clone())
            })
        };
        if let Some((number, session)) = found {
            session.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message: why,
                from: NoticeSource::Agent,
            });
            // Nobody has to know.
            self.shared.suspended.send(Arc::clone(session.id())).ok();
            session.suspend().await;
            self.shared.forget(&key, number);
        }
    }

    /// The ids of sessions that end here, from now on, though clients have to do with them: they go on
    /// elsewhere.
    pub fn suspended(&self) -> broadcast::Receiver<Arc<str>> {
        self.shared.suspended.subscribe()
    }

    /// What goes on in each live session, by file.
    pub async fn activities(&self) -> Vec<(PathBuf, LiveActivity)> {
        let all: Vec<(PathBuf, Session)> = {
            let table = self.shared.lock();
            let live = table.sessions.iter().filter(|(_, live)| !live.is_closing);
            live.map(|(file, live)| (file.clone(), live.session.clone()))
                .collect()
        };
        let looking = all.into_iter().map(|(file, session)| async move {
            let state = session.state().await.ok()?;
            let activity = match (session.has_questions(), state.is_running) {
                (true, _) => LiveActivity::Asking,
                (false, true) => LiveActivity::Running,
                (false, false) => LiveActivity::Idle,
            };
            Some((file, activity))
        });
        let looked = futures_util::future::join_all(looking).await;
        looked.into_iter().flatten().collect()
    }

    /// The live sessions that work in a folder, the newest first.
    pub fn in_folder(&self, cwd: &Path) -> Vec<WeakSession> {
        let table = self.shared.lock();
        let open = table
            .sessions
            .values()
            .filter(|live| !live.is_closing && !live.session.is_closed());
        let open = open.map(|live| (live.number, live.session.downgrade()));
        let mut here: Vec<_> = open.filter(|(_, session)| session.cwd() == cwd).collect();
        here.sort_by_key(|(number, _)| Reverse(*number));
        here.into_iter().map(|(_, session)| session).collect()
    }

    /// The live sessions, by file.
    pub fn list(&self) -> Vec<LiveStatus> {
        let table = self.shared.lock();
        let live = table.sessions.iter();
        let live = live.filter(|(_, live)| !live.session.is_closed());
        let mut listed: Vec<LiveStatus> = live
            .map(|(file, live)| LiveStatus {
                id: live.session.id().to_string(),
                file: file.clone(),
                clients: live.there(),
            })
            .collect();
        listed.sort_by(|one, other| one.file.cmp(&other.file));
        listed
    }

    fn insert(
        &self,
        mut table: MutexGuard<'_, SessionTable>,
        session: Session,
        observes: bool,
    ) -> Session {
        let Some(file) = session.file() else {
            // Nobody else can find it; its client's rights hold all the same.
            let kind = AttachmentKind {
                joined: false,
                observes,
            };
            let own = Mutex::new(Some(session.clone()));
            return session.attach(kind, move || {
                own.lock().unwrap_or_else(PoisonError::into_inner).take();
            });
        };
        let key = key(file);
        table.count += 1;
        let live = LiveSession {
            number: table.count,
            session,
            drivers: 0,
            observers: 0,
            was_driven: false,
            joins: 0,
            is_closing: false,
            away: HashMap::new(),
        };
        let place = table.sessions.entry(key.clone());
        let live = place.insert_entry(live).into_mut();
        self.client(&key, live, false, observes)
    }

    fn client(&self, key: &Path, live: &mut LiveSession, joined: bool, observes: bool) -> Session {
        *live.count(observes) += 1;
        live.joins += 1;
        live.was_driven |= !observes;
        let join = live.joins;
        live.away.insert(join, Arc::clone(&self.is_away));
        let (table, key) = (Arc::downgrade(&self.shared), key.to_owned());
        let kind = AttachmentKind { joined, observes };
        let number = live.number;
        live.session
            .attach(kind, move || left(&table, &key, (number, join), observes))
    }
}

impl LiveSessionsShared {
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table, when the session of this file is not being closed. What ended by itself is gone.
    fn when_free(&self, key: &Path) -> MutexGuard<'_, SessionTable> {
        let table = self.lock();
        let is_closing = |table: &mut SessionTable| {
            let live = table.sessions.get(key);
            live.is_some_and(|live| live.is_closing)
        };
        let wait = || {
            let waited = self
                .unloaded
                .wait_timeout_while(table, UNLOAD_WAIT, is_closing);
            let (table, _) = waited.unwrap_or_else(PoisonError::into_inner);
            table
        };
        // It rarely waits; if it does, what it waits for needs the threads of the runtime.
        let runtime = tokio::runtime::Handle::try_current();
        let mut table = match runtime.map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        };
        let ended = |live: &LiveSession| live.session.is_closed();
        if table.sessions.get(key).is_some_and(ended) {
            table.sessions.remove(key);
        }
        table
    }

    async fn close(&self, key: &Path, number: u64, session: Session, why: CloseReason) {
        if let Some(message) = why.notice() {
            session.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message: message.to_owned(),
                from: NoticeSource::Agent,
            });
        }
        session.close().await;
        self.forget(key, number);
    }

    /// A session has ended.
    fn forget(&self, key: &Path, number: u64) {
        let mut table = self.lock();
        if table.of(key, number).is_some() {
            table.sessions.remove(key);
        }
        drop(table);
        self.unloaded.notify_all();
    }

    /// False when nothing was said in a session, and it has no name either. What nobody could have
    /// said something in is as it was found.
    async fn has_something(&self, key: &Path, number: u64) -> bool {
        let session = match self.lock().of(key, number) {
            Some(live) if live.was_driven => live.session.clone(),
            Some(_) | None => return true,
        };
        let state = session.state().await;
        state.is_ok_and(|state| {
            state.message_count > 0
                || state.name.is_some()
                || state.is_running
                || *state.queues != Queues::default()
        })
    }

    /// The session, if it can be closed now: it `is_left`, and nothing goes on in it.
    async fn idle(
        &self,
        key: &Path,
        number: u64,
        is_left: impl Fn(&LiveSession) -> bool,
    ) -> UnloadCheck {
        let is_left = |live: &&mut LiveSession| is_left(live) && !live.is_closing;
        let session = match self.lock().of(key, number).filter(is_left) {
            Some(live) => live.session.clone(),
            None => return UnloadCheck::NotOurs,
        };
        let Ok(state) = session.state().await else {
            return UnloadCheck::NotOurs;
        };
        let is_busy = state.is_running
            || state.is_compacting
            || *state.queues != Queues::default()
            || session.has_questions()
            || session.left_running().is_something()
            || !session.jobs().in_background().is_empty();
        let mut table = self.lock();
        match table.of(key, number).filter(is_left) {
            Some(_) if is_busy => UnloadCheck::NotYet,
            Some(live) => {
                live.is_closing = true;
                UnloadCheck::Yes(session)
            }
            None => UnloadCheck::NotOurs,
        }
    }
}

impl LiveSession {
    /// Those of the clients that only watch, or of the others.
    fn count(&mut self, observes: bool) -> &mut usize {
        match observes {
            true => &mut self.observers,
            false => &mut self.drivers,
        }
    }

    /// How many clients are there.
    fn there(&self) -> usize {
        let there = |away: &&Arc<AtomicBool>| !away.load(Ordering::Relaxed);
        self.away.values().filter(there).count()
    }
}

impl CloseReason {
    /// What those read who watch it.
    fn notice(self) -> Option<&'static str> {
        match self {
            Self::Idle => None,
            Self::Unsaid => Some("This session is closed: it is unused and has no messages."),
            Self::Deleted => Some("This session is closed: it is being deleted."),
            Self::Released => Some("This session is closed: another program is using it."),
        }
    }
}

impl SessionTable {
    /// The session of a file, if it is still this one.
    fn of(&mut self, key: &Path, number: u64) -> Option<&mut LiveSession> {
        let live = self.sessions.get_mut(key);
        live.filter(|live| live.number == number)
    }
}

/// Whether a session can be unloaded.
enum UnloadCheck {
    Yes(Session),
    /// Something goes on in it.
    NotYet,
    /// Somebody has to do with it, or it is gone.
    NotOurs,
}

/// A client has left. The last one starts the time after which the session is unloaded; one in which
/// nothing was said is closed with the last that could drive it, and nothing of it stays.
fn left(shared: &Weak<LiveSessionsShared>, key: &Path, (number, join): (u64, u64), observes: bool) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let joins = {
        let mut table = shared.lock();
        let Some(live) = table.of(key, number) else {
            return;
        };
        live.away.remove(&join);
        let count = live.count(observes);
        *count = count.saturating_sub(1);
        if live.drivers > 0 || live.is_closing {
            return;
        }
        live.joins
    };
    // Without a runtime the process is ending.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let key = key.to_owned();
    runtime.spawn(async move {
        let is_worth_keeping = shared.has_something(&key, number).await;
        let is_left = |live: &LiveSession| {
            let is_watched = live.observers > 0 && is_worth_keeping;
            live.joins == joins && live.drivers == 0 && !is_watched
        };
        let why = match is_worth_keeping {
            true => CloseReason::Idle,
            false => CloseReason::Unsaid,
        };
        loop {
            if is_worth_keeping {
                tokio::time::sleep(shared.unload_after).await;
            }
            match shared.idle(&key, number, is_left).await {
                UnloadCheck::Yes(session) => {
                    let journals = session.journals();
                    shared.close(&key, number, session, why).await;
                    if !is_worth_keeping && key.exists() {
                        remove_empty(journals, key).await;
                    }
                    return;
                }
                UnloadCheck::NotYet => tokio::time::sleep(shared.unload_after).await,
                UnloadCheck::NotOurs => return,
            }
        }
    });
}

/// Nothing stays of a session in which nothing was said.
async fn remove_empty(journals: Arc<dyn JournalStore>, file: PathBuf) {
    let removed = tasks::spawn_blocking(move || journals.remove(&file)).await;
    if let Ok(Err(error)) = removed {
        tracing::warn!(%error, "an empty session could not be removed");
    }
}

/// One name for a file, however it is named.
fn key(file: &Path) -> PathBuf {
    if let Ok(real) = file.canonicalize() {
        return real;
    }
    // It is not there yet.
    match (file.parent().map(Path::canonicalize), file.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => file.to_owned(),
    }
}
