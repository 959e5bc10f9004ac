//! What is on its way to an extension, in bounded memory.

use std::sync::Arc;

use stentor_wire::jsonrpc::{Id, encode};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::limits::{OUT_BYTES, OUT_MESSAGES};

/// Takes messages for an extension. Clones feed the same pipe; it closes when all are gone.
#[derive(Clone)]
pub(super) struct Outbox {
    messages: mpsc::Sender<Next>,
    bytes: Arc<Semaphore>,
}

/// What the writer does next.
enum Next {
    Write(Message),
    /// Closes the pipe.
    Close,
}

/// A whole line, and its share of the memory.
struct Message {
    line: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotSent {
    #[error("it no longer reads")]
    Gone,
    #[error("it reads too slowly")]
    Full,
    #[error("the message is longer than {OUT_BYTES} bytes")]
    TooLong,
}

impl Outbox {
    /// An outbox and the work of writing what is put into it. The work ends when the extension
    /// stops reading or all outboxes are gone; then the pipe closes.
    pub fn new<W>(stdin: W) -> (Self, impl Future<Output = ()> + Send + 'static)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (messages, waiting) = mpsc::channel(OUT_MESSAGES);
        let outbox = Self {
            messages,
            bytes: Arc::new(Semaphore::new(OUT_BYTES)),
        };
        (outbox, write(stdin, waiting))
    }

    /// Puts a message in, as soon as there is room.
    pub async fn send(&self, line: Vec<u8>) -> Result<(), NotSent> {
        let size = share(&line)?;
        let bytes = Arc::clone(&self.bytes);
        let room = bytes.acquire_many_owned(size).await;
        let room = room.map_err(|_| NotSent::Gone)?;
        let message = Message { line, _room: room };
        let sent = self.messages.send(Next::Write(message)).await;
        sent.map_err(|_| NotSent::Gone)
    }

    /// Puts a message in if there is room now.
    pub fn offer(&self, line: Vec<u8>) -> Result<(), NotSent> {
        let size = share(&line)?;
        let bytes = Arc::clone(&self.bytes);
        let room = bytes.try_acquire_many_owned(size);
        let room = room.map_err(|_| NotSent::Full)?;
        let message = Message { line, _room: room };
        self.try_next(Next::Write(message))
    }

    /// Closes the pipe after everything that was put in, if there is room to say so.
    pub fn finish(&self) -> Result<(), NotSent> {
        self.try_next(Next::Close)
    }

    fn try_next(&self, next: Next) -> Result<(), NotSent> {
        self.messages.try_send(next).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotSent::Full,
            mpsc::error::TrySendError::Closed(_) => NotSent::Gone,
        })
    }

    /// Puts a notification in if there is room now.
    pub fn notify(&self, method: &str, params: &impl serde::Serialize) -> Result<(), NotSent> {
        self.offer(line(|out| encode::notification(out, method, params)))
    }

    /// Answers a request of the extension.
    pub async fn answer(&self, id: &Id, result: &impl serde::Serialize) -> Result<(), NotSent> {
        self.send(line(|out| encode::result(out, id, result))).await
    }

    /// Refuses something the extension asked, if there is room to say so.
    pub fn refuse(&self, id: Option<&Id>, code: i64, message: &str) -> Result<(), NotSent> {
        self.offer(line(|out| encode::error(out, id, code, message, None)))
    }
}

/// A frame as a line. What cannot be serialised, which no type of the protocol is, is left out.
pub(super) fn line(write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) -> Vec<u8> {
    let mut out = Vec::new();
    match write(&mut out) {
        Ok(()) => out.push(b'\n'),
        Err(error) => tracing::error!(%error, "a message for an extension could not be written"),
    }
    out
}

fn share(line: &[u8]) -> Result<u32, NotSent> {
    if line.len() > OUT_BYTES {
        return Err(NotSent::TooLong);
    }
    u32::try_from(line.len()).map_err(|_| NotSent::TooLong)
}

async fn write(mut stdin: impl AsyncWrite + Unpin, mut waiting: mpsc::Receiver<Next>) {
    while let Some(Next::Write(message)) = waiting.recv().await {
        if stdin.write_all(&message.line).await.is_err() {
            // It does not read any more. What that means shows when it ends, or does not answer.
            return;
        }
    }
}
