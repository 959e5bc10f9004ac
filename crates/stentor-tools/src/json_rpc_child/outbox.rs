//! What is on its way to the far side, in bounded memory.

use std::sync::Arc;

use stentor_wire::jsonrpc::{Id, encode};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::limits::{OUT_BYTES, OUT_MESSAGES};

/// Takes messages. Clones feed the same queue; it closes when all are gone.
#[derive(Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<OutboxItem>,
    bytes: Arc<Semaphore>,
}

/// What was put into an outbox, in order. Ends when the outbox was finished or all are gone.
pub(crate) struct Outgoing {
    waiting: mpsc::Receiver<OutboxItem>,
}

/// What comes next.
enum OutboxItem {
    Send(OutgoingMessage),
    /// Nothing more.
    Close,
}

/// A whole line, and its share of the memory.
pub(crate) struct OutgoingMessage {
    pub line: Vec<u8>,
    /// The request it is, if it is one.
    pub request: Option<Id>,
    /// The request whose answer nobody waits for any more, if that is what it says.
    pub cancels: Option<Id>,
    _share: OwnedSemaphorePermit,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSent {
    #[error("it no longer reads")]
    Gone,
    #[error("it reads too slowly")]
    Full,
    #[error("the message is longer than {OUT_BYTES} bytes")]
    TooLong,
}

impl Outbox {
    /// An outbox, and what is put into it.
    pub fn new() -> (Self, Outgoing) {
        let (messages, waiting) = mpsc::channel(OUT_MESSAGES);
        let outbox = Self {
            messages,
            bytes: Arc::new(Semaphore::new(OUT_BYTES)),
        };
        (outbox, Outgoing { waiting })
    }

    /// Puts a request in, as soon as there is room.
    pub async fn request(
        &self,
        id: &Id,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<(), NotSent> {
        let line = line(|out| encode::request(out, id, method, params));
        self.send(line, Some(id.clone())).await
    }

    /// Answers a request of the far side, as soon as there is room.
    pub async fn answer(&self, id: &Id, result: &impl serde::Serialize) -> Result<(), NotSent> {
        let line = line(|out| encode::result(out, id, result));
        self.send(line, None).await
    }

    /// Answers a request of the far side if there is room now.
    pub fn try_answer(&self, id: &Id, result: &impl serde::Serialize) -> Result<(), NotSent> {
        self.offer(line(|out| encode::result(out, id, result)))
    }

    /// Puts a notification in if there is room now.
    pub fn notify(&self, method: &str, params: &impl serde::Serialize) -> Result<(), NotSent> {
        self.offer(line(|out| encode::notification(out, method, params)))
    }

    /// Puts the notification in that nobody waits for an answer any more, if there is room now.
    pub fn cancel(
        &self,
        id: &Id,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<(), NotSent> {
        let line = line(|out| encode::notification(out, method, params));
        self.try_send(line, Some(id.clone()))
    }

    /// Refuses something the far side asked, if there is room to answer.
    pub fn refuse(&self, id: Option<&Id>, code: i64, message: &str) -> Result<(), NotSent> {
        self.offer(line(|out| encode::error(out, id, code, message, None)))
    }

    /// Closes the queue after everything that was put in, if there is room for that.
    pub fn finish(&self) -> Result<(), NotSent> {
        self.try_next(OutboxItem::Close)
    }

    async fn send(&self, line: Vec<u8>, request: Option<Id>) -> Result<(), NotSent> {
        let size = share(&line)?;
        let bytes = Arc::clone(&self.bytes);
        let taken = bytes.acquire_many_owned(size).await;
        let message = OutgoingMessage {
            line,
            request,
            cancels: None,
            _share: taken.map_err(|_| NotSent::Gone)?,
        };
        let sent = self.messages.send(OutboxItem::Send(message)).await;
        sent.map_err(|_| NotSent::Gone)
    }

    fn offer(&self, line: Vec<u8>) -> Result<(), NotSent> {
        self.try_send(line, None)
    }

    fn try_send(&self, line: Vec<u8>, cancels: Option<Id>) -> Result<(), NotSent> {
        let size = share(&line)?;
        let bytes = Arc::clone(&self.bytes);
        let taken = bytes.try_acquire_many_owned(size);
        self.try_next(OutboxItem::Send(OutgoingMessage {
            line,
            request: None,
            cancels,
            _share: taken.map_err(|_| NotSent::Full)?,
        }))
    }

    fn try_next(&self, next: OutboxItem) -> Result<(), NotSent> {
        self.messages.try_send(next).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotSent::Full,
            mpsc::error::TrySendError::Closed(_) => NotSent::Gone,
        })
    }
}

impl Outgoing {
    /// The next message; `None` when no more will come.
    pub async fn next(&mut self) -> Option<OutgoingMessage> {
        match self.waiting.recv().await? {
            OutboxItem::Send(message) => Some(message),
            OutboxItem::Close => None,
        }
    }
}

/// Writes everything to a pipe, until the far side stops reading or no more will come; then the
/// pipe closes.
pub(crate) async fn write_lines(mut outgoing: Outgoing, mut stdin: impl AsyncWrite + Unpin) {
    while let Some(message) = outgoing.next().await {
        if stdin.write_all(&message.line).await.is_err() {
            // It does not read any more. What that means shows when it ends, or does not answer.
            return;
        }
    }
}

/// A frame as a line. What cannot be serialised, which no type of the protocols is, is left out.
fn line(write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) -> Vec<u8> {
    let mut out = Vec::new();
    match write(&mut out) {
        Ok(()) => out.push(b'\n'),
        Err(error) => tracing::error!(%error, "a message could not be written"),
    }
    out
}

fn share(line: &[u8]) -> Result<u32, NotSent> {
    if line.len() > OUT_BYTES {
        return Err(NotSent::TooLong);
    }
    u32::try_from(line.len()).map_err(|_| NotSent::TooLong)
}
