//! The ACP dialect: the agent side of the Agent Client Protocol, version 1.
//!
//! One process serves one client with any number of sessions. [`connection`](self) reads requests
//! and sends each to its handler; every session has its own pump, and all write to the one output.
//! Section numbers in comments are those of the protocol's reference.

mod asking;
mod calls;
mod changes;
mod choices;
mod client;
mod commands;
mod connection;
mod content;
mod ending;
mod error;
mod events;
mod explicit;
mod folders;
mod initialize;
mod limits;
mod listing;
mod open;
mod order;
mod outbound;
mod place;
mod prompting;
mod replay;
mod run_options;
mod sessions;
mod settings;
mod setup;
mod turns;

use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_wire::acp::MAX_LINE_BYTES;

use crate::input::InputLines;
use crate::output::Output;
use crate::signals::EndSignals;
use crate::stdio::Pipes;

use connection::Connection;

pub use folders::Folders;

/// What the program has to offer beside the agent.
#[derive(Clone, Default)]
pub struct AcpOptions {
    /// The ways to log in.
    pub logins: Vec<AcpLogin>,
    /// What a relative path could be meant from.
    pub folders: Folders,
}

/// A way to log in, in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpLogin {
    pub id: String,
    /// For people.
    pub name: String,
    /// What is added to the command line with which the program was started.
    pub arguments: Vec<String>,
}

/// Serves one client until it goes away. Returns the exit code.
pub async fn serve(agent: Agent, pipes: Pipes, options: AcpOptions) -> u8 {
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
    let connection = Arc::new(Connection::new(agent, options, output.clone()));
    let mut input = InputLines::read(pipes.stdin, MAX_LINE_BYTES);
    let code = loop {
        let line = tokio::select! {
            line = input.next() => line,
            signal = signals.next() => break signal.exit_code(),
            () = output.closed() => break 0,
            () = connection.shutdown.cancelled() => break 0,
        };
        let Some(line) = line else {
            break 0;
        };
        // An answer may have to wait for a reader that sleeps; the end must not.
        tokio::select! {
            () = connection.line(line) => {}
            signal = signals.next() => break signal.exit_code(),
            () = output.closed() => break 0,
        }
    };
    let ending = connection.end();
    signals.wind_down(limits::LAST_FRAMES, ending).await;
    let last_frames = output.finish();
    signals.wind_down(limits::LAST_FRAMES, last_frames).await;
    code
}
