//! Shell commands on the user's behalf, beside the conversation.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use stentor_journal::message::{BashExecution, KnownMessage, Message};
use stentor_journal::store::StoreError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::log::SessionLog;
use super::{TaskReport, answer};
use crate::box_error::BoxError;
use crate::event::{BashEnd, EventKind};
use crate::hub::Hub;
use crate::jobs::{JobEnd, JobKind, JobStatus, JobWork, Jobs};
use crate::left_running::LeftRunning;
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::options::Environment;
use crate::session::state::BashResult;
use crate::tasks;
use crate::tool::{ShellJob, ShellResult};

/// The note on disk that a message enters the conversation when the run is over. Its data is a
/// [`DeferredMessage`].
pub(super) const DEFERRED: &str = "stentor.deferred";

/// How long a command may take to end by itself after it was told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// A message for which there is no place in the conversation while a run is in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeferredMessage {
    /// The session it waits in; a fork does not inherit it.
    pub session: String,
    /// The id of the entry it becomes. An entry of that id on disk means that it did.
    pub deliver_as: String,
    pub message: Arc<Message>,
}

/// A command that ended.
pub(super) struct FinishedShell {
    id: u64,
    entry_id: Arc<str>,
    command: String,
    exclude_from_context: bool,
    result: Result<ShellResult, BoxError>,
    reply: Reply<Result<BashResult, SessionError>>,
}

/// The commands of the user.
pub(super) struct UserShells {
    environment: Environment,
    hub: Hub,
    cwd: Arc<Path>,
    jobs: Arc<Jobs>,
    left_running: Arc<LeftRunning>,
    reports: mpsc::Sender<TaskReport>,
    running: usize,
    next_id: u64,
    /// Commands that ended during a run: the model hears of them after it.
    deferred: Vec<DeferredMessage>,
}

impl UserShells {
    pub fn new(
        environment: Environment,
        hub: Hub,
        cwd: Arc<Path>,
        (jobs, left_running): (Arc<Jobs>, Arc<LeftRunning>),
        reports: mpsc::Sender<TaskReport>,
    ) -> Self {
        Self {
            environment,
            hub,
            cwd,
            jobs,
            left_running,
            reports,
            running: 0,
            next_id: 1,
            deferred: Vec::new(),
        }
    }

    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    pub fn left_running(&self) -> &Arc<LeftRunning> {
        &self.left_running
    }

    pub fn is_any_running(&self) -> bool {
        self.running > 0
    }

    pub fn cancel_all(&self) {
        self.jobs.cancel_all(JobKind::Shell);
    }

    /// The number of the command that is started next.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Starts a command. Its end comes as a [`TaskReport::ShellEnded`].
    pub fn start(
        &mut self,
        log: &mut SessionLog,
        command: String,
        exclude_from_context: bool,
        reply: Reply<Result<BashResult, SessionError>>,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        let entry_id: Arc<str> = log.reserve_entry_id().into();
        self.hub.publish(EventKind::BashStarted {
            id,
            entry_id: Arc::clone(&entry_id),
            command: command.as_str().into(),
        });
        let cancel = CancellationToken::new();
        self.running += 1;
        let job = self.jobs.start(
            JobKind::Shell,
            JobWork {
                tool_name: "bash".to_owned(),
                tool_call_id: format!("bash-{id}"),
                what: command.clone(),
            },
            cancel.clone(),
        );
        let stopped = cancel.clone();
        let hub = self.hub.clone();
        let work = ShellJob {
            command: command.clone(),
            cwd: Arc::clone(&self.cwd),
            cancel,
            spill_dir: Arc::clone(&self.environment.spill_dir),
            left_running: Some(Arc::clone(&self.left_running)),
            output: Arc::new(move |delta| {
                hub.publish(EventKind::BashOutput {
                    id,
                    delta: Arc::from(delta),
                });
            }),
        };
        let shell = Arc::clone(&self.environment.shell);
        let reports = self.reports.clone();
        tasks::spawn(async move {
            // Whatever happens in there, the session hears that it is over: closing waits for it.
            let running = AssertUnwindSafe(async move { shell.run(work).await }).catch_unwind();
            let result = tokio::select! {
                done = running => done.unwrap_or_else(|_| {
                    Err("the shell had an internal error: this is a bug".into())
                }),
                () = overdue(&stopped) => Ok(ShellResult { cancelled: true, ..ShellResult::default() }),
            };
            job.end(how_it_ended(&result));
            let finished = FinishedShell {
                id,
                entry_id,
                command,
                exclude_from_context,
                result,
                reply,
            };
            // When the session is gone there is nobody left to report to.
            let report = TaskReport::ShellEnded(Box::new(finished));
            reports.send(report).await.ok();
        });
    }

    /// Records a command that ended: now, or after the run that is going on. The actor waits for
    /// the disk: whoever wanted the command is answered then.
    pub async fn ended(&mut self, log: &mut SessionLog, finished: FinishedShell, in_run: bool) {
        let FinishedShell {
            id,
            entry_id,
            command,
            exclude_from_context,
            result,
            reply,
        } = finished;
        self.running = self.running.saturating_sub(1);
        let result = match result {
            Ok(result) => result,
            Err(why) => {
                let why = why.to_string();
                log.release(&entry_id);
                let end = BashEnd::Failed(why.clone());
                self.hub.publish(EventKind::BashEnded { id, entry_id, end });
                return answer(reply, Err(SessionError::Shell(why)));
            }
        };
        let full_output_path = result
            .full_output_path
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let message = KnownMessage::BashExecution(BashExecution {
            command,
            output: result.output.clone(),
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path,
            exclude_from_context: exclude_from_context.then_some(true),
            timestamp: log.now_ms(),
            rest: Default::default(),
        });
        let message: Arc<Message> = Arc::new(message.into());
        let deferred = DeferredMessage {
            session: log.header().id.clone(),
            deliver_as: entry_id.to_string(),
            message: Arc::clone(&message),
        };
        let recorded = if in_run {
            let noted = log.note(DEFERRED, &deferred, true);
            self.deferred.push(deferred);
            noted
        } else {
            self.deferred.push(deferred);
            self.deliver(log)
        };
        let synced = match recorded {
            Ok(()) => log.sync().await,
            Err(error) => Err(error),
        };
        let end = BashEnd::Ran(message);
        self.hub.publish(EventKind::BashEnded { id, entry_id, end });
        let done = synced.map(|()| BashResult { id, result });
        answer(reply, done.map_err(SessionError::from));
    }

    /// A stored session's command enters the conversation later.
    pub fn restore(&mut self, log: &mut SessionLog, deferred: DeferredMessage) {
        log.reserve(deferred.deliver_as.clone());
        self.deferred.push(deferred);
    }

    /// Puts the commands that ended during a run into the conversation. What the disk refuses
    /// waits on.
    pub fn deliver(&mut self, log: &mut SessionLog) -> Result<(), StoreError> {
        let mut waiting = std::mem::take(&mut self.deferred).into_iter();
        for deferred in waiting.by_ref() {
            let id = deferred.deliver_as.clone();
            if let Err(error) = log.append_message(id, Arc::clone(&deferred.message)) {
                self.deferred.push(deferred);
                self.deferred.extend(waiting);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Notes on disk again what enters the conversation later.
    pub fn note_again(&self, log: &mut SessionLog) -> Result<(), StoreError> {
        let mut deferred = self.deferred.iter();
        deferred.try_for_each(|deferred| log.note(DEFERRED, deferred, true))
    }
}

/// Resolves when a command was told to stop and did not.
async fn overdue(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

fn how_it_ended(result: &Result<ShellResult, BoxError>) -> JobEnd {
    match result {
        Ok(result) => JobEnd {
            status: match (result.cancelled, result.exit_code) {
                (true, _) => JobStatus::Cancelled,
                (false, Some(0)) => JobStatus::Completed,
                (false, _) => JobStatus::Failed,
            },
            payload: Some(serde_json::json!({
                "output": result.output,
                "exitCode": result.exit_code,
            })),
            payload_file: result.full_output_path.clone(),
        },
        Err(why) => JobEnd {
            status: JobStatus::Failed,
            payload: Some(serde_json::json!({ "error": why.to_string() })),
            payload_file: None,
        },
    }
}
