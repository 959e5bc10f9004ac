//! `bash`: runs a command, shows its output as it comes, and keeps the end of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::sandbox::SandboxMode;
use stentor_agent::tool::{
    PlaceCommand, PlaceOutput, Progress, Shell, Tool, ToolContext, ToolEffect, ToolFuture,
    ToolOutput, ToolSpec, Touches,
};

use crate::background::{self, BackgroundCommand, Stdin};
use crate::process::{
    self, Capture, CommandEnding, CommandInput, CommandObserver, FinishedCommand, OutputLimits,
    ShellProgram,
};
use crate::shell::LocalShell;
use crate::tool_call;
use crate::tool_error::ToolError;
use crate::truncation::{MAX_BYTES, TruncatedBy, Truncation, size};

/// The name of the tool.
pub const BASH: &str = "bash";

/// Runs a shell command.
pub(crate) struct Bash {
    spec: ToolSpec,
    program: ShellProgram,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    timeout: Option<f64>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    pty: bool,
    #[serde(default)]
    stdin: bool,
}

/// The longest time limit, in seconds: the longest timer of the clients' own runtimes.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

const DESCRIPTION: &str = "Execute a bash command in the current working directory. Returns \
    stdout and stderr. Output is truncated to last 2000 lines or 50KB (whichever is hit first). If \
    truncated, full output is saved to a temp file. Optionally provide a timeout in seconds. With \
    background the command goes on while you do: a message says when it ends, and the job tool reads \
    its output, writes to it and stops it. It is stopped when the session ends.";

impl Bash {
    /// Commands are run by `program`.
    pub(crate) fn new(program: ShellProgram) -> Self {
        Self {
            spec: ToolSpec {
                name: BASH.into(),
                label: BASH.into(),
                description: format!("{DESCRIPTION}{}", sandbox_note(&program)),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "command": {
                            "type": "string",
                            "description": "Bash command to execute"
                        },
                        "timeout": {
                            "type": "number",
                            "description": "Timeout in seconds (optional, no default timeout)"
                        },
                        "background": {
                            "type": "boolean",
                            "description": "Do not wait for the command"
                        },
                        "stdin": {
                            "type": "boolean",
                            "description": "In the background, with a stdin to write to; else it is empty"
                        },
                        "pty": {
                            "type": "boolean",
                            "description": "In the background, in a terminal that is written to"
                        }
                    },
                    "required": ["command"]
                })
                .into(),
                effect: ToolEffect::Executes,
            },
            program,
        }
    }

    async fn execute(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = tool_call::arguments(BASH, arguments)?;
        let limit = TimeLimit::new(arguments.timeout)?;
        if arguments.background || arguments.pty || arguments.stdin {
            return self.start_in_background(arguments, &limit, &context).await;
        }
        let command = arguments.command;
        context.progress.report(ToolOutput {
            content: Vec::new(),
            details: None,
            is_error: false,
        });
        // The client's terminal has no sandbox, so with one commands run here.
        if self.program.launcher().restrictions().is_none()
            && let Some(ran) = run_in_place(&command, &limit, &context).await?
        {
            return of_place(ran, &limit, &context).await;
        }
        let mut watch = CommandProgress(context.progress.clone());
        let left_running = context.host.left_running();
        let finished = process::run(
            process::CommandToRun {
                program: &self.program,
                text: &command,
                cwd: &context.cwd,
                time_limit: limit.duration,
                cancel: &context.cancel,
                spill_dir: &context.spill_dir,
                left_running: left_running.as_deref(),
                input: CommandInput::Empty,
                output: OutputLimits::WAITED_FOR,
                grace: process::GRACE,
            },
            &mut watch,
        )
        .await?;
        Ok(result(&finished, &limit))
    }
}

impl Bash {
    /// Commands in the background run here, also where a client has terminals: those cannot be
    /// written to.
    async fn start_in_background(
        &self,
        arguments: Arguments,
        limit: &TimeLimit,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let command = BackgroundCommand {
            program: self.program.clone(),
            text: arguments.command,
            stdin: match (arguments.pty, arguments.stdin) {
                (true, _) => Stdin::Terminal,
                (false, true) => Stdin::Pipe,
                (false, false) => Stdin::Empty,
            },
            time_limit: limit.duration,
        };
        let job = background::start(command, context).await?;
        let details = json!({ "job": { "id": job.id, "kind": job.kind.as_str() } });
        Ok(
            ToolOutput::text(format!("Started {} in the background.", job.id))
                .with_details(details),
        )
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, _: &Path) -> Touches {
        Touches {
            command: Some(
                arguments
                    .get("command")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            ),
            ..Touches::default()
        }
    }

    fn shell(&self) -> Option<Arc<dyn Shell>> {
        Some(Arc::new(LocalShell::new(self.program.clone())))
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move { self.execute(arguments, context).await })
    }
}

/// The time a command has, and how a model put it.
struct TimeLimit {
    seconds: f64,
    duration: Option<Duration>,
}

impl TimeLimit {
    fn new(seconds: Option<f64>) -> Result<Self, ToolError> {
        let seconds = seconds.unwrap_or_default();
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(ToolError::refused(
                "Invalid timeout: must be a finite number of seconds",
            ));
        }
        if seconds > MAX_TIMEOUT_SECONDS {
            return Err(ToolError::refused(format!(
                "Invalid timeout: maximum is {MAX_TIMEOUT_SECONDS} seconds"
            )));
        }
        Ok(Self {
            seconds,
            // Models say 0 where they mean no limit.
            duration: (seconds > 0.0).then(|| Duration::from_secs_f64(seconds)),
        })
    }
}

/// Tells the clients how far the command is.
struct CommandProgress(Progress);

impl CommandObserver for CommandProgress {
    fn state(&mut self, capture: &Capture) {
        let shown = capture.shown();
        let text = shown.content.clone();
        let details = details(shown, capture).unwrap_or_else(|| json!({}));
        self.0.report(ToolOutput::text(text).with_details(details));
    }
}

/// The result of a command that ran here.
fn result(finished: &FinishedCommand, limit: &TimeLimit) -> ToolOutput {
    let capture = &finished.capture;
    let shown = capture.shown();
    let mut text = shown.content.clone();
    if shown.truncated {
        text.push_str(&cut_note(&shown, capture));
    }
    let details = details(shown, capture);
    with_ending(text, details, finished.ending, limit)
}

/// Runs the command in the client, if the client runs commands.
async fn run_in_place(
    command: &str,
    limit: &TimeLimit,
    context: &ToolContext,
) -> Result<Option<PlaceOutput>, ToolError> {
    let command = PlaceCommand {
        call_id: context.call_id.clone(),
        command: command.to_owned(),
        cwd: context.cwd.to_path_buf(),
        timeout_ms: limit
            .duration
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        output_limit_bytes: MAX_BYTES,
    };
    let ran = context.place.run_command(&command, &context.cancel).await;
    ran.map_err(ToolError::Place)
}

/// The result of a command that ran in the client.
async fn of_place(
    ran: PlaceOutput,
    limit: &TimeLimit,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let ending = match ran.exit_code {
        _ if ran.timed_out => CommandEnding::TimedOut,
        _ if context.cancel.is_cancelled() => CommandEnding::Aborted,
        Some(code) => CommandEnding::Exited(code),
        None => CommandEnding::Aborted,
    };
    let mut capture = Capture::new(&context.spill_dir);
    let mut fresh = String::new();
    capture.append(ran.output.as_bytes(), &mut fresh).await;
    capture.finish(&mut fresh).await;
    let mut output = result(&FinishedCommand { ending, capture }, limit);
    if ran.truncated {
        output
            .content
            .push(stentor_journal::message::ContentBlock::text(
                "[The beginning of the output was not kept by the client.]",
            ));
    }
    Ok(output)
}

fn with_ending(
    text: String,
    details: Option<Value>,
    ending: CommandEnding,
    limit: &TimeLimit,
) -> ToolOutput {
    const SIGNALS: i32 = 128;
    let status = match ending {
        CommandEnding::Exited(0) => {
            let text = or_no_output(text);
            return ToolOutput {
                details,
                ..ToolOutput::text(text)
            };
        }
        CommandEnding::Exited(code) => format!("Command exited with code {code}"),
        CommandEnding::Signalled(signal) => {
            format!("Command exited with code {}", SIGNALS + signal)
        }
        CommandEnding::Exceeded(limit) => format!("Command stopped: {limit}"),
        CommandEnding::Aborted => "Command aborted".to_owned(),
        CommandEnding::TimedOut => format!("Command timed out after {} seconds", limit.seconds),
    };
    let text = match ending {
        CommandEnding::Exceeded(_) | CommandEnding::Aborted | CommandEnding::TimedOut => text,
        CommandEnding::Exited(_) | CommandEnding::Signalled(_) => or_no_output(text),
    };
    let text = match text.is_empty() {
        true => status,
        false => format!("{text}\n\n{status}"),
    };
    // A failed call has no details, whatever was cut: the note in the text says it.
    ToolOutput::error(text)
}

fn or_no_output(text: String) -> String {
    match text.is_empty() {
        true => "(no output)".to_owned(),
        false => text,
    }
}

/// Tells the model what its commands are held back from, so that it does not take a refusal for a
/// mistake of its own.
fn sandbox_note(program: &ShellProgram) -> String {
    let Some(restrictions) = program.launcher().restrictions() else {
        return String::new();
    };
    let files = match restrictions.mode {
        SandboxMode::ReadOnly => " can change no files",
        SandboxMode::WorkspaceWrite => {
            " can change files only in the current working directory and the directory for \
             temporary files"
        }
        SandboxMode::Off => "",
    };
    let network = match restrictions.network {
        true => "",
        false => " have no network and no sockets",
    };
    let and = match files.is_empty() || network.is_empty() {
        true => "",
        false => " and",
    };
    format!(" Commands run in a sandbox: they{files}{and}{network}.")
}

/// Says which part is shown and where the rest is.
fn cut_note(shown: &Truncation, capture: &Capture) -> String {
    let total = shown.total_lines;
    let first = total - shown.output_lines.min(total) + 1;
    let whole = capture.full_output_note();
    if shown.last_line_partial {
        let part = size(shown.output_bytes);
        let line = size(capture.last_line_bytes());
        return format!("\n\n[Showing last {part} of line {total} (line is {line}). {whole}]");
    }
    let limit = match shown.truncated_by {
        Some(TruncatedBy::Bytes) => format!(" ({} limit)", size(MAX_BYTES)),
        Some(TruncatedBy::Lines) | None => String::new(),
    };
    format!("\n\n[Showing lines {first}-{total} of {total}{limit}. {whole}]")
}

fn details(shown: Truncation, capture: &Capture) -> Option<Value> {
    if !shown.truncated {
        return None;
    }
    let mut details = json!({ "truncation": shown });
    if let (Some(path), Some(details)) = (capture.full_output_path(), details.as_object_mut()) {
        details.insert("fullOutputPath".into(), json!(path.to_string_lossy()));
    }
    Some(details)
}

#[cfg(test)]
mod tests;
