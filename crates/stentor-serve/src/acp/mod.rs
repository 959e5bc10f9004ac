//! The ACP dialect: the agent side of the Agent Client Protocol, version 1.
//!
//! One process serves one client with any number of sessions. [`connection`](self) reads requests
//! and puts those of a session into its mailbox; the task of a session alone opens, uses and closes
//! it. All write to the one output. Section numbers in comments are those of the protocol's
//! reference.

mod calls;
mod changes;
mod choices;
mod client;
mod client_io;
mod commands;
mod connection;
mod content;
mod cursor;
mod error;
mod events;
mod explicit_defaults;
mod folders;
mod frames;
mod initialize;
mod limits;
mod listing;
mod open_session;
mod opening;
mod outbound;
mod params;
mod plan_request;
mod prompt;
mod proxy;
mod questions;
mod replay;
mod request;
mod run_options;
mod session_task;
mod sessions;
mod settings;
mod shells;
mod subagents;
mod terminal;
mod turn;

use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_wire::acp::MAX_LINE_BYTES;

use crate::connection::{self as transport, OpenedConnection};
use crate::input::InputLines;
use crate::login::Login;

use connection::AcpReader;

pub use folders::BaseFolders;
pub(crate) use proxy::AcpProxy;

/// What the program has to offer beside the agent.
#[derive(Clone, Default)]
pub struct AcpOptions {
    /// The ways to log in.
    pub logins: Vec<AcpLogin>,
    /// What forgets the logins that are stored.
    pub login: Option<Arc<dyn Login>>,
    /// What a relative path could be meant from.
    pub folders: BaseFolders,
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
pub async fn serve(agent: Agent, client: transport::Connection, options: AcpOptions) -> u8 {
    let OpenedConnection {
        source,
        output,
        mut signals,
    } = match client.open() {
        Ok(opened) => opened,
        Err(error) => {
            tracing::error!(%error, "the client cannot be served");
            return 1;
        }
    };
    let mut connection = AcpReader::new(agent, options, output.clone());
    let shutdown = connection.context.shutdown.clone();
    let mut input = InputLines::read(source, MAX_LINE_BYTES);
    let code = loop {
        let line = tokio::select! {
            line = input.next() => line,
            () = connection.sessions.let_one_go() => continue,
            signal = signals.next() => break signal.exit_code(),
            () = output.closed() => break 0,
            () = shutdown.cancelled() => break 0,
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
    // Both within one: a second signal ends whatever is left of them.
    let ending = async {
        tokio::time::timeout(limits::LAST_FRAMES, connection.end())
            .await
            .ok();
        tokio::time::timeout(limits::LAST_FRAMES, output.finish())
            .await
            .ok();
    };
    signals.wind_down(2 * limits::LAST_FRAMES, ending).await;
    code
}
