//! Capacity that was reserved for the sessions that a client is about to begin.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stentor_journal::store::Reservation;

use crate::tasks;

/// How long capacity waits for its session. What was to begin one may have failed.
const KEPT: Duration = Duration::from_secs(20);

/// The reservations of one client, which each serve one new session. Clones are the same.
#[derive(Clone, Default)]
pub struct Reservations {
    waiting: Arc<Mutex<Waiting>>,
}

/// At most as many as the client begins sessions within [`KEPT`]: each took capacity.
#[derive(Default)]
struct Waiting {
    count: u64,
    reserved: VecDeque<(u64, Box<dyn Reservation>)>,
}

impl Reservations {
    /// Keeps a reservation for the next new session. Must be called on a runtime.
    pub fn put(&self, reservation: Box<dyn Reservation>) {
        let mut waiting = self.lock();
        waiting.count += 1;
        let number = waiting.count;
        waiting.reserved.push_back((number, reservation));
        let weak = Arc::downgrade(&self.waiting);
        tasks::spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Some(waiting) = weak.upgrade() {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.reserved.retain(|(of, _)| *of != number);
            }
        });
    }

    /// The oldest one.
    pub(crate) fn take(&self) -> Option<Box<dyn Reservation>> {
        let taken = self.lock().reserved.pop_front();
        taken.map(|(_, reservation)| reservation)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
