//! The synaps dialect: the rpc child of the synaps bridge.
//!
//! One process, one conversation. The parent writes commands, the child events; section numbers
//! in comments are those of the protocol's reference.

mod attachments;
mod child;
mod closing;
mod commands;
mod events;
mod history;
mod limits;
mod turn;

use std::path::PathBuf;

use stentor_agent::agent::Agent;
use stentor_wire::synaps::MAX_FRAME_BYTES;

use crate::input::InputLines;
use crate::output::Output;
use crate::signals::EndSignals;
use crate::stdio::Pipes;

pub use commands::tools_list;

use child::Child;

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct SynapsOptions {
    /// The folder tools work in.
    pub cwd: PathBuf,
    /// `--continue`: an id, or a unique beginning of one.
    pub resume: Option<String>,
    /// `--system`, as text: a file has been read already.
    pub system: Option<String>,
    /// `--model`. Any string is taken; one that means nothing fails when it is used.
    pub model: Option<String>,
}

/// Serves one parent until it goes away. Returns the exit code (section 14).
pub async fn serve(agent: Agent, pipes: Pipes, options: SynapsOptions) -> u8 {
    let mut signals = match EndSignals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(%error, "signals cannot be handled");
            return 1;
        }
    };
    let output = match Output::write_to(pipes.stdout) {
        Ok(output) => output,
        Err(error) => {
            tracing::error!(%error, "stdout cannot be written");
            return 1;
        }
    };
    let mut child = match Child::start(agent, options, output.clone()).await {
        Ok(child) => child,
        Err(why) => {
            tracing::error!("{why}");
            return 1;
        }
    };
    let mut input = InputLines::read(pipes.stdin, MAX_FRAME_BYTES);
    let end = loop {
        tokio::select! {
            line = input.next() => match line {
                Some(line) => {
                    if let commands::Next::Shutdown = child.handle(line).await {
                        break limits::SHUTDOWN_WAIT;
                    }
                }
                None => break limits::NO_WAIT,
            },
            _ = signals.next() => break limits::NO_WAIT,
            () = output.closed() => break limits::NO_WAIT,
        }
    };
    child.end(end).await;
    output.finish().await;
    0
}
