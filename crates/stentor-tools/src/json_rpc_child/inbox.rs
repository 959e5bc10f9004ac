//! Reading the far side: every message is judged, none can do harm.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use stentor_wire::framing::{FramedLine, LineReader};
use stentor_wire::jsonrpc::{ErrorObject, Id, Incoming, RawJson, decode};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep};

use super::limits::{GARBAGE_LINES, READ_BYTES, REFUSAL_BYTES};
use super::peer::{Peer, RequestError};
use super::read_rate::ReadRate;
use crate::truncation::cut;

/// What is done with what the far side sends. Nothing here may wait.
pub(crate) trait Handler: Send + 'static {
    fn request(&mut self, id: Id, method: &str, params: RawJson<'_>);

    fn notification(&mut self, method: &str, params: RawJson<'_>);

    /// An answer that somebody waits for is about to be handed over.
    fn before_answer(&mut self) {}

    /// Something came that is no message, for the first time.
    fn first_garbage(&mut self, _what: &str) {}

    /// It writes faster than it is read from now on.
    fn too_fast(&mut self) {}

    /// Why one that writes nothing but garbage is given up.
    fn only_garbage(&self) -> String;
}

/// What a line that is too long means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongLine {
    /// The end: what it answers would never be answered.
    Ends,
    /// Everything that is waited for fails, and reading goes on.
    IsSkipped,
}

/// The connection is over: nothing more of it need be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConnectionOver;

/// Where messages of the far side go.
pub(crate) struct MessageInbox<H> {
    pub peer: Arc<Peer>,
    pub handler: H,
    rate: ReadRate,
    was_too_fast: bool,
    had_garbage: bool,
    garbage_in_a_row: u32,
}

impl<H: Handler> MessageInbox<H> {
    /// `interval` is how often the far side may write in the long run.
    pub fn new(peer: Arc<Peer>, handler: H, interval: Duration) -> Self {
        Self {
            peer,
            handler,
            rate: ReadRate::new(Instant::now(), interval),
            was_too_fast: false,
            had_garbage: false,
            garbage_in_a_row: 0,
        }
    }

    /// Takes the text of a message. Waits where they come too fast.
    pub async fn take(&mut self, text: &str) -> Result<(), ConnectionOver> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.judge(text);
        self.slow_down().await;
        match self.peer.is_closed() {
            true => Err(ConnectionOver),
            false => Ok(()),
        }
    }

    fn judge(&mut self, text: &str) {
        match decode(text) {
            Incoming::Request { id, method, params } => self.handler.request(id, &method, params),
            Incoming::Notification { method, params } => self.handler.notification(&method, params),
            Incoming::Response { id, result } => self.answered(&id, Ok(result.get().to_owned())),
            Incoming::ResponseError { id, error } => {
                let message = match ErrorObject::from(error) {
                    ErrorObject { code, message, .. } if message.is_empty() => {
                        format!("it answered with error {code}")
                    }
                    ErrorObject { message, .. } => cut(message, REFUSAL_BYTES),
                };
                self.answered(&id, Err(RequestError::Refused(message)));
            }
            Incoming::Ignore { id } => {
                if let Some(id) = id.filter(|id| self.peer.waits_for(id)) {
                    let why = "there is neither a result nor an error in it".to_owned();
                    self.answered(&id, Err(RequestError::Unreadable(why)));
                }
            }
            Incoming::Error(fault) => {
                if let Some(id) = awaited_id(text).filter(|id| self.peer.waits_for(id)) {
                    let why = RequestError::Unreadable(fault.reason.to_owned());
                    self.answered(&id, Err(why));
                } else if let Some(id) = &fault.id {
                    let refused = self.peer.outbox.refuse(Some(id), fault.code, fault.message);
                    if let Err(error) = refused {
                        tracing::debug!(%error, "a refusal was not sent");
                    }
                }
                let shown = cut(text.to_owned(), 80);
                return self.garbage(&format!("it wrote a line that is not a message: {shown}"));
            }
        }
        self.garbage_in_a_row = 0;
    }

    fn answered(&mut self, id: &Id, answer: Result<String, RequestError>) {
        if self.peer.waits_for(id) {
            self.handler.before_answer();
        }
        self.peer.answered(id, answer);
    }

    fn garbage(&mut self, what: &str) {
        self.garbage_in_a_row += 1;
        if !std::mem::replace(&mut self.had_garbage, true) {
            self.handler.first_garbage(what);
        }
        if self.garbage_in_a_row >= GARBAGE_LINES {
            self.peer.give_up(self.handler.only_garbage());
        }
    }

    async fn slow_down(&mut self) {
        if let Some(wait) = self.rate.count(Instant::now()) {
            if !std::mem::replace(&mut self.was_too_fast, true) {
                self.handler.too_fast();
            }
            sleep(wait).await;
        }
    }
}

/// The id of an answer that cannot be read.
fn awaited_id(text: &str) -> Option<Id> {
    /// What an answer has, whatever else is in it.
    #[derive(Deserialize)]
    struct AnswerHead {
        id: Id,
        method: Option<IgnoredAny>,
    }
    let answer: AnswerHead = serde_json::from_str(text).ok()?;
    answer.method.is_none().then_some(answer.id)
}

/// Reads a pipe, a line for each message, until it ends or nothing more need be read.
pub(crate) async fn read_lines<H: Handler>(
    mut stdout: impl AsyncRead + Unpin,
    mut inbox: MessageInbox<H>,
    limit_bytes: usize,
    long_line: LongLine,
) {
    let mut lines = LineReader::new(limit_bytes);
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        let mut chunk = buffer.get(..count).unwrap_or_default();
        if long_line == LongLine::IsSkipped {
            // A line without end costs something, too.
            inbox.slow_down().await;
        }
        while let Some(line) = lines.next_line(&mut chunk) {
            if inbox.take_line(line, limit_bytes, long_line).await.is_err() {
                return;
            }
        }
        // The end of that line would be waited for in vain.
        if lines.is_skipping() && long_line == LongLine::Ends {
            return inbox.end_at_long_line(limit_bytes);
        }
    }
    if let Some(line) = lines.finish() {
        // It is the end in any case.
        let _ = inbox.take_line(line, limit_bytes, long_line).await;
    }
}

impl<H: Handler> MessageInbox<H> {
    async fn take_line(
        &mut self,
        line: FramedLine<'_>,
        limit_bytes: usize,
        long_line: LongLine,
    ) -> Result<(), ConnectionOver> {
        match line {
            FramedLine::Text(text) => return self.take(text).await,
            FramedLine::TooLong if long_line == LongLine::Ends => {
                self.end_at_long_line(limit_bytes);
                return Err(ConnectionOver);
            }
            FramedLine::TooLong => {
                let why = format!("it wrote a line longer than {limit_bytes} bytes");
                let lost = RequestError::Unreadable(why.clone());
                self.peer.fail_pending(&lost);
                self.garbage(&why);
            }
            FramedLine::InvalidUtf8 => self.garbage("it wrote a line that is not UTF-8"),
        }
        self.slow_down().await;
        Ok(())
    }

    fn end_at_long_line(&self, limit_bytes: usize) {
        let mib = limit_bytes >> 20;
        self.peer
            .give_up(format!("it wrote a line of more than {mib} MiB"));
    }
}
