//! Commands the user runs beside the conversation.

use stentor_agent::tool::{Shell, ShellFuture, ShellJob, ShellResult};

use crate::process::{
    self, CommandEnding, CommandInput, CommandObserver, FinishedCommand, OutputLimits, ShellProgram,
};

/// Runs the user's commands on this machine, without a time limit.
pub(crate) struct LocalShell {
    program: ShellProgram,
}

impl LocalShell {
    /// Commands are run by `program`.
    pub(crate) fn new(program: ShellProgram) -> Self {
        Self { program }
    }
}

impl Shell for LocalShell {
    fn run(&self, job: ShellJob) -> ShellFuture {
        let program = self.program.clone();
        Box::pin(async move {
            let mut stream = Stream(&job);
            let finished = process::run(
                process::CommandToRun {
                    program: &program,
                    text: &job.command,
                    cwd: &job.cwd,
                    time_limit: None,
                    cancel: &job.cancel,
                    spill_dir: &job.spill_dir,
                    left_running: job.left_running.as_deref(),
                    input: CommandInput::Empty,
                    output: OutputLimits::WAITED_FOR,
                    grace: process::GRACE,
                },
                &mut stream,
            )
            .await?;
            Ok(result(&finished))
        })
    }
}

struct Stream<'a>(&'a ShellJob);

impl CommandObserver for Stream<'_> {
    fn fresh(&mut self, text: &str) {
        (self.0.output)(text);
    }
}

fn result(finished: &FinishedCommand) -> ShellResult {
    let mut shown = finished.capture.shown();
    if let CommandEnding::Exceeded(limit) = finished.ending {
        shown.content.push_str(&format!("\n[stopped: {limit}]\n"));
    }
    ShellResult {
        exit_code: match finished.ending {
            CommandEnding::Exited(code) => Some(code),
            CommandEnding::Signalled(_)
            | CommandEnding::Exceeded(_)
            | CommandEnding::Aborted
            | CommandEnding::TimedOut => None,
        },
        signal: match finished.ending {
            CommandEnding::Signalled(signal) => Some(signal),
            CommandEnding::Exited(_)
            | CommandEnding::Exceeded(_)
            | CommandEnding::Aborted
            | CommandEnding::TimedOut => None,
        },
        cancelled: finished.ending == CommandEnding::Aborted,
        truncated: shown.truncated,
        total_lines: shown.total_lines,
        total_bytes: shown.total_bytes,
        output_lines: shown.output_lines,
        output_bytes: shown.output_bytes,
        full_output_path: finished.capture.full_output_path().map(Into::into),
        output: shown.content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::{Arc, Mutex};
    use tokio_util::sync::CancellationToken;

    async fn runs(
        folder: &Path,
        command: &str,
        cancel: CancellationToken,
    ) -> (ShellResult, String) {
        let heard = Arc::new(Mutex::new(String::new()));
        let listener = Arc::clone(&heard);
        let job = ShellJob {
            command: command.into(),
            cwd: folder.into(),
            cancel,
            spill_dir: folder.join("spill").into(),
            left_running: None,
            output: Arc::new(move |text| listener.lock().unwrap().push_str(text)),
        };
        let shell = LocalShell::new(ShellProgram::of_this_machine());
        let result = shell.run(job).await.unwrap();
        let heard = heard.lock().unwrap().clone();
        (result, heard)
    }

    #[tokio::test]
    async fn both_outputs_and_the_exit_code_come_back_clean() {
        let folder = tempfile::tempdir().unwrap();
        let command = r"printf '\033[31mout\033[0m\r\n'; echo err 1>&2; exit 3";
        let (result, heard) = runs(folder.path(), command, CancellationToken::new()).await;
        let expected = ShellResult {
            output: "out\nerr\n".into(),
            exit_code: Some(3),
            signal: None,
            cancelled: false,
            truncated: false,
            total_lines: 2,
            total_bytes: 8,
            output_lines: 2,
            output_bytes: 8,
            full_output_path: None,
        };
        assert_eq!((result, heard), (expected, "out\nerr\n".into()));
    }

    #[tokio::test]
    async fn a_long_output_is_streamed_whole_and_returned_as_its_tail() {
        let folder = tempfile::tempdir().unwrap();
        let (result, heard) = runs(folder.path(), "seq 1 4000", CancellationToken::new()).await;
        let whole: String = (1..=4000).map(|n| format!("{n}\n")).collect();
        let tail: String = (2001..=4000).map(|n| format!("{n}\n")).collect();
        assert_eq!(heard, whole);
        assert_eq!(result.output, tail.trim_end());
        assert!(result.truncated);
        let kept = std::fs::read_to_string(result.full_output_path.unwrap()).unwrap();
        assert_eq!(kept, whole);
    }

    #[tokio::test]
    async fn a_cancelled_command_has_no_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (result, _) = runs(folder.path(), "sleep 1000", cancel).await;
        assert_eq!((result.exit_code, result.cancelled), (None, true));
    }

    #[tokio::test]
    async fn a_command_that_does_not_exist_is_exit_code_127() {
        let folder = tempfile::tempdir().unwrap();
        let (result, _) = runs(folder.path(), "no-such-program", CancellationToken::new()).await;
        assert_eq!(result.exit_code, Some(127));
    }
}
