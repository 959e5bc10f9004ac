//! The far side: what is asked of it, and what becomes of the answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use stentor_wire::jsonrpc::{Id, OwnRequests};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::outbox::{NotSent, Outbox, Outgoing};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("it did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Refused(String),
    #[error("its answer is invalid: {0}")]
    Unreadable(String),
    #[error("it could not be asked: {0}")]
    NotSent(#[from] NotSent),
    /// What carries the messages failed on the way, for this reason.
    #[error("{0}")]
    Undelivered(String),
    /// It wants a login that only a person can begin.
    #[error("{0}")]
    NeedsLogin(String),
    #[error("it ended before it answered")]
    Gone,
}

/// The requests that wait for an answer.
pub(crate) type PendingRequests = OwnRequests<oneshot::Sender<Result<String, RequestError>>>;

/// The notification by which the far side learns that nobody waits for an answer any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CancelNotice {
    pub method: &'static str,
    /// The member of its parameters that has the id.
    pub id_member: &'static str,
}

/// The far side of a connection.
pub(crate) struct Peer {
    pub outbox: Outbox,
    /// What we asked and wait for. Bounded by who asks: the hooks and calls of sessions.
    pending: Mutex<PendingRequests>,
    cancel: CancelNotice,
    /// Why it was given up; the first reason counts.
    given_up: Mutex<Option<String>>,
    closed: CancellationToken,
}

impl Peer {
    /// A far side, and what is to be sent to it. `pending` decides which ids requests have.
    pub fn new(pending: PendingRequests, cancel: CancelNotice) -> (Arc<Self>, Outgoing) {
        let (outbox, outgoing) = Outbox::new();
        let peer = Self {
            outbox,
            pending: Mutex::new(pending),
            cancel,
            given_up: Mutex::default(),
            closed: CancellationToken::new(),
        };
        (Arc::new(peer), outgoing)
    }

    /// Asks and waits for the answer, as JSON. Dropped while it waits, it notifies the far side that
    /// nobody wants the answer any more.
    pub async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<String, RequestError> {
        let (reply, answer) = oneshot::channel();
        let id = lock(&self.pending).issue(reply);
        let _unanswered = OpenRequest {
            peer: self,
            id: id.clone(),
        };
        let asked = async {
            self.outbox.request(&id, method, params).await?;
            answer.await.unwrap_or(Err(RequestError::Gone))
        };
        tokio::select! {
            biased;
            answered = asked => answered,
            () = self.closed.cancelled() => Err(RequestError::Gone),
        }
    }

    /// True when an answer with this id is waited for.
    pub fn waits_for(&self, id: &Id) -> bool {
        lock(&self.pending).contains(id)
    }

    /// True when nothing is waited for.
    pub fn is_idle(&self) -> bool {
        lock(&self.pending).is_empty()
    }

    /// Takes the answer to something we asked. One that came twice, too late or unasked is dropped.
    pub fn answered(&self, id: &Id, answer: Result<String, RequestError>) {
        match lock(&self.pending).take(id) {
            // Who asked may just have gone away.
            Some(reply) => drop(reply.send(answer)),
            None => tracing::debug!(%id, "an answer that nobody waits for"),
        }
    }

    /// Answers everything we wait for with an error: an answer was lost, and nobody knows whose.
    pub fn fail_pending(&self, error: &RequestError) {
        let lost: Vec<_> = lock(&self.pending).drain().collect();
        for (_, reply) in lost {
            drop(reply.send(Err(error.clone())));
        }
    }

    /// The far side is of no use any more and must be ended, for this reason.
    pub fn give_up(&self, why: impl Into<String>) {
        lock(&self.given_up).get_or_insert_with(|| why.into());
        self.closed.cancel();
    }

    /// Why it was given up.
    pub fn given_up(&self) -> Option<String> {
        lock(&self.given_up).clone()
    }

    /// Resolves when the connection is closed or was given up.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Nothing will be answered any more.
    pub fn close(&self) {
        self.closed.cancel();
        self.fail_pending(&RequestError::Gone);
    }
}

/// A request without an answer. When it is given up, the far side is notified.
struct OpenRequest<'a> {
    peer: &'a Peer,
    id: Id,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if lock(&self.peer.pending).take(&self.id).is_none() {
            return;
        }
        let CancelNotice { method, id_member } = self.peer.cancel;
        let mut params = serde_json::Map::new();
        params.insert(id_member.to_owned(), self.id.as_i64().into());
        // One that reads so slowly will not miss it.
        let _ = self.peer.outbox.cancel(&self.id, method, &params);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
