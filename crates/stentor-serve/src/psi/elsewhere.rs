//! Sessions of the client's folder that other clients of the server have open: lists show them with
//! its own, and it joins one by naming it. Without a server there are none.

use std::collections::HashMap;
use std::sync::Arc;

use stentor_agent::session::WeakSession;
use stentor_journal::clock::parse_iso_time;

use super::error::OpError;
use super::item::ItemPart;
use super::limits::LISTED_ELSEWHERE;
use super::live::{LiveSnapshot, PsiSession, SessionOrigin, SessionPhase};
use super::ops::navigation;
use super::payload::context::Slot;
use super::shared::{PsiShared, lock};

/// How such sessions were shown last, by id.
pub(super) type ShownSessions = HashMap<Arc<str>, ShownElsewhere>;

#[derive(Clone)]
pub(super) struct ShownElsewhere {
    /// The number of its newest event then.
    seq: u64,
    /// Absent while nothing was said in it: it is its client's alone.
    slot: Option<Slot>,
}

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
            slots.extend(shown.slot.clone());
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
    if let Some(shown) = before.as_ref().filter(|shown| shown.seq == seq) {
        return Some(shown.clone());
    }
    let session = session.upgrade()?;
    let view = LiveSnapshot::from(session.snapshot(false).await.ok()?);
    if view.messages.is_empty() && view.state.name.is_none() {
        return Some(ShownElsewhere { seq, slot: None });
    }
    let known = before.and_then(|shown| Some(shown.slot?.origin.created_ms));
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
    Some(ShownElsewhere { seq, slot })
}
