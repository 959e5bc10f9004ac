//! The turns of a session: whose prompt each answers, and how it ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value};
use stentor_agent::event::RunOutcome;
use stentor_agent::usage::Usage;
use stentor_wire::jsonrpc::Id;
use tokio_util::sync::CancellationToken;

/// The turns that are not over, oldest first: at most one that was not cancelled, and before it
/// those that are still unwinding.
#[derive(Clone, Default)]
pub(super) struct Turns {
    open: Arc<Mutex<VecDeque<Arc<Turn>>>>,
}

/// One prompt that is being answered.
pub(super) struct Turn {
    /// The request.
    pub id: Id,
    /// Fires when the client cancels it.
    pub cancel: CancellationToken,
    /// Fires when it is over.
    pub done: CancellationToken,
    /// The trace context of the request, which goes back with the answer.
    pub trace: Option<acp::Meta>,
    state: Mutex<TurnState>,
}

#[derive(Default)]
struct TurnState {
    /// The newest event when the session accepted the prompt: all events of the turn are later.
    accepted_after: Option<u64>,
    outcome: Option<RunOutcome>,
    usage: Usage,
}

/// What is to be done about a turn that was cancelled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// The session works on it and must be stopped.
    Running,
    /// The session does not know of it yet; who prepares it has been told.
    Waiting,
}

impl Turns {
    /// A new turn, and the one to wait for first. `None` when one is running.
    pub fn begin(
        &self,
        id: Id,
        trace: Option<acp::Meta>,
    ) -> Option<(Arc<Turn>, Option<Arc<Turn>>)> {
        let mut open = self.lock();
        if open.iter().any(|turn| !turn.cancel.is_cancelled()) {
            return None;
        }
        let turn = Arc::new(Turn {
            id,
            cancel: CancellationToken::new(),
            done: CancellationToken::new(),
            trace,
            state: Mutex::default(),
        });
        let before = open.back().cloned();
        open.push_back(Arc::clone(&turn));
        Some((turn, before))
    }

    /// The turn that runs.
    pub fn running(&self) -> Option<Arc<Turn>> {
        let open = self.lock();
        open.iter()
            .find(|turn| turn.lock().accepted_after.is_some())
            .cloned()
    }

    /// True when a turn is open that nobody cancelled.
    pub fn is_busy(&self) -> bool {
        self.lock().iter().any(|turn| !turn.cancel.is_cancelled())
    }

    /// Cancels every open turn, or only the one of request `only`.
    pub fn cancel(&self, only: Option<&Id>) -> Option<Cancelled> {
        let open = self.lock();
        let mut result = None;
        for turn in open.iter() {
            if only.is_some_and(|only| *only != turn.id) {
                continue;
            }
            let state = turn.lock();
            turn.cancel.cancel();
            match state.accepted_after {
                Some(_) => result = Some(Cancelled::Running),
                None => result = result.or(Some(Cancelled::Waiting)),
            }
        }
        result
    }

    /// Ends the turn whose events end with event number `seq`.
    pub fn settled(&self, seq: u64) -> Option<Arc<Turn>> {
        let mut open = self.lock();
        let at = open.iter().position(|turn| {
            let accepted = turn.lock().accepted_after;
            accepted.is_some_and(|after| after < seq)
        })?;
        let turn = open.remove(at)?;
        turn.done.cancel();
        Some(turn)
    }

    /// Takes a turn out that came to nothing. False when it is not open any more.
    pub fn give_up(&self, turn: &Arc<Turn>) -> bool {
        let mut open = self.lock();
        let before = open.len();
        open.retain(|other| !Arc::ptr_eq(other, turn));
        turn.done.cancel();
        open.len() < before
    }

    /// Records how a run of the current turn ended and what it consumed.
    pub fn ran(&self, outcome: &RunOutcome, usage: &Usage) {
        if let Some(turn) = self.running() {
            let mut state = turn.lock();
            state.outcome = Some(outcome.clone());
            state.usage.add(usage);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Turn>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The session has accepted the prompt; `after` is the newest event. True when the turn was
    /// cancelled before: then the session must be stopped.
    pub fn accepted(&self, after: u64) -> bool {
        let mut state = self.lock();
        state.accepted_after = Some(after);
        self.cancel.is_cancelled()
    }

    /// How the last run ended.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.lock().outcome.clone()
    }

    /// What it consumed.
    pub fn usage(&self) -> Usage {
        self.lock().usage
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of `meta` that is trace context.
pub(super) fn trace_of(meta: Option<&Map<String, Value>>) -> Option<acp::Meta> {
    let meta = meta?;
    let trace: acp::Meta = stentor_wire::acp::TRACE_KEYS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), meta.get(*key)?.clone())))
        .collect();
    (!trace.is_empty()).then_some(trace)
}
