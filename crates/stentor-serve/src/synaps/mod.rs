//! The synaps dialect: the rpc child of the synaps bridge.
//!
//! One process, one conversation. The parent writes commands, the child events; section numbers
//! in comments are those of the protocol's reference.

mod attachments;
mod child;
mod closing;
mod commands;
mod cursor;
mod events;
mod history;
mod limits;
mod opening;
mod proxy;
mod turn;

use std::path::PathBuf;

use stentor_agent::agent::Agent;
use stentor_wire::synaps::MAX_FRAME_BYTES;

use crate::connection::{Connection, OpenedConnection};
use crate::input::InputLines;

pub use child::SynapsError;
pub use commands::tools_list;
pub use cursor::CursorFlag;
pub(crate) use proxy::SynapsProxy;

use child::{ChildEnding, SynapsChild};

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct SynapsOptions {
    /// The folder tools work in.
    pub cwd: PathBuf,
    /// `--continue`: an id, a unique beginning of one, or a name.
    pub resume: Option<String>,
    /// `--system`, as text: a file has been read already.
    pub system: Option<String>,
    /// `--model`. Any string is taken; one that means nothing fails when it is used.
    pub model: Option<String>,
    /// `--cursor`: frames say where they are, and the session is gone on with from a place.
    pub cursor: Option<CursorFlag>,
}

/// Serves one parent until it goes away. Returns the exit code (section 14), or why it could not
/// begin.
pub async fn serve(
    agent: Agent,
    parent: Connection,
    options: SynapsOptions,
) -> Result<u8, SynapsError> {
    let OpenedConnection {
        source,
        output,
        mut signals,
    } = parent.open().map_err(SynapsError::Parent)?;
    let mut child = SynapsChild::start(agent, options, output.clone()).await?;
    let mut input = InputLines::read(source, MAX_FRAME_BYTES);
    let shutdown = child.shutdown.clone();
    let ending = loop {
        let line = tokio::select! {
            line = input.next() => line,
            _ = signals.next() => break ChildEnding::Signal,
            () = output.closed() => break ChildEnding::EndOfInput,
            () = shutdown.cancelled() => break ChildEnding::Shutdown,
            ending = child.pumped_out() => break ending,
        };
        let Some(line) = line else {
            break ChildEnding::EndOfInput;
        };
        // An answer may have to wait for a reader that sleeps; the end must not.
        let next = tokio::select! {
            next = child.handle(line) => next,
            _ = signals.next() => break ChildEnding::Signal,
            () = output.closed() => break ChildEnding::EndOfInput,
        };
        if let commands::AfterCommand::Shutdown = next {
            break ChildEnding::Shutdown;
        }
    };
    Ok(child.end(ending, &mut signals).await)
}
