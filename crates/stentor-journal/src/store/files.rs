//! Session files: making them, opening them, forking them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::blobs::{BlobReader, Blobs};
use super::bytes::{Bytes, read_range};
use super::entry::{CURRENT_VERSION, Entry, EntryKind, SessionHeader};
use super::error::StoreError;
use super::file_journal::FileJournal;
use super::journal::{Journal, OpenedSession};
use super::lock::{SessionLock, no_follow};
use super::memory::MemoryJournal;
use super::names::{check_session_id, file_name, new_entry_id, subagents_folder};
use super::reader::{FoundPreamble, Preamble, preamble_of};
use super::repair::{look_at, open_repaired, open_to_append};
use super::restore::{Restored, restore};
use super::tail::tail_of;
use super::whole_file::with_pictures;
use super::{migrate, walk};
use crate::clock::{Clock, iso_time, parse_iso_time};
use crate::private_file::create_folder;

/// Starts a session in a new file of `dir`, which is made if it is missing. The header is written
/// at once. A header without a time gets the clock's.
pub fn create(
    dir: &Path,
    header: SessionHeader,
    clock: &dyn Clock,
) -> Result<Box<dyn Journal>, StoreError> {
    Ok(Box::new(create_file(dir, header, clock)?))
}

/// Starts a session at `path`, where no file or an empty one is.
pub fn create_at(
    path: &Path,
    header: SessionHeader,
    clock: &dyn Clock,
) -> Result<Box<dyn Journal>, StoreError> {
    check_session_id(&header.id)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let name = path.file_name().ok_or_else(|| StoreError::NotASession {
        path: path.to_path_buf(),
        why: "it has no file name".into(),
    })?;
    let path = canonical(folder)?.join(name);
    Ok(Box::new(start_at(&path, timed(header, clock))?))
}

/// Why [`create_at`] would not succeed, found out without leaving anything behind: a session that
/// gets its file later should not fail then because of a path that never could work.
pub fn check_can_create_at(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::io("create", path)(error);
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            return Err(StoreError::NotASession {
                path: path.to_path_buf(),
                why: "it is a link to a file that is missing or empty".into(),
            });
        }
        Ok(_) => access(path, Access::WRITE_OK).map_err(|error| failed(error.into()))?,
        // The folder says why, if it is more than that.
        Err(_) => {}
    }
    let mut folders = path.ancestors().skip(1);
    let nearest = folders
        .find(|folder| fs::symlink_metadata(folder).is_ok())
        .unwrap_or(Path::new("."));
    if !fs::metadata(nearest).map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    access(nearest, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| failed(error.into()))
}

/// Opens a session to go on with it: takes its lock, lifts an older version, cuts a torn end and
/// reads what is in context.
pub fn open(path: &Path) -> Result<OpenedSession, StoreError> {
    let path = canonical(path)?;
    check_regular(&path)?;
    let lock = SessionLock::acquire(&path)?;
    let mut warnings = Vec::new();
    let (file, preamble) = open_repaired(&path, &mut warnings)?;
    let journal = FileJournal::new(preamble.header, path, file, lock);
    opened(journal, preamble.title, warnings)
}

/// The same for a file that others write to without the lock, or for who perhaps adds nothing: the
/// file stays as it is until the first entry is appended. Then it is repaired, if it still has to be.
pub fn open_untouched(path: &Path) -> Result<OpenedSession, StoreError> {
    let path = canonical(path)?;
    check_regular(&path)?;
    let lock = SessionLock::acquire(&path)?;
    let file = open_to_append(&path)?;
    opened_as_found(path, file, Some(lock))
}

/// Opens a session to read it, also while it is open elsewhere. Nothing can be appended.
pub fn open_to_read(path: &Path) -> Result<OpenedSession, StoreError> {
    let path = canonical(path)?;
    check_regular(&path)?;
    let file = File::open(&path).map_err(StoreError::io("open", &path))?;
    opened_as_found(path, file, None)
}

fn opened_as_found(
    path: PathBuf,
    file: File,
    lock: Option<SessionLock>,
) -> Result<OpenedSession, StoreError> {
    let mut warnings = Vec::new();
    let (preamble, found) = look_at(&file, &path, &mut warnings)?;
    let journal = FileJournal::as_found(preamble.header, path, file, lock, found);
    opened(journal, preamble.title, warnings)
}

/// Removes a session file for good, with what its subagents said. Refused while anybody has it
/// open; what is no session stays. Pictures beside it stay too: other sessions may show them. Of a
/// link only the link goes: what it leads to is kept by whoever put it there.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    let file_path = canonical(path)?;
    check_regular(&file_path)?;
    let _lock = SessionLock::acquire(&file_path)?;
    let file = File::open(&file_path).map_err(StoreError::io("open", &file_path))?;
    read_preamble(&file, &file_path)?;
    let name = path.file_name().unwrap_or_default();
    let named = canonical(path.parent().unwrap_or(Path::new("/")))?.join(name);
    fs::remove_file(&named).map_err(StoreError::io("remove", &named))?;
    remove_subagents(&named)
}

/// Removes the sessions of a session's subagents. The folders may hold what others put there: only
/// sessions go, and folders that are empty then.
fn remove_subagents(session: &Path) -> Result<(), StoreError> {
    let folder = subagents_folder(session);
    // A link would lead to the sessions of others.
    if !fs::canonicalize(&folder).is_ok_and(|found| found == folder) {
        return Ok(());
    }
    let entries = fs::read_dir(&folder).map_err(StoreError::io("read", &folder))?;
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", &folder))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.path().extension().is_some_and(|end| end == "jsonl") {
            match remove(&entry.path()) {
                Ok(()) | Err(StoreError::NotASession { .. } | StoreError::Empty { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    if fs::remove_dir(&folder).is_ok() {
        fs::remove_dir(session.with_extension("")).ok();
    }
    Ok(())
}

/// Gives the session in a file a name, as a live one gets it: with an entry at its end.
pub fn rename(path: &Path, name: &str, clock: &dyn Clock) -> Result<(), StoreError> {
    rename_opened(open(path)?, name, clock).map(|_| ())
}

/// The same with a session that is opened, whose journal is given back.
pub fn rename_opened(
    mut opened: OpenedSession,
    name: &str,
    clock: &dyn Clock,
) -> Result<Box<dyn Journal>, StoreError> {
    let taken = opened.journal.read_all()?;
    let entry = Entry {
        id: new_entry_id(clock, |id| taken.iter().any(|entry| entry.id == id)),
        parent_id: opened.leaf,
        timestamp: iso_time(clock.now_ms()),
        kind: EntryKind::SessionInfo {
            name: name.to_owned(),
        },
    };
    opened.journal.append(&entry)?;
    Ok(opened.journal)
}

/// Starts a session in a new file of `target_dir` with a copy of the path to `up_to` (`None`: to
/// the last entry) of the session file `source`. Lines are copied as they are, ids included. The
/// source may be open for writing, here or elsewhere.
pub fn fork(
    source: &Path,
    up_to: Option<&str>,
    target_dir: &Path,
    mut new_header: SessionHeader,
    clock: &dyn Clock,
) -> Result<OpenedSession, StoreError> {
    let source = canonical(source)?;
    check_regular(&source)?;
    let file = File::open(&source).map_err(StoreError::io("open", &source))?;
    let preamble = read_preamble(&file, &source)?;
    let reading = || StoreError::io("read", &source);
    let end = tail_of(&file).map_err(reading())?.keep;
    new_header
        .parent_session
        .get_or_insert_with(|| source.to_string_lossy().into_owned());
    let mut target = create_file(target_dir, new_header, clock)?;
    let from = Blobs::of(&source);
    let copied = if preamble.header.version < CURRENT_VERSION {
        let mut lifted = Vec::new();
        migrate::lift(&file, end, preamble.header.version, &mut lifted).map_err(reading())?;
        copy_path(
            lifted.as_slice(),
            lifted.len() as u64,
            up_to,
            &from,
            &mut target,
            &source,
        )
    } else {
        copy_path(&file, end, up_to, &from, &mut target, &source)
    };
    if let Err(error) = copied {
        // Half a fork is of no use to anyone, and nobody has heard of it yet.
        if let Some(path) = target.path() {
            let _ = fs::remove_file(path);
        }
        return Err(error);
    }
    opened(target, None, Vec::new())
}

/// The same between sessions of which at least the new one is kept in memory only.
pub fn fork_in_memory(
    source: &dyn Journal,
    up_to: Option<&str>,
    new_header: SessionHeader,
) -> Result<OpenedSession, StoreError> {
    let last = match up_to {
        Some(id) => Some(id.to_owned()),
        None => source.read_all()?.pop().map(|entry| entry.id),
    };
    let entries = match last {
        Some(id) => source.path_to(&id)?,
        None => Vec::new(),
    };
    let mut lines = Vec::new();
    for entry in &entries {
        lines.extend(entry.to_line().map_err(|source| StoreError::Unwritable {
            id: entry.id.clone(),
            source,
        })?);
    }
    let restored = restore(lines.as_slice(), lines.len() as u64)
        .map_err(StoreError::io("read", Path::new("a session in memory")))?;
    let journal = MemoryJournal::new(new_header, entries);
    Ok(assemble(Box::new(journal), restored, None, Vec::new()))
}

/// The header of a file, or what is there instead.
pub(super) fn read_preamble(file: &File, path: &Path) -> Result<FoundPreamble, StoreError> {
    preamble_in(file, path)
}

/// The same of bytes that were read from it.
pub(super) fn preamble_in<B: Bytes + ?Sized>(
    bytes: &B,
    path: &Path,
) -> Result<FoundPreamble, StoreError> {
    match preamble_of(bytes).map_err(StoreError::io("read", path))? {
        Preamble::Found(found) if found.header.version > CURRENT_VERSION => {
            Err(StoreError::TooNew {
                path: path.to_path_buf(),
                version: found.header.version,
            })
        }
        Preamble::Found(found) => Ok(found),
        Preamble::Empty => Err(StoreError::Empty {
            path: path.to_path_buf(),
        }),
        Preamble::Missing(why) => Err(StoreError::NotASession {
            path: path.to_path_buf(),
            why: why.to_string(),
        }),
    }
}

/// Refuses folders, pipes and devices, which would block or never end.
pub(super) fn check_regular(path: &Path) -> Result<(), StoreError> {
    let found = fs::metadata(path).map_err(StoreError::io("look at", path))?;
    if found.is_file() {
        Ok(())
    } else {
        Err(StoreError::NotASession {
            path: path.to_path_buf(),
            why: "it is not a regular file".into(),
        })
    }
}

fn create_file(
    dir: &Path,
    header: SessionHeader,
    clock: &dyn Clock,
) -> Result<FileJournal, StoreError> {
    let header = timed(header, clock);
    let name = file_name(&header)?;
    make_folder(dir)?;
    start_at(&canonical(dir)?.join(name), header)
}

fn timed(mut header: SessionHeader, clock: &dyn Clock) -> SessionHeader {
    if parse_iso_time(&header.timestamp).is_none() {
        header.timestamp = iso_time(clock.now_ms());
    }
    header.version = CURRENT_VERSION;
    header
}

fn start_at(path: &Path, header: SessionHeader) -> Result<FileJournal, StoreError> {
    let lock = SessionLock::acquire(path)?;
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(no_follow())
        .open(path)
        .map_err(StoreError::io("create", path))?;
    check_regular(path)?;
    if !matches!(read_preamble(&file, path), Err(StoreError::Empty { .. })) {
        return Err(StoreError::Exists {
            path: path.to_path_buf(),
        });
    }
    // Empty also means a few NULs that a power loss left.
    file.set_len(0)
        .map_err(StoreError::io("start afresh", path))?;
    let line = header.to_line().map_err(|source| StoreError::Unwritable {
        id: header.id.clone(),
        source,
    })?;
    let mut journal = FileJournal::new(header, path.to_path_buf(), file, lock);
    journal.append_lines(&line)?;
    Ok(journal)
}

fn make_folder(dir: &Path) -> Result<(), StoreError> {
    create_folder(dir).map_err(StoreError::io("create", dir))
}

/// The one name of a file, so that two ways to it meet at the same lock.
fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    // The parent of a bare file name is the empty path, which means here.
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    fs::canonicalize(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::NotFound {
            wanted: path.display().to_string(),
            place: path.parent().unwrap_or(Path::new("/")).to_path_buf(),
        },
        _ => StoreError::io("open", path)(source),
    })
}

/// Copies the lines of a path, a bounded number of bytes at a time.
fn copy_path<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    up_to: Option<&str>,
    from: &Blobs,
    target: &mut FileJournal,
    source: &Path,
) -> Result<(), StoreError> {
    const BATCH_BYTES: usize = 256 * 1024;
    let reading = || StoreError::io("read", source);
    let spans = walk::path_spans(bytes, end, up_to).map_err(reading())?;
    if let Some(id) = up_to
        && spans.is_empty()
    {
        return Err(StoreError::NoEntry { id: id.to_owned() });
    }
    let to = target.blobs().clone();
    let mut batch = Vec::new();
    for span in spans {
        let line = read_range(bytes, span.offset, span.length).map_err(reading())?;
        // In another folder nobody would find the pictures beside this one.
        let whole = match from.are_with(&to) {
            true => None,
            false => with_pictures(&line, from)?,
        };
        batch.extend_from_slice(whole.as_deref().unwrap_or(&line));
        batch.push(b'\n');
        if batch.len() >= BATCH_BYTES {
            target.append_lines(&batch)?;
            batch.clear();
        }
    }
    target.append_lines(&batch)
}

fn opened(
    journal: FileJournal,
    title: Option<String>,
    mut warnings: Vec<String>,
) -> Result<OpenedSession, StoreError> {
    let path = journal.path().unwrap_or(Path::new("")).to_path_buf();
    let end = journal.end()?;
    let restored = restore(&*journal.bytes(), end);
    let mut restored = restored.map_err(StoreError::io("read", &path))?;
    let mut images = BlobReader::new(journal.blobs());
    for entry in &mut restored.context {
        images.bring_in(entry);
    }
    warnings.extend(images.warnings());
    Ok(assemble(Box::new(journal), restored, title, warnings))
}

/// Puts an opened session together. An entry's name is newer than the title line's, and that than
/// the header's.
fn assemble(
    journal: Box<dyn Journal>,
    restored: Restored,
    title: Option<String>,
    mut warnings: Vec<String>,
) -> OpenedSession {
    warnings.extend(restored.warnings);
    for warning in &warnings {
        tracing::warn!(session = %journal.header().id, "{warning}");
    }
    let name = restored
        .name
        .or(title)
        .or_else(|| journal.header().title.clone())
        .filter(|name| !name.trim().is_empty());
    OpenedSession {
        journal,
        context: restored.context,
        leaf: restored.leaf,
        name,
        model: restored.model,
        thinking_level: restored.thinking_level,
        warnings,
    }
}
