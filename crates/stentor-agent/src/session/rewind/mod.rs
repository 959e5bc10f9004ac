//! Going back to before a message: the files, the conversation, or both.
//!
//! The conversation goes on from the parent of the message, in the same session: what was said since
//! stays in the file, on a branch. What the runs since have changed is put back, as far as nobody else
//! has changed it meanwhile. Going back is itself recorded, so that it can be undone.

mod command;
pub(in crate::session) mod places;
mod report;

use std::io;
use std::path::PathBuf;

use futures_util::FutureExt;
use stentor_checkpoint::rewind as files;
use stentor_journal::message::StopReason;
use stentor_journal::store::{Entry, EntryKind, StoreError};

use super::error::SessionError;
use super::handle::Session;
use crate::tasks;

pub use command::{REWIND, REWIND_ABOUT, REWIND_HINT, RewindCommand, RewindUsage};
pub(in crate::session) use report::shortened;
pub use report::{RewindReport, RewindScope, RewindWay};

/// What somebody wants to go back to, and with what.
#[derive(Debug, Clone)]
pub struct Rewind {
    pub target: RewindTarget,
    /// Both where nobody said; a rewind that is undone has its own.
    pub scope: Option<RewindScope>,
    /// What somebody else has changed since is put back, too.
    pub force: bool,
}

/// Where to go back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindTarget {
    /// Before this message of the user, by the id of its entry.
    Message(String),
    /// Before the last rewind.
    LastRewind,
}

/// A message one can go back to before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPoint {
    /// The id of its entry.
    pub id: String,
    pub text: String,
    /// The files that changed between it and the next message.
    pub files: Vec<PathBuf>,
    /// Something changed whose checkpoint is not here.
    pub is_incomplete: bool,
    /// Its run goes on elsewhere, so that more may change.
    pub still_runs: bool,
}

/// Why nothing went back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    #[error("the agent is working: abort or wait, then rewind")]
    Busy,
    #[error("there is no message {0} to go back to; /rewind lists them")]
    NoMessage(String),
    #[error("there are no messages yet, so there is nothing to go back to")]
    NothingSaid,
    #[error("there is no rewind to undo")]
    NoRewind,
    #[error("files are not recorded here: undo is off, or there is no folder to record them in")]
    Off,
    #[error("the files could not be put back: {0}")]
    Files(io::Error),
    #[error(transparent)]
    Usage(#[from] RewindUsage),
    #[error(transparent)]
    Session(SessionError),
    #[error("the rewind was stopped: {0}")]
    Stopped(String),
}

impl RewindError {
    /// Something happened of which nobody thought.
    pub(in crate::session) fn internal() -> Self {
        Self::Stopped("internal error: this is a bug".to_owned())
    }
}

impl From<SessionError> for RewindError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Busy => Self::Busy,
            error => Self::Session(error),
        }
    }
}

impl From<StoreError> for RewindError {
    fn from(error: StoreError) -> Self {
        Self::Session(error.into())
    }
}

impl Session {
    /// Goes back. Refused while something runs.
    pub async fn rewind(&self, wanted: Rewind) -> Result<RewindReport, RewindError> {
        self.ask_to_rewind(wanted).await
    }

    /// The messages one can go back to before, the newest first: those of the conversation as it is.
    pub async fn rewind_points(&self) -> Result<Vec<RewindPoint>, RewindError> {
        let (_, path) = self.active_path().await?;
        let (_, entries) = self.entries().await?;
        let store = match self.undo() {
            Some(undo) => {
                // What runs in the background has perhaps changed something just now.
                undo.look().await;
                Some(undo.store().clone())
            }
            None => None,
        };
        // What is open to be read may be working where it is open to go on.
        let still_runs = self.is_read_only() && !ends_with_answer(&path);
        let points = tasks::spawn_blocking(move || {
            let is_on_path = |id: &str| path.iter().any(|entry| entry.id == id);
            let mut points: Vec<RewindPoint> = Vec::new();
            for entry in &entries {
                if let Some(text) = places::user_text(entry) {
                    points.push(RewindPoint {
                        id: entry.id.clone(),
                        text,
                        files: Vec::new(),
                        is_incomplete: false,
                        still_runs: false,
                    });
                }
                let (Some(point), Some(id)) = (points.last_mut(), places::checkpoint(entry)) else {
                    continue;
                };
                let store = store.as_ref();
                match store.and_then(|store| files::changed_paths(store, &id)) {
                    None => point.is_incomplete = true,
                    Some(changed) => point.files.extend(changed),
                }
            }
            points.retain(|point| is_on_path(&point.id));
            for point in &mut points {
                point.files.sort();
                point.files.dedup();
            }
            points.reverse();
            if let Some(newest) = points.first_mut() {
                newest.still_runs = still_runs;
            }
            points
        });
        let points = points.map(|points| points.map_err(|error| error.to_string()));
        points.await.map_err(RewindError::Stopped)
    }

    /// What going back would do to the files, and whether it could.
    pub async fn rewind_plan(
        &self,
        target: RewindTarget,
    ) -> Result<files::RewindPlan, RewindError> {
        let (_, entries) = self.entries().await?;
        let place = places::find(&entries, &target)?;
        let ids = places::checkpoints(&entries, place.since);
        let undo = self.undo().ok_or(RewindError::Off)?;
        let plan = undo.plan(ids).await;
        let plan = plan.ok_or_else(RewindError::internal)?;
        let mut plan = plan.map_err(RewindError::Files)?;
        let since = place.since;
        let interrupted = self.ask(move |actor| actor.interrupted_changes(&entries, since));
        plan.unknown.extend(interrupted.await?);
        let left = self.left_running().commands();
        let left = left.iter().map(|command| shortened(command));
        let left = left.map(|command| format!("a process of \"{command}\""));
        plan.running.extend(left);
        Ok(plan)
    }
}

/// Whether the last message of a path is an answer that no run goes on from.
fn ends_with_answer(path: &[Entry]) -> bool {
    let last = path.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Message { message } => Some(message),
        _ => None,
    });
    let answer = last.and_then(|message| message.as_assistant());
    answer.is_some_and(|answer| answer.stop_reason != StopReason::ToolUse)
}
