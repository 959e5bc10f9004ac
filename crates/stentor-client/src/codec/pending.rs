//! Requests that wait for their answers, by number.

use std::collections::HashMap;

use super::Responder;
use crate::connection::LostCounter;
use crate::error::ChildAgentError;

/// Requests that may wait at once. Those that nobody waits for any more go first.
const WAITING: usize = 256;

/// What waits, and what it waits for.
pub(super) struct PendingReplies<K> {
    waiting: HashMap<u64, (K, Option<Responder>)>,
    last: u64,
    lost: LostCounter,
}

impl<K> PendingReplies<K> {
    pub fn new(lost: LostCounter) -> Self {
        Self {
            waiting: HashMap::new(),
            last: 0,
            lost,
        }
    }

    /// The number of a new request.
    pub fn wait(&mut self, kind: K, reply: Option<Responder>) -> u64 {
        if self.waiting.len() >= WAITING {
            let is_open =
                |reply: &Option<Responder>| reply.as_ref().is_some_and(|r| !r.is_closed());
            self.waiting.retain(|_, (_, reply)| is_open(reply));
        }
        self.last += 1;
        self.waiting.insert(self.last, (kind, reply));
        self.last
    }

    /// Takes the request with this number. One that does not wait was answered twice, or never
    /// made: that is counted.
    pub fn take(&mut self, number: Option<u64>) -> Option<(K, Option<Responder>)> {
        let found = number.and_then(|number| self.waiting.remove(&number));
        if found.is_none() {
            self.lost.unexpected();
        }
        found
    }

    /// True when the request with this number waits and fits.
    pub fn waits(&self, number: Option<u64>, fits: impl Fn(&K) -> bool) -> bool {
        let waiting = number.and_then(|number| self.waiting.get(&number));
        waiting.is_some_and(|(kind, _)| fits(kind))
    }

    /// Takes the first request that fits.
    pub fn take_where(&mut self, fits: impl Fn(&K) -> bool) -> Option<(K, Option<Responder>)> {
        let number = self.waiting.iter().find(|(_, (kind, _))| fits(kind));
        let number = *number?.0;
        self.waiting.remove(&number)
    }
}

/// Answers whoever waits; they may have lost interest.
pub(super) fn answer(
    reply: Option<Responder>,
    answer: Result<super::HandleReply, ChildAgentError>,
) {
    if let Some(reply) = reply {
        let _ = reply.send(answer);
    }
}
