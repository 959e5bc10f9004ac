//! Shell commands on the user's behalf, beside the conversation.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use stentor_journal::message::{BashExecution, KnownMessage, Message};
use stentor_journal::store::{EntryKind, StoreError};
use tokio_util::sync::CancellationToken;

use super::{Actor, News, answer};
use crate::event::EventKind;
use crate::jobs::{JobEnd, JobKind, JobStatus, JobWork};
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::state::BashResult;
use crate::tool::{ShellJob, ShellResult};

/// The note on disk that a message enters the conversation when the run is over. Its data is a
/// [`Deferred`].
pub(super) const DEFERRED: &str = "stentor.deferred";

/// How long a command may take to end by itself after it was told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// A message for which there is no place in the conversation while a run is in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deferred {
    /// The session it waits in; a fork does not inherit it.
    pub session: String,
    /// The id of the entry it becomes. An entry of that id on disk means that it did.
    pub deliver_as: String,
    pub message: Arc<Message>,
}

/// A command that ended.
pub(super) struct FinishedBash {
    id: u64,
    command: String,
    exclude_from_context: bool,
    result: Result<ShellResult, String>,
    reply: Reply<Result<BashResult, SessionError>>,
}

impl Actor {
    pub(super) fn start_bash(
        &mut self,
        command: String,
        exclude_from_context: bool,
        reply: Reply<Result<BashResult, SessionError>>,
    ) {
        let id = self.next_bash;
        self.next_bash += 1;
        let cancel = CancellationToken::new();
        self.running_bash += 1;
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
            output: Arc::new(move |delta| {
                hub.publish(EventKind::BashOutput {
                    id,
                    delta: Arc::from(delta),
                });
            }),
        };
        let shell = Arc::clone(&self.environment.shell);
        let news = self.news.0.clone();
        tokio::spawn(async move {
            // Whatever happens in there, the session hears that it is over: closing waits for it.
            let running = AssertUnwindSafe(async move { shell.run(work).await }).catch_unwind();
            let result = tokio::select! {
                done = running => done.unwrap_or_else(|_| {
                    Err("the shell failed inside: this is a bug in it".to_owned())
                }),
                () = overdue(&stopped) => Ok(ShellResult { cancelled: true, ..ShellResult::default() }),
            };
            job.end(how_it_ended(&result));
            let finished = FinishedBash {
                id,
                command,
                exclude_from_context,
                result,
                reply,
            };
            // When the session is gone there is nobody left to tell.
            news.send(News::BashEnded(Box::new(finished))).await.ok();
        });
    }

    pub(super) async fn bash_ended(&mut self, finished: FinishedBash) {
        let FinishedBash {
            id,
            command,
            exclude_from_context,
            result,
            reply,
        } = finished;
        self.running_bash = self.running_bash.saturating_sub(1);
        let result = match result {
            Ok(result) => result,
            Err(why) => return answer(reply, Err(SessionError::Shell(why))),
        };
        let full_output_path = result
            .full_output_path
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let message: Message = KnownMessage::BashExecution(BashExecution {
            command,
            output: result.output.clone(),
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path,
            exclude_from_context: exclude_from_context.then_some(true),
            timestamp: self.environment.clock.now_ms(),
            rest: Default::default(),
        })
        .into();
        let deferred = Deferred {
            session: self.id.to_string(),
            deliver_as: self.new_entry_id(),
            message: Arc::new(message),
        };
        let recorded = if self.activity.is_none() {
            self.unheard_bash.push(deferred);
            self.tell_unheard_bash()
        } else {
            let noted = self.note_deferred(&deferred);
            self.unheard_bash.push(deferred);
            noted
        };
        let synced = match recorded {
            Ok(()) => self.record.sync().await,
            Err(error) => Err(error),
        };
        answer(
            reply,
            synced
                .map(|()| BashResult { id, result })
                .map_err(SessionError::from),
        );
    }

    /// Puts the commands that ended during a run into the conversation. What the disk refuses
    /// waits on.
    pub(super) fn tell_unheard_bash(&mut self) -> Result<(), StoreError> {
        let mut waiting = std::mem::take(&mut self.unheard_bash).into_iter();
        for deferred in waiting.by_ref() {
            let Deferred {
                deliver_as,
                message,
                ..
            } = deferred.clone();
            if let Err(error) = self.append_message(deliver_as, message) {
                self.unheard_bash.push(deferred);
                self.unheard_bash.extend(waiting);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Notes on disk that a message enters the conversation later.
    pub(super) fn note_deferred(&mut self, deferred: &Deferred) -> Result<(), StoreError> {
        let kind = EntryKind::Custom {
            custom_type: DEFERRED.to_owned(),
            data: serde_json::to_value(deferred).ok(),
        };
        self.append(kind, true).map(|_| ())
    }
}

/// Resolves when a command was told to stop and did not.
async fn overdue(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

fn how_it_ended(result: &Result<ShellResult, String>) -> JobEnd {
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
            payload: Some(serde_json::json!({ "error": why })),
            payload_file: None,
        },
    }
}
