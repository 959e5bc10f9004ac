//! The page: sessions shown and driven in a browser, one more projection of the same events.
//!
//! It is a dialect like the others, of which a browser at the other end of a WebSocket speaks one
//! half. The server renders: what goes out are pieces of HTML, made by the same code that exports a
//! session, and where they belong ([`frames`]). What comes in are commands ([`commands`]). The
//! browser's own script only puts pieces in their place.

pub mod assets;
mod commands;
mod connection;
mod costs;
mod frames;
mod listing;
mod named_models;
mod nodes;
mod panel;
mod proxy;
mod questions;
mod spending;
mod transcript;
mod view;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use stentor_agent::agent::Agent;

use crate::connection::{Connection, OpenedConnection};
use crate::input::InputLines;
use crate::proxy::Peers;

use connection::PageConnection;
pub(crate) use proxy::PageProxy;

/// What a page is started with.
#[derive(Clone, Default)]
pub struct PageOptions {
    /// The folder of new sessions.
    pub cwd: PathBuf,
    /// The fleet that the server is in.
    pub fleet: Option<Arc<dyn Peers>>,
}

/// A line of a browser: a prompt with pictures.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Serves one page until it goes away. Returns the exit status, or why it could not begin.
pub async fn serve(agent: Agent, browser: Connection, options: PageOptions) -> io::Result<u8> {
    let access = browser.access();
    let OpenedConnection {
        source,
        output,
        mut signals,
    } = browser.open()?;
    let mut input = InputLines::read(source, MAX_LINE_BYTES);
    let mut page = PageConnection::new(agent, options, access, output.clone());
    loop {
        let line = tokio::select! {
            line = input.next() => line,
            _ = signals.next() => break,
            () = output.closed() => break,
        };
        let Some(line) = line else { break };
        let handled = tokio::select! {
            handled = page.handle(line) => handled,
            _ = signals.next() => break,
            () = output.closed() => break,
        };
        if handled.is_err() {
            break;
        }
    }
    page.leave().await;
    output.finish().await;
    Ok(0)
}
