//! What a run changed: a file of lines, written when something has changed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::content_hash::ContentHash;
use crate::own_file::own_file;
use crate::path_text;
use crate::state::PathState;

/// What happened to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// From the folder of the session; absolute in its other folders.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    pub before: PathState,
    pub after: PathState,
}

/// What a call changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: Vec<PathChange>,
    /// What may have changed without anybody knowing, for people: "what job-1 changed".
    pub unknown: Vec<String>,
    /// Who else may have changed some of it.
    pub overlaps: Vec<Overlap>,
    /// The jobs in the background that ran meanwhile, where only those did.
    pub during: Option<String>,
}

/// A job in the background that another message has started, and that ran at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub job: String,
    /// Where what it changes is recorded. Who undoes that, too, need not know whose a change is.
    pub checkpoint: CheckpointId,
}

impl Changes {
    /// True when there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unknown.is_empty()
    }

    /// Adds what changed later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.files.extend(later.files);
        self.unknown.extend(later.unknown);
        for overlap in later.overlaps {
            if !self.overlaps.contains(&overlap) {
                self.overlaps.push(overlap);
            }
        }
    }
}

/// The name of a checkpoint: hexadecimal digits, since it comes out of session files, which may be
/// anybody's, and becomes the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckpointId(String);

/// A text that is no name of a checkpoint.
#[derive(Debug, thiserror::Error)]
#[error("not the id of a checkpoint")]
pub struct NoCheckpointId;

const ID_DIGITS: usize = 32;

impl CheckpointId {
    /// The id of the checkpoint that an entry of a session records.
    pub fn of_entry(session: &str, entry: &str) -> Self {
        let hash = ContentHash::of(format!("{session}\n{entry}").as_bytes()).to_string();
        Self(hash.chars().take(ID_DIGITS).collect())
    }

    /// The id as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CheckpointId {
    type Err = NoCheckpointId;

    fn from_str(text: &str) -> Result<Self, NoCheckpointId> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_owned())).ok_or(NoCheckpointId)
    }
}

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A line of a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CheckpointLine {
    Begun {
        session: String,
    },
    /// What the lines after it have in common.
    Batch {
        at: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        during: Option<String>,
    },
    Change(PathChange),
    /// A folder of the session besides its own, in which something changed.
    Additional {
        #[serde(with = "path_text")]
        additional: PathBuf,
    },
    Unknown {
        unknown: String,
    },
    Overlap {
        overlap: String,
        checkpoint: String,
    },
    /// A job in the background has begun, or ended: until then not everything is recorded.
    Job {
        job: String,
        has_ended: bool,
    },
}

/// A checkpoint that was read.
#[derive(Debug, Default)]
pub(crate) struct StoredCheckpoint {
    pub session: String,
    pub changes: Vec<RecordedChange>,
    /// The folders that changes are in, besides that of the session.
    pub additional: Vec<PathBuf>,
    pub unknown: Vec<String>,
    pub overlaps: Vec<Overlap>,
    /// Jobs whose end was not recorded.
    pub jobs: Vec<String>,
}

/// A change as it is recorded.
#[derive(Debug)]
pub(crate) struct RecordedChange {
    /// When it was found. What a job changes may be found when another checkpoint has begun.
    pub at: u64,
    /// The jobs in the background that ran meanwhile.
    pub during: Option<String>,
    pub change: PathChange,
}

/// Appends changes to the file of a checkpoint, and which of the `additional` folders they are in.
pub(crate) fn append(
    path: &Path,
    session: &str,
    changes: &Changes,
    additional: &[PathBuf],
) -> io::Result<()> {
    let mut lines = Vec::new();
    let batch = CheckpointLine::Batch {
        at: now(),
        during: changes.during.clone(),
    };
    push(&mut lines, &batch)?;
    let is_changed = |folder: &&PathBuf| {
        changes
            .files
            .iter()
            .any(|change| change.path.starts_with(folder))
    };
    for folder in additional.iter().filter(is_changed) {
        let additional = folder.clone();
        push(&mut lines, &CheckpointLine::Additional { additional })?;
    }
    for change in &changes.files {
        push(&mut lines, change)?;
    }
    for unknown in &changes.unknown {
        let unknown = unknown.clone();
        push(&mut lines, &CheckpointLine::Unknown { unknown })?;
    }
    for Overlap { job, checkpoint } in &changes.overlaps {
        let line = CheckpointLine::Overlap {
            overlap: job.clone(),
            checkpoint: checkpoint.to_string(),
        };
        push(&mut lines, &line)?;
    }
    append_lines(path, session, lines)
}

/// Notes that a job in the background has begun, or ended.
pub(crate) fn append_job(path: &Path, session: &str, job: &str, has_ended: bool) -> io::Result<()> {
    let mut lines = Vec::new();
    let job = job.to_owned();
    push(&mut lines, &CheckpointLine::Job { job, has_ended })?;
    append_lines(path, session, lines)
}

fn append_lines(path: &Path, session: &str, lines: Vec<u8>) -> io::Result<()> {
    let mut file = own_file(path)?;
    let mut first = Vec::new();
    if file.metadata()?.len() == 0 {
        let session = session.to_owned();
        push(&mut first, &CheckpointLine::Begun { session })?;
    }
    first.extend(lines);
    file.write_all(&first)
}

/// Nanoseconds since 1970, a later one each time.
fn now() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    let later = |last: u64| Some(now.max(last.saturating_add(1)));
    match LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later) {
        Ok(last) | Err(last) => now.max(last.saturating_add(1)),
    }
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, line)?;
    lines.push(b'\n');
    Ok(())
}

/// Reads a checkpoint. A line that cannot be read, as a half-written last one, is left out.
pub(crate) fn read(path: &Path) -> io::Result<StoredCheckpoint> {
    let mut stored = StoredCheckpoint::default();
    let mut batch = (0, None);
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(CheckpointLine::Begun { session }) => stored.session = session,
            Ok(CheckpointLine::Batch { at, during }) => batch = (at, during),
            Ok(CheckpointLine::Change(change)) => {
                let (at, during) = batch.clone();
                stored.changes.push(RecordedChange { at, during, change });
            }
            Ok(CheckpointLine::Additional { additional }) => stored.additional.push(additional),
            Ok(CheckpointLine::Unknown { unknown }) => stored.unknown.push(unknown),
            Ok(CheckpointLine::Overlap {
                overlap: job,
                checkpoint,
            }) => {
                let checkpoint = checkpoint.parse().ok();
                let overlap = checkpoint.map(|checkpoint| Overlap { job, checkpoint });
                stored.overlaps.extend(overlap);
            }
            Ok(CheckpointLine::Job { job, has_ended }) => match has_ended {
                false => stored.jobs.push(job),
                true => {
                    let begun = stored.jobs.iter().position(|other| *other == job);
                    begun.map(|at| stored.jobs.remove(at));
                }
            },
            Err(_) => {}
        }
    }
    Ok(stored)
}

/// What happened to a path from one checkpoint to another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MergedChange {
    pub before: PathState,
    pub after: PathState,
    /// Somebody else changed it in between.
    pub is_interrupted: bool,
    /// The jobs in the background during which it changed, if any of it did so.
    pub during: Option<String>,
}

/// Puts the changes of several checkpoints together, in the order in which they were found.
pub(crate) fn merge(mut changes: Vec<RecordedChange>) -> BTreeMap<PathBuf, MergedChange> {
    changes.sort_by_key(|recorded| recorded.at);
    let mut merged: BTreeMap<PathBuf, MergedChange> = BTreeMap::new();
    for RecordedChange { during, change, .. } in changes {
        let PathChange {
            path,
            before,
            after,
        } = change;
        match merged.get_mut(&path) {
            Some(known) => {
                known.is_interrupted |= known.after != before;
                known.after = after;
                known.during = known.during.take().or(during);
            }
            None => {
                let change = MergedChange {
                    before,
                    after,
                    is_interrupted: false,
                    during,
                };
                merged.insert(path, change);
            }
        }
    }
    merged
}
