//! What a run changed: a file of lines, written when something has changed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::content_hash::ContentHash;
use crate::own_file::own_file;
use crate::path_text;
use crate::state::State;

/// What happened to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// From the folder of the session.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    pub before: State,
    pub after: State,
}

/// What a call changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: Vec<Change>,
    /// What may have changed without anybody knowing, for people.
    pub unknown: Vec<String>,
}

impl Changes {
    /// True when there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unknown.is_empty()
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
enum Line {
    Begun { session: String },
    Change(Change),
    Unknown { unknown: String },
}

/// A checkpoint that was read.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub session: String,
    pub changes: Vec<Change>,
    pub unknown: Vec<String>,
}

/// Appends changes to the file of a checkpoint.
pub(crate) fn append(path: &Path, session: &str, changes: &Changes) -> io::Result<()> {
    let mut file = own_file(path)?;
    let mut lines = Vec::new();
    if file.metadata()?.len() == 0 {
        let session = session.to_owned();
        push(&mut lines, &Line::Begun { session })?;
    }
    for change in &changes.files {
        push(&mut lines, change)?;
    }
    for unknown in &changes.unknown {
        let unknown = unknown.clone();
        push(&mut lines, &Line::Unknown { unknown })?;
    }
    file.write_all(&lines)
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, line)?;
    lines.push(b'\n');
    Ok(())
}

/// Reads a checkpoint. A line that cannot be read, as a half-written last one, is left out.
pub(crate) fn read(path: &Path) -> io::Result<Stored> {
    let mut stored = Stored::default();
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(Line::Begun { session }) => stored.session = session,
            Ok(Line::Change(change)) => stored.changes.push(change),
            Ok(Line::Unknown { unknown }) => stored.unknown.push(unknown),
            Err(_) => {}
        }
    }
    Ok(stored)
}

/// What happened to a path from one checkpoint to another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub before: State,
    pub after: State,
    /// Somebody else changed it in between.
    pub is_interrupted: bool,
}

/// Puts the changes of several checkpoints together, the oldest first.
pub(crate) fn merge(changes: impl Iterator<Item = Change>) -> BTreeMap<PathBuf, Merged> {
    let mut merged: BTreeMap<PathBuf, Merged> = BTreeMap::new();
    for Change {
        path,
        before,
        after,
    } in changes
    {
        match merged.get_mut(&path) {
            Some(known) => {
                known.is_interrupted |= known.after != before;
                known.after = after;
            }
            None => {
                let change = Merged {
                    before,
                    after,
                    is_interrupted: false,
                };
                merged.insert(path, change);
            }
        }
    }
    merged
}
