//! The way back to the client: answers, notifications, and questions of ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use stentor_wire::jsonrpc::{Id, OwnRequests, encode};
use tokio::sync::oneshot;

use crate::output::Output;

/// The client of this process.
pub(super) struct McpClient {
    output: Output,
    /// What we asked. Bounded by the questions that sessions may have open.
    asked: Mutex<OwnRequests<oneshot::Sender<Option<Value>>>>,
    can_elicit: AtomicBool,
}

impl McpClient {
    pub fn new(output: Output) -> Self {
        Self {
            output,
            asked: Mutex::new(OwnRequests::counting_up()),
            can_elicit: AtomicBool::new(false),
        }
    }

    /// Whether the client shows questions to a person.
    pub fn can_elicit(&self) -> bool {
        self.can_elicit.load(Ordering::Acquire)
    }

    pub fn set_can_elicit(&self, can: bool) {
        self.can_elicit.store(can, Ordering::Release);
    }

    pub async fn answer(&self, id: &Id, result: &impl Serialize) {
        self.send(|out| encode::result(out, id, result)).await;
    }

    pub async fn refuse(&self, id: Option<&Id>, code: i64, message: &str) {
        self.send(|out| encode::error(out, id, code, message, None))
            .await;
    }

    /// Sends a notification if there is room for it: none of ours is worth waiting for.
    pub fn notify(&self, method: &str, params: &impl Serialize) {
        let frame = line(|out| encode::notification(out, method, params));
        // A reader that is gone misses nothing.
        let _ = self.output.try_send(&frame);
    }

    /// Asks the client. `None` when it refuses. Dropped while it waits, it notifies the client that
    /// nobody wants the answer any more.
    pub async fn ask(&self, method: &str, params: &impl Serialize) -> Option<Value> {
        let (reply, answer) = oneshot::channel();
        let id = self.lock().issue(reply);
        let _unanswered = UnansweredQuestion {
            client: self,
            id: id.clone(),
        };
        self.send(|out| encode::request(out, &id, method, params))
            .await;
        answer.await.ok().flatten()
    }

    /// Takes the answer to something we asked. One that nobody waits for is dropped.
    pub fn answered(&self, id: &Id, answer: Option<Value>) {
        if let Some(reply) = self.lock().take(id) {
            // Who asked may just have gone away.
            drop(reply.send(answer));
        }
    }

    async fn send(&self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) {
        let mut frame = line(write);
        // A client that closed the pipe is noticed where it is read.
        let _ = self.output.send_all(&mut frame).await;
    }

    fn lock(&self) -> MutexGuard<'_, OwnRequests<oneshot::Sender<Option<Value>>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question without an answer.
struct UnansweredQuestion<'a> {
    client: &'a McpClient,
    id: Id,
}

impl Drop for UnansweredQuestion<'_> {
    fn drop(&mut self) {
        if self.client.lock().take(&self.id).is_some() {
            let params = json!({ "requestId": self.id });
            self.client.notify("notifications/cancelled", &params);
        }
    }
}

/// A frame as a line. What cannot be serialised, which none of our frames is, is left out.
fn line(write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) -> Vec<u8> {
    let mut out = Vec::new();
    match write(&mut out) {
        Ok(()) => out.push(b'\n'),
        Err(error) => tracing::error!(%error, "a frame could not be written"),
    }
    out
}
