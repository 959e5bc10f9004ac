//! The subagents at work (section 19).

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use stentor_agent::subagents::SteerError;
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_journal::store::{Transcript, transcript};
use stentor_wire::omp::command::{
    SteerSubagent, SubagentId, SubagentLevel, SubagentMessages, Subscription,
};

use crate::omp::dialect::OmpDialect;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};

/// `set_subagent_subscription`.
pub(super) fn subscribe(dialect: &OmpDialect, wanted: &Subscription) -> CommandOutcome {
    #[derive(Serialize)]
    struct Subscribed {
        level: SubagentLevel,
    }
    dialect.connection.wants.subscribe(wanted.level);
    dialect.watch_subagents();
    AnswerData::of(&Subscribed {
        level: wanted.level,
    })
}

/// `get_subagents`.
pub(super) fn list(dialect: &OmpDialect) -> CommandOutcome {
    #[derive(Serialize)]
    struct ListedSubagents {
        subagents: Vec<Value>,
    }
    AnswerData::of(&ListedSubagents {
        subagents: dialect.connection.subagents.list(),
    })
}

/// `get_subagent_messages`: what one said from a byte of its file on.
pub(super) async fn messages(dialect: &OmpDialect, wanted: SubagentMessages) -> CommandOutcome {
    let file = file_of(dialect, &wanted)?;
    let from_byte = wanted.from_byte.unwrap_or(0);
    let path = file.clone();
    let read = tasks::spawn_blocking(move || transcript(&path, from_byte)).await;
    match read {
        Ok(Ok(transcript)) => AnswerData::of(&SubagentTranscript::of(file, transcript)),
        Ok(Err(error)) => Err(CommandFailure::new(error.to_string())),
        Err(error) => Err(CommandFailure::new(format!(
            "the file could not be read: {error}"
        ))),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubagentTranscript {
    session_file: PathBuf,
    from_byte: u64,
    next_byte: u64,
    reset: bool,
    entries: Vec<Value>,
    messages: Vec<Value>,
}

impl SubagentTranscript {
    fn of(session_file: PathBuf, transcript: Transcript) -> Self {
        let is_message = |entry: &&Value| entry["type"] == "message";
        let said = transcript.lines.iter().filter(is_message);
        Self {
            session_file,
            from_byte: transcript.from_byte,
            next_byte: transcript.next_byte,
            reset: transcript.reset,
            messages: said.map(|entry| entry["message"].clone()).collect(),
            entries: transcript.lines,
        }
    }
}

fn file_of(dialect: &OmpDialect, wanted: &SubagentMessages) -> Result<PathBuf, CommandFailure> {
    let subagents = &dialect.connection.subagents;
    match (&wanted.subagent_id, &wanted.session_file) {
        (Some(id), _) => subagents.file(id).ok_or_else(|| {
            CommandFailure::new(format!(
                "Unknown subagent or session file unavailable: {id}"
            ))
        }),
        (None, Some(file)) => {
            let file = PathBuf::from(file);
            if subagents.has_file(&file) {
                Ok(file)
            } else {
                Err(CommandFailure::new("Unknown subagent session file"))
            }
        }
        (None, None) => Err(CommandFailure::new(
            "get_subagent_messages requires subagentId or sessionFile",
        )),
    }
}

/// `cancel_subagent`: done when it has stopped. One that is not at work needs no stopping.
pub(super) async fn cancel(dialect: Arc<OmpDialect>, which: SubagentId) -> CommandOutcome {
    #[derive(Serialize)]
    struct StoppedSubagent {
        cancelled: bool,
    }
    let session = dialect.session();
    let number = dialect.connection.subagents.number(&which.subagent_id);
    let cancelled = match number {
        Some(number) => session.cancel_subagent(number).await?,
        None => false,
    };
    AnswerData::of(&StoppedSubagent { cancelled })
}

/// `steer_subagent`: what it is told it reads after the call that runs, like a user's message.
pub(super) async fn steer(dialect: &OmpDialect, message: SteerSubagent) -> CommandOutcome {
    let id = &message.subagent_id;
    if message.message.trim().is_empty() {
        return Err(CommandFailure::new("the message is empty"));
    }
    let not_running = || CommandFailure::new(format!("Subagent not running: {id}"));
    let number = dialect.connection.subagents.number(id);
    let number = number.ok_or_else(not_running)?;
    let content = vec![ContentBlock::text(message.message.clone())];
    let session = dialect.session();
    match session.steer_subagent(number, content).await {
        Ok(()) => Ok(AnswerData::none()),
        Err(SteerError::NotRunning) => Err(not_running()),
        Err(SteerError::Refused(why)) => Err(CommandFailure::new(why.to_string())),
    }
}
