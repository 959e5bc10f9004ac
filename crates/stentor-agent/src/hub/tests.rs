use std::sync::Arc;

use stentor_journal::clock::CountingClock;

use super::*;
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
        let live = LiveMessage::new(1, "e1", "a", "p", "m", 0);
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
            EventKind::BlockDelta { block, range, .. } => block.with(range.clone(), str::to_owned),
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

#[tokio::test]
async fn who_gathers_deltas_is_told_when_something_else_comes() {
    let hub = hub();
    let writer = Writer::new();
    let mut reader = hub.subscribe();
    let gatherer = hub.subscribe();
    let mut gathers = Box::pin(gatherer.beyond_a_delta());
    for text in ["a", "b"] {
        writer.delta(&hub, text);
        assert!(futures_util::poll!(&mut gathers).is_pending());
        assert!(reader.next().await.is_some());
    }
    hub.publish(EventKind::TurnStarted);
    gathers.await;
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
    assert_eq!(
        hub.subscribe_since(3).err(),
        Some(MissedEvents { oldest: 11 })
    );
    assert!(hub.subscribe_since(10).is_ok());
}

#[test]
fn a_number_of_another_life_of_the_session_is_one_that_was_missed() {
    let hub = hub();
    assert!(hub.subscribe_since(0).is_ok());
    hub.publish(EventKind::TurnStarted);
    for since in [2, 500, u64::MAX] {
        assert_eq!(
            hub.subscribe_since(since).err(),
            Some(MissedEvents { oldest: 1 })
        );
    }
}

#[test]
fn reports_that_take_turns_do_not_fill_the_queue_of_a_sleeping_reader() {
    let hub = hub();
    let mut asleep = hub.subscribe();
    let call = |id: &str| {
        Arc::new(stentor_journal::message::ToolCall {
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
            let text = stentor_journal::message::text_of(&partial.content, "");
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
fn what_is_kept_for_latecomers_is_bounded_in_bytes_too() {
    let hub = hub();
    hub.publish(EventKind::TurnStarted);
    let call = Arc::new(stentor_journal::message::ToolCall {
        id: "1".to_owned(),
        name: "look".to_owned(),
        arguments: serde_json::Map::new(),
        thought_signature: None,
        intent: None,
    });
    for round in 0..300 {
        let call = Arc::clone(&call);
        let partial = Arc::new(crate::tool::ToolOutput::text(round.to_string()));
        hub.publish(EventKind::ToolProgress { call, partial });
    }
    let mut late = hub.subscribe_since(0).unwrap();
    let numbers: Vec<u64> = std::iter::from_fn(|| late.try_next())
        .map(|event| event.seq)
        .collect();
    assert_eq!(numbers, [1, 301]);
    for id in 0..100 {
        let delta = Arc::from("x".repeat(10_000));
        hub.publish(EventKind::BashOutput { id, delta });
    }
    assert_eq!(hub.lock().log.len(), REPLAY_OUTPUT_BYTES / 10_000);
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
    let mut waits = Box::pin(hub.wait_for_capacity());
    assert!(futures_util::poll!(&mut waits).is_pending());
    assert!(slow.try_next().is_some());
    waits.await;
    hub.publish(EventKind::TurnStarted);
    let mut waits = Box::pin(hub.wait_for_capacity());
    assert!(futures_util::poll!(&mut waits).is_pending());
    drop(slow);
    waits.await;
}

fn fill(hub: &Hub) {
    for _ in 0..QUEUE_EVENTS {
        hub.publish(EventKind::TurnStarted);
    }
}

/// Two clients: one that reads, and one that is told when others wait for it.
fn reader_and_stuck(hub: &Hub) -> (Subscription, Subscription, Lag) {
    let [reads, stuck] = [(); 2].map(|()| hub.subscribe_as(Some(hub.new_client())));
    let lag = stuck.lag();
    (reads, stuck, lag)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_others_waiting_is_given_up_and_sees_what_waited() {
    let hub = hub();
    let (mut reads, mut stuck, mut lag) = reader_and_stuck(&hub);
    fill(&hub);
    while reads.try_next().is_some() {}
    hub.wait_for_capacity().await;
    assert!(lag.is_given_up().await);
    assert_eq!(hub.subscribers(), 1);
    hub.publish(EventKind::TurnStarted);
    assert!(reads.try_next().is_some());
    let mut seen = 0;
    while stuck.next().await.is_some() {
        seen += 1;
    }
    assert_eq!(seen, QUEUE_EVENTS);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_waited_for() {
    let hub = hub();
    let (mut reads, mut stuck, mut lag) = reader_and_stuck(&hub);
    fill(&hub);
    while reads.try_next().is_some() {}
    for round in 0..10 {
        let waits = tokio::time::timeout(STUCK_FOR * 2 / 3, hub.wait_for_capacity());
        assert!(waits.await.is_err(), "round {round}");
        assert!(lag.is_waited_for().await);
        // Bytes of it arrive, or it takes an event and another one comes.
        if round % 2 == 0 {
            lag.reads();
        } else {
            assert!(stuck.try_next().is_some());
            hub.publish(EventKind::TurnStarted);
            assert!(reads.try_next().is_some());
        }
    }
    assert_eq!(hub.subscribers(), 2);
}

#[tokio::test(start_paused = true)]
async fn whoever_keeps_nobody_else_waiting_is_waited_for() {
    let hour = std::time::Duration::from_secs(3600);
    // One has the session to itself, though something inside listens, too.
    let hub = hub();
    let alone = hub.subscribe_as(Some(hub.new_client()));
    let _lag = alone.lag();
    fill(&hub);
    let _inside = hub.subscribe();
    let waits = tokio::time::timeout(hour, hub.wait_for_capacity());
    assert!(waits.await.is_err());
    // Of several nobody reads.
    let (_first, _second, _lag) = reader_and_stuck(&hub);
    fill(&hub);
    let waits = tokio::time::timeout(hour, hub.wait_for_capacity());
    assert!(waits.await.is_err());
    // Nobody could tell it.
    let hub = self::hub();
    let (mut reads, _stuck, lag) = reader_and_stuck(&hub);
    drop(lag);
    fill(&hub);
    while reads.try_next().is_some() {}
    let waits = tokio::time::timeout(hour, hub.wait_for_capacity());
    assert!(waits.await.is_err());
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

/// The numbers of the events that a cursor is behind.
fn numbers(hub: &Hub, cursor: &Cursor) -> Result<Vec<u64>, CursorMissed> {
    let mut events = hub.subscribe_at(None, cursor)?;
    Ok(std::iter::from_fn(|| events.try_next().map(|event| event.seq)).collect())
}

#[test]
fn who_has_a_cursor_goes_on_behind_it() {
    let hub = hub();
    let begin = hub.subscribe().cursor();
    assert_eq!(begin, hub.cursor());
    for _ in 0..3 {
        hub.publish(EventKind::TurnStarted);
    }
    let at = |number| Cursor {
        number,
        ..begin.clone()
    };
    assert_eq!(numbers(&hub, &begin), Ok(vec![1, 2, 3]));
    assert_eq!(numbers(&hub, &at(2)), Ok(vec![3]));
    assert_eq!(numbers(&hub, &hub.cursor()), Ok(vec![]));
    assert_eq!(numbers(&hub, &at(4)), Err(CursorMissed::OtherEpoch));
    let foreign = Cursor {
        epoch: "another".into(),
        number: 1,
    };
    assert_eq!(numbers(&hub, &foreign), Err(CursorMissed::OtherEpoch));
    for _ in 0..REPLAY_EVENTS {
        hub.publish(EventKind::TurnStarted);
    }
    assert_eq!(numbers(&hub, &at(2)), Err(CursorMissed::TooOld));
    assert_eq!(numbers(&hub, &at(3)).unwrap().len(), REPLAY_EVENTS);
}

#[test]
fn who_has_half_of_a_complete_answer_cannot_go_on_and_who_has_all_of_its_text_can() {
    let hub = hub();
    let writer = Writer::new();
    let at = |number| Cursor {
        number,
        ..hub.cursor()
    };
    hub.publish(EventKind::TurnStarted);
    hub.publish(EventKind::AnswerStarted(writer.live.clone()));
    writer.delta(&hub, "a");
    writer.delta(&hub, "b");
    assert_eq!(numbers(&hub, &at(3)), Ok(vec![4]));
    let message: Arc<Message> = Arc::new(Message::user(Vec::new(), 0));
    hub.publish(EventKind::MessageEnded { number: 1, message });
    assert_eq!(numbers(&hub, &at(1)), Ok(vec![2, 5]));
    for inside in [2, 3] {
        let missed = numbers(&hub, &at(inside));
        assert_eq!(missed, Err(CursorMissed::TooOld), "{inside}");
    }
    assert_eq!(numbers(&hub, &at(4)), Ok(vec![5]));
}
