//! Requests of ours to the client, and who waits for their answers (section 1.7).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use stentor_agent::session::WeakSession;
use stentor_wire::jsonrpc::{ErrorObject, Id, OwnRequests, RawJson, encode};
use tokio::sync::{oneshot, watch};

use super::frames;
use super::limits;
use crate::pump::Answers;

/// The requests that wait for the client. Clones are the same table.
#[derive(Clone, Default)]
pub(super) struct Outbound {
    pending: Arc<Mutex<OwnRequests<oneshot::Sender<ClientAnswer>>>>,
}

/// What the client answered: the result as it came, or why there is none.
type ClientAnswer = Result<Box<RawValue>, NoClientAnswer>;

/// Why the client gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoClientAnswer {
    #[error("the client refused: {0}")]
    Refused(String),
    #[error("the client did not answer in time")]
    TimedOut,
    #[error("the client answered with something else: {0}")]
    Unreadable(String),
    #[error("the client is gone")]
    Gone,
    #[error("too many requests wait for the client already")]
    TooMany,
}

/// A request that waits. Dropping it withdraws the request: a late answer finds nobody.
pub(super) struct WaitingRequest {
    pub id: Id,
    outbound: Outbound,
    answer: oneshot::Receiver<ClientAnswer>,
}

impl Outbound {
    /// Reserves an id for a request.
    pub fn issue(&self) -> Result<WaitingRequest, NoClientAnswer> {
        let (sender, answer) = oneshot::channel();
        let mut pending = self.lock();
        if pending.len() >= limits::MAX_OUTBOUND {
            return Err(NoClientAnswer::TooMany);
        }
        let id = pending.issue(sender);
        Ok(WaitingRequest {
            id,
            outbound: self.clone(),
            answer,
        })
    }

    /// Hands a result to who waits for it. Nobody waits for late and unknown ones.
    pub fn answered(&self, id: &Id, result: RawJson<'_>) {
        let waiter = self.lock().take(id);
        if let Some(waiter) = waiter {
            let raw = RawValue::from_string(result.get().to_owned());
            let raw = raw.map_err(|error| NoClientAnswer::Unreadable(error.to_string()));
            // Who asked may have gone away.
            waiter.send(raw).ok();
        }
    }

    /// Hands an error to who waits for the answer.
    pub fn refused(&self, id: &Id, error: RawJson<'_>) {
        let waiter = self.lock().take(id);
        if let Some(waiter) = waiter {
            let message = ErrorObject::from(error).message;
            waiter.send(Err(NoClientAnswer::Refused(message))).ok();
        }
    }

    /// Forgets a request. False when it has been answered already.
    pub fn withdraw(&self, id: &Id) -> bool {
        self.lock().take(id).is_some()
    }

    /// Nothing will be answered any more.
    pub fn close(&self) {
        let waiters: Vec<_> = self.lock().drain().collect();
        for (_, waiter) in waiters {
            waiter.send(Err(NoClientAnswer::Gone)).ok();
        }
    }

    fn lock(&self) -> MutexGuard<'_, OwnRequests<oneshot::Sender<ClientAnswer>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingRequest {
    /// Waits for the answer, without limit. `null` counts as an empty object (section 11).
    pub async fn answer<T: DeserializeOwned>(&mut self) -> Result<T, NoClientAnswer> {
        let raw = (&mut self.answer)
            .await
            .map_err(|_| NoClientAnswer::Gone)??;
        let text = match raw.get() {
            "null" => "{}",
            text => text,
        };
        serde_json::from_str(text).map_err(|error| NoClientAnswer::Unreadable(error.to_string()))
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.outbound.lock().take(&self.id);
    }
}

/// Requests to the client about one session, in order with its updates.
#[derive(Clone)]
pub(super) struct ClientRequests {
    pub outbound: Outbound,
    pub session: WeakSession,
    pub answers: Answers,
    /// The trace context of the turn that runs, which goes with every request.
    pub trace: watch::Receiver<Option<acp::Meta>>,
}

impl ClientRequests {
    /// Asks the client and waits for its answer, at most as long as `limit` says.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
    ) -> Result<T, NoClientAnswer> {
        let mut waiting = self.request(method, params).await?;
        match limit {
            None => waiting.answer().await,
            Some(limit) => tokio::time::timeout(limit, waiting.answer())
                .await
                .unwrap_or(Err(NoClientAnswer::TimedOut)),
        }
    }

    /// Requests something whose answer makes no difference: nobody waits for it.
    pub async fn send(&self, method: &str, params: &impl Serialize) -> Result<(), NoClientAnswer> {
        self.request(method, params).await.map(drop)
    }

    async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<WaitingRequest, NoClientAnswer> {
        let waiting = self.outbound.issue()?;
        let mut frames = Vec::new();
        encode::request(&mut frames, &waiting.id, method, params)
            .map_err(|error| NoClientAnswer::Unreadable(error.to_string()))?;
        frames.push(b'\n');
        self.write(frames).await?;
        Ok(waiting)
    }

    pub fn session_id(&self) -> acp::SessionId {
        acp::SessionId::new(Arc::clone(self.session.id()))
    }

    pub fn trace(&self) -> Option<acp::Meta> {
        self.trace.borrow().clone()
    }

    /// Writes an update behind everything that happened in the session so far.
    pub async fn update(&self, update: acp::SessionUpdate) -> Result<(), NoClientAnswer> {
        let mut frames = Vec::new();
        frames::update(&mut frames, self.session.id(), update);
        self.write(frames).await
    }

    async fn write(&self, frames: Vec<u8>) -> Result<(), NoClientAnswer> {
        self.answers
            .send(self.session.seq(), frames)
            .await
            .map_err(|_| NoClientAnswer::Gone)
    }
}
