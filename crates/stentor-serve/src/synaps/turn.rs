//! The turns in flight: whose prompt each answers and what it consumed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::event::RunOutcome;
use stentor_journal::usage::Usage;
use stentor_wire::synaps::TurnUsage;
use tokio::time::Instant;

/// The turns in flight, shared by who starts them and who writes their frames.
///
/// There is one at a time; but the next may be accepted while the last frames of the one before
/// are still to be written, so an event belongs to the turn by its number.
#[derive(Clone, Default)]
pub(super) struct Turns {
    turns: Arc<Mutex<VecDeque<SynapsTurn>>>,
}

/// A turn in flight.
pub(super) struct SynapsTurn {
    /// The id of its prompt.
    pub id: String,
    /// The command that started it.
    pub command: &'static str,
    pub model: String,
    pub started: Instant,
    pub number: u64,
    /// The newest event when it was accepted: its own come later.
    pub begins_after: u64,
    pub usage: Usage,
    pub outcome: Option<RunOutcome>,
}

impl Turns {
    pub fn begin(&self, turn: SynapsTurn) {
        self.lock().push_back(turn);
    }

    /// True while the frames of a turn are not all written.
    pub fn in_flight(&self) -> bool {
        !self.lock().is_empty()
    }

    /// A run of the turn ended; another may follow.
    pub fn ran(&self, seq: u64, usage: &Usage, outcome: &RunOutcome) {
        if let Some(turn) = self.lock().front_mut()
            && turn.begins_after < seq
        {
            turn.usage.add(usage);
            turn.outcome = Some(outcome.clone());
        }
    }

    /// The turn that is over with event number `seq`. A compaction ends without one.
    pub fn settled(&self, seq: u64, aborted: bool) -> Option<SynapsTurn> {
        let mut turns = self.lock();
        if turns.front()?.begins_after >= seq {
            return None;
        }
        let mut turn = turns.pop_front()?;
        if aborted && turn.outcome.is_none() {
            turn.outcome = Some(RunOutcome::Aborted);
        }
        Some(turn)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SynapsTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(id: &str, begins_after: u64) -> SynapsTurn {
        SynapsTurn {
            id: id.into(),
            command: "prompt",
            model: String::new(),
            started: Instant::now(),
            number: 1,
            begins_after,
            usage: Usage::default(),
            outcome: None,
        }
    }

    #[test]
    fn an_end_belongs_to_the_turn_that_began_before_it() {
        let turns = Turns::default();
        turns.begin(turn("one", 10));
        turns.begin(turn("two", 20));
        assert!(
            turns.settled(9, false).is_none(),
            "the end of a compaction before"
        );
        assert_eq!(turns.settled(20, false).unwrap().id, "one");
        assert!(turns.settled(20, false).is_none());
        assert_eq!(
            turns.settled(25, true).unwrap().outcome,
            Some(RunOutcome::Aborted)
        );
        assert!(!turns.in_flight());
    }
}
