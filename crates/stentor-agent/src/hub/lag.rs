//! Clients that do not read what a session tells them.
//!
//! The turn waits for a queue that is full ([`Hub::wait_for_capacity`]). That is right for a client that
//! has the session to itself; where others share it, one that takes nothing for a while is given up, so
//! that the others go on. It loses no event silently: whoever serves it ends its connection.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::{Hub, HubState, Queue, Subscription};

/// How long the others of a session wait for a client that reads nothing.
pub const STUCK_FOR: Duration = Duration::from_secs(15);

/// What is known of a queue.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuePace {
    #[default]
    Flows,
    /// It is full, others wait for it, and nothing was taken out of it since.
    StuckSince(Instant),
    /// Nothing more comes.
    GivenUp,
}

/// Tells whoever serves a client that the others of its session wait for it. Only subscriptions with such
/// an observer are given up.
pub struct Lag {
    pace: watch::Receiver<QueuePace>,
    queue: Weak<Queue>,
}

impl Subscription {
    /// Observes whether others wait for this subscription.
    pub fn lag(&self) -> Lag {
        Lag {
            pace: self.queue.pace.subscribe(),
            queue: Arc::downgrade(&self.queue),
        }
    }
}

impl Lag {
    /// Waits until others wait for the subscription. False when it is over.
    pub async fn is_waited_for(&mut self) -> bool {
        let waited = self.pace.wait_for(|pace| *pace != QueuePace::Flows).await;
        waited.is_ok()
    }

    /// Waits until the subscription is given up. False when it is over for another reason.
    pub async fn is_given_up(&mut self) -> bool {
        let given_up = self.pace.wait_for(|pace| *pace == QueuePace::GivenUp).await;
        given_up.is_ok()
    }

    /// The client reads, if slowly: it is waited for anew.
    pub fn reads(&self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.took();
        }
    }
}

/// Whom the turn waits for.
enum AwaitedClient {
    Nobody,
    /// As long as it takes.
    Somebody,
    /// Until then at most.
    Until(Instant),
}

impl Hub {
    /// Waits until every subscriber's queue has room for what cannot be merged. A client that keeps the
    /// others of its session waiting and reads nothing is given up.
    pub async fn wait_for_capacity(&self) {
        loop {
            let told = self.shared.room.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            let awaited = self.lock().awaited();
            match awaited {
                AwaitedClient::Nobody => return,
                AwaitedClient::Somebody => told.await,
                AwaitedClient::Until(deadline) => tokio::select! {
                    () = told => {}
                    () = sleep_until(deadline) => {}
                },
            }
        }
    }
}

impl HubState {
    /// Gives up who kept others waiting for too long; says whom to wait for.
    fn awaited(&mut self) -> AwaitedClient {
        let mut awaited = AwaitedClient::Nobody;
        if self.subscribers.iter().all(|queue| queue.has_capacity()) {
            return awaited;
        }
        let now = Instant::now();
        // Those who keep up. When nobody does, nobody waits for somebody else.
        let flows = self.subscribers.iter().filter(|queue| queue.has_capacity());
        let flowing: Vec<_> = flows.filter_map(|queue| queue.client).collect();
        self.subscribers.retain(|queue| {
            if queue.has_capacity() {
                return true;
            }
            let others_wait = queue.client.is_some_and(|client| {
                let mut others = flowing.iter();
                others.any(|other| *other != client)
            });
            if !others_wait || queue.pace.receiver_count() == 0 {
                if let AwaitedClient::Nobody = awaited {
                    awaited = AwaitedClient::Somebody;
                }
                return true;
            }
            let until = queue.stuck_since(now) + STUCK_FOR;
            if until <= now {
                queue.pace.send_replace(QueuePace::GivenUp);
                queue.close();
                return false;
            }
            awaited = match awaited {
                AwaitedClient::Until(earlier) => AwaitedClient::Until(earlier.min(until)),
                AwaitedClient::Nobody | AwaitedClient::Somebody => AwaitedClient::Until(until),
            };
            true
        });
        awaited
    }
}

impl Queue {
    /// Since when it is stuck: since now, if nothing else is known.
    fn stuck_since(&self, now: Instant) -> Instant {
        let mut since = now;
        self.pace.send_if_modified(|pace| match pace {
            QueuePace::StuckSince(known) => {
                since = *known;
                false
            }
            QueuePace::Flows | QueuePace::GivenUp => {
                *pace = QueuePace::StuckSince(now);
                true
            }
        });
        since
    }

    /// Something was taken out of it, or arrived where it leads.
    pub(super) fn took(&self) {
        self.pace.send_if_modified(|pace| {
            let was_stuck = matches!(pace, QueuePace::StuckSince(_));
            if was_stuck {
                *pace = QueuePace::Flows;
            }
            was_stuck
        });
    }
}
