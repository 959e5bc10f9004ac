//! Reading an extension: every line is judged, none can do harm.

use std::sync::{Arc, Mutex, PoisonError};

use stentor_wire::extension::{Nothing, RegisterParams, ToolProgressParams, method};
use stentor_wire::framing::{Line, LineReader};
use stentor_wire::jsonrpc::{ErrorObject, Id, Incoming, RawJson, code, decode};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::asks::Ask;
use super::connection::{Connection, Fault};
use super::content;
use super::limits::{COMPLAINTS, GARBAGE_LINES, LINE_BYTES, OPEN_REQUESTS, READ_BYTES, fit};
use super::one::Extension;
use super::shown::Showcase;
use super::turns::Turns;
use crate::pace::Pace;

/// Reads one process of an extension from its first line to its last.
pub(super) struct Reader {
    extension: Arc<Extension>,
    connection: Arc<Connection>,
    showcase: Arc<Mutex<Showcase>>,
    turns: Arc<Turns>,
    open_requests: Arc<Semaphore>,
    pace: Pace,
    was_too_fast: bool,
    told_of_garbage: bool,
    garbage_in_a_row: u32,
    /// Messages that made no sense and are still told of.
    complaints_left: u32,
}

impl Reader {
    pub fn new(
        extension: Arc<Extension>,
        connection: Arc<Connection>,
        showcase: Arc<Mutex<Showcase>>,
        turns: Arc<Turns>,
    ) -> Self {
        let pace = Pace::new(Instant::now(), extension.spec.message_interval);
        Self {
            extension,
            connection,
            showcase,
            turns,
            open_requests: Arc::new(Semaphore::new(OPEN_REQUESTS)),
            pace,
            was_too_fast: false,
            told_of_garbage: false,
            garbage_in_a_row: 0,
            complaints_left: COMPLAINTS,
        }
    }

    /// Reads until the pipe ends.
    pub async fn read(mut self, mut stdout: pipe::Receiver) {
        let mut lines = LineReader::new(LINE_BYTES);
        let mut buffer = vec![0; READ_BYTES];
        while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
            let mut chunk = buffer.get(..count).unwrap_or_default();
            // A line without end costs something, too.
            self.keep_pace().await;
            while let Some(line) = lines.next_line(&mut chunk) {
                self.take(line);
                self.keep_pace().await;
            }
        }
        if let Some(line) = lines.finish() {
            self.take(line);
        }
    }

    fn take(&mut self, line: Line<'_>) {
        let text = match line {
            Line::Text(text) if text.trim().is_empty() => return,
            Line::Text(text) => text,
            Line::TooLong => {
                let why = format!("it wrote a line longer than {LINE_BYTES} bytes");
                self.connection
                    .fail_pending(&Fault::Unreadable(why.clone()));
                return self.garbage(why);
            }
            Line::InvalidUtf8 => {
                return self.garbage("it wrote a line that is not UTF-8".to_owned());
            }
        };
        match decode(text) {
            Incoming::Request { id, method, params } => self.request(id, &method, params),
            Incoming::Notification { method, params } => self.notification(&method, params),
            Incoming::Response { id, result } => {
                self.answered(&id, Ok(result.get().to_owned()));
            }
            Incoming::ResponseError { id, error } => {
                let message = match ErrorObject::from(error) {
                    ErrorObject { code, message, .. } if message.is_empty() => {
                        format!("it answered with error {code}")
                    }
                    ErrorObject { message, .. } => fit(message, 4096),
                };
                self.answered(&id, Err(Fault::Refused(message)));
            }
            Incoming::Ignore { .. } => {}
            Incoming::Error(fault) => {
                if let Some(id) = &fault.id {
                    self.refuse(Some(id), fault.code, fault.message);
                }
                let shown = fit(text.to_owned(), 80);
                return self.garbage(format!("it wrote a line that is no message: {shown}"));
            }
        }
        self.garbage_in_a_row = 0;
    }

    /// Passes an answer on. What was shown before it is not overtaken by what follows from it.
    fn answered(&self, id: &Id, answer: Result<String, Fault>) {
        if self.connection.waits_for(id) {
            self.turns.catch_up();
        }
        self.connection.answered(id, answer);
    }

    fn request(&mut self, id: Id, method: &str, params: RawJson<'_>) {
        if method == method::REGISTER {
            return match params.parse::<RegisterParams>() {
                Ok(params) => {
                    self.extension.register(params);
                    let Some(room) = self.room(&id) else {
                        return;
                    };
                    let connection = Arc::clone(&self.connection);
                    self.beside(room, async move {
                        // One that is gone has no use for the answer.
                        let _ = connection.outbox.answer(&id, &Nothing {}).await;
                    });
                }
                Err(error) => self.refuse(Some(&id), code::INVALID_PARAMS, &error.to_string()),
            };
        }
        match Ask::read(method, params) {
            None => self.refuse(Some(&id), code::METHOD_NOT_FOUND, "no such method"),
            Some(Err((code, why))) => self.refuse(Some(&id), code, &why),
            Some(Ok(ask)) => {
                let Some(room) = self.room(&id) else {
                    return;
                };
                let asked = ask.asked(&self.turns, &self.connection);
                let connection = Arc::clone(&self.connection);
                let extension = Arc::clone(&self.extension);
                self.beside(room, async move {
                    asked.answer(&id, &connection, &extension).await;
                });
            }
        }
    }

    /// Room for one request more. Refuses it when too much is going on.
    fn room(&self, id: &Id) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.open_requests).try_acquire_owned().ok();
        if room.is_none() {
            let why = format!("{OPEN_REQUESTS} requests are open already");
            self.refuse(Some(id), code::INVALID_REQUEST, &why);
        }
        room
    }

    /// Does something beside the reading, which never waits for it.
    fn beside(&self, room: OwnedSemaphorePermit, work: impl Future<Output = ()> + Send + 'static) {
        let connection = Arc::clone(&self.connection);
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                () = connection.closed() => {}
            }
            drop(room);
        });
    }

    fn notification(&mut self, method: &str, params: RawJson<'_>) {
        let read = if method == method::TOOL_PROGRESS {
            params
                .parse::<ToolProgressParams>()
                .map(|params| {
                    let output = content::progress(params.content, params.details);
                    let connection = Arc::clone(&self.connection);
                    // One that finds no room is one of too many, which are dropped anyway.
                    self.turns.show(Box::new(move |_| {
                        connection.report(&params.call_id, output)
                    }));
                })
                .map_err(|error| error.to_string())
        } else {
            let mut showcase = self.showcase.lock().unwrap_or_else(PoisonError::into_inner);
            showcase.show(method, params).unwrap_or(Ok(()))
        };
        if let Err(why) = read
            && self.complaints_left > 0
        {
            self.complaints_left -= 1;
            self.extension.failed(method, &why);
        }
    }

    fn refuse(&self, id: Option<&Id>, code: i64, why: &str) {
        if let Err(error) = self.connection.outbox.refuse(id, code, why) {
            tracing::debug!(%error, "an extension was not told that it was refused");
        }
    }

    fn garbage(&mut self, what: String) {
        self.garbage_in_a_row += 1;
        if !self.told_of_garbage {
            self.told_of_garbage = true;
            self.extension.failed("output", &what);
        }
        if self.garbage_in_a_row >= GARBAGE_LINES {
            self.connection.give_up(format!(
                "it wrote {GARBAGE_LINES} unreadable lines in a row"
            ));
        }
    }

    async fn keep_pace(&mut self) {
        let Some(wait) = self.pace.count(Instant::now()) else {
            return;
        };
        if !self.was_too_fast {
            self.was_too_fast = true;
            let why = "it writes too many messages and is read more slowly from now on";
            self.extension.failed("output", why);
        }
        sleep(wait).await;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.turns.close();
    }
}
