//! Stentor as an MCP server: other agents prompt it, steer it and read its sessions.
//!
//! A client of this protocol has tools and no conversation, so a session is what its tools name.
//! `connection` reads the client and starts its calls, `tools` has what can be called, `sessions` the
//! sessions that are open, `open_session` follows one of them, `questions` are asked of clients that
//! can answer any, and `client` is the way back.

mod call;
mod client;
mod connection;
mod limits;
mod open_session;
mod questions;
mod reading;
mod sessions;
mod tools;

use std::path::PathBuf;

use stentor_agent::agent::Agent;

use crate::connection::{Connection as Transport, OpenedConnection};
use crate::input::InputLines;
use connection::McpConnection;
use limits::{LAST_FRAMES, MAX_LINE_BYTES};

/// What the command line says.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// The folder of new sessions for which the client names none.
    pub cwd: PathBuf,
}

/// Serves one client until it goes away. Returns the exit code.
pub async fn serve(agent: Agent, client: Transport, options: McpOptions) -> u8 {
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
    let mut connection = McpConnection::new(agent, options, output.clone());
    let mut input = InputLines::read(source, MAX_LINE_BYTES);
    let code = loop {
        let line = tokio::select! {
            line = input.next() => line,
            signal = signals.next() => break signal.exit_code(),
            () = output.closed() => break 0,
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
    let ending = async {
        connection.end().await;
        output.finish().await;
    };
    signals.wind_down(LAST_FRAMES, ending).await;
    code
}
