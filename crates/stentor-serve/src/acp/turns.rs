//! The turns of a session: whose prompt each answers, and how it ended.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value};
use stentor_agent::event::RunOutcome;
use stentor_agent::session::RunId;
use stentor_journal::usage::Usage;
use stentor_wire::jsonrpc::Id;
use tokio_util::sync::CancellationToken;

/// The turns that are not over, oldest first: at most one that was not cancelled, and before it
/// those that are still unwinding.
#[derive(Clone, Default)]
pub(super) struct Turns {
    state: Arc<Mutex<TurnsState>>,
}

#[derive(Default)]
struct TurnsState {
    open: VecDeque<Arc<Turn>>,
    /// The number of the newest event with which something of the session ended.
    settled: u64,
    has_begun: bool,
    is_closed: bool,
}

/// Why no turn begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotBegun {
    /// Another one runs.
    Busy,
    /// The session is closed.
    Closed,
}

/// One prompt that is being answered.
pub(super) struct Turn {
    /// The request.
    pub id: Id,
    /// Fires when the client cancels it.
    pub cancel: CancellationToken,
    /// Fires when it is known what becomes of it: a run, or something else.
    pub begun: CancellationToken,
    /// Fires when it is over.
    pub done: CancellationToken,
    /// The trace context of the request, which goes back with the answer.
    pub trace: Option<acp::Meta>,
    answered: AtomicBool,
    state: Mutex<TurnState>,
}

#[derive(Default)]
struct TurnState {
    /// The run, and the newest event when the session accepted it: all its events are later.
    accepted: Option<(RunId, u64)>,
    outcome: Option<RunOutcome>,
    usage: Usage,
}

/// What is to be done about a turn that was cancelled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// The session works on it and must be stopped.
    Running(RunId),
    /// The session does not know of it yet; who prepares it has been told.
    Waiting,
}

/// What became of a turn in the moment in which it was accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    Runs,
    /// It was cancelled before: the run must be stopped.
    Cancelled,
    /// The session told of its end before it was known whose it is: nobody else answers it.
    Over,
}

impl Turns {
    /// A new turn, which `cancel` cancels, and the one to wait for first.
    pub fn begin(
        &self,
        id: Id,
        cancel: CancellationToken,
        trace: Option<acp::Meta>,
    ) -> Result<(Arc<Turn>, Option<Arc<Turn>>), NotBegun> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NotBegun::Closed);
        }
        if state.is_busy() {
            return Err(NotBegun::Busy);
        }
        let turn = Arc::new(Turn {
            id,
            cancel,
            begun: CancellationToken::new(),
            done: CancellationToken::new(),
            trace,
            answered: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let before = state.open.back().cloned();
        state.open.push_back(Arc::clone(&turn));
        state.has_begun = true;
        Ok((turn, before))
    }

    /// The turn that runs.
    pub fn running(&self) -> Option<Arc<Turn>> {
        let state = self.lock();
        let mut open = state.open.iter();
        open.find(|turn| turn.is_accepted()).cloned()
    }

    /// The turn that is open and that nobody cancelled.
    pub fn current(&self) -> Option<Arc<Turn>> {
        let state = self.lock();
        let mut open = state.open.iter();
        open.find(|turn| !turn.cancel.is_cancelled()).cloned()
    }

    /// True when there ever was a turn.
    pub fn have_begun(&self) -> bool {
        self.lock().has_begun
    }

    /// No turn begins any more. Gives those of which the session will not tell the end; who makes
    /// one ready sees to it itself.
    pub fn close(&self) -> Vec<Arc<Turn>> {
        let mut state = self.lock();
        state.is_closed = true;
        let accepted = state.open.iter().filter(|turn| turn.is_accepted());
        accepted.cloned().collect()
    }

    /// Waits until every turn that is open now is over.
    pub async fn all_over(&self) {
        let open: Vec<_> = self.lock().open.iter().cloned().collect();
        for turn in open {
            turn.done.cancelled().await;
        }
    }

    /// Cancels every open turn, or only the one of request `only`.
    pub fn cancel(&self, only: Option<&Id>) -> Option<Cancelled> {
        let turns = self.lock();
        let mut result = None;
        for turn in &turns.open {
            if only.is_some_and(|only| *only != turn.id) {
                continue;
            }
            let state = turn.lock();
            turn.cancel.cancel();
            match state.accepted {
                Some((run, _)) => result = Some(Cancelled::Running(run)),
                None => result = result.or(Some(Cancelled::Waiting)),
            }
        }
        result
    }

    /// Ends the turn whose events end with event number `seq`.
    pub fn settled(&self, seq: u64) -> Option<Arc<Turn>> {
        let mut state = self.lock();
        state.settled = seq;
        let open = &mut state.open;
        let at = open.iter().position(|turn| {
            let accepted = turn.lock().accepted;
            accepted.is_some_and(|(_, after)| after < seq)
        })?;
        let turn = open.remove(at)?;
        turn.done.cancel();
        Some(turn)
    }

    /// Takes a turn out that came to nothing. False when it is not open any more.
    pub fn give_up(&self, turn: &Arc<Turn>) -> bool {
        let open = &mut self.lock().open;
        let before = open.len();
        open.retain(|other| !Arc::ptr_eq(other, turn));
        turn.done.cancel();
        open.len() < before
    }

    /// The session has accepted the prompt of `turn` as `run`, whose events come after number
    /// `after`.
    pub fn accepted(&self, turn: &Turn, run: RunId, after: u64) -> Begun {
        let state = self.lock();
        turn.lock().accepted = Some((run, after));
        turn.begun.cancel();
        match () {
            () if state.is_closed || state.settled > after => Begun::Over,
            () if turn.cancel.is_cancelled() => Begun::Cancelled,
            () => Begun::Runs,
        }
    }

    /// Records how a run of the current turn ended and what it consumed.
    pub fn ran(&self, outcome: &RunOutcome, usage: &Usage) {
        if let Some(turn) = self.running() {
            let mut state = turn.lock();
            state.outcome = Some(outcome.clone());
            state.usage.add(usage);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnsState {
    fn is_busy(&self) -> bool {
        self.open.iter().any(|turn| !turn.cancel.is_cancelled())
    }
}

impl Turn {
    /// True once it is a run, which messages can be put into, and until it is cancelled or over.
    pub async fn takes_messages(&self) -> bool {
        tokio::select! {
            () = self.begun.cancelled() => {}
            () = self.done.cancelled() => {}
        }
        self.is_accepted() && !self.cancel.is_cancelled() && !self.done.is_cancelled()
    }

    /// True for the one who may answer its request, which is done once.
    pub fn claim_answer(&self) -> bool {
        !self.answered.swap(true, Ordering::AcqRel)
    }

    /// How the last run ended.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.lock().outcome.clone()
    }

    /// What it consumed.
    pub fn usage(&self) -> Usage {
        self.lock().usage
    }

    fn is_accepted(&self) -> bool {
        self.lock().accepted.is_some()
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
