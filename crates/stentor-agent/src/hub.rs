//! Where a session's events go: numbered, kept for latecomers, handed to each subscriber.
//!
//! Every subscriber has its own bounded queue. While it lags, adjacent deltas of one block merge
//! (by range, nothing is copied), reports of one running tool replace each other, and of the output
//! of a user's command the newest is kept; nothing else is dropped or reordered. [`Hub::room`] lets
//! the turn loop wait for a subscriber whose queue is full of what cannot merge, so memory stays
//! flat however long a reader sleeps.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::SharedClock;
use crate::event::{Event, EventKind};

/// Events a subscriber may have waiting before the turn loop waits for it.
pub const QUEUE_EVENTS: usize = 1024;

/// Events kept for a subscriber that was away.
pub const REPLAY_EVENTS: usize = 512;

/// Output of one user's command that waits in one event. When the queue is full, older output
/// makes room for newer: the command's result has the tail and names the file with all of it.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Single deltas inside merged ones that a latecomer can still be told apart.
const REPLAY_DELTAS: usize = 16 * 1024;

/// Publishes the events of one session. Clones publish to the same subscribers.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    session: Arc<str>,
    clock: SharedClock,
    state: Mutex<State>,
    /// Told when a queue gets shorter.
    room: Notify,
}

#[derive(Default)]
struct State {
    seq: u64,
    log: VecDeque<Logged>,
    logged_deltas: usize,
    subscribers: Vec<Arc<Queue>>,
    closed: bool,
}

/// An event in the replay log. A merged delta remembers where each of its parts ended.
struct Logged {
    event: Event,
    first_seq: u64,
    part_ends: Vec<usize>,
}

struct Queue {
    waiting: Mutex<VecDeque<Event>>,
    closed: std::sync::atomic::AtomicBool,
    /// Told when something arrives in an empty queue, or when nothing more will come.
    arrived: Notify,
}

/// One subscriber's end. Dropping it ends the subscription.
pub struct Subscription {
    hub: Hub,
    queue: Arc<Queue>,
}

/// A subscriber asked for events that are no longer kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events before number {oldest} are no longer kept; read the messages instead")]
pub struct Missed {
    /// The oldest event that is still kept.
    pub oldest: u64,
}

impl Hub {
    /// A hub without subscribers.
    pub fn new(session: Arc<str>, clock: SharedClock) -> Self {
        Self {
            shared: Arc::new(Shared {
                session,
                clock,
                state: Mutex::default(),
                room: Notify::new(),
            }),
        }
    }

    /// Tells every subscriber. Never waits: the turn loop calls [`Hub::room`] between events.
    pub fn publish(&self, kind: EventKind) -> u64 {
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
            queue.push(event.clone());
        }
        state.remember(event);
        state.seq
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.lock().seq
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        let mut state = self.lock();
        state.subscribe(self.clone(), VecDeque::new())
    }

    /// Subscribes to everything after event number `since`.
    pub fn subscribe_since(&self, since: u64) -> Result<Subscription, Missed> {
        let mut state = self.lock();
        let oldest = state
            .log
            .front()
            .map_or(state.seq + 1, |logged| logged.first_seq);
        // A number from the future is one of another life of the session: its events began anew.
        if since > state.seq || since + 1 < oldest {
            return Err(Missed { oldest });
        }
        let missed = state
            .log
            .iter()
            .filter_map(|logged| logged.after(since))
            .collect();
        Ok(state.subscribe(self.clone(), missed))
    }

    /// Waits until every subscriber's queue has room for what cannot be merged.
    pub async fn room(&self) {
        loop {
            let told = self.shared.room.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.lock().subscribers.iter().all(|queue| queue.has_room()) {
                return;
            }
            told.await;
        }
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn subscribe(&mut self, hub: Hub, waiting: VecDeque<Event>) -> Subscription {
        let queue = Arc::new(Queue {
            waiting: Mutex::new(waiting),
            closed: std::sync::atomic::AtomicBool::new(self.closed),
            arrived: Notify::new(),
        });
        if !self.closed {
            self.subscribers.push(Arc::clone(&queue));
        }
        Subscription { hub, queue }
    }

    fn remember(&mut self, event: Event) {
        if let Some(last) = self.log.back_mut()
            && last.absorb(&event)
        {
            self.logged_deltas += 1;
        } else {
            let first_seq = event.seq;
            self.log.push_back(Logged {
                event,
                first_seq,
                part_ends: Vec::new(),
            });
        }
        while self.log.len() > REPLAY_EVENTS || self.logged_deltas > REPLAY_DELTAS {
            let Some(oldest) = self.log.pop_front() else {
                break;
            };
            self.logged_deltas -= oldest.part_ends.len().saturating_sub(1);
        }
    }
}

impl Logged {
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
    fn push(&self, event: Event) {
        let mut waiting = self.lock();
        if let Some(last) = waiting.back_mut()
            && merge(last, &event)
        {
            return;
        }
        // The tools of a batch and the commands of a user report in turns: without a look further
        // back they could fill the queue, and nobody waits for room before a report.
        match &event.kind {
            EventKind::ToolProgress { call, .. } => {
                let is_older = |older: &Event| matches!(&older.kind, EventKind::ToolProgress { call: other, .. } if Arc::ptr_eq(call, other));
                if let Some(at) = waiting.iter().rposition(is_older) {
                    waiting.remove(at);
                }
            }
            EventKind::BashOutput { id, delta } if waiting.len() >= QUEUE_EVENTS => {
                let is_older = |older: &&mut Event| matches!(&older.kind, EventKind::BashOutput { id: other, .. } if id == other);
                if let Some(older) = waiting.iter_mut().rev().find(is_older) {
                    older.kind = EventKind::BashOutput {
                        id: *id,
                        delta: tail(&older.kind, delta),
                    };
                    return;
                }
            }
            _ => {}
        }
        let was_empty = waiting.is_empty();
        waiting.push_back(event);
        drop(waiting);
        if was_empty {
            self.arrived.notify_one();
        }
    }

    fn has_room(&self) -> bool {
        self.lock().len() < QUEUE_EVENTS
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
    let cut = (most..=all.len()).find(|at| all.is_char_boundary(*at));
    all.get(cut.unwrap_or(0)..).unwrap_or_default().into()
}

impl Subscription {
    /// The next event. `None` when the session is gone and everything was read.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.queue.closed.load(std::sync::atomic::Ordering::Acquire) {
                return self.try_next();
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
        let mut waiting = self.queue.lock();
        if waiting.front()?.seq > seq {
            return None;
        }
        let was_full = waiting.len() >= QUEUE_EVENTS;
        let event = waiting.pop_front()?;
        drop(waiting);
        if was_full {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::CountingClock;
    use crate::live::{LiveBlock, LiveBlockKind, LiveMessage};

    fn hub() -> Hub {
        Hub::new("s".into(), Arc::new(CountingClock::starting_at(0)))
    }

    struct Writer {
        live: LiveMessage,
        block: Arc<LiveBlock>,
    }

    impl Writer {
        fn new() -> Self {
            let live = LiveMessage::new(1, "a", "p", "m", 0);
            let block = live.open_block(LiveBlockKind::Text);
            Self { live, block }
        }

        fn delta(&self, hub: &Hub, text: &str) {
            let range = self.block.append(text);
            let (live, block) = (self.live.clone(), Arc::clone(&self.block));
            hub.publish(EventKind::BlockDelta { live, block, range });
        }
    }

    fn texts(subscription: &mut Subscription) -> Vec<(u64, String)> {
        let mut seen = Vec::new();
        while let Some(event) = subscription.try_next() {
            let text = match &event.kind {
                EventKind::BlockDelta { block, range, .. } => {
                    block.with(range.clone(), str::to_owned)
                }
                EventKind::TurnStarted => "turn".to_owned(),
                other => panic!("unexpected {other:?}"),
            };
            seen.push((event.seq, text));
        }
        seen
    }

    #[test]
    fn deltas_merge_while_they_wait_and_nothing_is_reordered() {
        let hub = hub();
        let writer = Writer::new();
        let mut slow = hub.subscribe();
        writer.delta(&hub, "a");
        writer.delta(&hub, "b");
        hub.publish(EventKind::TurnStarted);
        writer.delta(&hub, "c");
        let expected = [(2, "ab"), (3, "turn"), (4, "c")].map(|(n, t)| (n, t.to_owned()));
        assert_eq!(texts(&mut slow), expected);
    }

    #[test]
    fn a_reader_that_keeps_up_gets_every_delta_by_itself() {
        let hub = hub();
        let writer = Writer::new();
        let mut quick = hub.subscribe();
        for text in ["a", "b", "c"] {
            writer.delta(&hub, text);
            assert_eq!(texts(&mut quick).len(), 1);
        }
    }

    #[test]
    fn a_latecomer_gets_exactly_what_it_missed_even_inside_a_merged_delta() {
        let hub = hub();
        let writer = Writer::new();
        hub.publish(EventKind::TurnStarted);
        for text in ["a", "b", "c", "d"] {
            writer.delta(&hub, text);
        }
        for (since, expected) in [
            (0, "turn+abcd"),
            (1, "abcd"),
            (2, "bcd"),
            (3, "cd"),
            (5, ""),
        ] {
            let mut late = hub.subscribe_since(since).unwrap();
            let got: Vec<String> = texts(&mut late).into_iter().map(|(_, text)| text).collect();
            assert_eq!(got.join("+"), expected, "since {since}");
        }
    }

    #[test]
    fn asking_for_what_is_no_longer_kept_says_so() {
        let hub = hub();
        for _ in 0..REPLAY_EVENTS + 10 {
            hub.publish(EventKind::TurnStarted);
        }
        assert_eq!(hub.subscribe_since(3).err(), Some(Missed { oldest: 11 }));
        assert!(hub.subscribe_since(10).is_ok());
    }

    #[test]
    fn a_number_of_another_life_of_the_session_is_one_that_was_missed() {
        let hub = hub();
        assert!(hub.subscribe_since(0).is_ok());
        hub.publish(EventKind::TurnStarted);
        for since in [2, 500, u64::MAX] {
            assert_eq!(hub.subscribe_since(since).err(), Some(Missed { oldest: 1 }));
        }
    }

    #[test]
    fn reports_that_take_turns_do_not_fill_the_queue_of_a_sleeping_reader() {
        let hub = hub();
        let mut asleep = hub.subscribe();
        let call = |id: &str| {
            Arc::new(crate::message::ToolCall {
                id: id.to_owned(),
                name: "look".to_owned(),
                arguments: serde_json::Map::new(),
                thought_signature: None,
                intent: None,
            })
        };
        let calls = [call("1"), call("2")];
        for round in 0..10_000 {
            for call in &calls {
                let partial = Arc::new(crate::tool::ToolOutput::text(round.to_string()));
                let call = Arc::clone(call);
                hub.publish(EventKind::ToolProgress { call, partial });
            }
        }
        let mut seen = Vec::new();
        while let Some(event) = asleep.try_next() {
            if let EventKind::ToolProgress { call, partial } = event.kind {
                let text = crate::message::text_of(&partial.content, "");
                seen.push((event.seq, call.id.clone(), text));
            }
        }
        let last = "9999".to_owned();
        assert_eq!(
            seen,
            [
                (19_999, "1".to_owned(), last.clone()),
                (20_000, "2".to_owned(), last)
            ]
        );
    }

    #[test]
    fn the_output_of_commands_behind_a_sleeping_reader_is_bounded() {
        let hub = hub();
        let mut asleep = hub.subscribe();
        for round in 0..3_000 {
            for id in [1, 2] {
                let delta = Arc::from(format!("{round:0100}\n"));
                hub.publish(EventKind::BashOutput { id, delta });
            }
        }
        let mut waiting = 0;
        let mut last = [const { String::new() }; 3];
        while let Some(event) = asleep.try_next() {
            if let EventKind::BashOutput { id, delta } = event.kind {
                waiting += delta.len();
                last[usize::try_from(id).unwrap()] = delta.to_string();
            }
        }
        assert!(waiting < QUEUE_EVENTS * 101 + 3 * OUTPUT_BYTES, "{waiting}");
        assert!(last[1].ends_with("2999\n") && last[2].ends_with("2999\n"));
    }

    #[test]
    fn a_million_deltas_behind_a_sleeping_reader_are_one_event() {
        let hub = hub();
        let writer = Writer::new();
        let mut asleep = hub.subscribe();
        for _ in 0..1_000_000 {
            writer.delta(&hub, "x");
        }
        let seen = texts(&mut asleep);
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].1.len(), 1_000_000);
        assert!(hub.lock().logged_deltas <= REPLAY_DELTAS);
    }

    #[tokio::test]
    async fn the_turn_waits_for_a_full_queue_and_goes_on_when_it_is_read_or_dropped() {
        let hub = hub();
        let mut slow = hub.subscribe();
        for _ in 0..QUEUE_EVENTS {
            hub.publish(EventKind::TurnStarted);
        }
        let mut waits = Box::pin(hub.room());
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(slow.try_next().is_some());
        waits.await;
        hub.publish(EventKind::TurnStarted);
        let mut waits = Box::pin(hub.room());
        assert!(futures_util::poll!(&mut waits).is_pending());
        drop(slow);
        waits.await;
    }

    #[tokio::test]
    async fn after_the_end_the_waiting_events_are_still_read() {
        let hub = hub();
        let mut reader = hub.subscribe();
        hub.publish(EventKind::TurnStarted);
        hub.close();
        assert!(reader.next().await.is_some());
        assert!(reader.next().await.is_none());
    }
}
