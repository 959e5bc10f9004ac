//! One side of a tunnel: sends what it is given, in the order and with the numbers in which it comes,
//! and hands on what arrives.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::Subscriber;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use stentor_serve::proxy::{DialectEnding, FromUpstream};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::ends::{ReadyItem, Sink, TunnelSource};
use super::limits::{
    BEAT_EVERY, MAX_CONTENT_BYTES, MESSAGE_COST, REPORT_BYTES, SILENCE, WINDOW_BYTES,
};
use super::message::{BadTunnelMessage, HEADER_BYTES, TunnelEnd, TunnelMessage};
use crate::fleet::Fleet;
use crate::nodes::NodeId;

/// One side of a tunnel.
pub(super) struct TunnelCarrier {
    pub fleet: Fleet,
    /// The node of the other side.
    pub other: NodeId,
    /// Where the other side listens.
    pub subject: String,
    pub subscriber: Subscriber,
    pub source: TunnelSource,
    pub sink: Sink,
}

/// Why a tunnel broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum TunnelBroken {
    #[error("the message {got} came instead of {expected}")]
    Lost { expected: u64, got: u64 },
    #[error(transparent)]
    Bad(#[from] BadTunnelMessage),
    #[error("more came than there was room for")]
    TooMuch,
    #[error("nothing was heard for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the node {0} is gone")]
    NodeGone(String),
    #[error("the other side has given up")]
    GivenUp,
    #[error("this side of the tunnel has been closed")]
    NobodyHere,
    #[error("the connection to the fleet is lost: {0}")]
    Publish(#[from] async_nats::PublishError),
}

/// How far a tunnel is.
#[derive(Default)]
struct TunnelProgress {
    /// The numbers of the last message in each direction.
    sent: u64,
    received: u64,
    /// What was sent, and how much of it the other side has handed on.
    sent_cost: u64,
    handed_on_there: u64,
    /// What was handed on here, and how much of that was reported.
    handed_on: u64,
    reported: u64,
    /// What has come and nobody has taken yet, and what it costs: at most a window.
    waiting: VecDeque<FromUpstream>,
    waiting_cost: u64,
}

impl TunnelCarrier {
    /// Carries until the dialect has ended or the tunnel breaks. Without an end before, whoever takes
    /// what it hands on sees that it broke.
    pub async fn run(mut self) {
        match self.carry().await {
            Ok(()) | Err(TunnelBroken::GivenUp) => {}
            Err(why) => {
                tracing::debug!(%why, subject = self.subject, "a tunnel broke");
                let given_up = TunnelMessage::Break.write(0);
                let client = self.fleet.client();
                client.publish(self.subject.clone(), given_up).await.ok();
            }
        }
        self.subscriber.unsubscribe().await.ok();
    }

    async fn carry(&mut self) -> Result<(), TunnelBroken> {
        let mut progress = TunnelProgress::default();
        let mut beats = interval(BEAT_EVERY);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let mut source_ended = false;
        // A node that has just come may not be known yet.
        let mut was_there = false;
        loop {
            let may_send = !source_ended && progress.has_credit();
            tokio::select! {
                item = self.source.next(), if may_send => {
                    let item = item.ok_or(TunnelBroken::NobodyHere)?;
                    source_ended = self.send_all(item, &mut progress).await?;
                    if source_ended && self.source.is_dialect() {
                        return Ok(());
                    }
                }
                message = self.subscriber.next() => {
                    heard = Instant::now();
                    progress.take(message.ok_or(TunnelBroken::GivenUp)?.payload)?;
                    while let Some(Some(message)) = self.subscriber.next().now_or_never() {
                        progress.take(message.payload)?;
                    }
                }
                () = self.sink.has_room(), if !progress.waiting.is_empty() => {
                    if self.hand_on(&mut progress).await? {
                        return Ok(());
                    }
                }
                () = self.sink.closed() => return Err(TunnelBroken::NobodyHere),
                _ = beats.tick() => {
                    if heard.elapsed() > SILENCE {
                        return Err(TunnelBroken::Silent(SILENCE));
                    }
                    let is_there = self.fleet.has_node(&self.other);
                    if was_there && !is_there {
                        return Err(TunnelBroken::NodeGone(self.other.name.clone()));
                    }
                    was_there = is_there;
                    self.send(TunnelMessage::Beat, &mut progress).await?;
                }
            }
        }
    }

    /// Sends an item and the bytes that are ready behind it. True when it was the last one.
    async fn send_all(
        &mut self,
        item: FromUpstream,
        progress: &mut TunnelProgress,
    ) -> Result<bool, TunnelBroken> {
        let mut next = Some(item);
        while let Some(item) = next.take() {
            let message = match item {
                FromUpstream::Bytes(bytes) => {
                    let (bytes, other) = self.batch(bytes);
                    next = other;
                    self.send_bytes(bytes, progress).await?;
                    continue;
                }
                FromUpstream::Session(id) => TunnelMessage::Session(id),
                FromUpstream::Moved(id) => TunnelMessage::Moved(id),
                FromUpstream::Ended(ending) => {
                    let end = TunnelEnd {
                        status: ending.status,
                        refused: ending.refused,
                        goes_on_elsewhere: ending.goes_on_elsewhere,
                    };
                    self.send(TunnelMessage::End(end), progress).await?;
                    return Ok(true);
                }
            };
            self.send(message, progress).await?;
        }
        Ok(false)
    }

    /// Content of one message at most: the servers may take less than this program would send.
    fn max_content(&self) -> usize {
        let most = self.fleet.client().server_info().max_payload;
        most.saturating_sub(HEADER_BYTES)
            .clamp(1, MAX_CONTENT_BYTES)
    }

    /// The bytes with those that are ready behind them, up to a message, and what came instead.
    fn batch(&mut self, first: Bytes) -> (Bytes, Option<FromUpstream>) {
        let mut batch: Option<BytesMut> = None;
        let mut len = first.len();
        let mut other = None;
        while len < self.max_content() {
            match self.source.ready_bytes() {
                ReadyItem::Bytes(bytes) => {
                    len += bytes.len();
                    let batch = batch.get_or_insert_with(|| BytesMut::from(&*first));
                    batch.extend_from_slice(&bytes);
                }
                ReadyItem::Other(item) => {
                    other = Some(item);
                    break;
                }
                ReadyItem::Nothing => break,
            }
        }
        (batch.map_or(first, BytesMut::freeze), other)
    }

    async fn send_bytes(
        &mut self,
        mut bytes: Bytes,
        progress: &mut TunnelProgress,
    ) -> Result<(), TunnelBroken> {
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(self.max_content()));
            self.send(TunnelMessage::Data(part), progress).await?;
        }
        Ok(())
    }

    async fn send(
        &self,
        message: TunnelMessage,
        progress: &mut TunnelProgress,
    ) -> Result<(), TunnelBroken> {
        progress.sent += 1;
        progress.sent_cost += cost(&message);
        let payload = message.write(progress.sent);
        let client = self.fleet.client();
        Ok(client.publish(self.subject.clone(), payload).await?)
    }

    /// Hands on what came first. True when it was the last of the tunnel.
    async fn hand_on(&mut self, progress: &mut TunnelProgress) -> Result<bool, TunnelBroken> {
        let Some(item) = progress.waiting.pop_front() else {
            return Ok(false);
        };
        let handed_on = item_cost(&item);
        progress.waiting_cost -= handed_on;
        progress.handed_on += handed_on;
        let is_last = matches!(item, FromUpstream::Ended(_)) && !self.source.is_dialect();
        self.sink.put(item);
        if progress.handed_on - progress.reported >= REPORT_BYTES {
            progress.reported = progress.handed_on;
            let report = TunnelMessage::Received(progress.handed_on);
            self.send(report, progress).await?;
        }
        Ok(is_last)
    }
}

impl TunnelProgress {
    fn has_credit(&self) -> bool {
        self.sent_cost - self.handed_on_there < WINDOW_BYTES
    }

    /// Takes a message that has come.
    fn take(&mut self, payload: Bytes) -> Result<(), TunnelBroken> {
        let (number, message) = TunnelMessage::read(payload)?;
        if message == TunnelMessage::Break {
            return Err(TunnelBroken::GivenUp);
        }
        let expected = self.received + 1;
        if number != expected {
            let got = number;
            return Err(TunnelBroken::Lost { expected, got });
        }
        self.received = number;
        let item = match message {
            TunnelMessage::Data(bytes) => FromUpstream::Bytes(bytes),
            TunnelMessage::Session(id) => FromUpstream::Session(id),
            TunnelMessage::Moved(id) => FromUpstream::Moved(id),
            TunnelMessage::End(end) => FromUpstream::Ended(DialectEnding {
                status: end.status,
                refused: end.refused,
                goes_on_elsewhere: end.goes_on_elsewhere,
            }),
            TunnelMessage::Received(bytes) => {
                self.handed_on_there = bytes.min(self.sent_cost);
                return Ok(());
            }
            TunnelMessage::Beat | TunnelMessage::Break => return Ok(()),
        };
        self.waiting_cost += item_cost(&item);
        self.waiting.push_back(item);
        // A message may be begun when there is credit for its first byte.
        let most = WINDOW_BYTES + 2 * MAX_CONTENT_BYTES as u64;
        match self.waiting_cost > most {
            true => Err(TunnelBroken::TooMuch),
            false => Ok(()),
        }
    }
}

/// What a message takes of the window: what is not handed on takes nothing.
fn cost(message: &TunnelMessage) -> u64 {
    match message {
        TunnelMessage::Data(bytes) => bytes.len() as u64 + MESSAGE_COST,
        TunnelMessage::Session(_) | TunnelMessage::Moved(_) | TunnelMessage::End(_) => MESSAGE_COST,
        TunnelMessage::Received(_) | TunnelMessage::Beat | TunnelMessage::Break => 0,
    }
}

/// The same for what a message has become.
fn item_cost(item: &FromUpstream) -> u64 {
    match item {
        FromUpstream::Bytes(bytes) => bytes.len() as u64 + MESSAGE_COST,
        FromUpstream::Session(_) | FromUpstream::Moved(_) | FromUpstream::Ended(_) => MESSAGE_COST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_missing_or_comes_twice_breaks_the_tunnel() {
        for second in [1, 3] {
            let mut progress = TunnelProgress::default();
            let data = TunnelMessage::Data(Bytes::from_static(b"a"));
            progress.take(data.write(1)).unwrap();
            let broken = progress.take(TunnelMessage::Beat.write(second));
            assert!(
                matches!(broken, Err(TunnelBroken::Lost { expected: 2, .. })),
                "{broken:?}"
            );
        }
    }

    #[test]
    fn a_side_sends_no_more_than_a_window_and_goes_on_when_that_is_handed_on() {
        let mut progress = TunnelProgress {
            sent_cost: WINDOW_BYTES,
            ..TunnelProgress::default()
        };
        assert!(!progress.has_credit());
        progress
            .take(TunnelMessage::Received(REPORT_BYTES).write(1))
            .unwrap();
        assert!(progress.has_credit());
        // No report makes more room than was taken.
        progress
            .take(TunnelMessage::Received(u64::MAX).write(2))
            .unwrap();
        assert!(progress.has_credit());
    }

    #[test]
    fn who_sends_more_than_there_is_room_for_is_not_heard() {
        let mut progress = TunnelProgress::default();
        let data = TunnelMessage::Data(Bytes::from(vec![0; MAX_CONTENT_BYTES]));
        let broken = (1..).find_map(|number| progress.take(data.write(number)).err());
        assert!(matches!(broken, Some(TunnelBroken::TooMuch)));
        assert!(progress.waiting_cost < 2 * WINDOW_BYTES);
    }
}
