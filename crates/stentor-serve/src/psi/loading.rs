//! Sessions that nobody uses are unloaded: their files stay, lists go on showing them, and the next
//! request that means one of them loads it again.
//!
//! Sessions of the client's folder that other clients of the server have open are shown in lists with
//! its own, and it joins one by naming it. Without a server there are none.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stentor_agent::agent::NewSession;
use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_agent::session::{Storage, WeakSession};
use stentor_agent::tasks;
use stentor_journal::clock::parse_iso_time;
use stentor_journal::store::EntryKind;
use tokio_util::sync::CancellationToken;

use super::error::OpError;
use super::item::ItemPart;
use super::limits::{LISTED_ELSEWHERE, MAX_SESSIONS};
use super::live::{LiveSnapshot, PsiSession, PsiTurn, SessionOrigin, SessionPhase};
use super::ops::navigation;
use super::payload::context::Slot;
use super::shared::{PsiShared, lock};

/// Who holds a session that nobody uses: the list of sessions, the writer's feed, and who asks.
const IDLE_HOLDERS: usize = 3;

/// A session of this process.
#[derive(Clone)]
pub(super) enum KnownPsiSession {
    Live(Arc<PsiSession>),
    Unloaded(Arc<Unloaded>),
}

impl KnownPsiSession {
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Live(live) => &live.id,
            Self::Unloaded(unloaded) => &unloaded.slot.id,
        }
    }
}

/// What is kept of a session that is not loaded: how lists show it, and what its file does not
/// say.
pub(super) struct Unloaded {
    pub slot: Slot,
    /// Nothing was said in it: its file will be made when something is.
    is_empty: bool,
    model: Option<Arc<ModelInfo>>,
    thinking: ThinkingLevel,
    auto_compaction: bool,
    auto_retry: bool,
    turn: PsiTurn,
    /// Cancelled when its file is free again.
    closed: CancellationToken,
}

impl Unloaded {
    /// What is to be kept of a session, if it may be unloaded: it does nothing, nothing waits, and
    /// all it knows can be read again.
    async fn of(live: &PsiSession) -> Option<Self> {
        let is_at_rest = {
            let state = live.locked();
            state.phase == SessionPhase::default() && state.aborting == 0 && !state.stays_loaded
        };
        if !is_at_rest || !live.session.jobs().list().is_empty() {
            return None;
        }
        // It would end with the session.
        if live.session.left_running().is_something() {
            return None;
        }
        let view = live.view(false).await.ok()?;
        let state = &view.state;
        let file = state.file.as_deref()?;
        let has_waiting = !state.queues.steering.is_empty() || !state.queues.follow_up.is_empty();
        if state.is_running || has_waiting {
            return None;
        }
        let is_empty = !tokio::fs::try_exists(file).await.unwrap_or_default();
        if is_empty && !has_only_settings(live).await {
            return None;
        }
        Some(Self {
            slot: live.slot().await?,
            is_empty,
            model: state.model.clone(),
            thinking: state.thinking,
            auto_compaction: state.auto_compaction,
            auto_retry: state.auto_retry,
            turn: live.locked().turn.clone(),
            closed: CancellationToken::new(),
        })
    }

    /// Waits until everything of it is on disk.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

/// Whether a session without a file can be begun again as it is.
async fn has_only_settings(live: &PsiSession) -> bool {
    let Ok((_, entries)) = live.session.entries().await else {
        return false;
    };
    entries.iter().all(|entry| {
        matches!(
            entry.kind,
            EntryKind::ModelChange { .. }
                | EntryKind::ThinkingLevelChange { .. }
                | EntryKind::SessionInfo { .. }
        )
    })
}

impl PsiShared {
    /// The session with this id, loaded again if it has to be. Only who reads requests asks.
    pub async fn live(&self, id: &str) -> Result<Option<Arc<PsiSession>>, OpError> {
        match self.known().into_iter().find(|known| &**known.id() == id) {
            None => self.join_elsewhere(id).await,
            Some(KnownPsiSession::Live(live)) => {
                self.used(&live);
                Ok(Some(live))
            }
            Some(KnownPsiSession::Unloaded(unloaded)) => self.load_again(&unloaded).await.map(Some),
        }
    }

    /// Notes that a session is used now: the one that was not for the longest time goes first.
    pub fn used(&self, live: &PsiSession) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed) + 1;
        live.locked().last_use = now;
    }

    /// Unloads what nobody uses when so many sessions are loaded that one more would be too many.
    pub async fn make_room(&self) -> Result<(), OpError> {
        let mut loaded = self.sessions();
        let mut count = loaded.len();
        loaded.sort_by_key(|live| live.locked().last_use);
        for live in loaded {
            if count < self.options.max_loaded.max(1) {
                break;
            }
            if self.unload(live).await {
                count -= 1;
            }
        }
        if count >= MAX_SESSIONS {
            return Err(OpError::failed(format!(
                "{MAX_SESSIONS} sessions are working or exist only in memory; wait for some to finish, or restart the program"
            )));
        }
        Ok(())
    }

    async fn unload(&self, live: Arc<PsiSession>) -> bool {
        let Some(unloaded) = Unloaded::of(&live).await else {
            return false;
        };
        let closed = unloaded.closed.clone();
        // Nobody gets hold of it without the list, so who holds it now is all who will.
        let is_replaced = self.replace(KnownPsiSession::Unloaded(Arc::new(unloaded)), || {
            Arc::strong_count(&live) <= IDLE_HOLDERS
        });
        if !is_replaced {
            return false;
        }
        let detach = vec![ItemPart::Detach(Arc::clone(&live.id))];
        self.hand_over(Some(live.after_all()), None, detach).await;
        tasks::spawn(async move {
            live.session.close().await;
            closed.cancel();
        });
        true
    }

    async fn load_again(&self, unloaded: &Unloaded) -> Result<Arc<PsiSession>, OpError> {
        unloaded.closed().await;
        self.make_room().await?;
        let slot = &unloaded.slot;
        let mut options = self.options_in(&slot.origin.cwd).await?;
        options.model.clone_from(&unloaded.model);
        options.thinking = Some(unloaded.thinking);
        options.auto_compaction = unloaded.auto_compaction;
        options.auto_retry = unloaded.auto_retry;
        let session = match &slot.file {
            Some(file) if !unloaded.is_empty => {
                let (agent, file) = (self.agent.clone(), file.clone());
                tasks::spawn_blocking(move || agent.resume(&file, options)).await??
            }
            file => {
                options.id = Some(slot.id.to_string());
                options.name.clone_from(&slot.name);
                if let Some(file) = file {
                    options.storage = Storage::File(file.clone());
                }
                self.agent.start_with(options, NewSession::default())?
            }
        };
        let live = PsiSession::new(session, slot.origin.clone());
        live.locked().turn = unloaded.turn.clone();
        self.let_ask(&live).await?;
        self.used(&live);
        self.write(vec![ItemPart::attach(&live)]).await;
        self.replace(KnownPsiSession::Live(Arc::clone(&live)), || true);
        Ok(live)
    }
}

/// How such sessions were shown last, by id.
pub(super) type ShownSessions = HashMap<Arc<str>, ShownElsewhere>;

/// The number of its newest event then, and how it was shown: not at all while nothing was said in
/// it, since it is its client's alone then.
type ShownElsewhere = (u64, Option<Slot>);

impl PsiShared {
    /// Those there are, as lists show them.
    pub async fn elsewhere(&self) -> Vec<Slot> {
        let mut all = ShownSessions::new();
        let mut slots = Vec::new();
        for session in self.open_elsewhere() {
            let id = Arc::clone(session.id());
            let before = lock(&self.shown_elsewhere).get(&id).cloned();
            let Some(shown) = look(&session, before).await else {
                continue;
            };
            slots.extend(shown.1.clone());
            all.insert(id, shown);
        }
        *lock(&self.shown_elsewhere) = all;
        slots
    }

    /// Their ids.
    pub fn ids_elsewhere(&self) -> Vec<Arc<str>> {
        let open = self.open_elsewhere();
        open.map(|session| Arc::clone(session.id())).collect()
    }

    /// Joins one of them. Its events are published from then on.
    pub async fn join_elsewhere(&self, id: &str) -> Result<Option<Arc<PsiSession>>, OpError> {
        let Some(live) = self.load_elsewhere(id).await? else {
            return Ok(None);
        };
        self.write(vec![ItemPart::attach(&live)]).await;
        self.let_ask(&live).await?;
        Ok(Some(live))
    }

    /// Takes one of them up, whose events are not published yet.
    pub async fn load_elsewhere(&self, id: &str) -> Result<Option<Arc<PsiSession>>, OpError> {
        let found = self.open_elsewhere().find(|session| &**session.id() == id);
        match found.and_then(|session| Some(session.file()?.to_owned())) {
            Some(file) => Ok(Some(navigation::load(self, &file).await?)),
            None => Ok(None),
        }
    }

    fn open_elsewhere(&self) -> impl Iterator<Item = WeakSession> {
        let own = self.ids();
        let open = self.agent.live_in(&self.options.cwd).into_iter();
        let others = open.filter(move |session| !own.contains(session.id()));
        others.take(LISTED_ELSEWHERE)
    }
}

/// Asks a session how it is shown, if something happened in it since it was. `None` when it has ended.
async fn look(session: &WeakSession, before: Option<ShownElsewhere>) -> Option<ShownElsewhere> {
    let seq = session.seq();
    if let Some(shown) = before.as_ref().filter(|shown| shown.0 == seq) {
        return Some(shown.clone());
    }
    let session = session.upgrade()?;
    let view = LiveSnapshot::new(session.snapshot(false).await.ok()?);
    if view.messages.is_empty() && view.state.name.is_none() {
        return Some((seq, None));
    }
    let known = before.and_then(|shown| Some(shown.1?.origin.created_ms));
    let created_ms = match known {
        Some(created_ms) => created_ms,
        None => parse_iso_time(&session.entries().await.ok()?.0.timestamp).unwrap_or_default(),
    };
    let phase = SessionPhase {
        running: view.state.is_running,
        compacting: view.state.is_compacting,
        ..SessionPhase::default()
    };
    let origin = SessionOrigin::new(view.state.cwd.clone(), created_ms);
    let slot = Some(Slot::of(session.id(), origin, &view, &phase));
    Some((seq, slot))
}
