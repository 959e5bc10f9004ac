//! Runs one command from its start to its end.

use std::path::Path;
use std::time::Duration;

use stentor_agent::left_running::LeftRunning;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::launcher::start_in_background;
use super::program::ShellProgram;
use super::reports::{ProgramEnd, ReachedLimit};
use super::spill::MAX_SPILL_BYTES;
use super::streams::CommandInput;
use crate::tool_error::ToolError;

/// A command to run.
pub(crate) struct CommandToRun<'a> {
    pub program: &'a ShellProgram,
    pub text: &'a str,
    pub cwd: &'a Path,
    pub time_limit: Option<Duration>,
    pub cancel: &'a CancellationToken,
    pub spill_dir: &'a Path,
    /// Where what it leaves running is noted; without it that stays until this process ends.
    pub left_running: Option<&'a LeftRunning>,
    pub input: CommandInput,
    pub output: OutputLimits,
    /// How long it has to end by itself once it must.
    pub grace: Duration,
}

/// What is taken of a command's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputLimits {
    /// A command that writes faster has to wait.
    pub bytes_per_second: Option<u64>,
    /// The most that is stored in a file.
    pub file_bytes: u64,
}

impl OutputLimits {
    /// Of a command that somebody waits for.
    pub(crate) const WAITED_FOR: Self = Self {
        bytes_per_second: None,
        file_bytes: MAX_SPILL_BYTES,
    };
}

/// How long a command that somebody waits for has to end by itself.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnding {
    Exited(i32),
    /// A signal that did not come from here.
    Signalled(i32),
    /// It was stopped because it used too much.
    Exceeded(ReachedLimit),
    Aborted,
    TimedOut,
}

/// A command that has ended, and what it wrote.
pub(crate) struct FinishedCommand {
    pub ending: CommandEnding,
    pub capture: Capture,
}

/// Looks on while a command runs.
pub(crate) trait CommandObserver: Send {
    /// Takes text as it comes.
    fn fresh(&mut self, _text: &str) {}

    /// Takes the state of the output: at once when something new comes after a pause, then at most
    /// every [`STATE_INTERVAL`], and at the end if it has changed.
    fn state(&mut self, _capture: &Capture) {}
}

/// The least time between two states.
const STATE_INTERVAL: Duration = Duration::from_millis(50);
/// How long the output is awaited after the shell has ended: background children hold the pipe.
const PATIENCE_AFTER_EXIT: Duration = Duration::from_millis(100);
/// How long a start may take, also on a machine that is very busy.
const LONGEST_START: Duration = Duration::from_secs(60);

/// How often a pipe is read after the end: enough for all that fits into it.
const MOST_LAST_READS: usize = 32;

/// Runs the command. It ends soon after it is cancelled or its time is up, with what it wrote.
pub(crate) async fn run(
    command: CommandToRun<'_>,
    watch: &mut dyn CommandObserver,
) -> Result<FinishedCommand, ToolError> {
    let mut capture = Capture::up_to(command.spill_dir, command.output.file_bytes);
    if command.cancel.is_cancelled() {
        let ending = CommandEnding::Aborted;
        return Ok(FinishedCommand { ending, capture });
    }
    if !command.cwd.is_dir() {
        return Err(ToolError::refused(format!(
            "Working directory does not exist: {}\nCannot execute bash commands.",
            command.cwd.display()
        )));
    }
    let shell = command.program.path();
    let cannot_start = |error: std::io::Error| {
        ToolError::refused(format!(
            "The command could not be started with {}: {error}",
            shell.display()
        ))
    };
    let (streams, output) = command.input.streams().map_err(cannot_start)?;
    let (program, text) = (command.program.clone(), command.text.to_owned());
    let cwd = command.cwd.to_owned();
    let started = start_in_background(move || program.start(&text, &cwd, streams)).await;
    let mut running = started.map_err(cannot_start)?;
    tokio::select! {
        started = running.started() => started.map_err(cannot_start)?,
        () = command.cancel.cancelled() => {
            running.kill().await;
            let ending = CommandEnding::Aborted;
            return Ok(FinishedCommand { ending, capture });
        }
        // Somebody has stopped what starts it.
        () = tokio::time::sleep(LONGEST_START) => {
            running.kill().await;
            return Err(cannot_start(std::io::ErrorKind::TimedOut.into()));
        }
    }

    let mut flow = OutputFlow::new(output, &mut capture, watch, command.output.bytes_per_second);
    let time_is_up = command
        .time_limit
        .and_then(|limit| Instant::now().checked_add(limit));
    let mut status: Option<ProgramEnd> = None;
    let mut wait_until: Option<Instant> = None;
    let mut stopped: Option<CommandEnding> = None;
    while flow.is_open || status.is_none() {
        tokio::select! {
            event = flow.next() => flow.handle(event).await,
            exit = running.wait(), if status.is_none() => {
                status = Some(exit.map_err(cannot_start)?);
                if stopped.is_none() {
                    wait_until = Some(Instant::now() + PATIENCE_AFTER_EXIT);
                }
            }
            () = command.cancel.cancelled(), if stopped.is_none() => {
                if status.is_some() {
                    break;
                }
                stopped = Some(CommandEnding::Aborted);
            }
            () = until(time_is_up), if stopped.is_none() && status.is_none() => {
                stopped = Some(CommandEnding::TimedOut);
            }
            () = until(wait_until), if wait_until.is_some() => break,
        }
        if stopped.is_some() && wait_until.is_none() {
            wait_until = Some(Instant::now() + command.grace);
            running.terminate();
        }
    }

    let ending = match (stopped, status) {
        (Some(why), _) => {
            running.kill().await;
            why
        }
        (None, Some(ended)) => {
            match (running.leave(), command.left_running) {
                (Some(left), Some(left_running)) => left_running.add(command.text, Box::new(left)),
                (Some(left), None) => left.until_this_process_ends(),
                (None, _) => {}
            }
            match ended {
                ProgramEnd::Exited(code) => CommandEnding::Exited(code),
                ProgramEnd::Signalled(signal) => CommandEnding::Signalled(signal),
                ProgramEnd::Exceeded(limit) => CommandEnding::Exceeded(limit),
            }
        }
        (None, None) => CommandEnding::Aborted,
    };
    flow.finish().await;
    Ok(FinishedCommand { ending, capture })
}

/// Sleeps until a time, or for ever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What a running command can do next.
enum CommandEvent {
    /// So many bytes are in the buffer.
    Output(usize),
    Closed,
    StateDue,
    /// More may be read again.
    Allowed,
}

/// The output on its way from the pipe to the capture and the watcher.
struct OutputFlow<'a> {
    output: pipe::Receiver,
    pace: Option<ReadPace>,
    is_open: bool,
    buffer: Vec<u8>,
    fresh: String,
    capture: &'a mut Capture,
    watch: &'a mut dyn CommandObserver,
    has_news: bool,
    next_state: Instant,
}

impl<'a> OutputFlow<'a> {
    fn new(
        output: pipe::Receiver,
        capture: &'a mut Capture,
        watch: &'a mut dyn CommandObserver,
        bytes_per_second: Option<u64>,
    ) -> Self {
        Self {
            output,
            pace: bytes_per_second.map(ReadPace::new),
            is_open: true,
            buffer: vec![0; 64 * 1024],
            fresh: String::new(),
            capture,
            watch,
            has_news: false,
            next_state: Instant::now(),
        }
    }

    /// Waits for output, or for the time to tell the state. Dropped while it waits, it loses
    /// nothing: nothing has been read then.
    async fn next(&mut self) -> CommandEvent {
        let pause = self.pace.as_ref().and_then(ReadPace::pause);
        tokio::select! {
            read = self.output.read(&mut self.buffer), if self.is_open && pause.is_none() => match read {
                Ok(count @ 1..) => CommandEvent::Output(count),
                Ok(_) | Err(_) => CommandEvent::Closed,
            },
            () = until(pause), if self.is_open && pause.is_some() => CommandEvent::Allowed,
            () = sleep_until(self.next_state), if self.has_news => CommandEvent::StateDue,
            else => std::future::pending().await,
        }
    }

    async fn handle(&mut self, event: CommandEvent) {
        match event {
            CommandEvent::Output(count) => self.take(count).await,
            CommandEvent::Closed => self.is_open = false,
            CommandEvent::StateDue => self.tell_state(),
            CommandEvent::Allowed => {}
        }
    }

    /// Takes what is still in the pipe without waiting for more, and tells the last state.
    async fn finish(mut self) {
        // Bounded, because something left in the background may write without end.
        for _ in 0..MOST_LAST_READS {
            match self.output.try_read(&mut self.buffer) {
                Ok(count @ 1..) if self.is_open => self.take(count).await,
                _ => break,
            }
        }
        self.capture.finish(&mut self.fresh).await;
        if !self.fresh.is_empty() {
            self.watch.fresh(&self.fresh);
            self.has_news = true;
        }
        if self.has_news {
            self.tell_state();
        }
    }

    async fn take(&mut self, count: usize) {
        if let Some(pace) = &mut self.pace {
            pace.took(count as u64);
        }
        let bytes = self.buffer.get(..count).unwrap_or_default();
        self.capture.append(bytes, &mut self.fresh).await;
        if self.fresh.is_empty() {
            return;
        }
        self.watch.fresh(&self.fresh);
        self.has_news = true;
        if Instant::now() >= self.next_state {
            self.tell_state();
        }
    }

    fn tell_state(&mut self) {
        self.watch.state(self.capture);
        self.has_news = false;
        self.next_state = Instant::now() + STATE_INTERVAL;
    }
}

/// How fast an output is read. One that never ends must not take all the time of this machine: who
/// writes into a pipe that is full waits.
struct ReadPace {
    bytes_per_second: u64,
    since: Instant,
    taken: u64,
}

impl ReadPace {
    const SECOND: Duration = Duration::from_secs(1);

    fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_second,
            since: Instant::now(),
            taken: 0,
        }
    }

    fn took(&mut self, bytes: u64) {
        if self.since.elapsed() >= Self::SECOND {
            *self = Self::new(self.bytes_per_second);
        }
        self.taken += bytes;
    }

    /// Until when nothing is read, if that is so.
    fn pause(&self) -> Option<Instant> {
        let end = self.since + Self::SECOND;
        (self.taken >= self.bytes_per_second && Instant::now() < end).then_some(end)
    }
}
