//! What can go wrong with a stored session, told apart by what the caller can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer has the session: use that one, or wait until it is gone.
    #[error("the session {} is open in {holder}; close it there first", path.display())]
    Locked { path: PathBuf, holder: Holder },
    /// No such session.
    #[error("no session `{wanted}` in {}", place.display())]
    NotFound { wanted: String, place: PathBuf },
    /// Several sessions match: say more of the id.
    #[error("`{wanted}` matches several sessions: {}; give more of the id", candidates.join(", "))]
    Ambiguous {
        wanted: String,
        candidates: Vec<String>,
    },
    /// The file holds something else. It was left as it is.
    #[error("{} is not a session file: {why}; it was not changed", path.display())]
    NotASession { path: PathBuf, why: String },
    /// The file has nothing in it; [`create_at`](super::create_at) may start a session there.
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    /// A later program wrote the file; appending to it could damage it.
    #[error(
        "{} has session format version {version}, this program supports versions up to 3",
        path.display()
    )]
    TooNew { path: PathBuf, version: u32 },
    /// There is a file already where a new session should go.
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    /// The id cannot be part of a file name.
    #[error(
        "`{}` cannot be a session id: use at most 128 letters, digits, `-`, `_` and `.`, starting \
         and ending with a letter or digit",
        id.escape_debug()
    )]
    BadId { id: String },
    /// The session has no such entry.
    #[error("the session has no entry `{id}`")]
    NoEntry { id: String },
    /// The session file was deleted while the session was open.
    #[error("the session file {} was deleted while it was open", path.display())]
    Vanished { path: PathBuf },
    /// The entry cannot be written as JSON.
    #[error("the entry `{id}` cannot be written: {source}")]
    Unwritable {
        id: String,
        source: serde_json::Error,
    },
    /// Somebody else may write to the session, or nobody may here: go on where `why` says.
    #[error("the session {id} cannot be changed here: {why}")]
    NotOurs { id: String, why: String },
    /// There can be no more sessions here: go where `why` says, or close some.
    #[error("no session can begin here: {why}")]
    NoCapacity { why: String },
    /// The log behind the file did not take an entry: try again later.
    #[error("the messages of session {id} are not stored: {why}")]
    Unacknowledged { id: String, why: String },
    /// The folder that a session would work in is not there and could not be made.
    #[error("there is no folder {} yet, and it cannot be made: {why}", path.display())]
    NoFolder { path: PathBuf, why: String },
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl StoreError {
    /// Wraps what the file system said, with what was being done to which file.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

/// Who holds a session's lock, as far as they wrote it down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    pub pid: Option<u32>,
    /// The program's name.
    pub command: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.command) {
            (Some(pid), _) if pid == std::process::id() => write!(f, "this process (pid {pid})"),
            (Some(pid), Some(command)) => write!(f, "another process (pid {pid}, {command})"),
            (Some(pid), None) => write!(f, "another process (pid {pid})"),
            (None, _) => f.write_str("another process"),
        }
    }
}
