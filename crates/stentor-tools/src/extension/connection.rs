//! The connection to a running extension: what it is asked, how long it may take, and what it asks
//! and reports meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stentor_agent::tool::{Progress, ToolOutput};
use stentor_wire::extension::method;
use stentor_wire::jsonrpc::OwnRequests;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::limits::{PROGRESS_INTERVAL, TIMEOUTS_IN_A_ROW};
use crate::json_rpc_child::{CancelNotice, Outgoing, Peer, RequestError};

/// How an extension learns that nobody waits for its answer any more.
const CANCEL: CancelNotice = CancelNotice {
    method: method::CANCEL,
    id_member: "id",
};

/// The connection to a running extension.
pub(super) struct ExtensionConnection {
    pub peer: Arc<Peer>,
    running: Mutex<HashMap<String, ExtensionCall>>,
    /// Questions to a person that are open. Meanwhile no time limit runs.
    questions: watch::Sender<usize>,
    /// Changes when open questions are of no interest any more.
    withdrawn: watch::Sender<u64>,
    timeouts: AtomicU32,
}

/// A tool call that is running.
struct ExtensionCall {
    progress: Progress,
    last_report: Option<Instant>,
}

impl ExtensionConnection {
    /// A connection, and what is to be sent over it.
    pub fn new() -> (Self, Outgoing) {
        let (peer, outgoing) = Peer::new(OwnRequests::new(), CANCEL);
        let connection = Self {
            peer,
            running: Mutex::default(),
            questions: watch::Sender::new(0),
            withdrawn: watch::Sender::new(0),
            timeouts: AtomicU32::new(0),
        };
        (connection, outgoing)
    }

    /// Asks and waits for the answer, at most `limit` long. `null` is an answer that says nothing.
    /// Dropped while it waits, it withdraws the questions that were asked meanwhile, if nothing
    /// else is asked of the extension.
    pub async fn request<R: DeserializeOwned + Default>(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: Option<Duration>,
    ) -> Result<R, RequestError> {
        let mut unanswered = UnansweredRequest {
            connection: self,
            is_answered: false,
        };
        let answered = tokio::select! {
            biased;
            answered = self.peer.request(method, params) => {
                unanswered.is_answered = true;
                answered
            }
            () = self.overdue(limit) => Err(RequestError::TimedOut(limit.unwrap_or_default())),
        };
        self.count_timeouts(&answered);
        let text = answered?;
        if text == "null" {
            return Ok(R::default());
        }
        serde_json::from_str(&text).map_err(|error| RequestError::Unreadable(error.to_string()))
    }

    /// Reports of this call go to `progress` until the returned guard is dropped.
    pub fn running<'a>(&'a self, call_id: &str, progress: Progress) -> ReportedCall<'a> {
        let running = ExtensionCall {
            progress,
            last_report: None,
        };
        lock(&self.running).insert(call_id.to_owned(), running);
        ReportedCall {
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
    pub fn question(self: &Arc<Self>) -> ExtensionQuestion {
        self.questions.send_modify(|open| *open += 1);
        ExtensionQuestion {
            connection: Arc::clone(self),
            withdrawn: self.withdrawn.subscribe(),
        }
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

    fn count_timeouts<T>(&self, answered: &Result<T, RequestError>) {
        match answered {
            Err(RequestError::TimedOut(_)) => {
                let in_a_row = self.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
                if in_a_row >= TIMEOUTS_IN_A_ROW {
                    let why = format!("it did not answer {in_a_row} times in a row");
                    self.peer.give_up(why);
                }
            }
            Ok(_) | Err(RequestError::Refused(_)) => self.timeouts.store(0, Ordering::Relaxed),
            Err(_) => {}
        }
    }
}

/// A request without an answer. When it is given up and nothing else is asked of the extension, the
/// questions it asked meanwhile are withdrawn.
struct UnansweredRequest<'a> {
    connection: &'a ExtensionConnection,
    is_answered: bool,
}

impl Drop for UnansweredRequest<'_> {
    fn drop(&mut self) {
        if !self.is_answered && self.connection.peer.is_idle() {
            self.connection.withdrawn.send_modify(|times| *times += 1);
        }
    }
}

/// A tool call whose reports are passed on.
pub(super) struct ReportedCall<'a> {
    connection: &'a ExtensionConnection,
    call_id: String,
}

impl Drop for ReportedCall<'_> {
    fn drop(&mut self) {
        lock(&self.connection.running).remove(&self.call_id);
    }
}

/// A question to a person that is open.
pub(super) struct ExtensionQuestion {
    connection: Arc<ExtensionConnection>,
    withdrawn: watch::Receiver<u64>,
}

impl ExtensionQuestion {
    /// Resolves when nobody is interested in the answer any more.
    pub async fn withdrawn(&mut self) {
        tokio::select! {
            _ = self.withdrawn.changed() => {}
            () = self.connection.peer.closed() => {}
        }
    }
}

impl Drop for ExtensionQuestion {
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
    use stentor_wire::jsonrpc::Id;
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, Lines};

    use super::*;
    use crate::json_rpc_child::{RequestError as Fault, write_lines};

    /// The line to an extension that is played by the test.
    fn connected() -> (Arc<ExtensionConnection>, Lines<BufReader<DuplexStream>>) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (connection, outgoing) = ExtensionConnection::new();
        tokio::spawn(write_lines(outgoing, ours));
        (Arc::new(connection), BufReader::new(theirs).lines())
    }

    async fn ask(connection: &ExtensionConnection, limit_ms: u64) -> Result<Value, Fault> {
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
            connection.peer.answered(&Id::from(-1), Ok("7".to_owned()));
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
            assert_eq!(connection.peer.given_up(), None);
            let answering = async {
                if answer {
                    sleep(Duration::from_millis(1)).await;
                    connection
                        .peer
                        .answered(&Id::from(-3), Ok("null".to_owned()));
                }
            };
            let (answered, ()) = tokio::join!(ask(&connection, 10), answering);
            assert_eq!(answered.is_ok(), answer);
        }
        assert!(ask(&connection, 10).await.is_err());
        assert!(connection.peer.given_up().is_some());
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
        connection.peer.answered(&Id::from(-1), Ok("1".to_owned()));
    }
}
