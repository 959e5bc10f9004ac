//! One subscriber's end.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Cursor, Hub, QUEUE_EVENTS, Queue};
use crate::event::{Event, EventKind};

/// One subscriber's end. Dropping it ends the subscription.
pub struct Subscription {
    hub: Hub,
    pub(super) queue: Arc<Queue>,
    /// The newest event that it does not have, because it came before.
    since: u64,
    /// Entries of messages that the subscriber has read, though they are yet to be announced.
    recorded: HashSet<String>,
    /// The number of such a message whose end is yet to come.
    skipped: Option<u64>,
}

impl Subscription {
    pub(super) fn new(hub: Hub, queue: Arc<Queue>, since: u64) -> Self {
        Self {
            hub,
            queue,
            since,
            recorded: HashSet::new(),
            skipped: None,
        }
    }

    /// The session whose events these are.
    pub fn session(&self) -> &Arc<str> {
        &self.hub.shared.session
    }

    /// Where its events begin: the place behind everything that came before.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            epoch: Arc::clone(self.hub.epoch()),
            number: self.since,
        }
    }

    /// True while something waits that was there before the place where its events begin: what goes
    /// on comes first, with that number.
    pub fn begins_with_what_goes_on(&self) -> bool {
        let first = self.queue.lock();
        first.front().is_some_and(|event| event.seq <= self.since)
    }

    /// The subscriber has read these entries, which may be yet to be announced: they are not
    /// announced to it again.
    pub(crate) fn has_read(&mut self, entries: impl Iterator<Item = String>) {
        self.recorded.extend(entries);
    }

    /// True for a message that the subscriber has read.
    fn is_read(&mut self, event: &Event) -> bool {
        match &event.kind {
            EventKind::MessageStarted {
                number, entry_id, ..
            } if self.recorded.remove(&**entry_id) => {
                self.skipped = Some(*number);
                true
            }
            EventKind::MessageEnded { number, .. } => {
                self.skipped.take_if(|skipped| skipped == number).is_some()
            }
            _ => false,
        }
    }

    /// The next event. `None` when the session is gone, or the subscriber was given up, and everything
    /// was read.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.queue.closed.load(Ordering::Acquire) {
                return self.try_next();
            }
            self.queue.arrived.notified().await;
        }
    }

    /// Waits until something waits that is more than one delta, which later ones could join.
    pub async fn beyond_a_delta(&self) {
        loop {
            if self.queue.closed.load(Ordering::Acquire) || self.queue.has_more_than_a_delta() {
                return;
            }
            self.queue.arrived.notified().await;
        }
    }

    /// The next event, if one is waiting.
    pub fn try_next(&mut self) -> Option<Event> {
        self.try_next_up_to(u64::MAX)
    }

    /// The next event, if one is waiting whose number is at most `seq`.
    pub fn try_next_up_to(&mut self, seq: u64) -> Option<Event> {
        loop {
            let event = self.pop_up_to(seq)?;
            if !self.is_read(&event) {
                return Some(event);
            }
        }
    }

    fn pop_up_to(&mut self, seq: u64) -> Option<Event> {
        let mut waiting = self.queue.lock();
        if waiting.front()?.seq > seq {
            return None;
        }
        let was_full = waiting.len() >= QUEUE_EVENTS;
        let event = waiting.pop_front()?;
        drop(waiting);
        if was_full {
            self.queue.took();
            self.hub.shared.room.notify_waiters();
        }
        Some(event)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub
            .lock()
            .subscribers
            .retain(|queue| !Arc::ptr_eq(queue, &self.queue));
        self.hub.shared.room.notify_waiters();
    }
}
