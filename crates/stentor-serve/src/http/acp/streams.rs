//! The event streams of a connection, and what waits on them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::limits;
use super::message::MessageEnvelope;

/// Which stream a message goes to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Route {
    Connection,
    Session(String),
}

/// The streams of a connection.
pub(super) struct Streams {
    state: Mutex<StreamsState>,
    /// Something waits, was taken, or all is over.
    changed: Notify,
}

#[derive(Default)]
struct StreamsState {
    streams: HashMap<Route, WaitingStream>,
    waiting_bytes: usize,
    /// By the id of a request of the client: where its answer goes.
    asked_by_client: HashMap<String, Route>,
    /// By the id of a request of the agent: on which stream it went out.
    asked_by_agent: HashMap<String, Route>,
    is_over: bool,
}

#[derive(Default)]
struct WaitingStream {
    messages: VecDeque<String>,
    is_received: bool,
}

/// Why a stream is not given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamRefusal {
    /// It has a receiver.
    Receiver,
    TooMany,
    /// The connection is over.
    Ended,
}

/// The receiver of a stream. Dropping it lets another one have it.
pub(super) struct Receiver {
    streams: Arc<Streams>,
    route: Route,
}

impl Streams {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Puts a message of the agent on its stream.
    pub fn push(&self, message: String) {
        let mut state = self.lock();
        let route = state.route(&message);
        state.waiting_bytes += message.len();
        let waiting = state.streams.entry(route).or_default();
        waiting.messages.push_back(message);
        self.changed.notify_waiters();
    }

    /// Notes where the answer to a request goes. False when too many are open.
    pub fn expect_answer(&self, id: &str, route: Route) -> bool {
        let mut state = self.lock();
        let fits = state.asked_by_client.len() < limits::MAX_PENDING;
        if fits {
            state.asked_by_client.insert(id.to_owned(), route);
        }
        fits
    }

    /// The stream on which the agent asked what the client answers now.
    pub fn asked_on(&self, id: &str) -> Option<Route> {
        self.lock().asked_by_agent.get(id).cloned()
    }

    pub fn answered(&self, id: &str) {
        self.lock().asked_by_agent.remove(id);
    }

    /// Takes a stream.
    pub fn receive(self: &Arc<Self>, route: Route) -> Result<Receiver, StreamRefusal> {
        let mut state = self.lock();
        if state.is_over {
            return Err(StreamRefusal::Ended);
        }
        if state.streams.len() >= limits::MAX_STREAMS && !state.streams.contains_key(&route) {
            return Err(StreamRefusal::TooMany);
        }
        let waiting = state.streams.entry(route.clone()).or_default();
        if waiting.is_received {
            return Err(StreamRefusal::Receiver);
        }
        waiting.is_received = true;
        let streams = Arc::clone(self);
        Ok(Receiver { streams, route })
    }

    /// Whether anybody reads.
    pub fn is_read(&self) -> bool {
        let state = self.lock();
        state.streams.values().any(|waiting| waiting.is_received)
    }

    /// Waits until no more waits than may.
    pub async fn room(&self) {
        self.until(|state| state.waiting_bytes <= limits::WAITING_BYTES || state.is_over)
            .await;
    }

    /// Nothing more comes. What waits can still be received.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_waiters();
    }

    async fn until(&self, holds: impl Fn(&StreamsState) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamsState {
    fn route(&mut self, message: &str) -> Route {
        let Some(envelope) = MessageEnvelope::read(message) else {
            return Route::Connection;
        };
        let id = envelope.id();
        if envelope.method.is_none() {
            let route = id.and_then(|id| self.asked_by_client.remove(id));
            if let Some(session) = envelope.session_of_result() {
                // The client opens the stream of a session it has learnt of.
                let route = Route::Session(session.into_owned());
                self.streams.entry(route).or_default();
            }
            return route.unwrap_or(Route::Connection);
        }
        let route = match envelope.session() {
            Some(session) => Route::Session(session.into_owned()),
            None => Route::Connection,
        };
        if let Some(id) = id
            && self.asked_by_agent.len() < limits::MAX_PENDING
        {
            self.asked_by_agent.insert(id.to_owned(), route.clone());
        }
        route
    }

    fn take(&mut self, route: &Route) -> Option<String> {
        let message = self.streams.get_mut(route)?.messages.pop_front()?;
        self.waiting_bytes -= message.len();
        Some(message)
    }
}

impl Receiver {
    /// The next message; `None` when none will come.
    pub async fn next(&self) -> Option<String> {
        let streams = &self.streams;
        loop {
            let changed = streams.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = streams.lock();
                if let Some(message) = state.take(&self.route) {
                    streams.changed.notify_waiters();
                    return Some(message);
                }
                if state.is_over {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.streams.lock();
        let is_empty = match state.streams.get_mut(&self.route) {
            Some(waiting) => {
                waiting.is_received = false;
                waiting.messages.is_empty()
            }
            None => false,
        };
        if is_empty {
            state.streams.remove(&self.route);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_go_to_the_stream_they_belong_to() {
        let streams = Streams::new();
        let session = || Route::Session("s".to_owned());
        assert!(streams.expect_answer("1", Route::Connection));
        assert!(streams.expect_answer("2", session()));
        for message in [
            r#"{"id":1,"result":{"sessionId":"s"}}"#,
            r#"{"method":"session/update","params":{"sessionId":"s"}}"#,
            r#"{"id":2,"result":{}}"#,
            r#"{"id":"q","method":"session/request_permission","params":{"sessionId":"s"}}"#,
            r#"{"method":"other"}"#,
        ] {
            streams.push(message.to_owned());
        }
        assert_eq!(streams.asked_on("\"q\""), Some(session()));
        streams.end();
        for (route, count) in [(Route::Connection, 2), (session(), 3)] {
            // Nobody could have it any more, but who had it gets the rest.
            streams.lock().is_over = false;
            let receiver = streams.receive(route.clone()).unwrap();
            assert_eq!(streams.receive(route).err(), Some(StreamRefusal::Receiver));
            streams.lock().is_over = true;
            let mut got = 0;
            while receiver.next().await.is_some() {
                got += 1;
            }
            assert_eq!(got, count);
        }
        assert_eq!(streams.lock().waiting_bytes, 0);
    }
}
