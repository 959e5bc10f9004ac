//! Commands in the background: started by a call that does not wait for them, and looked after by
//! other calls. They have the same shell, sandbox, limits and supervisors as every command.

mod input;
mod output;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use stentor_agent::jobs::{
    InputError, InputFuture, Job, JobControl, JobEnd, JobInput, JobKind, JobOutput, JobReport,
    JobStatus, JobWork, Jobs, RunningJob, SentText, shortened,
};
use stentor_agent::tasks;
use stentor_agent::tool::{ToolContext, ToolHost};
use stentor_agent::undo::{JobUndo, JobWatch};
use tokio_util::sync::CancellationToken;

use crate::process::{
    self, Capture, CommandEnding, CommandInput, CommandObserver, FinishedCommand, InputStream,
    OutputLimits, ShellProgram,
};
use crate::tool_error::ToolError;
use crate::truncation;
use input::CommandStdin;
pub(crate) use output::OutputLog;

/// How a command gets input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdin {
    Empty,
    Pipe,
    Terminal,
}

/// A command that is to run in the background.
pub(crate) struct BackgroundCommand {
    pub program: ShellProgram,
    pub text: String,
    pub stdin: Stdin,
    pub time_limit: Option<Duration>,
}

/// How long a command has to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(1);

/// Nobody waits for it, so it may neither take all the time of the machine nor fill the disk.
const OUTPUT: OutputLimits = OutputLimits {
    bytes_per_second: Some(8 << 20),
    file_bytes: 128 << 20,
};

/// How much of its output the message about an end shows.
const SHOWN_LINES: usize = 20;
const SHOWN_BYTES: usize = 2 * 1024;

/// Starts a command and returns its job. It is stopped when its session ends.
pub(crate) async fn start(
    command: BackgroundCommand,
    context: &ToolContext,
) -> Result<Job, ToolError> {
    let jobs = jobs_of(&*context.host)?;
    let (input, stream) = open(command.stdin).map_err(|error| {
        ToolError::refused(format!("The command could not be given an input: {error}"))
    })?;
    let control = Arc::new(CommandJob {
        output: OutputLog::default(),
        input: CommandStdin::new(stream),
    });
    // Not the token of the call: that one fires when the run is stopped.
    let cancel = CancellationToken::new();
    let work = JobWork {
        tool_name: "bash".to_owned(),
        tool_call_id: context.call_id.clone(),
        what: command.text.clone(),
    };
    let shared = Arc::clone(&control) as Arc<dyn JobControl>;
    let running = jobs
        .start_in_background(JobKind::Command, work, cancel.clone(), shared)
        .map_err(|error| ToolError::refused(error.to_string()))?;
    let job = running
        .job()
        .ok_or_else(|| ToolError::refused("The job is gone already."))?;
    let undo = match context.host.undo() {
        Some(undo) => undo.begin_job(&job.id, JobWatch::Always).await,
        None => None,
    };
    context
        .host
        .report_job(JobReport::Started(job.clone()))
        .await;
    let run = Run {
        command,
        input,
        control,
        cancel,
        context: context.clone(),
        undo,
    };
    tasks::spawn(run.run_to_end(jobs, running));
    Ok(job)
}

/// The jobs of the session a call is of.
pub(crate) fn jobs_of(host: &dyn ToolHost) -> Result<Arc<Jobs>, ToolError> {
    host.jobs()
        .ok_or_else(|| ToolError::refused("Nothing can run in the background here."))
}

fn open(stdin: Stdin) -> std::io::Result<(CommandInput, Option<InputStream>)> {
    let (input, stream) = match stdin {
        Stdin::Empty => return Ok((CommandInput::Empty, None)),
        Stdin::Pipe => CommandInput::pipe()?,
        Stdin::Terminal => CommandInput::terminal()?,
    };
    Ok((input, Some(stream)))
}

/// How a command is reached.
struct CommandJob {
    output: OutputLog,
    input: Arc<CommandStdin>,
}

impl JobControl for CommandJob {
    fn output(&self, after: u64) -> JobOutput {
        self.output.after(after)
    }

    fn sent(&self) -> Option<SentText> {
        Some(self.input.sent())
    }

    fn send(&self, input: JobInput) -> InputFuture {
        let to = Arc::clone(&self.input);
        Box::pin(async move {
            match input {
                JobInput::Text { text, ends } => to.write(&text, ends).await,
                JobInput::Message(_) => Err(InputError::NoSubagent),
            }
        })
    }
}

impl CommandObserver for &CommandJob {
    fn fresh(&mut self, text: &str) {
        self.output.push(text);
    }

    fn state(&mut self, capture: &Capture) {
        self.output.set_whole(capture.full_output_note());
    }
}

/// A command on its way.
struct Run {
    command: BackgroundCommand,
    input: CommandInput,
    control: Arc<CommandJob>,
    cancel: CancellationToken,
    context: ToolContext,
    undo: Option<JobUndo>,
}

impl Run {
    async fn run_to_end(mut self, jobs: Arc<Jobs>, running: RunningJob) {
        let (host, control) = (Arc::clone(&self.context.host), Arc::clone(&self.control));
        let (limit, undo) = (self.command.time_limit, self.undo.take());
        // Whatever happens in there, the session learns that it is over: closing waits for it.
        let ran = AssertUnwindSafe(self.run()).catch_unwind().await;
        control.input.close();
        if let Some(undo) = undo {
            undo.end().await;
        }
        let (status, how) = match &ran {
            Ok(Ok(finished)) => ended(finished.ending, limit),
            Ok(Err(error)) => (JobStatus::Failed, error.to_string()),
            Err(_) => (
                JobStatus::Failed,
                "internal error: this is a bug".to_owned(),
            ),
        };
        let file = match &ran {
            Ok(Ok(finished)) => finished.capture.full_output_path().map(Into::into),
            Ok(Err(_)) | Err(_) => None,
        };
        let end = JobEnd {
            status,
            payload: Some(payload(&control, &how)),
            payload_file: file,
        };
        end_job(&jobs, running, end, &*host, |job| {
            let unread = jobs.peek(&job.id).unwrap_or_default();
            format!(
                "[Background job {} ended: {how}. Command: {}]{}",
                job.id,
                shortened(&job.work.what),
                shown_end(&unread, &job.id)
            )
        })
        .await;
    }

    async fn run(self) -> Result<FinishedCommand, ToolError> {
        let left_running = self.context.host.left_running();
        let mut watch = &*self.control;
        process::run(
            process::CommandToRun {
                program: &self.command.program,
                text: &self.command.text,
                cwd: &self.context.cwd,
                time_limit: self.command.time_limit,
                cancel: &self.cancel,
                spill_dir: &self.context.spill_dir,
                left_running: left_running.as_deref(),
                input: self.input,
                output: OUTPUT,
                grace: GRACE,
            },
            &mut watch,
        )
        .await
    }
}

/// Ends a job, and reports it with what the model is told.
pub(crate) async fn end_job(
    jobs: &Arc<Jobs>,
    running: RunningJob,
    end: JobEnd,
    host: &dyn ToolHost,
    message: impl FnOnce(&Job) -> String,
) {
    let Some(id) = running.job().map(|job| job.id) else {
        return;
    };
    let is_known = running.is_end_known();
    running.end(end);
    let Some(job) = jobs.find(&id) else {
        return;
    };
    let message = (!is_known).then(|| message(&job));
    host.report_job(JobReport::Ended { job, message }).await;
}

fn ended(ending: CommandEnding, limit: Option<Duration>) -> (JobStatus, String) {
    match ending {
        CommandEnding::Exited(0) => (JobStatus::Completed, "exit code 0".to_owned()),
        CommandEnding::Exited(code) => (JobStatus::Failed, format!("exit code {code}")),
        CommandEnding::Signalled(signal) => {
            (JobStatus::Failed, format!("killed by signal {signal}"))
        }
        CommandEnding::Exceeded(limit) => (JobStatus::Failed, format!("stopped, because {limit}")),
        CommandEnding::Aborted => (JobStatus::Cancelled, "stopped".to_owned()),
        CommandEnding::TimedOut => {
            let seconds = limit.unwrap_or_default().as_secs_f64();
            let how = format!("stopped after {seconds} seconds, its time limit");
            (JobStatus::TimedOut, how)
        }
    }
}

fn payload(control: &CommandJob, how: &str) -> Value {
    json!({ "ended": how, "output": last(&control.output.after(0).text) })
}

/// The end of what nobody has read, and how to read more of it.
fn shown_end(unread: &JobOutput, id: &str) -> String {
    let text = unread.text.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let shown = last(text);
    let more = match shown.len() < text.len() || unread.dropped_bytes > 0 {
        true => format!("\n[There is more: read {id} with the job tool.]"),
        false => String::new(),
    };
    format!("\nThe end of its output:\n{shown}{more}")
}

/// The last lines of a text.
fn last(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES));
    let text = text.get(from..).unwrap_or_default();
    match memchr::memrchr_iter(b'\n', text.as_bytes()).nth(SHOWN_LINES - 1) {
        Some(before) => text.get(before + 1..).unwrap_or_default(),
        None => text,
    }
}

/// What a model reads of a job's output.
pub(crate) fn for_model(output: &JobOutput) -> String {
    let mut total = truncation::Extent::of(&output.text);
    // What is not kept any more counts as left out.
    total.bytes += output.dropped_bytes;
    if output.dropped_bytes > 0 {
        total.lines += 1;
    }
    let shown = truncation::tail(&output.text, total);
    if !shown.truncated {
        return shown.content;
    }
    let left_out = total.bytes.saturating_sub(shown.output_bytes);
    let left_out = truncation::size(left_out);
    let whole = match output.whole.is_empty() {
        true => String::new(),
        false => format!(" {}", output.whole),
    };
    format!(
        "[{left_out} before this is left out.{whole}]\n{}",
        shown.content
    )
}

#[cfg(test)]
mod tests;
