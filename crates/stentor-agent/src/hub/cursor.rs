//! Going on where one was: a place in the events of a session that outlives a connection.

use std::sync::Arc;

use super::{ClientNumber, Hub, HubState, Subscription};
use crate::event::Event;

/// A place in the events of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Names one life of the session in one life of the server: numbers begin anew with the next.
    pub epoch: Arc<str>,
    /// The newest event that was seen.
    pub number: u64,
}

/// Why nobody can go on from a cursor. What was said is to be read instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorMissed {
    #[error("the session has been reloaded since then")]
    OtherEpoch,
    #[error("the events since then are no longer stored individually")]
    TooOld,
}

/// An answer that is complete, of which the log keeps no deltas: from its beginning to its last text.
/// Who is in the midst of it cannot go on; who has all of the text misses nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForgottenAnswer {
    pub first: u64,
    pub last: u64,
}

impl Hub {
    /// The newest place.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            epoch: Arc::clone(self.epoch()),
            number: self.seq(),
        }
    }

    /// Names this life of the session.
    pub fn epoch(&self) -> &Arc<str> {
        let clock = &self.shared.clock;
        self.shared
            .epoch
            .get_or_init(|| format!("{:x}-{:08x}", clock.now_ms(), clock.random()).into())
    }

    /// Subscribes to everything after a cursor. Questions that were asked before it and are still
    /// open come first: an answer of the connection that was lost never arrived.
    pub fn subscribe_at(
        &self,
        client: Option<ClientNumber>,
        cursor: &Cursor,
    ) -> Result<Subscription, CursorMissed> {
        if cursor.epoch != *self.epoch() {
            return Err(CursorMissed::OtherEpoch);
        }
        let time_ms = self.shared.clock.now_ms();
        let mut state = self.lock();
        let since = cursor.number;
        if since > state.seq {
            return Err(CursorMissed::OtherEpoch);
        }
        if since + 1 < state.oldest() || state.is_within_forgotten(since) {
            return Err(CursorMissed::TooOld);
        }
        let asked = state.unfinished.questions_until(since).map(|kind| Event {
            session: Arc::clone(&self.shared.session),
            seq: since,
            time_ms,
            kind,
        });
        let missed = state.log.iter().filter_map(|logged| logged.after(since));
        let waiting = asked.chain(missed).collect();
        Ok(state.subscribe(self.clone(), client, since, waiting))
    }
}

impl HubState {
    /// The number of the oldest event that is kept.
    pub(super) fn oldest(&self) -> u64 {
        let front = self.log.front();
        front.map_or(self.seq + 1, |logged| logged.first_seq)
    }

    /// Notes that the deltas of an answer are gone.
    pub(super) fn note_forgotten(&mut self, forgotten: ForgottenAnswer) {
        let oldest = self.oldest();
        self.forgotten.retain(|older| older.last >= oldest);
        self.forgotten.push(forgotten);
    }

    fn is_within_forgotten(&self, since: u64) -> bool {
        let mut forgotten = self.forgotten.iter();
        forgotten.any(|answer| answer.first <= since && since < answer.last)
    }
}
