//! One side of a tunnel: sends what it is given, in the order in which it comes, and hands on what
//! arrives; what was lost on the way is asked for, and sent, again.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Subject, Subscriber};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use stentor_serve::proxy::FromUpstream;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::asking;
use super::ends::{ReadyItem, Sink, TunnelSource};
use super::incoming::{ReceivedItems, TooMuch};
use super::limits::{BEAT_EVERY, MAX_CONTENT_BYTES, RETRY_EVERY, SILENCE, UNSEEN_WAIT};
use super::message::{BadTunnelMessage, HEADER_BYTES, TunnelEnd, TunnelMessage};
use super::outgoing::{NeverSent, UnreportedItems};
use super::table::KnownTunnel;
use crate::fleet::Fleet;
use crate::nodes::NodeId;

/// One side of a tunnel.
pub(super) struct TunnelCarrier {
    fleet: Fleet,
    tunnel: KnownTunnel,
    other: NodeId,
    subject: Subject,
    subscriber: Subscriber,
    source: TunnelSource,
    sink: Sink,
    outgoing: UnreportedItems,
    incoming: ReceivedItems,
    /// When the other side was heard last, or its node was asked.
    heard: Instant,
    /// The other node was known. One that has just come may not be.
    was_there: bool,
    /// When it was known last that it is there.
    seen: Instant,
}

/// Where a side of a tunnel is.
pub(super) struct TunnelRoute {
    /// The node of the other side.
    pub other: NodeId,
    /// Where that listens.
    pub subject: String,
    pub subscriber: Subscriber,
}

/// Why a tunnel broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum TunnelBroken {
    #[error(transparent)]
    NeverSent(#[from] NeverSent),
    #[error(transparent)]
    Bad(#[from] BadTunnelMessage),
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    #[error("the node {0} is gone")]
    NodeGone(String),
    #[error("nothing is known of the node {0}")]
    Unseen(String),
    #[error("the node {0} does not know the tunnel")]
    Forgotten(String),
    #[error("the other side has given up")]
    GivenUp,
    #[error("this side of the tunnel has been closed")]
    NobodyHere,
    #[error("the connection to the fleet is lost: {0}")]
    Publish(#[from] async_nats::PublishError),
}

impl TunnelCarrier {
    /// A side that carries between these.
    pub fn new(
        fleet: Fleet,
        tunnel: KnownTunnel,
        route: TunnelRoute,
        (source, sink): (TunnelSource, Sink),
    ) -> Self {
        Self {
            fleet,
            tunnel,
            other: route.other,
            subject: Subject::from(route.subject),
            subscriber: route.subscriber,
            source,
            sink,
            outgoing: UnreportedItems::default(),
            incoming: ReceivedItems::default(),
            heard: Instant::now(),
            was_there: false,
            seen: Instant::now(),
        }
    }

    /// Carries until the dialect has ended or the tunnel breaks. Without an end before, whoever takes
    /// what it hands on sees that it broke.
    pub async fn run(mut self) {
        match self.carry().await {
            Ok(()) | Err(TunnelBroken::GivenUp) => {}
            Err(why) => {
                tracing::debug!(%why, subject = %self.subject, "a tunnel broke");
                let given_up = TunnelMessage::Break.write(0);
                let client = self.fleet.client();
                client.publish(self.subject.clone(), given_up).await.ok();
            }
        }
        self.subscriber.unsubscribe().await.ok();
    }

    async fn carry(&mut self) -> Result<(), TunnelBroken> {
        let mut beats = ticks(BEAT_EVERY);
        let mut retries = ticks(RETRY_EVERY);
        loop {
            let may_send = !self.outgoing.has_ended() && self.outgoing.has_credit();
            let is_behind = self.outgoing.is_behind() || self.incoming.is_missing();
            tokio::select! {
                item = self.source.next(), if may_send => {
                    self.hold(item.ok_or(TunnelBroken::NobodyHere)?);
                    self.publish().await?;
                }
                message = self.subscriber.next() => {
                    self.heard = Instant::now();
                    self.take(message.ok_or(TunnelBroken::GivenUp)?.payload)?;
                    while let Some(Some(message)) = self.subscriber.next().now_or_never() {
                        self.take(message.payload)?;
                    }
                    // The client must have the end of its dialect.
                    if self.source.is_dialect() && self.outgoing.is_over() {
                        return Ok(());
                    }
                    self.catch_up().await?;
                }
                () = self.sink.has_room(), if self.incoming.has_waiting() => {
                    if self.hand_on().await? {
                        return Ok(());
                    }
                }
                () = self.sink.closed() => return Err(TunnelBroken::NobodyHere),
                _ = retries.tick(), if is_behind => self.catch_up().await?,
                _ = beats.tick() => {
                    self.check_other().await?;
                    self.report().await?;
                }
            }
        }
    }

    /// Takes in an item and the bytes that are ready behind it.
    fn hold(&mut self, item: FromUpstream) {
        let mut next = Some(item);
        while let Some(item) = next.take() {
            let message = match item {
                FromUpstream::Bytes(bytes) => {
                    let (mut bytes, other) = self.batch(bytes);
                    next = other;
                    let most = self.max_content();
                    while !bytes.is_empty() {
                        let part = bytes.split_to(bytes.len().min(most));
                        self.outgoing.push(&TunnelMessage::Data(part));
                    }
                    continue;
                }
                FromUpstream::Session(id) => TunnelMessage::Session(id),
                FromUpstream::Moved(id) => TunnelMessage::Moved(id),
                FromUpstream::Ended(ending) => TunnelMessage::End(TunnelEnd {
                    status: ending.status,
                    refused: ending.refused,
                    goes_on_elsewhere: ending.goes_on_elsewhere,
                }),
            };
            self.outgoing.push(&message);
        }
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
        let most = self.max_content();
        while len < most {
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

    /// Takes a message that has come.
    fn take(&mut self, payload: Bytes) -> Result<(), TunnelBroken> {
        let (number, message) = TunnelMessage::read(payload)?;
        match message {
            TunnelMessage::Break => return Err(TunnelBroken::GivenUp),
            TunnelMessage::Received(handed_on) => self.outgoing.reported_up_to(handed_on)?,
            TunnelMessage::Again(from) => self.outgoing.again_from(from)?,
            TunnelMessage::Data(_)
            | TunnelMessage::Session(_)
            | TunnelMessage::Moved(_)
            | TunnelMessage::End(_) => {}
        }
        Ok(self.incoming.take(number, message)?)
    }

    /// Sends what was not sent, and asks for what did not come.
    async fn catch_up(&mut self) -> Result<(), TunnelBroken> {
        if self.is_connected()
            && let Some(from) = self.incoming.next_asked_for(Instant::now())
        {
            self.send(TunnelMessage::Again(from)).await?;
        }
        self.publish().await
    }

    /// Sends the items that were not sent. Without a connection they wait: nobody else is held up by
    /// what would wait in front of it.
    async fn publish(&mut self) -> Result<(), TunnelBroken> {
        while self.is_connected()
            && let Some(item) = self.outgoing.next()
        {
            let client = self.fleet.client();
            client.publish(self.subject.clone(), item).await?;
        }
        Ok(())
    }

    /// Hands on what came first. True when it was the last of the tunnel.
    async fn hand_on(&mut self) -> Result<bool, TunnelBroken> {
        let Some(item) = self.incoming.next() else {
            return Ok(false);
        };
        let is_last = matches!(item, FromUpstream::Ended(_)) && !self.source.is_dialect();
        self.sink.put(item);
        if is_last || self.incoming.has_to_report() {
            self.report().await?;
        }
        Ok(is_last)
    }

    /// Says that it is there and how far it is.
    async fn report(&mut self) -> Result<(), TunnelBroken> {
        if self.is_connected() {
            let handed_on = self.incoming.report();
            self.send(TunnelMessage::Received(handed_on)).await?;
        }
        Ok(())
    }

    /// Sends what is no item.
    async fn send(&self, message: TunnelMessage) -> Result<(), TunnelBroken> {
        let payload = message.write(self.outgoing.published());
        let client = self.fleet.client();
        Ok(client.publish(self.subject.clone(), payload).await?)
    }

    fn is_connected(&self) -> bool {
        self.fleet.client().connection_state() == State::Connected
    }

    /// Looks whether the other side may still be there. Without the servers nothing is known of it: then it
    /// is waited for.
    async fn check_other(&mut self) -> Result<(), TunnelBroken> {
        let mut is_there = self.fleet.has_node(&self.other);
        // What this node knows may be old.
        if self.was_there && !is_there && self.is_connected() {
            match asking::is_there(&self.fleet, &self.other).await {
                Some(false) => return Err(TunnelBroken::NodeGone(self.other.name.clone())),
                Some(true) => is_there = true,
                None => {}
            }
        }
        if is_there {
            (self.was_there, self.seen) = (true, Instant::now());
        }
        if self.was_there && self.seen.elapsed() > UNSEEN_WAIT {
            return Err(TunnelBroken::Unseen(self.other.name.clone()));
        }
        if !self.is_connected() {
            return Ok(());
        }
        if self.heard.elapsed() > SILENCE {
            if asking::has_forgotten(&self.fleet, &self.other, &self.tunnel.name).await {
                return Err(TunnelBroken::Forgotten(self.other.name.clone()));
            }
            self.heard = Instant::now();
        }
        Ok(())
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
