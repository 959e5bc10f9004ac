//! What a side has received and not yet handed on, and what it lacks.

use std::collections::VecDeque;

use stentor_serve::proxy::{DialectEnding, FromUpstream};
use tokio::time::Instant;

use super::limits::{MAX_CONTENT_BYTES, MESSAGE_COST, REPORT_BYTES, RETRY_EVERY, WINDOW_BYTES};
use super::message::TunnelMessage;

/// The items that have come from the other side.
#[derive(Default)]
pub(super) struct ReceivedItems {
    /// What nobody has taken yet, and what it costs: at most a window.
    waiting: VecDeque<FromUpstream>,
    waiting_cost: u64,
    /// The number of the last item that has come.
    last: u64,
    /// What was handed on and not reported.
    unreported_cost: u64,
    /// Something behind the last item is known to be lost.
    is_missing: bool,
    /// From which number on items were asked for last, and when.
    asked: Option<(u64, Instant)>,
}

/// More came than there was room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more came than there was room for")]
pub(super) struct TooMuch;

impl ReceivedItems {
    /// Takes what has come. What came before is not taken again, and what came too early is asked for
    /// again with what is missing before it.
    pub fn take(&mut self, number: u64, message: TunnelMessage) -> Result<(), TooMuch> {
        let expected = self.last + 1;
        let item = match item_of(message) {
            Some(item) if number == expected => item,
            // Other messages have the number of the last item before them.
            Some(_) | None => {
                self.is_missing |= number >= expected;
                return Ok(());
            }
        };
        self.last = number;
        self.is_missing = false;
        self.waiting_cost += item_cost(&item);
        self.waiting.push_back(item);
        // A message may be begun when there is credit for its first byte.
        let most = WINDOW_BYTES + 2 * MAX_CONTENT_BYTES as u64;
        match self.waiting_cost > most {
            true => Err(TooMuch),
            false => Ok(()),
        }
    }

    /// True when something was lost and has not come again.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// From which number on items are to be asked for again, if it is time.
    pub fn next_asked_for(&mut self, now: Instant) -> Option<u64> {
        let from = self.last + 1;
        let is_asked_for = |(asked, when): (u64, Instant)| {
            asked == from && now.saturating_duration_since(when) < RETRY_EVERY
        };
        if !self.is_missing || self.asked.is_some_and(is_asked_for) {
            return None;
        }
        self.asked = Some((from, now));
        Some(from)
    }

    /// True when something can be handed on.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next item to hand on.
    pub fn next(&mut self) -> Option<FromUpstream> {
        let item = self.waiting.pop_front()?;
        let cost = item_cost(&item);
        self.waiting_cost -= cost;
        self.unreported_cost += cost;
        Some(item)
    }

    /// True when so much was handed on that the other side should know.
    pub fn has_to_report(&self) -> bool {
        self.unreported_cost >= REPORT_BYTES
    }

    /// The report: the number of the last item that was handed on.
    pub fn report(&mut self) -> u64 {
        self.unreported_cost = 0;
        self.last - self.waiting.len() as u64
    }
}

/// What a message hands on.
fn item_of(message: TunnelMessage) -> Option<FromUpstream> {
    Some(match message {
        TunnelMessage::Data(bytes) => FromUpstream::Bytes(bytes),
        TunnelMessage::Session(id) => FromUpstream::Session(id),
        TunnelMessage::Moved(id) => FromUpstream::Moved(id),
        TunnelMessage::End(end) => FromUpstream::Ended(DialectEnding {
            status: end.status,
            refused: end.refused,
            goes_on_elsewhere: end.goes_on_elsewhere,
        }),
        TunnelMessage::Received(_) | TunnelMessage::Again(_) | TunnelMessage::Break => return None,
    })
}

/// What an item takes of the window, as [`TunnelMessage::cost`] has it.
fn item_cost(item: &FromUpstream) -> u64 {
    match item {
        FromUpstream::Bytes(bytes) => bytes.len() as u64 + MESSAGE_COST,
        FromUpstream::Session(_) | FromUpstream::Moved(_) | FromUpstream::Ended(_) => MESSAGE_COST,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::outgoing::UnreportedItems;
    use super::*;

    fn data(text: &str) -> TunnelMessage {
        TunnelMessage::Data(Bytes::copy_from_slice(text.as_bytes()))
    }

    fn taken(items: &mut ReceivedItems) -> String {
        let mut text = String::new();
        while let Some(FromUpstream::Bytes(bytes)) = items.next() {
            text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
        text
    }

    #[test]
    fn what_is_lost_is_asked_for_and_nothing_is_taken_twice_or_out_of_order() {
        let now = Instant::now();
        let mut items = ReceivedItems::default();
        items.take(1, data("a")).unwrap();
        assert_eq!(items.next_asked_for(now), None);
        for (number, text) in [(3, "c"), (4, "d"), (1, "a")] {
            items.take(number, data(text)).unwrap();
        }
        assert_eq!(items.next_asked_for(now), Some(2));
        // It is on its way, until that takes too long.
        items.take(5, data("e")).unwrap();
        assert_eq!(items.next_asked_for(now), None);
        assert_eq!(items.next_asked_for(now + RETRY_EVERY), Some(2));
        for (number, text) in [(2, "b"), (3, "c"), (2, "b"), (4, "d"), (5, "e")] {
            items.take(number, data(text)).unwrap();
        }
        assert!(!items.is_missing());
        assert_eq!(taken(&mut items), "abcde");
        assert_eq!(items.report(), 5);
        // The last ones can be lost as well: then the other side says how far it is.
        items.take(5, TunnelMessage::Received(0)).unwrap();
        assert_eq!(items.next_asked_for(now), None);
        items.take(7, TunnelMessage::Received(0)).unwrap();
        assert_eq!(items.next_asked_for(now), Some(6));
    }

    #[test]
    fn who_sends_more_than_there_is_room_for_is_not_heard() {
        let mut items = ReceivedItems::default();
        let data = TunnelMessage::Data(Bytes::from(vec![0; MAX_CONTENT_BYTES]));
        let broken = (1..).find_map(|number| items.take(number, data.clone()).err());
        assert_eq!(broken, Some(TooMuch));
        assert!(items.waiting_cost < 2 * WINDOW_BYTES);
    }

    #[test]
    fn reports_name_what_was_handed_on_and_come_now_and_then() {
        let mut items = ReceivedItems::default();
        let part = usize::try_from(REPORT_BYTES / 4).unwrap();
        for number in 1..=5 {
            items.take(number, data(&"x".repeat(part))).unwrap();
        }
        for _ in 0..3 {
            items.next().unwrap();
        }
        assert!(!items.has_to_report());
        items.next().unwrap();
        assert!(items.has_to_report());
        assert_eq!(items.report(), 4);
        assert!(!items.has_to_report());
    }

    /// Numbers that look random and are the same each time.
    fn random(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn whatever_is_lost_on_the_way_everything_arrives_once_and_in_order() {
        for seed in 0..200_u64 {
            let mut state = seed;
            let mut now = Instant::now();
            let (mut out, mut items) = (UnreportedItems::default(), ReceivedItems::default());
            let (mut got, mut expected) = (String::new(), String::new());
            for step in 0.. {
                // Nothing is lost in the end.
                let is_lost = |state: &mut u64| step < 100 && random(state).is_multiple_of(3);
                if step < 100 {
                    let text = format!("{step};");
                    expected.push_str(&text);
                    out.push(&data(&text));
                }
                while let Some(message) = out.next() {
                    if !is_lost(&mut state) {
                        let (number, message) = TunnelMessage::read(message).unwrap();
                        items.take(number, message).unwrap();
                    }
                }
                let beat = TunnelMessage::Received(0);
                items.take(out.published(), beat).unwrap();
                got.push_str(&taken(&mut items));
                now += RETRY_EVERY;
                if let Some(from) = items.next_asked_for(now)
                    && !is_lost(&mut state)
                {
                    out.again_from(from).unwrap();
                }
                if !is_lost(&mut state) {
                    out.reported_up_to(items.report()).unwrap();
                }
                if step > 100 && !items.is_missing() && !out.is_behind() {
                    break;
                }
            }
            assert_eq!(got, expected, "{seed}");
        }
    }
}
