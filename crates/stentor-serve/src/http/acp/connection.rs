//! A connection over HTTP: the dialect on one side, posts and streams on the other.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::limits;
use super::message::{BadMessage, MessageEnvelope, PostedMessage};
use super::streams::{Route, StreamRefusal, Streams};
use crate::connection::Access;
use crate::http::answer::HttpBody;
use crate::http::dialect_stream::{DialectLines, DialectStream};
use crate::server::AdmittedConnection;

/// How often it is looked whether anybody uses a connection.
const LOOK_EVERY: Duration = Duration::from_secs(30);

pub(super) struct AcpConnection {
    id: String,
    access: Access,
    /// One message at a time; the next waits while the dialect does not read.
    input: Mutex<OwnedWriteHalf>,
    streams: Arc<Streams>,
    /// When something was last posted.
    used: watch::Sender<Instant>,
    over: CancellationToken,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoConnection {
    /// The agent answered `initialize` with this error.
    #[error("{0}")]
    Answered(String),
    #[error("the agent ended before it answered")]
    Ended,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl AcpConnection {
    /// Begins to serve a client with its `initialize`. Returns the answer to that, too, and what is
    /// to be routed.
    pub async fn open(
        admitted: AdmittedConnection,
        initialize: &PostedMessage<'_>,
        access: Access,
    ) -> Result<(Arc<Self>, String, DialectLines), NoConnection> {
        let mut dialect = DialectStream::begin(admitted)?;
        let line = initialize.line();
        dialect.input.write_all(&line).await?;
        let streams = Streams::new();
        let response = loop {
            let line = dialect.lines.next().await?;
            let line = line.ok_or(NoConnection::Ended)?;
            let read = MessageEnvelope::read(&line);
            let is_answer =
                |read: &MessageEnvelope<'_>| read.method.is_none() && read.id() == initialize.id();
            if let Some(read) = read.filter(is_answer) {
                match read.error {
                    None => break line,
                    // The dialect ends with its stream.
                    Some(_) => return Err(NoConnection::Answered(line)),
                }
            }
            streams.push(line);
        };
        let connection = Self {
            id: uuid::Uuid::new_v4().to_string(),
            access,
            input: Mutex::new(dialect.input),
            streams,
            used: watch::Sender::new(Instant::now()),
            over: CancellationToken::new(),
        };
        Ok((Arc::new(connection), response, dialect.lines))
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the one who opened it may.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Ends it.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// Brings what the agent writes onto the streams, until the agent, the client or its silence
    /// ends the connection.
    pub async fn route(&self, mut lines: DialectLines) {
        let routing = async {
            while let Ok(Some(line)) = lines.next().await {
                self.streams.push(line);
                let room = timeout(limits::STALL, self.streams.room());
                if room.await.is_err() {
                    tracing::warn!("nobody read the messages of an ACP connection; it ends");
                    return;
                }
            }
        };
        tokio::select! {
            () = routing => {}
            () = self.over.cancelled() => {}
            () = self.unused() => {}
        }
        self.streams.end();
        // The dialect sees the end of its input.
        self.input.lock().await.shutdown().await.ok();
    }

    async fn unused(&self) {
        let mut read_last = Instant::now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.streams.is_read() {
                read_last = Instant::now();
            }
            let last = read_last.max(*self.used.borrow());
            if last.elapsed() >= limits::UNUSED {
                return;
            }
        }
    }

    /// Hands a message of the client to the agent.
    pub async fn forward(
        &self,
        message: &PostedMessage<'_>,
        header: Option<&str>,
    ) -> Result<(), BadMessage> {
        self.used.send_replace(Instant::now());
        let id = message.id();
        if id.is_some_and(|id| id.len() > limits::MAX_ID_BYTES) {
            return Err(BadMessage::LongId);
        }
        if message.is_response() {
            self.check_response(id, header)?;
        } else {
            let session = message.session(header)?;
            let route = match session {
                Some(session) if !message.is_answered_on_the_connection() => {
                    Route::Session(session)
                }
                _ => Route::Connection,
            };
            if let Some(id) = id
                && !self.streams.expect_answer(id, route)
            {
                return Err(BadMessage::TooMany);
            }
        }
        let line = message.line();
        let written = self.input.lock().await.write_all(&line).await;
        written.map_err(|_| BadMessage::Ended)
    }

    /// An answer names the session on whose stream the question came.
    fn check_response(&self, id: Option<&str>, header: Option<&str>) -> Result<(), BadMessage> {
        let Some(id) = id else { return Ok(()) };
        match (self.streams.asked_on(id), header) {
            (Some(Route::Session(_)), None) => return Err(BadMessage::NoSession),
            (Some(Route::Session(session)), Some(header)) if session != header => {
                return Err(BadMessage::OtherSession);
            }
            _ => {}
        }
        self.streams.answered(id);
        Ok(())
    }

    /// The events of a stream.
    pub fn events(&self, route: Route) -> Result<HttpBody, StreamRefusal> {
        let receiver = self.streams.receive(route)?;
        let events = stream::unfold(receiver, |receiver| async move {
            let event = match timeout(limits::KEEP_ALIVE, receiver.next()).await {
                Ok(message) => format!("data: {}\n\n", message?),
                Err(_) => ": here\n\n".to_owned(),
            };
            let frame = Frame::data(Bytes::from(event));
            Some((Ok::<_, Infallible>(frame), receiver))
        });
        Ok(StreamBody::new(events).boxed_unsync())
    }
}
