//! The line to a server: bounded both ways, and without what makes no sense.
//!
//! The library that speaks MCP trusts the other end to answer each request once and to write no
//! more than can be read. A server may do anything, so this stands in between:
//!
//! - what is no message is skipped, and a server that writes nothing else is given up;
//! - an answer that nobody waits for (unknown, or the second one) is dropped, and one that cannot be
//!   read fails the request it belongs to instead of leaving it waiting;
//! - a flood of notifications and requests is read no faster than somebody could make use of it;
//! - a server that does not read fails the next request instead of filling the memory.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::limits::{GARBAGE_MESSAGES, IN_MESSAGES, OUT_MESSAGES};
use crate::pace::{MESSAGE_INTERVAL, Pace};

/// The library's end of the line.
pub(super) struct Wire {
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    outgoing: mpsc::Sender<Outgoing>,
    open: OpenRequests,
    /// What reads and writes. It ends with the line.
    _work: JoinSet<()>,
}

/// The server's end of the line.
pub(super) struct FarEnd {
    /// What is to be sent.
    pub outgoing: mpsc::Receiver<Outgoing>,
    pub inbox: Inbox,
}

/// A message on its way to the server.
pub(super) struct Outgoing {
    /// The request it is, if it is one.
    pub request: Option<RequestId>,
    pub text: Vec<u8>,
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("it does not read what it is sent")]
    Full,
    #[error("it is gone")]
    Gone,
    #[error("the message cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// Why a line ended, where that is known.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<OnceLock<String>>);

/// The requests that wait for an answer.
#[derive(Clone, Default)]
struct OpenRequests(Arc<Mutex<HashSet<RequestId>>>);

/// Where messages of the server go.
pub(super) struct Inbox {
    messages: mpsc::Sender<ServerJsonRpcMessage>,
    open: OpenRequests,
    ending: Ending,
    pace: Pace,
    garbage: u32,
}

/// Answers requests that never reached the server.
pub(super) struct Refuser {
    /// Weak, so that the line ends when nothing more can come from the server.
    messages: mpsc::WeakSender<ServerJsonRpcMessage>,
    open: OpenRequests,
}

/// A line that is over: nothing more of it need be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Over;

/// Reading or writing the far end of a line.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A line whose far end is served by `work`, which is given that end.
pub(super) fn wire(ending: Ending, work: impl FnOnce(FarEnd) -> [Work; 2]) -> Wire {
    let (messages, incoming) = mpsc::channel(IN_MESSAGES);
    let (sender, outgoing) = mpsc::channel(OUT_MESSAGES);
    let open = OpenRequests::default();
    let inbox = Inbox {
        messages,
        open: open.clone(),
        ending,
        pace: Pace::new(Instant::now(), MESSAGE_INTERVAL),
        garbage: 0,
    };
    let mut tasks = JoinSet::new();
    for task in work(FarEnd { outgoing, inbox }) {
        tasks.spawn(task);
    }
    Wire {
        incoming,
        outgoing: sender,
        open,
        _work: tasks,
    }
}

impl Transport<RoleClient> for Wire {
    type Error = WireError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        let sent = self.queue(&message);
        async move { sent }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), WireError> {
        self.incoming.close();
        Ok(())
    }
}

impl Wire {
    fn queue(&self, message: &ClientJsonRpcMessage) -> Result<(), WireError> {
        let text = serde_json::to_vec(message)?;
        let request = match message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if let Some(id) = &request {
            self.open.lock().insert(id.clone());
        }
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.open.lock().remove(id);
        }
        let outgoing = Outgoing { request, text };
        self.outgoing.try_send(outgoing).map_err(|error| {
            let (why, unsent) = match error {
                TrySendError::Full(unsent) => (WireError::Full, unsent),
                TrySendError::Closed(unsent) => (WireError::Gone, unsent),
            };
            if let Some(id) = &unsent.request {
                self.open.lock().remove(id);
            }
            why
        })
    }
}

impl Inbox {
    /// Takes the text of a message. Waits as long as the reader has more than enough to do.
    pub async fn take(&mut self, text: &str) -> Result<(), Over> {
        if text.trim().is_empty() {
            return Ok(());
        }
        match serde_json::from_str::<ServerJsonRpcMessage>(text) {
            Ok(message) => {
                self.garbage = 0;
                self.pass(message).await
            }
            Err(error) => self.unreadable(text, &error.to_string()).await,
        }
    }

    /// What fails requests that could not be sent.
    pub fn refuser(&self) -> Refuser {
        Refuser {
            messages: self.messages.downgrade(),
            open: self.open.clone(),
        }
    }

    /// Something came that is no message at all.
    pub fn garbage(&mut self) -> Result<(), Over> {
        self.garbage += 1;
        match self.garbage < GARBAGE_MESSAGES {
            true => Ok(()),
            false => Err(self.end("it writes what is no MCP")),
        }
    }

    /// Notes why the line ends.
    pub fn end(&self, why: impl Into<String>) -> Over {
        self.ending.note(why);
        Over
    }

    async fn pass(&mut self, message: ServerJsonRpcMessage) -> Result<(), Over> {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
                if let Some(wait) = self.pace.count(Instant::now()) {
                    tokio::time::sleep(wait).await;
                }
                return self.hand_over(message).await;
            }
        };
        let is_awaited = answered.is_some_and(|id| self.open.lock().remove(id));
        match is_awaited {
            true => self.hand_over(message).await,
            false => {
                tracing::debug!(?answered, "an MCP server answered what nobody asked");
                self.slow_down().await;
                Ok(())
            }
        }
    }

    async fn unreadable(&mut self, text: &str, error: &str) -> Result<(), Over> {
        /// What an answer has, whatever else it says.
        #[derive(Deserialize)]
        struct Answer {
            id: RequestId,
            method: Option<IgnoredAny>,
        }
        match serde_json::from_str::<Answer>(text) {
            Ok(Answer { id, method: None }) => {
                let why = format!("its answer cannot be read: {error}");
                self.refuser().fail(id, why).await?;
            }
            _ => tracing::debug!(error, "an MCP server wrote what is no message"),
        }
        self.slow_down().await;
        self.garbage()
    }

    async fn slow_down(&mut self) {
        if let Some(wait) = self.pace.count(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
    }

    async fn hand_over(&self, message: ServerJsonRpcMessage) -> Result<(), Over> {
        self.messages.send(message).await.map_err(|_| Over)
    }
}

impl Refuser {
    /// Answers a request in the name of the server, if nobody else has.
    pub async fn fail(&self, request: RequestId, why: String) -> Result<(), Over> {
        if !self.open.lock().remove(&request) {
            return Ok(());
        }
        let error = ErrorData::internal_error(why, None);
        let answer = JsonRpcMessage::error(error, Some(request));
        let messages = self.messages.upgrade().ok_or(Over)?;
        messages.send(answer).await.map_err(|_| Over)
    }
}

impl Ending {
    /// The first reason counts.
    pub fn note(&self, why: impl Into<String>) {
        // A later reason follows from the first.
        let _ = self.0.set(why.into());
    }

    pub fn told(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

impl OpenRequests {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
