//! Who uses a server: the sessions that have it, and those that wait for one of its calls.
//!
//! Several sessions may share a server, but what a server asks of a person is for one of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::session::WeakSession;

/// Where the sessions of a server work, which it can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerFolders {
    pub cwd: PathBuf,
    pub additional: Vec<PathBuf>,
}

/// The sessions that use a server.
#[derive(Default)]
pub(super) struct Callers {
    state: Mutex<CallersState>,
    /// Questions of the server that nobody has answered yet.
    open_questions: AtomicUsize,
}

#[derive(Default)]
struct CallersState {
    last_number: u64,
    sessions: Vec<(u64, WeakSession, SamplingUse)>,
    calls: Vec<(u64, WeakSession)>,
}

/// What a server had of the model of a session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct SamplingUse {
    pub calls: u32,
    pub tokens: u64,
    /// A person has allowed it for the rest of the session.
    pub is_allowed: bool,
}

/// Why nobody can be asked on behalf of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAsked {
    #[error("no session uses this server")]
    Nobody,
    #[error("several sessions use this server, and it is not clear which one this is for")]
    Several,
}

/// A session or a call, as long as it is held.
pub(super) struct Presence {
    callers: Arc<Callers>,
    number: u64,
}

/// A question that waits for a person, as long as it is held.
pub(super) struct ServerQuestion(Arc<Callers>);

impl Callers {
    /// A session has the server.
    pub fn attach(self: &Arc<Self>, session: WeakSession) -> Presence {
        self.enter(|state, number| {
            state
                .sessions
                .push((number, session, SamplingUse::default()))
        })
    }

    /// A session waits for a call.
    pub fn call(self: &Arc<Self>, session: WeakSession) -> Presence {
        self.enter(|state, number| state.calls.push((number, session)))
    }

    fn enter(self: &Arc<Self>, add: impl FnOnce(&mut CallersState, u64)) -> Presence {
        let mut state = self.lock();
        state.last_number += 1;
        let number = state.last_number;
        add(&mut state, number);
        Presence {
            callers: Arc::clone(self),
            number,
        }
    }

    /// The session that something the server asks is for: the one whose call it answers, or the only
    /// one there is.
    pub fn asked(&self) -> Result<WeakSession, NotAsked> {
        let state = self.lock();
        let calling = state.calls.iter().map(|(_, session)| session);
        let having = state.sessions.iter().map(|(_, session, _)| session);
        match only(calling) {
            Err(NotAsked::Nobody) => only(having).cloned(),
            found => found.cloned(),
        }
    }

    /// What the server had of the model of a session so far.
    pub fn sampled(&self, session: &WeakSession) -> SamplingUse {
        let mut state = self.lock();
        state.sampled_by(session).map(|it| *it).unwrap_or_default()
    }

    /// Changes what is known of that.
    pub fn sample(&self, session: &WeakSession, change: impl FnOnce(&mut SamplingUse)) {
        if let Some(sampled) = self.lock().sampled_by(session) {
            change(sampled);
        }
    }

    /// A person is asked: a call that waits for that is not late.
    pub fn question(self: &Arc<Self>) -> ServerQuestion {
        self.open_questions.fetch_add(1, Ordering::AcqRel);
        ServerQuestion(Arc::clone(self))
    }

    /// True while a person is asked.
    pub fn waits_for_person(&self) -> bool {
        self.open_questions.load(Ordering::Acquire) > 0
    }

    fn lock(&self) -> MutexGuard<'_, CallersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallersState {
    fn sampled_by(&mut self, session: &WeakSession) -> Option<&mut SamplingUse> {
        let mut sessions = self.sessions.iter_mut();
        let found = sessions.find(|(_, have, _)| have.id() == session.id());
        found.map(|(_, _, sampled)| sampled)
    }
}

/// The one session there is.
fn only<'a>(
    mut sessions: impl Iterator<Item = &'a WeakSession>,
) -> Result<&'a WeakSession, NotAsked> {
    let first = sessions.next().ok_or(NotAsked::Nobody)?;
    match sessions.all(|other| other.id() == first.id()) {
        true => Ok(first),
        false => Err(NotAsked::Several),
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut state = self.callers.lock();
        state.sessions.retain(|(number, ..)| *number != self.number);
        state.calls.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for ServerQuestion {
    fn drop(&mut self) {
        self.0.open_questions.fetch_sub(1, Ordering::AcqRel);
    }
}
