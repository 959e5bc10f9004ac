//! From the first frame to the exit code (section 2).

use std::sync::Arc;

use stentor_agent::agent::{Agent, AgentError};
use stentor_agent::session::Session;
use stentor_agent::tasks;
use stentor_wire::omp::command::{Command, CommandBody, Inbound, Refused, Side};
use stentor_wire::omp::facts::{MAX_FRAME_BYTES, MAX_REASSEMBLED_BYTES, PROTOCOL_VERSIONS};
use stentor_wire::omp::frame::Frame;
use tokio::sync::mpsc;

use super::OmpOptions;
use super::commands;
use super::dialect::{OmpDialect, prepare};
use super::framing::{AgentFrame, Framing};
use super::limits;
use super::reply::UnframedAnswer;
use super::running_commands::RunningCommand;
use super::ui::{self, UiKind};
use crate::connection::{Connection, OpenedConnection};
use crate::input::{InputLine, InputLines};
use crate::signals::EndSignal;

/// Exit code for a child that could not start (section 2).
const FAILED: u8 = 1;

/// Serves one client until it goes away. Returns the exit code, or why there is no session.
pub async fn serve(
    agent: Agent,
    client: Connection,
    options: OmpOptions,
) -> Result<u8, AgentError> {
    let OpenedConnection {
        source,
        output,
        mut signals,
    } = match client.open() {
        Ok(opened) => opened,
        Err(error) => {
            tracing::error!(%error, "the process cannot be set up");
            return Ok(FAILED);
        }
    };
    let mut session_options = agent.options(&options.cwd)?;
    if output.send(&ready()).await.is_err() {
        return Ok(0);
    }
    let input = InputLines::read(source, limits::INPUT_LINE_BYTES);
    prepare(&agent, &options, &mut session_options);
    let dialect = OmpDialect::start(agent, options, output.clone(), session_options)?;
    if dialect.options.wants_dialogs {
        dialect.connection.answers_dialogs();
    }
    dialect.connection.let_ask(&dialect.session()).await;
    publish_commands(dialect.session());
    let (queue, worker) = start_worker(&dialect);
    let mut reading = tasks::spawn(read(Arc::clone(&dialect), queue, input));
    let end = tokio::select! {
        _ = &mut reading => ServingEnd::Input,
        signal = signals.next() => ServingEnd::Signal(signal),
        () = output.closed() => ServingEnd::Output,
        () = asked_to_end(&dialect) => ServingEnd::Asked,
    };
    reading.abort();
    match end {
        ServingEnd::Input | ServingEnd::Asked => {
            // What was read before the end is still answered.
            signals.wind_down(limits::DRAIN, worker).await;
        }
        ServingEnd::Signal(_) | ServingEnd::Output => worker.abort(),
    }
    let winding_down = async {
        dialect.end().await;
        output.finish().await;
    };
    signals.wind_down(limits::WIND_DOWN, winding_down).await;
    Ok(match end {
        ServingEnd::Input | ServingEnd::Output | ServingEnd::Asked => 0,
        ServingEnd::Signal(signal) => signal.exit_code(),
    })
}

/// Takes line after line until the client closes our stdin.
async fn read(dialect: Arc<OmpDialect>, queue: mpsc::Sender<QueuedCommand>, mut input: InputLines) {
    while let Some(line) = input.next().await {
        take(&dialect, &queue, line).await;
    }
}

/// Why it is over.
enum ServingEnd {
    /// The client closed our stdin.
    Input,
    /// The client closed our stdout.
    Output,
    /// An extension wants it so.
    Asked,
    Signal(EndSignal),
}

/// Waits until an extension wants the program to end and what it was asked to do is done: the
/// command that brought it to this is still answered, with the dialogs that belong to it.
async fn asked_to_end(dialect: &OmpDialect) {
    dialect.connection.shutdown.cancelled().await;
    dialect.running_commands.wait().await;
}

/// Publishes which slash commands there are, if any, when they have been looked for
/// (section 19). Nothing waits for that.
pub(super) fn publish_commands(session: Session) {
    tasks::spawn(async move { session.commands_changed().await });
}

fn ready() -> Vec<u8> {
    let mut frames = Vec::new();
    let frame: AgentFrame<'_> = Frame::Ready {
        protocol_version: 1,
        supported_protocol_versions: PROTOCOL_VERSIONS,
        max_frame_bytes: MAX_FRAME_BYTES,
        max_reassembled_frame_bytes: MAX_REASSEMBLED_BYTES,
    };
    Framing::default().write(&mut frames, "ready", &frame);
    frames
}

/// Starts the task that does what clients ask for in the order they ask (section 5).
fn start_worker(
    dialect: &Arc<OmpDialect>,
) -> (mpsc::Sender<QueuedCommand>, tokio::task::JoinHandle<()>) {
    let (sender, mut queue) = mpsc::channel::<QueuedCommand>(limits::WAITING_COMMANDS);
    let dialect = Arc::clone(dialect);
    let worker = tasks::spawn(async move {
        while let Some(queued) = queue.recv().await {
            let running = dialect.running_commands.begin();
            match queued {
                QueuedCommand::Command(command) if may_wait_long(&command.body) => {
                    in_background_if_slow(&dialect, command, running).await;
                }
                QueuedCommand::Command(command) => commands::perform(&dialect, command).await,
                QueuedCommand::Refusal(answer) => dialect.write_answer(answer).await,
            }
        }
    });
    (sender, worker)
}

/// A prompt may have to wait until a run that has ended has tidied up, compaction included.
fn may_wait_long(body: &CommandBody) -> bool {
    matches!(
        body,
        CommandBody::Prompt(_) | CommandBody::AbortAndPrompt(_)
    )
}

/// Lets the commands behind it go on when it takes long: one of them may stop what it waits for.
async fn in_background_if_slow(
    dialect: &Arc<OmpDialect>,
    command: Command,
    running: RunningCommand,
) {
    let dialect = Arc::clone(dialect);
    let mut work = Box::pin(async move {
        commands::perform(&dialect, command).await;
        drop(running);
    });
    if tokio::time::timeout(limits::PATIENCE, &mut work)
        .await
        .is_err()
    {
        tasks::spawn(work);
    }
}

/// What waits for its turn.
enum QueuedCommand {
    Command(Command),
    /// The answer to a line that is no command.
    Refusal(UnframedAnswer),
}

/// Takes one line. Only what must keep its place waits, and only when very much waits already.
async fn take(dialect: &Arc<OmpDialect>, queue: &mpsc::Sender<QueuedCommand>, line: InputLine) {
    let parsed = match line {
        InputLine::Line(line) if line.trim().is_empty() => return,
        InputLine::Line(line) => Inbound::parse(&line),
        InputLine::TooLong => Err(Refused::NotJson(format!(
            "the line is longer than {} bytes",
            limits::INPUT_LINE_BYTES
        ))),
        InputLine::InvalidUtf8 => Err(Refused::NotJson("the line is not UTF-8".to_owned())),
    };
    let queued = match parsed {
        Ok(Inbound::Side(side)) => return hear(dialect, side).await,
        Ok(Inbound::Command(command)) if stops_something(&command.body) && dialect.is_unread() => {
            // The others wait for the client to read; what stops something must not.
            return beside_the_others(dialect, command).await;
        }
        Ok(Inbound::Command(command)) => QueuedCommand::Command(command),
        Err(refused) => QueuedCommand::Refusal(UnframedAnswer::to(&refused)),
    };
    // The worker outlives the queue.
    queue.send(queued).await.ok();
}

/// Only a client that stops things over and over without reading waits here.
async fn beside_the_others(dialect: &Arc<OmpDialect>, command: Command) {
    if let Ok(permit) = Arc::clone(&dialect.urgent).acquire_owned().await {
        let dialect = Arc::clone(dialect);
        tasks::spawn(async move {
            commands::perform(&dialect, command).await;
            drop(permit);
        });
    }
}

/// Commands that stop something. They keep their place behind the commands before them, which
/// have all begun what they begin when it is their turn: stopping a command that was sent before
/// must stop it.
fn stops_something(body: &CommandBody) -> bool {
    matches!(
        body,
        CommandBody::Abort | CommandBody::AbortBash | CommandBody::AbortRetry
    )
}

/// A frame that answers something. What answers nothing is ignored (sections 15 and 21).
async fn hear(dialect: &Arc<OmpDialect>, side: Side) {
    match side {
        Side::UiResponse(response) => {
            let Some((kind, generation, number)) = ui::parse_request_id(&response.id) else {
                return;
            };
            let live = dialect.live();
            if generation != live.generation {
                return;
            }
            if !response.cancelled && (response.value.is_some() || response.confirmed.is_some()) {
                dialect.connection.answers_dialogs();
                dialect.connection.let_ask(&live.session).await;
            }
            let is_proven = dialect.connection.has_answered_dialogs();
            if response.cancelled && !is_proven && live.session.others_answer() {
                // There may be no person here; there is one elsewhere.
                return;
            }
            match kind {
                UiKind::Dialog => {
                    dialect.connection.answered(kind, generation, number);
                    let answer = ui::dialog_answer(response);
                    live.session.answer_dialog(number, answer).await.ok();
                }
                UiKind::Permission => {
                    dialect.connection.answered(kind, generation, number);
                    let answer = ui::permission_answer(&response);
                    live.session.answer_permission(number, answer).await.ok();
                }
                UiKind::Shown => {}
            }
        }
        Side::HostToolUpdate(update) => dialect.hosting.tool_update(update),
        Side::HostToolResult(result) => dialect.hosting.tool_result(result),
        Side::HostUriResult(result) => dialect.hosting.uri_result(result),
        Side::Unreadable { name, why } => tracing::debug!(name, why, "an answer was ignored"),
    }
}
