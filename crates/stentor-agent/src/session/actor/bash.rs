//! Shell commands on the user's behalf, beside the conversation.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Actor, News, answer};
use crate::event::EventKind;
use crate::jobs::{JobEnd, JobKind, JobStatus, JobWork};
use crate::message::{BashExecution, KnownMessage, Message};
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::state::BashResult;
use crate::store::StoreError;
use crate::tool::{ShellJob, ShellResult};

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
            let result = shell.run(work).await;
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
        })
        .into();
        self.unheard_bash.push(Arc::new(message));
        let recorded = if self.activity.is_none() {
            self.tell_unheard_bash()
        } else {
            Ok(())
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

    /// Puts the commands that ended during a run into the conversation.
    pub(super) fn tell_unheard_bash(&mut self) -> Result<(), StoreError> {
        for message in std::mem::take(&mut self.unheard_bash) {
            let id = self.new_entry_id();
            self.append_message(id, message)?;
        }
        Ok(())
    }
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
