//! `job`: looks after what runs in the background.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::jobs::{Job, JobControl, JobInput, JobStatus, Jobs, SentText};
use stentor_agent::tool::{
    CallVerdict, Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_journal::message::{ContentBlock, ToolCall};

use crate::background::{for_model, jobs_of};
use crate::bash::BASH;
use crate::tool_call;
use crate::tool_error::ToolError;

/// The name of the tool.
pub const JOB: &str = "job";

/// How long `wait` waits where nobody says.
const USUAL_WAIT: Duration = Duration::from_secs(60);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// How long a job may take to end that was stopped.
const LONGEST_STOP: Duration = Duration::from_secs(5);

/// The longest text that is written at once.
const LONGEST_TEXT_BYTES: usize = 64 * 1024;

const DESCRIPTION: &str = "Look after background jobs: list them, read the output that is new, write \
    to a command's stdin, steer a subagent with a message, stop a job, or wait for its end.";

/// Looks after jobs.
pub(crate) struct JobTool {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    action: JobAction,
    id: Option<String>,
    text: Option<String>,
    #[serde(default)]
    eof: bool,
    timeout: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum JobAction {
    List,
    Read,
    Write,
    Steer,
    Stop,
    Wait,
}

impl Default for JobTool {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: JOB.into(),
                label: JOB.into(),
                description: DESCRIPTION.into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "action": {
                            "type": "string",
                            "enum": ["list", "read", "write", "steer", "stop", "wait"]
                        },
                        "id": { "type": "string", "description": "The job, e.g. job-1" },
                        "text": {
                            "type": "string",
                            "description": "For write and steer; end a line with \n"
                        },
                        "eof": { "type": "boolean", "description": "Close stdin after writing" },
                        "timeout": {
                            "type": "number",
                            "description": "Seconds to wait at most (default 60)"
                        }
                    },
                    "required": ["action"]
                })
                .into(),
                // What is written to a command is asked about as a command.
                effect: ToolEffect::Nothing,
            },
        }
    }
}

impl Tool for JobTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let arguments: Arguments = tool_call::arguments(JOB, arguments)?;
            let jobs = jobs_of(&*context.host)?;
            match arguments.action {
                JobAction::List => Ok(list(&jobs)),
                JobAction::Read => read(&jobs, &find(&jobs, &arguments)?),
                JobAction::Write => write(&jobs, &arguments, &context).await,
                JobAction::Steer => steer(&jobs, &arguments).await,
                JobAction::Stop => stop(&jobs, &find(&jobs, &arguments)?).await,
                JobAction::Wait => wait(&jobs, &arguments, &context).await,
            }
        })
    }
}

/// The jobs of the model; those of the user are none of its business.
fn of_model(jobs: &Jobs) -> Vec<Job> {
    let mut all = jobs.list();
    all.retain(|job| job.is_background);
    all
}

fn find(jobs: &Jobs, arguments: &Arguments) -> Result<Job, ToolError> {
    let Some(id) = &arguments.id else {
        return Err(ToolError::refused("Give the id of the job."));
    };
    let found = jobs.find(id).filter(|job| job.is_background);
    found.ok_or_else(|| {
        let ids: Vec<String> = of_model(jobs).into_iter().map(|job| job.id).collect();
        ToolError::refused(match ids.is_empty() {
            true => format!("There is no job {id}: nothing was started in the background."),
            false => format!("There is no job {id}. There are: {}.", ids.join(", ")),
        })
    })
}

fn list(jobs: &Jobs) -> ToolOutput {
    let all = of_model(jobs);
    let lines: Vec<String> = all.iter().map(Job::line).collect();
    let text = match lines.is_empty() {
        true => "There are no background jobs.".to_owned(),
        false => lines.join("\n"),
    };
    let shown: Vec<Value> = all.iter().map(details).collect();
    ToolOutput::text(text).with_details(json!({ "jobs": shown }))
}

fn read(jobs: &Jobs, job: &Job) -> Result<ToolOutput, ToolError> {
    let output = jobs.read_new(&job.id).ok_or_else(|| {
        ToolError::refused(format!("The output of {} is no longer kept.", job.id))
    })?;
    let state = state(job);
    let text = match for_model(&output) {
        text if text.trim().is_empty() => format!("{state} There is no new output."),
        text => format!("{}\n\n{state}", text.trim_end()),
    };
    Ok(ToolOutput::text(text).with_details(json!({ "jobs": [details(job)] })))
}

/// How it is with a job, in a sentence.
fn state(job: &Job) -> String {
    let payload = job.ended.as_ref().and_then(|ended| ended.payload.as_ref());
    let how = payload.and_then(|payload| payload.get("ended")?.as_str());
    match how {
        Some(how) => format!("[{} ended: {how}]", job.id),
        None => format!("[{} {}]", job.id, job.status.in_words()),
    }
}

async fn write(
    jobs: &Jobs,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let job = find(jobs, arguments)?;
    let text = arguments.text.clone().unwrap_or_default();
    if text.is_empty() && !arguments.eof {
        return Err(ToolError::refused("Give the text to write, or eof."));
    }
    if text.len() > LONGEST_TEXT_BYTES {
        return Err(ToolError::refused(format!(
            "The text is longer than {LONGEST_TEXT_BYTES} bytes. Write it in parts, or into a file."
        )));
    }
    let control = reachable(jobs, &job)?;
    let Some(before) = control.sent() else {
        return Err(ToolError::refused(format!(
            "{} is a subagent: use steer.",
            job.id
        )));
    };
    permit(&before, &text, context).await?;
    let ends = arguments.eof;
    let sent = control.send(JobInput::Text { text, ends }).await;
    sent.map_err(|error| ToolError::refused(format!("{}: {error}.", job.id)))?;
    Ok(ToolOutput::text(format!("Written to {}.", job.id)))
}

/// What is written to a shell is run by it, so it is judged as a command of `bash`: by the hooks, by
/// the rules and by whoever is asked. What is written in pieces is judged as a whole as well. What
/// would be harmless for a new shell need not be so for what reads this.
async fn permit(before: &SentText, text: &str, context: &ToolContext) -> Result<(), ToolError> {
    if text.trim_matches(['\n', ' ']).is_empty() {
        return Ok(());
    }
    let spec = ToolSpec {
        name: BASH.into(),
        label: BASH.into(),
        description: String::new(),
        parameters: json!({ "type": "object" }).into(),
        effect: ToolEffect::Executes,
    };
    let judged = |command: String| {
        let call = ToolCall {
            id: context.call_id.clone(),
            name: BASH.to_owned(),
            arguments: Map::from_iter([("command".to_owned(), json!(command))]),
            thought_signature: None,
            intent: None,
        };
        let touches = Touches {
            command: Some(command),
            is_input: true,
            ..Touches::default()
        };
        (Arc::new(call), touches)
    };
    let (call, touches) = judged(as_command(text, before.is_terminal));
    if let Some(hooks) = context.host.hooks() {
        match hooks.before_tool_call(Arc::clone(&call)).await {
            CallVerdict::Allowed => {}
            CallVerdict::Changed(_) => {
                return Err(ToolError::refused(
                    "An extension would change this command, which is not possible here.",
                ));
            }
            CallVerdict::Denied(why) => return Err(ToolError::refused(why)),
        }
    }
    let asked = context.host.permit(call, spec.clone(), touches).await;
    asked?;
    if before.text.is_empty() {
        return Ok(());
    }
    let whole = format!("{}{text}", before.text);
    let (call, touches) = judged(as_command(&whole, before.is_terminal));
    let asked = context.host.permit_again(call, spec, touches).await;
    Ok(asked?)
}

/// What is judged of a text. In a terminal keys change the line before them, so that nobody knows which
/// command it becomes: it is judged as one that cannot be known.
fn as_command(text: &str, is_terminal: bool) -> String {
    const HARMLESS: [char; 4] = ['\n', '\r', '\u{3}', '\u{4}'];
    let is_edit = |key: char| key.is_control() && !HARMLESS.contains(&key);
    match is_terminal && text.contains(is_edit) {
        true => format!("eval \"$KEYS\" # {}", text.escape_debug()),
        false => text.to_owned(),
    }
}

async fn steer(jobs: &Jobs, arguments: &Arguments) -> Result<ToolOutput, ToolError> {
    let job = find(jobs, arguments)?;
    let text = arguments.text.clone().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(ToolError::refused("Give the text of the message."));
    }
    let message = JobInput::Message(vec![ContentBlock::text(text)]);
    let sent = reachable(jobs, &job)?.send(message).await;
    sent.map_err(|error| ToolError::refused(format!("{}: {error}.", job.id)))?;
    Ok(ToolOutput::text(format!("Sent to {}.", job.id)))
}

/// How a job that still runs is reached.
fn reachable(jobs: &Jobs, job: &Job) -> Result<Arc<dyn JobControl>, ToolError> {
    let control = jobs.control(&job.id).filter(|_| !job.status.is_over());
    control.ok_or_else(|| ToolError::refused(state(job)))
}

async fn stop(jobs: &Jobs, job: &Job) -> Result<ToolOutput, ToolError> {
    if !job.status.is_over() {
        jobs.end_is_known(&job.id);
        jobs.cancel(&job.id);
        // One that is stuck in the kernel ends later.
        let _ = tokio::time::timeout(LONGEST_STOP, jobs.ended(&job.id)).await;
    }
    let job = jobs.find(&job.id).unwrap_or_else(|| job.clone());
    let state = state(&job);
    // Nobody stops what they want to read.
    let text = match jobs.shown_output(&job.id) {
        Some(end) => format!("{end}\n\n{state}"),
        None => state,
    };
    Ok(ToolOutput::text(text).with_details(json!({ "jobs": [details(&job)] })))
}

async fn wait(
    jobs: &Jobs,
    arguments: &Arguments,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let job = find(jobs, arguments)?;
    let seconds = arguments.timeout.unwrap_or(USUAL_WAIT.as_secs_f64());
    let Ok(most) = Duration::try_from_secs_f64(seconds) else {
        return Err(ToolError::refused(format!(
            "Invalid timeout: {seconds}. It must be a number of seconds."
        )));
    };
    tokio::select! {
        () = jobs.ended(&job.id) => {}
        () = tokio::time::sleep(most.min(LONGEST_WAIT)) => {}
        () = context.cancel.cancelled() => return Err(ToolError::Aborted),
    }
    let job = jobs.find(&job.id).unwrap_or(job);
    if job.status.is_over() && job.status != JobStatus::Cancelled {
        // The message about its end follows, and has what it ended with.
        let text = format!("{} has ended; a message says how.", job.id);
        return Ok(ToolOutput::text(text).with_details(json!({ "jobs": [details(&job)] })));
    }
    read(jobs, &job)
}

fn details(job: &Job) -> Value {
    json!({
        "id": job.id,
        "kind": job.kind.as_str(),
        "status": JobStatus::as_str(job.status),
        "what": job.work.what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_edit_a_line_make_it_a_command_nobody_knows() {
        for (text, is_terminal, expected) in [
            ("rm x\n", true, "rm x\n"),
            ("\u{3}", true, "\u{3}"),
            ("rx\u{7f}m y\n", false, "rx\u{7f}m y\n"),
            ("rx\u{7f}m y\n", true, r#"eval "$KEYS" # rx\u{7f}m y\n"#),
            ("m y\u{1}r\n", true, r#"eval "$KEYS" # m y\u{1}r\n"#),
            ("/bin/r\t y\n", true, r#"eval "$KEYS" # /bin/r\t y\n"#),
        ] {
            assert_eq!(as_command(text, is_terminal), expected);
        }
    }
}
