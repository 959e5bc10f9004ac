//! The requests we are waiting on.

use std::collections::HashMap;

use super::Id;

/// The requests that we originated and that have no answer yet, each with whoever waits for it
/// (section 1.7).
///
/// Ids count down from -1, so that none of ours can be taken for one of the client's, or up from 1
/// for servers that expect what clients usually send. Deadlines are the caller's.
#[derive(Debug)]
pub struct OwnRequests<W> {
    last_id: i64,
    step: i64,
    waiters: HashMap<i64, W>,
}

impl<W> OwnRequests<W> {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            last_id: 0,
            step: -1,
            waiters: HashMap::new(),
        }
    }

    /// An empty table whose ids count up from 1.
    pub fn counting_up() -> Self {
        Self {
            step: 1,
            ..Self::new()
        }
    }

    /// Adds a waiter and gives the id to send.
    pub fn issue(&mut self, waiter: W) -> Id {
        self.last_id += self.step;
        self.waiters.insert(self.last_id, waiter);
        Id::from(self.last_id)
    }

    /// Removes and gives the waiter of an answer. `None` for late, repeated and unknown ids, which
    /// are to be dropped.
    pub fn take(&mut self, id: &Id) -> Option<W> {
        self.waiters.remove(&id.as_i64()?)
    }

    /// Whether there is a waiter for this answer.
    pub fn contains(&self, id: &Id) -> bool {
        id.as_i64().is_some_and(|id| self.waiters.contains_key(&id))
    }

    /// Removes everyone, for the end of the connection.
    pub fn drain(&mut self) -> impl Iterator<Item = (Id, W)> {
        self.waiters
            .drain()
            .map(|(id, waiter)| (Id::from(id), waiter))
    }

    /// How many requests are open.
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Whether no request is open.
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }
}

impl<W> Default for OwnRequests<W> {
    fn default() -> Self {
        Self::new()
    }
}
