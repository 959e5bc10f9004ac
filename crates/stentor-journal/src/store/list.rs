//! Finding sessions again.
//!
//! Looking at a session here reads the head and the tail of its file and never writes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::bytes::{LinesBackward, LinesForward};
use super::entry::{Entry, EntryKind};
use super::error::StoreError;
use super::files::{check_regular, read_preamble};
use super::names::id_in_file_name;
use super::tail::tail_of;

/// How much of either end of a file is looked at.
const PEEK_BYTES: u64 = 64 * 1024;
/// How much of the first message is shown.
const MAX_FIRST_MESSAGE_CHARS: usize = 500;
/// How many matches an ambiguity error names.
const MAX_CANDIDATES: usize = 5;

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedSession {
    pub path: PathBuf,
    pub id: String,
    pub cwd: String,
    pub name: Option<String>,
    /// ISO-8601, from the header.
    pub created: String,
    /// Milliseconds since the Unix epoch, from the file.
    pub modified_ms: u64,
    pub size_bytes: u64,
    /// The beginning of the first user message, when it is near the beginning of the file.
    pub first_message: Option<String>,
    /// How many messages there are, when the file is small enough to see at a glance.
    pub message_count: Option<u64>,
    pub parent_session: Option<String>,
    /// Why the file cannot be opened; the rest is then as far as it is known.
    pub problem: Option<String>,
}

impl ListedSession {
    /// Where it stands among others, later ones being greater: when it was last written to, and
    /// the id in the name of its file.
    pub fn place(&self) -> (u64, &str) {
        (
            self.modified_ms,
            id_in_file_name(&self.path).unwrap_or_default(),
        )
    }
}

/// Session files, the one written to last first. A file is looked into when it is its turn, so a
/// folder of thousands costs what is taken of it, and a look at the names and times of the others.
#[derive(Debug, Default)]
pub struct NewestFirst {
    /// The oldest first.
    found: Vec<UnreadListing>,
}

/// A file that nobody has looked into.
#[derive(Debug)]
struct UnreadListing {
    listed: ListedSession,
    /// It counts only if its session worked in this folder.
    cwd: Option<Arc<Path>>,
    /// There is no need to look into it.
    is_known: bool,
    /// It counts also if nobody can tell where its session worked.
    counts_unreadable: bool,
}

impl NewestFirst {
    /// The sessions in `dir`. A folder that is not there has none.
    pub fn of(dir: &Path) -> Self {
        Self::of_files(session_files(dir))
    }

    /// The sessions in `sessions_root` and in the folders directly in it.
    pub fn of_all(sessions_root: &Path) -> Self {
        Self::of_files(all_session_files(sessions_root))
    }

    /// The sessions in these files.
    pub fn of_files(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let found = paths.into_iter().map(|path| UnreadListing {
            listed: seen_from_outside(path),
            cwd: None,
            is_known: false,
            counts_unreadable: true,
        });
        Self::ordered(found.collect())
    }

    /// Sessions that are known without their files.
    pub fn known(sessions: Vec<ListedSession>) -> Self {
        let found = sessions.into_iter().map(|listed| UnreadListing {
            listed,
            cwd: None,
            is_known: true,
            counts_unreadable: true,
        });
        Self::ordered(found.collect())
    }

    fn ordered(mut found: Vec<UnreadListing>) -> Self {
        found.sort_by(
            |UnreadListing { listed: a, .. }, UnreadListing { listed: b, .. }| {
                a.place().cmp(&b.place()).then_with(|| a.path.cmp(&b.path))
            },
        );
        Self { found }
    }

    /// These and those of another place. Two places may have files in common.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if other.found.is_empty() {
            return self;
        }
        self.found.extend(other.found);
        let mut all = Self::ordered(self.found);
        all.found.dedup_by(|a, b| a.listed.path == b.listed.path);
        all
    }

    /// Only those of this working folder.
    #[must_use]
    pub fn working_in(mut self, cwd: Option<&Path>) -> Self {
        let cwd: Option<Arc<Path>> = cwd.map(Arc::from);
        for found in &mut self.found {
            found.cwd.clone_from(&cwd);
            found.counts_unreadable = cwd.is_none();
        }
        self
    }

    /// Only those that do not say that they are of another working folder than this.
    #[must_use]
    pub fn not_of_others(mut self, cwd: &Path) -> Self {
        let cwd: Arc<Path> = Arc::from(cwd);
        for found in &mut self.found {
            found.cwd = Some(Arc::clone(&cwd));
        }
        self
    }

    /// Only those behind `place` in this list.
    #[must_use]
    pub fn behind(mut self, place: (u64, &str)) -> Self {
        let older = self
            .found
            .partition_point(|found| found.listed.place() < place);
        self.found.truncate(older);
        self
    }
}

impl Iterator for NewestFirst {
    type Item = ListedSession;

    fn next(&mut self) -> Option<ListedSession> {
        loop {
            let UnreadListing {
                mut listed,
                cwd,
                is_known,
                counts_unreadable,
            } = self.found.pop()?;
            if is_known {
                return Some(listed);
            }
            match fill_in(&mut listed, cwd.as_deref()) {
                Ok(true) => return Some(listed),
                Ok(false) => {}
                Err(error) => {
                    listed.problem = Some(error.to_string());
                    if counts_unreadable {
                        return Some(listed);
                    }
                }
            }
        }
    }
}

/// The sessions in `dir`, the one written to last first. A folder that is not there has none.
pub fn list(dir: &Path) -> Vec<ListedSession> {
    NewestFirst::of(dir).collect()
}

/// The sessions in `sessions_root` and in the folders directly in it, the last written first.
pub fn list_all(sessions_root: &Path) -> Vec<ListedSession> {
    NewestFirst::of_all(sessions_root).collect()
}

/// The part of an id that differs between sessions of the same time, as far as it is shown: ids
/// begin with the time and end in random digits.
pub fn short_id(id: &str) -> &str {
    const SHOWN: usize = 8;
    let random = random_part(id);
    random.get(..SHOWN).unwrap_or(random)
}

fn random_part(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(_, random)| random)
}

/// The session file that `wanted` means: a path, an id, or the beginning of an id or of its random
/// part that no other session in `sessions_root` (or a folder directly in it) shares.
pub fn find(sessions_root: &Path, wanted: &str) -> Result<PathBuf, StoreError> {
    let not_found = || StoreError::NotFound {
        wanted: wanted.to_owned(),
        place: sessions_root.to_path_buf(),
    };
    if wanted.contains(['/', '\\']) || wanted.ends_with(".jsonl") {
        let path = PathBuf::from(wanted);
        return if path.exists() {
            Ok(path)
        } else {
            Err(not_found())
        };
    }
    if wanted.is_empty() {
        return Err(not_found());
    }
    let files = all_session_files(sessions_root);
    let named = files.filter_map(|path| Some((id_in_file_name(&path)?.to_owned(), path)));
    find_among(named, wanted)?.ok_or_else(not_found)
}

/// The session that `wanted` means among these: by its id, or the beginning of its id or of the random
/// part that no other shares.
pub fn find_among(
    sessions: impl IntoIterator<Item = (String, PathBuf)>,
    wanted: &str,
) -> Result<Option<PathBuf>, StoreError> {
    let begins = |id: &str| id.starts_with(wanted) || random_part(id).starts_with(wanted);
    let sessions = sessions.into_iter();
    let matches = sessions.filter(|(id, _)| !wanted.is_empty() && begins(id));
    let mut matches: Vec<(String, PathBuf)> = matches.collect();
    if matches.iter().any(|(id, _)| id == wanted) {
        matches.retain(|(id, _)| id == wanted);
    }
    matches.sort_by(|(_, one), (_, other)| one.cmp(other));
    match matches.pop() {
        None => Ok(None),
        Some((_, path)) if matches.is_empty() => Ok(Some(path)),
        Some(last) => {
            matches.push(last);
            let ids = matches.iter().map(|(_, path)| path).take(MAX_CANDIDATES);
            Err(StoreError::Ambiguous {
                wanted: wanted.to_owned(),
                candidates: ids.map(|path| path.display().to_string()).collect(),
            })
        }
    }
}

fn session_files(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    children(dir).filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
}

fn all_session_files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = children(root).filter(|path| path.is_dir());
    let folders = folders.collect::<Vec<_>>().into_iter();
    session_files(root).chain(folders.flat_map(|folder| session_files(&folder)))
}

fn children(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let children = fs::read_dir(dir).into_iter().flatten();
    children.filter_map(|child| Some(child.ok()?.path()))
}

/// A session as far as it is known without a look into its file.
fn seen_from_outside(path: PathBuf) -> ListedSession {
    let mut listed = ListedSession {
        id: id_in_file_name(&path).unwrap_or_default().to_owned(),
        path,
        ..ListedSession::default()
    };
    if let Ok(found) = fs::metadata(&listed.path) {
        let modified = found.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ms = modified.and_then(|since| u64::try_from(since.as_millis()).ok());
        listed.modified_ms = modified_ms.unwrap_or_default();
        listed.size_bytes = found.len();
    }
    listed
}

/// Looks into the file. False when only sessions of another working folder are wanted.
fn fill_in(listed: &mut ListedSession, cwd: Option<&Path>) -> Result<bool, StoreError> {
    let path = listed.path.clone();
    check_regular(&path)?;
    let file = File::open(&path).map_err(StoreError::io("open", &path))?;
    let preamble = read_preamble(&file, &path)?;
    if cwd.is_some_and(|cwd| Path::new(&preamble.header.cwd) != cwd) {
        return Ok(false);
    }
    let peeked = peek(&file).map_err(StoreError::io("read", &path))?;
    let header = preamble.header;
    listed.name = peeked
        .name
        .or(preamble.title)
        .or(header.title)
        .filter(|name| !name.trim().is_empty());
    listed.id = header.id;
    listed.cwd = header.cwd;
    listed.created = header.timestamp;
    listed.parent_session = header.parent_session;
    listed.first_message = peeked.first_message;
    listed.message_count = peeked.message_count;
    Ok(true)
}

#[derive(Default)]
struct SessionPeek {
    name: Option<String>,
    first_message: Option<String>,
    message_count: Option<u64>,
}

fn peek(file: &File) -> io::Result<SessionPeek> {
    let end = tail_of(file)?.keep;
    let mut peeked = SessionPeek::default();
    let mut messages = 0;
    let mut lines = LinesForward::until(file, end.min(PEEK_BYTES));
    while let Some((_, line, _)) = lines.next()? {
        let Some(entry) = Entry::from_line(line) else {
            continue;
        };
        if let Some(name) = entry.kind.session_name() {
            peeked.name = Some(name.to_owned());
        }
        if let EntryKind::Message { message } = &entry.kind {
            messages += 1;
            if peeked.first_message.is_none() {
                peeked.first_message = message
                    .as_user()
                    .map(|user| user.content.text())
                    .filter(|text| !text.is_empty())
                    .map(|text| text.chars().take(MAX_FIRST_MESSAGE_CHARS).collect());
            }
        }
    }
    if end <= PEEK_BYTES {
        peeked.message_count = Some(messages);
        return Ok(peeked);
    }
    // A name further back than this is not shown; opening the session finds it.
    let mut lines = LinesBackward::before(file, end);
    while lines.position() > end.saturating_sub(PEEK_BYTES)
        && let Some((_, line)) = lines.next()?
    {
        let entry = Entry::from_line(line);
        if let Some(name) = entry.as_ref().and_then(|entry| entry.kind.session_name()) {
            peeked.name = Some(name.to_owned());
            break;
        }
    }
    Ok(peeked)
}
