//! What a side has sent and the other has not handed on: it is held, to be sent again.

use std::collections::VecDeque;

use bytes::Bytes;

use super::limits::WINDOW_BYTES;
use super::message::TunnelMessage;

/// The items of one direction that the other side has not reported. Without credit there are no more
/// of them, so they take a window of memory at most, and one batch.
#[derive(Default)]
pub(super) struct UnreportedItems {
    /// As they are sent, each with what it takes of the window.
    items: VecDeque<(Bytes, u64)>,
    cost: u64,
    /// The number of the last item.
    last: u64,
    /// The number of the last one that was given to the connection.
    published: u64,
    has_ended: bool,
}

/// The other side wants something that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other side wants the item {0}, which was never sent")]
pub(super) struct NeverSent(pub u64);

impl UnreportedItems {
    /// True when one more item may be taken in.
    pub fn has_credit(&self) -> bool {
        self.cost < WINDOW_BYTES
    }

    /// Takes in an item that is to be sent.
    pub fn push(&mut self, item: &TunnelMessage) {
        self.last += 1;
        self.has_ended = matches!(item, TunnelMessage::End(_));
        let cost = item.cost();
        self.cost += cost;
        self.items.push_back((item.write(self.last), cost));
    }

    /// The next item that is to be sent.
    pub fn next(&mut self) -> Option<Bytes> {
        let held = usize::try_from(self.published.checked_sub(self.reported())?).ok()?;
        let (item, _) = self.items.get(held)?;
        self.published += 1;
        Some(item.clone())
    }

    /// True when there are items that were not sent.
    pub fn is_behind(&self) -> bool {
        self.published < self.last
    }

    /// The number of the last item that was sent.
    pub fn published(&self) -> u64 {
        self.published
    }

    /// The other side has handed on the items up to this number. What it says may come late, by
    /// another way: then it says nothing new.
    pub fn reported_up_to(&mut self, number: u64) -> Result<(), NeverSent> {
        if number > self.last {
            return Err(NeverSent(number));
        }
        while self.reported() < number
            && let Some((_, cost)) = self.items.pop_front()
        {
            self.cost -= cost;
        }
        self.published = self.published.max(number);
        Ok(())
    }

    /// The other side lacks the items from this number on, unless it has handed them on since.
    pub fn again_from(&mut self, number: u64) -> Result<(), NeverSent> {
        let has = number.checked_sub(1).ok_or(NeverSent(number))?;
        if has > self.last {
            return Err(NeverSent(number));
        }
        self.published = has.max(self.reported());
        Ok(())
    }

    /// True when nothing follows.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// True when nothing follows and the other side has handed on everything.
    pub fn is_over(&self) -> bool {
        self.has_ended && self.items.is_empty()
    }

    /// The number of the last item that is no longer held.
    fn reported(&self) -> u64 {
        self.last - self.items.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::MAX_CONTENT_BYTES;
    use super::super::message::TunnelEnd;
    use super::*;

    fn data(content: &[u8]) -> TunnelMessage {
        TunnelMessage::Data(Bytes::copy_from_slice(content))
    }

    /// The numbers of what is sent.
    fn sent(items: &mut UnreportedItems) -> Vec<u64> {
        let sent = std::iter::from_fn(|| items.next());
        sent.map(|item| TunnelMessage::read(item).unwrap().0)
            .collect()
    }

    #[test]
    fn what_the_other_side_lacks_is_sent_again_and_nothing_else() {
        let mut items = UnreportedItems::default();
        for _ in 0..5 {
            items.push(&data(b"a"));
        }
        assert_eq!(sent(&mut items), [1, 2, 3, 4, 5]);
        items.reported_up_to(2).unwrap();
        // An older report says nothing new.
        items.reported_up_to(1).unwrap();
        items.again_from(4).unwrap();
        assert!(items.is_behind());
        items.push(&data(b"a"));
        assert_eq!(sent(&mut items), [4, 5, 6]);
        items.again_from(3).unwrap();
        assert_eq!(sent(&mut items), [3, 4, 5, 6]);
        // It lacks nothing.
        items.again_from(7).unwrap();
        assert_eq!(sent(&mut items), [0; 0]);
        for wanted in [0, 8] {
            assert_eq!(items.again_from(wanted), Err(NeverSent(wanted)));
        }
        // What it asked for long ago it has handed on, and it may have what was to be sent again.
        items.again_from(1).unwrap();
        items.reported_up_to(4).unwrap();
        assert_eq!(sent(&mut items), [5, 6]);
        assert_eq!(items.reported_up_to(7), Err(NeverSent(7)));
        items.push(&TunnelMessage::End(TunnelEnd::default()));
        sent(&mut items);
        assert!(items.has_ended() && !items.is_over());
        items.reported_up_to(7).unwrap();
        assert!(items.is_over());
        assert_eq!(items.cost, 0);
    }

    #[test]
    fn no_more_than_a_window_is_held() {
        let mut items = UnreportedItems::default();
        let full = data(&vec![0; MAX_CONTENT_BYTES]);
        let mut last = 0;
        while items.has_credit() {
            items.push(&full);
            last += 1;
        }
        assert!(items.cost < WINDOW_BYTES + 2 * MAX_CONTENT_BYTES as u64);
        sent(&mut items);
        items.reported_up_to(1).unwrap();
        assert!(items.has_credit());
        items.reported_up_to(last).unwrap();
        assert!(items.items.is_empty());
    }
}
