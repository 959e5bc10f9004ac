//! Subagents that work in the background: jobs of their session, whose reports come as messages.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use serde_json::json;
use stentor_agent::jobs::{
    InputError, InputFuture, JobControl, JobEnd, JobInput, JobKind, JobOutput, JobReport,
    JobStatus, JobWork, Jobs, RunningJob, SentText,
};
use stentor_agent::subagents;
use stentor_agent::tasks;
use stentor_agent::tool::{Progress, ToolContext, ToolOutput};
use stentor_agent::undo::{JobUndo, JobWatch};
use stentor_journal::message::text_of;
use tokio_util::sync::CancellationToken;

use super::worker::SubagentTask;
use super::{SUBAGENT, SubagentTool, shown};
use crate::background::{OutputLog, end_job, jobs_of};
use crate::tool_error::ToolError;

/// Gives each task to an agent of its own, and waits for none.
pub(super) async fn start(
    tool: &Arc<SubagentTool>,
    tasks: Vec<SubagentTask>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let jobs = jobs_of(&*context.host)?;
    let may_go_on = context.host.in_background(None).is_some();
    if !may_go_on {
        return Err(nothing_here());
    }
    let mut ids = Vec::new();
    for task in tasks {
        let started = StartedSubagent::new(task, &jobs, context);
        let (started, running, job) = match started {
            Ok(started) => started,
            // Those before it work already, so the model must learn of them.
            Err(why) if !ids.is_empty() => {
                ids.push(format!("(further tasks were not started: {why})"));
                break;
            }
            Err(why) => return Err(why),
        };
        let undo = match context.host.undo() {
            Some(undo) => undo.begin_job(&job.id, JobWatch::Calls).await,
            None => None,
        };
        let host = context.host.in_background(undo.as_ref().map(JobUndo::undo));
        let host = host.ok_or_else(nothing_here)?;
        host.report_job(JobReport::Started(job.clone())).await;
        let StartedSubagent {
            task,
            control,
            cancel,
        } = started;
        let log = Arc::clone(&control);
        let context = ToolContext {
            cancel,
            host,
            progress: Progress::new(move |output| {
                let line = text_of(&output.content, "\n");
                log.output.push(&format!("{line}\n"));
            }),
            ..context.clone()
        };
        let (tool, jobs) = (Arc::clone(tool), Arc::clone(&jobs));
        let work = run_to_end(tool, task, context, control, jobs, running, undo);
        tasks::spawn(work);
        ids.push(job.id);
    }
    let list = ids.join(", ");
    let details = json!({ "jobs": ids });
    Ok(ToolOutput::text(format!("Started in the background: {list}.")).with_details(details))
}

fn nothing_here() -> ToolError {
    ToolError::refused("Nothing can run in the background here.")
}

/// A subagent that is about to work.
struct StartedSubagent {
    task: SubagentTask,
    control: Arc<SubagentJob>,
    cancel: CancellationToken,
}

impl StartedSubagent {
    fn new(
        mut task: SubagentTask,
        jobs: &Arc<Jobs>,
        context: &ToolContext,
    ) -> Result<(Self, RunningJob, stentor_agent::jobs::Job), ToolError> {
        let number = Arc::<OnceLock<u64>>::default();
        task.number = Some(Arc::clone(&number));
        let control = Arc::new(SubagentJob {
            output: OutputLog::default(),
            number,
            all: context.host.subagents(),
        });
        // Not the token of the call: that one fires when the run is stopped.
        let cancel = CancellationToken::new();
        let work = JobWork {
            tool_name: SUBAGENT.to_owned(),
            tool_call_id: context.call_id.clone(),
            what: format!("{}: {}", task.agent.name, task.task),
        };
        let shared = Arc::clone(&control) as Arc<dyn JobControl>;
        let running = jobs
            .start_in_background(JobKind::Subagent, work, cancel.clone(), shared)
            .map_err(|error| ToolError::refused(error.to_string()))?;
        let job = running
            .job()
            .ok_or_else(|| ToolError::refused("The job is gone already."))?;
        let started = Self {
            task,
            control,
            cancel,
        };
        Ok((started, running, job))
    }
}

async fn run_to_end(
    tool: Arc<SubagentTool>,
    task: SubagentTask,
    context: ToolContext,
    control: Arc<SubagentJob>,
    jobs: Arc<Jobs>,
    running: RunningJob,
    undo: Option<JobUndo>,
) {
    let agent = task.agent.name.clone();
    // Whatever happens in there, the session learns that it is over: closing waits for it.
    let worked = AssertUnwindSafe(tool.take_turn(task, &context)).catch_unwind();
    let (text, status) = match worked.await {
        Ok(report) => (shown(&report), report.status),
        Err(_) => (
            "internal error: this is a bug".to_owned(),
            JobStatus::Failed,
        ),
    };
    control.output.push(&format!("\n{text}\n"));
    if let Some(undo) = undo {
        undo.end().await;
    }
    let end = JobEnd {
        status,
        payload: Some(json!(text)),
        payload_file: None,
    };
    end_job(&jobs, running, end, &*context.host, |job| {
        let how = status.in_words();
        format!(
            "[Background job {} (subagent {agent}) {how}.]\n{text}",
            job.id
        )
    })
    .await;
}

/// How a subagent is reached.
struct SubagentJob {
    /// What it does, a line each, and what it reports.
    output: OutputLog,
    /// Its number among the subagents, once it works.
    number: Arc<OnceLock<u64>>,
    all: Option<Arc<subagents::Subagents>>,
}

impl JobControl for SubagentJob {
    fn output(&self, after: u64) -> JobOutput {
        self.output.after(after)
    }

    fn sent(&self) -> Option<SentText> {
        None
    }

    fn send(&self, input: JobInput) -> InputFuture {
        let reached = self.all.clone().zip(self.number.get().copied());
        Box::pin(async move {
            let message = match input {
                JobInput::Message(message) => message,
                JobInput::Text { .. } => return Err(InputError::NoCommand),
            };
            let Some((all, number)) = reached else {
                return Err(InputError::Refused("it has not begun yet".to_owned()));
            };
            let steered = all.steer(number, message).await;
            steered.map_err(|error| InputError::Refused(error.to_string()))
        })
    }
}
