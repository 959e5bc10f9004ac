//! The turn in flight: whose prompt it answers and what it consumed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::event::RunOutcome;
use stentor_agent::usage::Usage;
use stentor_wire::synaps::TurnUsage;
use tokio::time::Instant;

/// The turn in flight, shared by who starts it and who writes its frames.
#[derive(Clone, Default)]
pub(super) struct CurrentTurn {
    turn: Arc<Mutex<Option<Turn>>>,
}

/// A turn in flight.
pub(super) struct Turn {
    /// The id of its prompt.
    pub id: String,
    /// The command that started it.
    pub command: &'static str,
    pub model: String,
    pub started: Instant,
    pub number: u64,
    pub usage: Usage,
    pub outcome: Option<RunOutcome>,
}

impl CurrentTurn {
    pub fn begin(&self, turn: Turn) {
        *self.lock() = Some(turn);
    }

    pub fn end(&self) -> Option<Turn> {
        self.lock().take()
    }

    pub fn is_some(&self) -> bool {
        self.lock().is_some()
    }

    /// Counts what was consumed into the turn.
    pub fn consumed(&self, usage: &Usage) {
        if let Some(turn) = &mut *self.lock() {
            turn.usage.add(usage);
        }
    }

    pub fn ended_with(&self, outcome: &RunOutcome) {
        if let Some(turn) = &mut *self.lock() {
            turn.outcome = Some(outcome.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a turn consumed, in the words of the wire (section 9.5).
pub(super) fn turn_usage(usage: &Usage, model: Option<String>) -> TurnUsage {
    TurnUsage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_input_tokens: usage.cache_read,
        cache_creation_input_tokens: usage.cache_write,
        cache_creation_5m: usage.cache_write_5m,
        cache_creation_1h: usage.cache_write_1h,
        model: model.filter(|_| !usage.is_zero()),
    }
}
