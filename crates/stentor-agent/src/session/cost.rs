//! What a session has cost, for whoever shows it while it grows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_journal::usage::Usage;

/// US dollars since a session was opened: its own models, and everything its tools had models do.
#[derive(Debug, Clone, Default)]
pub(super) struct CostCounter(Arc<Mutex<f64>>);

/// US dollars over the whole session, at any time.
#[derive(Debug, Clone, Default)]
pub struct CostMeter {
    earlier: f64,
    now: CostCounter,
}

impl CostCounter {
    pub fn add(&self, usage: &Usage) {
        *self.lock() += usage.cost.total;
    }

    /// Together with what the session had cost before it was opened.
    pub fn after(self, earlier: &Usage) -> CostMeter {
        CostMeter {
            earlier: earlier.cost.total,
            now: self,
        }
    }

    fn lock(&self) -> MutexGuard<'_, f64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CostMeter {
    /// What was spent so far.
    pub fn dollars(&self) -> f64 {
        self.earlier + *self.now.lock()
    }
}
