//! The line to a running extension: what is asked of it, and what becomes of the answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stentor_agent::tool::{Progress, ToolOutput};
use stentor_wire::extension::{CancelParams, method};
use stentor_wire::jsonrpc::{Id, Pending, encode};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::limits::{PROGRESS_INTERVAL, TIMEOUTS_IN_A_ROW};
use super::outbox::{NotSent, Outbox, line};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("it did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Refused(String),
    #[error("its answer makes no sense: {0}")]
    Unreadable(String),
    #[error("it could not be asked: {0}")]
    NotSent(#[from] NotSent),
    #[error("it ended before it answered")]
    Gone,
}

/// The line to a running extension.
pub(super) struct Connection {
    pub outbox: Outbox,
    /// What we asked and wait for. Bounded by who asks: the hooks and calls of one session.
    pending: Mutex<Pending<oneshot::Sender<Result<String, Fault>>>>,
    running: Mutex<HashMap<String, Running>>,
    /// Questions to a person that are open. Meanwhile no time limit runs.
    questions: watch::Sender<usize>,
    /// Changes when open questions are of no interest any more.
    withdrawn: watch::Sender<u64>,
    timeouts: AtomicU32,
    broken: Mutex<Option<String>>,
    closed: CancellationToken,
}

/// A tool call that is running.
struct Running {
    progress: Progress,
    last_report: Option<Instant>,
}

impl Connection {
    pub fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            pending: Mutex::default(),
            running: Mutex::default(),
            questions: watch::Sender::new(0),
            withdrawn: watch::Sender::new(0),
            timeouts: AtomicU32::new(0),
            broken: Mutex::default(),
            closed: CancellationToken::new(),
        }
    }

    /// Asks and waits for the answer, at most `limit` long. `null` is an answer that says nothing.
    /// Dropped while it waits, it tells the extension that nobody wants the answer any more.
    pub async fn request<R: DeserializeOwned + Default>(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
    ) -> Result<R, Fault> {
        let (reply, answer) = oneshot::channel();
        let id = lock(&self.pending).issue(reply);
        let _unanswered = Unanswered {
            connection: self,
            id: id.clone(),
        };
        let asked = async {
            let line = line(|out| encode::request(out, &id, method, params));
            self.outbox.send(line).await?;
            answer.await.unwrap_or(Err(Fault::Gone))
        };
        let answered = tokio::select! {
            biased;
            answered = asked => answered,
            () = self.closed.cancelled() => Err(Fault::Gone),
            () = self.overdue(limit) => Err(Fault::TimedOut(limit.unwrap_or_default())),
        };
        self.count_timeouts(&answered);
        let text = answered?;
        if text == "null" {
            return Ok(R::default());
        }
        serde_json::from_str(&text).map_err(|error| Fault::Unreadable(error.to_string()))
    }

    /// True when an answer with this id is waited for.
    pub fn waits_for(&self, id: &Id) -> bool {
        lock(&self.pending).contains(id)
    }

    /// Takes the answer to something we asked. One that came twice, too late or unasked is dropped.
    pub fn answered(&self, id: &Id, answer: Result<String, Fault>) {
        match lock(&self.pending).take(id) {
            // Who asked may just have gone away.
            Some(reply) => drop(reply.send(answer)),
            None => tracing::debug!(%id, "an extension answered what nobody waits for"),
        }
    }

    /// Answers everything we wait for with a fault: an answer was lost, and nobody knows whose.
    pub fn fail_pending(&self, fault: &Fault) {
        let lost: Vec<_> = lock(&self.pending).drain().collect();
        for (_, reply) in lost {
            drop(reply.send(Err(fault.clone())));
        }
    }

    /// Reports of this call go to `progress` until the returned guard is dropped.
    pub fn running<'a>(&'a self, call_id: &str, progress: Progress) -> RunningCall<'a> {
        let running = Running {
            progress,
            last_report: None,
        };
        lock(&self.running).insert(call_id.to_owned(), running);
        RunningCall {
            connection: self,
            call_id: call_id.to_owned(),
        }
    }

    /// Passes a report of a running call on. Reports of others, and too many, are dropped.
    pub fn report(&self, call_id: &str, output: ToolOutput) {
        let mut running = lock(&self.running);
        let Some(call) = running.get_mut(call_id) else {
            return;
        };
        let now = Instant::now();
        if call
            .last_report
            .is_none_or(|last| now - last >= PROGRESS_INTERVAL)
        {
            call.last_report = Some(now);
            call.progress.report(output);
        }
    }

    /// Marks a question to a person as open until the guard is dropped.
    pub fn question(self: &Arc<Self>) -> OpenQuestion {
        self.questions.send_modify(|open| *open += 1);
        OpenQuestion {
            connection: Arc::clone(self),
            withdrawn: self.withdrawn.subscribe(),
        }
    }

    /// The extension is of no use any more and must be ended, for this reason.
    pub fn give_up(&self, why: impl Into<String>) {
        lock(&self.broken).get_or_insert_with(|| why.into());
        self.closed.cancel();
    }

    /// Why it was given up.
    pub fn given_up(&self) -> Option<String> {
        lock(&self.broken).clone()
    }

    /// Resolves when the line is closed or was given up.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Nothing will be answered any more.
    pub fn close(&self) {
        self.closed.cancel();
        self.fail_pending(&Fault::Gone);
    }

    /// Resolves when so much time has passed without a question to a person being open.
    async fn overdue(&self, limit: Option<Duration>) {
        let Some(mut left) = limit else {
            return std::future::pending().await;
        };
        let mut questions = self.questions.subscribe();
        loop {
            let since = Instant::now();
            if *questions.borrow_and_update() > 0 {
                // The sender is a field of ours and cannot be gone.
                let _ = questions.changed().await;
                continue;
            }
            tokio::select! {
                () = sleep(left) => return,
                _ = questions.changed() => left = left.saturating_sub(since.elapsed()),
            }
        }
    }

    fn count_timeouts<T>(&self, answered: &Result<T, Fault>) {
        match answered {
            Err(Fault::TimedOut(_)) => {
                let in_a_row = self.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
                if in_a_row >= TIMEOUTS_IN_A_ROW {
                    self.give_up(format!("it did not answer {in_a_row} times in a row"));
                }
            }
            Ok(_) | Err(Fault::Refused(_)) => self.timeouts.store(0, Ordering::Relaxed),
            Err(_) => {}
        }
    }
}

/// A request without an answer. When it is given up, the extension is told, and the questions it
/// asked meanwhile are withdrawn if nothing else is asked of it.
struct Unanswered<'a> {
    connection: &'a Connection,
    id: Id,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let mut pending = lock(&self.connection.pending);
        if pending.take(&self.id).is_none() {
            return;
        }
        let was_last = pending.is_empty();
        drop(pending);
        if let Some(id) = self.id.as_i64() {
            // One that reads so slowly will not miss it.
            let cancel = CancelParams { id };
            let _ = self.connection.outbox.notify(method::CANCEL, &cancel);
        }
        if was_last {
            self.connection.withdrawn.send_modify(|times| *times += 1);
        }
    }
}

/// A tool call whose reports are passed on.
pub(super) struct RunningCall<'a> {
    connection: &'a Connection,
    call_id: String,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        lock(&self.connection.running).remove(&self.call_id);
    }
}

/// A question to a person that is open.
pub(super) struct OpenQuestion {
    connection: Arc<Connection>,
    withdrawn: watch::Receiver<u64>,
}

impl OpenQuestion {
    /// Resolves when nobody is interested in the answer any more.
    pub async fn withdrawn(&mut self) {
        tokio::select! {
            _ = self.withdrawn.changed() => {}
            () = self.connection.closed() => {}
        }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.connection
            .questions
            .send_modify(|open| *open = open.saturating_sub(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, Lines};

    use super::*;

    /// The line to an extension that is played by the test.
    fn connected() -> (Arc<Connection>, Lines<BufReader<DuplexStream>>) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (outbox, writing) = Outbox::new(ours);
        tokio::spawn(writing);
        (
            Arc::new(Connection::new(outbox)),
            BufReader::new(theirs).lines(),
        )
    }

    async fn ask(connection: &Connection, limit_ms: u64) -> Result<Value, Fault> {
        let limit = Some(Duration::from_millis(limit_ms));
        connection.request("m", &json!({}), limit).await
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_a_person_is_asked_does_not_count() {
        let (connection, _lines) = connected();
        let asking = async {
            sleep(Duration::from_millis(60)).await;
            let question = connection.question();
            sleep(Duration::from_secs(3600)).await;
            drop(question);
            sleep(Duration::from_millis(30)).await;
            connection.answered(&Id::from(-1), Ok("7".to_owned()));
        };
        let (answer, ()) = tokio::join!(ask(&connection, 100), asking);
        assert_eq!(answer, Ok(json!(7)));
        assert_eq!(
            ask(&connection, 100).await,
            Err(Fault::TimedOut(Duration::from_millis(100)))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn three_timeouts_in_a_row_are_the_end_and_an_answer_between_them_is_not() {
        let (connection, _lines) = connected();
        for answer in [false, false, true, false, false] {
            assert_eq!(connection.given_up(), None);
            let answering = async {
                if answer {
                    sleep(Duration::from_millis(1)).await;
                    connection.answered(&Id::from(-3), Ok("null".to_owned()));
                }
            };
            let (answered, ()) = tokio::join!(ask(&connection, 10), answering);
            assert_eq!(answered.is_ok(), answer);
        }
        assert!(ask(&connection, 10).await.is_err());
        assert!(connection.given_up().is_some());
        assert_eq!(ask(&connection, 10).await, Err(Fault::Gone));
    }

    #[tokio::test]
    async fn who_no_longer_waits_says_so_and_withdraws_the_questions() {
        let (connection, mut lines) = connected();
        let mut question = connection.question();
        let params = json!({});
        let mut asked = Box::pin(connection.request::<Value>("m", &params, None));
        assert!(futures_util::poll!(&mut asked).is_pending());
        let line = lines.next_line().await.unwrap().unwrap();
        assert_eq!(
            line,
            r#"{"jsonrpc":"2.0","id":-1,"method":"m","params":{}}"#
        );
        drop(asked);
        let line = lines.next_line().await.unwrap().unwrap();
        assert_eq!(
            line,
            r#"{"jsonrpc":"2.0","method":"cancel","params":{"id":-1}}"#
        );
        question.withdrawn().await;
        // An answer that comes all the same is nobody's.
        connection.answered(&Id::from(-1), Ok("1".to_owned()));
    }
}
