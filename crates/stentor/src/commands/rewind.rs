//! `stentor sessions rewind`: a stored session goes back to before a message.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use stentor_agent::session::{
    CommandAnswer, Environment, RewindCommand, RewindError, RewindScope, RewindWay, Session,
    SessionError, SessionOptions,
};
use stentor_agent::tool::Tool;
use stentor_agent::undo::UndoSource;
use stentor_journal::store::{self, StoreError};

use crate::args::RewindArgs;
use crate::released::with_released;

/// Why nothing went back.
#[derive(Debug, thiserror::Error)]
pub enum RewindSessionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("there is no message {message} to go back to; {way} lists them")]
    NoMessage { message: String, way: RewindWay },
    #[error(transparent)]
    Rewind(RewindError),
    #[error(transparent)]
    Print(#[from] io::Error),
}

/// Goes back in the session of a file, or lists the messages.
pub async fn run(
    file: &Path,
    environment: Environment,
    undo: impl Fn(&Path) -> Option<UndoSource>,
    tools: impl Fn(&Path) -> Vec<Arc<dyn Tool>>,
    wanted: &RewindArgs,
    json: bool,
    out: &mut impl Write,
) -> Result<(), RewindSessionError> {
    let command = command(wanted);
    let mut opened = match command {
        // Who looks at a list has nothing to add.
        RewindCommand::List => match store::open_untouched(file) {
            Err(StoreError::Locked { .. }) => store::open_to_read(file),
            opened => opened,
        },
        RewindCommand::Go { .. } => with_released(file, || store::open(file)),
    }?;
    let folder = PathBuf::from(&opened.journal.header().cwd);
    // Nothing but its file and its folder is needed: no model, no servers, and of the tools only what
    // their calls change.
    opened.model = None;
    let mut options = SessionOptions::in_memory(&folder, tools(&folder));
    options.undo = undo(&folder);
    options.opens_untouched = command == RewindCommand::List;
    let session = Session::resume(environment, options, opened)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let way = RewindWay::Shell {
        // As it was typed, unless a shell would read it otherwise.
        session: match wanted.session.chars().all(is_plain) {
            true => wanted.session.clone(),
            false => session.id().to_string(),
        },
    };
    let answered = answer(&session, command, &way, json).await;
    session.close().await;
    let answered = answered.map_err(|error| match error {
        RewindError::NoMessage(message) => RewindSessionError::NoMessage { message, way },
        error => RewindSessionError::Rewind(error),
    });
    Ok(writeln!(out, "{}", answered?)?)
}

async fn answer(
    session: &Session,
    command: RewindCommand,
    way: &RewindWay,
    json: bool,
) -> Result<String, RewindError> {
    if json && command == RewindCommand::List {
        let points = session.rewind_points().await?;
        let points = points.iter().map(|point| {
            json!({
                "id": point.id,
                "text": point.text,
                "files": point.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
                "complete": !point.is_incomplete && !point.still_runs,
            })
        });
        let points: Vec<Value> = points.collect();
        return Ok(Value::from(points).to_string());
    }
    let CommandAnswer {
        text,
        has_moved,
        prompt,
    } = session.run_rewind(command, way).await?;
    Ok(match json {
        false => text,
        true => json!({ "text": text, "moved": has_moved, "prompt": prompt }).to_string(),
    })
}

fn command(wanted: &RewindArgs) -> RewindCommand {
    if wanted.message.is_none() && !wanted.undo {
        return RewindCommand::List;
    }
    RewindCommand::Go {
        message: wanted.message.clone(),
        scope: match (wanted.files, wanted.conversation) {
            (true, _) => Some(RewindScope::Files),
            (false, true) => Some(RewindScope::Conversation),
            (false, false) => None,
        },
        force: wanted.force,
    }
}
