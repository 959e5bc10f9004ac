//! Where a session's events go: numbered, kept for latecomers, handed to each subscriber.
//!
//! Every subscriber has its own bounded queue. While it lags, adjacent deltas of one block merge
//! (by range, nothing is copied), reports of one running tool replace each other, and of the output
//! of a user's command the newest is kept; nothing else is dropped or reordered. [`Hub::wait_for_capacity`] lets
//! the turn loop wait for a subscriber whose queue is full of what cannot merge, so memory stays
//! flat however long a reader sleeps; of several clients one that reads nothing is given up ([`Lag`]).

mod cursor;
mod lag;
mod subscription;
mod unfinished;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use stentor_journal::clock::SharedClock;
use stentor_journal::message::{Message, ToolCall};
use stentor_text::visible::visible;
use tokio::sync::{Notify, watch};

use crate::event::{Event, EventKind, Subagent};
use crate::live::LiveBlockKind;

pub use cursor::{Cursor, CursorMissed};
pub use lag::{Lag, STUCK_FOR};
pub use subscription::Subscription;

use cursor::ForgottenAnswer;
use lag::QueuePace;
use unfinished::UnfinishedWork;

/// Events a subscriber may have waiting before the turn loop waits for it.
pub const QUEUE_EVENTS: usize = 1024;

/// Events kept for a subscriber that was away.
pub const REPLAY_EVENTS: usize = 512;

/// Output of one user's command that waits in one event. When the queue is full, older output
/// makes room for newer: the command's result has the tail and names the file with all of it.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Output of users' commands that is kept for a subscriber that was away.
const REPLAY_OUTPUT_BYTES: usize = 256 * 1024;

/// Single deltas inside merged ones that a latecomer can still be told apart.
const REPLAY_DELTAS: usize = 16 * 1024;

/// Publishes the events of one session. Clones publish to the same subscribers.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<HubShared>,
}

struct HubShared {
    session: Arc<str>,
    clock: SharedClock,
    /// Made when somebody asks for it.
    epoch: OnceLock<Arc<str>>,
    state: Mutex<HubState>,
    /// Told when a queue gets shorter.
    room: Notify,
}

#[derive(Default)]
struct HubState {
    seq: u64,
    log: VecDeque<LoggedEvent>,
    logged_deltas: usize,
    logged_output_bytes: usize,
    subscribers: Vec<Arc<Queue>>,
    unfinished: UnfinishedWork,
    /// Complete answers in the log; none that is older than the log.
    forgotten: Vec<ForgottenAnswer>,
    /// Counts who shares the session.
    clients: u64,
    closed: bool,
}

/// An event in the replay log. A merged delta remembers where each of its parts ended.
struct LoggedEvent {
    event: Event,
    first_seq: u64,
    part_ends: Vec<usize>,
}

struct Queue {
    /// Whose subscription it is, if several share the session.
    client: Option<ClientNumber>,
    waiting: Mutex<VecDeque<Event>>,
    closed: std::sync::atomic::AtomicBool,
    pace: watch::Sender<QueuePace>,
    /// Told when something arrives that did not merge, or when nothing more will come.
    arrived: Notify,
}

/// One of several who share a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNumber(u64);

/// A subscriber asked for events that are no longer kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events before number {oldest} are no longer available; read the messages instead")]
pub struct MissedEvents {
    /// The oldest event that is still kept.
    pub oldest: u64,
}

impl Hub {
    /// A hub without subscribers.
    pub fn new(session: Arc<str>, clock: SharedClock) -> Self {
        Self {
            shared: Arc::new(HubShared {
                session,
                clock,
                epoch: OnceLock::new(),
                state: Mutex::default(),
                room: Notify::new(),
            }),
        }
    }

    /// Tells every subscriber. Never waits: the turn loop calls [`Hub::wait_for_capacity`] between events.
    pub fn publish(&self, mut kind: EventKind) -> u64 {
        make_visible(&mut kind);
        let time_ms = self.shared.clock.now_ms();
        let mut state = self.lock();
        state.seq += 1;
        let event = Event {
            session: Arc::clone(&self.shared.session),
            seq: state.seq,
            time_ms,
            kind,
        };
        for queue in &state.subscribers {
            queue.push(&event);
        }
        state.unfinished.note(&event.kind, event.seq);
        state.remember(event);
        state.seq
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.lock().seq
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.subscribe_as(None)
    }

    /// The same for one of several who share the session.
    pub fn subscribe_as(&self, client: Option<ClientNumber>) -> Subscription {
        let mut state = self.lock();
        let seq = state.seq;
        state.subscribe(self.clone(), client, seq, VecDeque::new())
    }

    /// Subscribes to what goes on: what has begun and not ended comes first, as if it began now.
    /// An answer that is the entry `recorded` is left out.
    pub fn join(&self, client: Option<ClientNumber>, recorded: Option<&str>) -> Subscription {
        let time_ms = self.shared.clock.now_ms();
        let mut state = self.lock();
        let seq = state.seq;
        let goes_on = state.unfinished.events(recorded, |kind| Event {
            session: Arc::clone(&self.shared.session),
            seq,
            time_ms,
            kind,
        });
        state.subscribe(self.clone(), client, seq, goes_on.into())
    }

    /// A number for one more who shares the session.
    pub fn new_client(&self) -> ClientNumber {
        let mut state = self.lock();
        state.clients += 1;
        ClientNumber(state.clients)
    }

    /// One who shared the session has left: its subscriptions end after what is waiting.
    pub fn leave(&self, client: ClientNumber) {
        let mut state = self.lock();
        state.subscribers.retain(|queue| {
            let stays = queue.client != Some(client);
            if !stays {
                queue.close();
            }
            stays
        });
        drop(state);
        self.shared.room.notify_waiters();
    }

    /// True when somebody was asked something and has not answered.
    pub fn has_questions(&self) -> bool {
        self.lock().unfinished.has_questions()
    }

    /// Subscribes to everything after event number `since`.
    pub fn subscribe_since(&self, since: u64) -> Result<Subscription, MissedEvents> {
        self.subscribe_since_as(None, since)
    }

    /// The same for one of several who share the session.
    pub fn subscribe_since_as(
        &self,
        client: Option<ClientNumber>,
        since: u64,
    ) -> Result<Subscription, MissedEvents> {
        let mut state = self.lock();
        let oldest = state.oldest();
        // A number from the future is one of another life of the session: its events began anew.
        if since > state.seq || since + 1 < oldest {
            return Err(MissedEvents { oldest });
        }
        let missed = state
            .log
            .iter()
            .filter_map(|logged| logged.after(since))
            .collect();
        Ok(state.subscribe(self.clone(), client, since, missed))
    }

    /// True when no subscriber's queue is full of what cannot be merged.
    pub fn has_capacity(&self) -> bool {
        self.lock()
            .subscribers
            .iter()
            .all(|queue| queue.has_capacity())
    }

    /// Nothing more will be published: subscribers see the end after what is waiting.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for queue in state.subscribers.drain(..) {
            queue.close();
        }
        self.shared.room.notify_waiters();
    }

    /// How many are listening.
    pub fn subscribers(&self) -> usize {
        self.lock().subscribers.len()
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warnings and errors repeat what files, servers and programs said, and are shown as our own words.
fn make_visible(kind: &mut EventKind) {
    let text = match kind {
        EventKind::Notice { message, .. } => message,
        EventKind::ExtensionFailed { error, .. } | EventKind::RetryStarted { error, .. } => error,
        _ => return,
    };
    if let Cow::Owned(shown) = visible(text) {
        *text = shown;
    }
}

impl HubState {
    fn subscribe(
        &mut self,
        hub: Hub,
        client: Option<ClientNumber>,
        since: u64,
        waiting: VecDeque<Event>,
    ) -> Subscription {
        let queue = Arc::new(Queue {
            client,
            waiting: Mutex::new(waiting),
            closed: std::sync::atomic::AtomicBool::new(self.closed),
            pace: watch::Sender::default(),
            arrived: Notify::new(),
        });
        if !self.closed {
            self.subscribers.push(Arc::clone(&queue));
        }
        Subscription::new(hub, queue, since)
    }

    fn remember(&mut self, mut event: Event) {
        if let EventKind::EntryAppended { entry, .. } = &mut event.kind {
            // It may be long, and who was away can read it.
            *entry = None;
        }
        if matches!(event.kind, EventKind::SubagentEvent { .. }) {
            // Who was away reads a subagent's conversation instead; the log is for the session's.
            return;
        }
        if let EventKind::MessageEnded { number, message } = &event.kind {
            self.forget_live(*number, message);
        }
        self.logged_output_bytes += output_bytes(&event.kind);
        // The front stays: it says how far back the log goes.
        if let EventKind::ToolProgress { call, .. } = &event.kind
            && let Some(at) = self
                .log
                .iter()
                .rposition(|logged| reports_on(&logged.event, call))
            && at > 0
        {
            self.log.remove(at);
        }
        if let Some(last) = self.log.back_mut()
            && last.absorb(&event)
        {
            self.logged_deltas += 1;
        } else {
            let first_seq = event.seq;
            self.log.push_back(LoggedEvent {
                event,
                first_seq,
                part_ends: Vec::new(),
            });
        }
        while self.log.len() > REPLAY_EVENTS
            || self.logged_deltas > REPLAY_DELTAS
            || self.logged_output_bytes > REPLAY_OUTPUT_BYTES
        {
            let Some(oldest) = self.log.pop_front() else {
                break;
            };
            self.logged_output_bytes -= output_bytes(&oldest.event.kind);
            self.logged_deltas -= oldest.part_ends.len().saturating_sub(1);
        }
    }
}

impl HubState {
    /// An answer is complete: how it was written is not kept any longer, since that would keep a
    /// second copy of it. Who was away sees it begin and end.
    fn forget_live(&mut self, number: u64, message: &Arc<Message>) {
        let mut deltas = 0;
        let (mut first, mut last) = (0, 0);
        self.log.retain_mut(|logged| match &logged.event.kind {
            EventKind::AnswerStarted(live) if live.number() == number => {
                first = logged.first_seq;
                logged.event.kind = EventKind::MessageStarted {
                    number,
                    entry_id: Arc::clone(live.entry_id()),
                    message: Arc::clone(message),
                };
                true
            }
            EventKind::BlockStarted { live, .. }
            | EventKind::BlockDelta { live, .. }
            | EventKind::BlockEnded { live, .. } => {
                let stays = live.number() != number;
                if !stays {
                    if is_text_delta(&logged.event) {
                        last = logged.event.seq;
                    }
                    deltas += logged.part_ends.len().saturating_sub(1);
                }
                stays
            }
            _ => true,
        });
        self.logged_deltas -= deltas;
        self.note_forgotten(ForgottenAnswer { first, last });
    }
}

impl LoggedEvent {
    /// Takes `event` in if it is the next delta of the same block. Progress is not merged here:
    /// the log must be able to tell its numbers apart.
    fn absorb(&mut self, event: &Event) -> bool {
        let EventKind::BlockDelta {
            range: mine, block, ..
        } = &mut self.event.kind
        else {
            return false;
        };
        let EventKind::BlockDelta {
            range,
            block: other,
            ..
        } = &event.kind
        else {
            return false;
        };
        if !Arc::ptr_eq(block, other) || mine.end != range.start {
            return false;
        }
        if self.part_ends.is_empty() {
            self.part_ends.push(mine.end);
        }
        mine.end = range.end;
        self.part_ends.push(range.end);
        self.event.seq = event.seq;
        self.event.time_ms = event.time_ms;
        true
    }

    /// What is left of it for somebody who has seen everything up to `since`.
    fn after(&self, since: u64) -> Option<Event> {
        if self.event.seq <= since {
            return None;
        }
        let mut event = self.event.clone();
        if self.first_seq <= since
            && let EventKind::BlockDelta { range, .. } = &mut event.kind
        {
            let seen = usize::try_from(since - self.first_seq).unwrap_or(usize::MAX);
            range.start = *self.part_ends.get(seen)?;
        }
        Some(event)
    }
}

impl Queue {
    /// Most deltas join one that waits: only what does not is cloned.
    fn push(&self, event: &Event) {
        let mut waiting = self.lock();
        if let Some(last) = waiting.back_mut()
            && merge(last, event)
        {
            return;
        }
        // The tools of a batch and the commands of a user report in turns: without a look further
        // back they could fill the queue, and nobody waits for room before a report.
        match &event.kind {
            EventKind::ToolProgress { call, .. } => {
                if let Some(at) = waiting.iter().rposition(|older| reports_on(older, call)) {
                    waiting.remove(at);
                }
            }
            EventKind::SubagentEvent { agent, event: next } => {
                // Several work at the same time; among the events of one the order stays.
                let newest = waiting.iter_mut().rfind(|older| is_of(older, agent));
                if let Some(older) = newest
                    && let EventKind::SubagentEvent { event, .. } = &mut older.kind
                    && merge(event, next)
                {
                    return;
                }
            }
            EventKind::BashOutput { id, delta } if waiting.len() >= QUEUE_EVENTS => {
                if let Some(older) = waiting.iter_mut().rfind(|older| has_output_of(older, *id)) {
                    older.kind = EventKind::BashOutput {
                        id: *id,
                        delta: tail(&older.kind, delta),
                    };
                    return;
                }
            }
            _ => {}
        }
        waiting.push_back(event.clone());
        drop(waiting);
        self.arrived.notify_one();
    }

    fn has_capacity(&self) -> bool {
        self.lock().len() < QUEUE_EVENTS
    }

    fn has_more_than_a_delta(&self) -> bool {
        let waiting = self.lock();
        waiting.iter().any(|event| !is_delta(event))
    }

    fn close(&self) {
        self.closed
            .store(true, std::sync::atomic::Ordering::Release);
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_delta(event: &Event) -> bool {
    match &event.kind {
        EventKind::BlockDelta { .. } => true,
        EventKind::SubagentEvent { event, .. } => is_delta(event),
        _ => false,
    }
}

/// True for text that somebody reads.
fn is_text_delta(event: &Event) -> bool {
    use LiveBlockKind::{Text, Thinking};
    matches!(&event.kind, EventKind::BlockDelta { block, .. } if matches!(block.kind, Text | Thinking))
}

fn is_of(event: &Event, agent: &Arc<Subagent>) -> bool {
    matches!(&event.kind, EventKind::SubagentEvent { agent: other, .. } if Arc::ptr_eq(agent, other))
}

/// True for a report of that call, which a newer one replaces.
fn reports_on(event: &Event, call: &Arc<ToolCall>) -> bool {
    matches!(&event.kind, EventKind::ToolProgress { call: other, .. } if Arc::ptr_eq(call, other))
}

fn has_output_of(event: &Event, command: u64) -> bool {
    matches!(event.kind, EventKind::BashOutput { id, .. } if id == command)
}

fn output_bytes(kind: &EventKind) -> usize {
    match kind {
        EventKind::BashOutput { delta, .. } => delta.len(),
        _ => 0,
    }
}

/// Merges `next` into `last` if nothing is lost by it.
fn merge(last: &mut Event, next: &Event) -> bool {
    match (&mut last.kind, &next.kind) {
        (
            EventKind::BlockDelta { block, range, .. },
            EventKind::BlockDelta {
                block: next_block,
                range: next_range,
                ..
            },
        ) if Arc::ptr_eq(block, next_block) && range.end == next_range.start => {
            range.end = next_range.end;
        }
        (
            EventKind::ToolProgress { call, partial },
            EventKind::ToolProgress {
                call: next_call,
                partial: next_partial,
            },
        ) if Arc::ptr_eq(call, next_call) => *partial = Arc::clone(next_partial),
        (
            EventKind::BashOutput { id, delta },
            EventKind::BashOutput {
                id: next_id,
                delta: next_delta,
            },
        ) if id == next_id && delta.len() + next_delta.len() <= OUTPUT_BYTES => {
            *delta = [&**delta, &**next_delta].concat().into();
        }
        _ => return false,
    }
    last.seq = next.seq;
    last.time_ms = next.time_ms;
    true
}

/// The newest output that fits, of what waits and what comes.
fn tail(older: &EventKind, newer: &str) -> Arc<str> {
    let older = match older {
        EventKind::BashOutput { delta, .. } => &**delta,
        _ => "",
    };
    let all = [older, newer].concat();
    let most = all.len().saturating_sub(OUTPUT_BYTES);
    all.get(all.ceil_char_boundary(most)..)
        .unwrap_or_default()
        .into()
}

#[cfg(test)]
mod tests;
