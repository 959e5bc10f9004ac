//! The user's folder: looked at and changed without following a link, leaving it, or touching `.git`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::content_hash::ContentHash;
use crate::objects::Objects;
use crate::state::{PathKind, PathStamp, PathState, UnstoredReason};

/// The bits of a mode that are kept: who may read, write and execute, and as whom.
const PERMISSIONS: u32 = 0o7777;

/// What it takes to change something in a folder of one's own.
const OWNER_MAY_CHANGE: u32 = 0o300;

/// How our own temporary names begin. The tools make such names, too.
pub(crate) const TEMPORARY: &str = ".stentor-";

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder of the user.
pub(crate) struct FolderTree {
    root: OwnedFd,
    root_stat: Stat,
}

impl FolderTree {
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        let root_stat = rustix::fs::fstat(&root)?;
        Ok(Self { root, root_stat })
    }

    /// True when a path is one below the folder that is looked at and changed at all.
    pub fn covers(path: &Path) -> bool {
        let mut names = path.components().peekable();
        let is_usual = |part: Component<'_>| match part {
            Component::Normal(name) => !is_git(name),
            _ => false,
        };
        names.peek().is_some() && names.all(is_usual)
    }

    /// Opens a folder below, itself with an empty path. A link on the way is an error.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.beneath(path) {
            Some(opened) => opened.map_err(io::Error::from),
            None => self.walk(path, false),
        }
    }

    /// True when something is on the same device as the folder: nothing else is looked into.
    pub fn is_on_device(&self, stat: &Stat) -> bool {
        stat.st_dev == self.root_stat.st_dev
    }

    /// What is at a path. Contents of at most `limit_bytes` are read, and stored where `objects` are
    /// given.
    pub fn state(&self, path: &Path, objects: Option<&Objects>, limit_bytes: u64) -> PathState {
        match self.parent(path, false) {
            Ok((folder, name)) => state_in(&folder, &name, objects, limit_bytes).0,
            Err(error) if is_missing(&error) => PathState::Absent,
            Err(error) => failed(&error),
        }
    }

    /// Puts something where something else, or nothing, is. A folder that is in the way must be gone.
    /// The folder it is in may be read-only, if it is the user's own.
    pub fn put(&self, path: &Path, wanted: &PathState, objects: &Objects) -> io::Result<()> {
        let refused = match self.put_as_is(path, wanted, objects) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::ACCESS) => error,
            done => return done,
        };
        let Ok((folder, _)) = self.parent(path, false) else {
            return Err(refused);
        };
        let stat = rustix::fs::fstat(&folder)?;
        let mode = stamp_of(&stat).mode;
        if mode & OWNER_MAY_CHANGE == OWNER_MAY_CHANGE
            || rustix::fs::fchmod(&folder, mode_of(mode | OWNER_MAY_CHANGE)).is_err()
        {
            return Err(refused);
        }
        let done = self.put_as_is(path, wanted, objects);
        rustix::fs::fchmod(&folder, mode_of(mode))?;
        done
    }

    fn put_as_is(&self, path: &Path, wanted: &PathState, objects: &Objects) -> io::Result<()> {
        match wanted {
            PathState::Absent => self.remove(path),
            PathState::Folder { mode } => {
                let (folder, name) = self.parent(path, true)?;
                match rustix::fs::mkdirat(&folder, &name, mode_of(*mode)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                let made = rustix::fs::openat(&folder, &name, FOLDER, Mode::empty())?;
                Ok(rustix::fs::fchmod(&made, mode_of(*mode))?)
            }
            PathState::Link { target } => {
                let (folder, name) = self.parent(path, true)?;
                replaced(&folder, &name, |beside| {
                    Ok(rustix::fs::symlinkat(target, &folder, beside)?)
                })
            }
            PathState::File { hash, mode, .. } => {
                let content = objects.load(*hash)?;
                let (folder, name) = self.parent(path, true)?;
                write_file(&folder, &name, &content, *mode)
            }
            PathState::Unknown { .. } | PathState::Other => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Removes a file, a link or an empty folder.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = match self.parent(path, false) {
            Err(error) if is_missing(&error) => return Ok(()),
            found => found?,
        };
        let removed = rustix::fs::unlinkat(&folder, &name, AtFlags::empty());
        let removed = match removed {
            // What unlinking a folder is called depends on the system.
            Err(Errno::ISDIR | Errno::PERM) => {
                rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR)
            }
            removed => removed,
        };
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The folder that a path is in, and its name there. Folders that are missing are made.
    fn parent(&self, path: &Path, make: bool) -> io::Result<(OwnedFd, OsString)> {
        if !Self::covers(path) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not below the folder of the session",
            ));
        }
        let above = path.parent().unwrap_or(Path::new(""));
        let folder = match make {
            true => self.walk(above, true)?,
            false => self.folder(above)?,
        };
        let name = path.file_name().unwrap_or_default().to_owned();
        Ok((folder, name))
    }

    /// One call instead of one for each name, where the system has it.
    #[cfg(target_os = "linux")]
    fn beneath(&self, path: &Path) -> Option<rustix::io::Result<OwnedFd>> {
        use rustix::fs::ResolveFlags;
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.root, path, FOLDER, Mode::empty(), within) {
            Err(Errno::NOSYS | Errno::PERM) => None,
            opened => Some(opened),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn beneath(&self, _: &Path) -> Option<rustix::io::Result<OwnedFd>> {
        None
    }

    fn walk(&self, path: &Path, make: bool) -> io::Result<OwnedFd> {
        let mut here = rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty())?;
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let next = rustix::fs::openat(&here, name, FOLDER, Mode::empty());
            here = match next {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                    rustix::fs::openat(&here, name, FOLDER, Mode::empty())?
                }
                next => next?,
            };
        }
        Ok(here)
    }
}

/// What a name in an open folder is, with its content as far as it is wanted, and what it looked like.
pub(crate) fn state_in(
    folder: &OwnedFd,
    name: &OsStr,
    objects: Option<&Objects>,
    limit_bytes: u64,
) -> (PathState, Option<PathStamp>) {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return (PathState::Absent, None),
        Err(errno) => return (failed(&errno.into()), None),
    };
    let stamp = stamp_of(&stat);
    let state = match stamp.kind {
        PathKind::Folder => PathState::Folder { mode: stamp.mode },
        PathKind::Other => PathState::Other,
        PathKind::Link => match rustix::fs::readlinkat(folder, name, Vec::new()) {
            Ok(target) => PathState::Link {
                target: OsString::from_vec(target.into_bytes()).into(),
            },
            Err(errno) => failed(&errno.into()),
        },
        PathKind::File if stamp.size > limit_bytes => {
            stamp.without_content(UnstoredReason::TooLarge)
        }
        PathKind::File => match content(folder, name, objects, limit_bytes) {
            Ok(Some((hash, size))) => PathState::File {
                hash,
                size,
                mode: stamp.mode,
            },
            Ok(None) => stamp.without_content(UnstoredReason::TooLarge),
            Err(error) => stamp.without_content(UnstoredReason::Failed(error.to_string())),
        },
    };
    (state, Some(stamp))
}

/// The hash and the size of a content; `None` when it has become too large meanwhile.
fn content(
    folder: &OwnedFd,
    name: &OsStr,
    objects: Option<&Objects>,
    limit_bytes: u64,
) -> io::Result<Option<(ContentHash, u64)>> {
    // It may have become a pipe, which would block until somebody writes.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(limit_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit_bytes {
        return Ok(None);
    }
    let hash = match objects {
        Some(objects) => objects.store(&bytes)?,
        None => ContentHash::of(&bytes),
    };
    Ok(Some((hash, size)))
}

/// Writes a file beside and puts it in its place: it may share its content with other names by now,
/// also outside of the folder. One that somebody else owns is rewritten instead: a new file could not
/// stand for it.
fn write_file(folder: &OwnedFd, name: &OsStr, content: &[u8], mode: u32) -> io::Result<()> {
    if let Ok(there) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        && FileType::from_raw_mode(there.st_mode) == FileType::RegularFile
        && there.st_nlink == 1
        && there.st_uid != rustix::process::geteuid().as_raw()
    {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        file.set_len(0)?;
        file.write_all(content)?;
        // Only its owner may change the mode.
        rustix::fs::fchmod(file.as_fd(), mode_of(mode)).ok();
        return Ok(());
    }
    replaced(folder, name, |beside| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let new = rustix::fs::openat(folder, beside, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(new);
        file.write_all(content)?;
        rustix::fs::fchmod(file.as_fd(), mode_of(mode))?;
        Ok(())
    })
}

/// Has something made under another name take the place of `name`, or leave no trace.
fn replaced(
    folder: &OwnedFd,
    name: &OsStr,
    make: impl FnOnce(&OsStr) -> io::Result<()>,
) -> io::Result<()> {
    let random = RandomState::new().build_hasher().finish();
    let beside = OsString::from(format!("{TEMPORARY}{random:016x}.tmp"));
    let done =
        make(&beside).and_then(|()| Ok(rustix::fs::renameat(folder, &beside, folder, name)?));
    if done.is_err() {
        // The error that matters is the first one.
        rustix::fs::unlinkat(folder, &beside, AtFlags::empty()).ok();
    }
    done
}

/// What something looks like.
#[cfg_attr(
    target_os = "linux",
    expect(
        clippy::unnecessary_cast,
        reason = "these have other widths on other systems"
    )
)]
pub(crate) fn stamp_of(stat: &Stat) -> PathStamp {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => PathKind::File,
        FileType::Directory => PathKind::Folder,
        FileType::Symlink => PathKind::Link,
        _ => PathKind::Other,
    };
    let nanoseconds = |seconds: i64, rest: u64| {
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(rest).unwrap_or_default())
    };
    PathStamp {
        kind,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as u64),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as u64),
        inode: stat.st_ino,
        mode: stat.st_mode as u32 & PERMISSIONS,
    }
}

impl PathStamp {
    /// The state of a file whose content is not known.
    pub fn without_content(&self, why: UnstoredReason) -> PathState {
        PathState::Unknown {
            size: self.size,
            modified_ns: self.modified_ns,
            why,
        }
    }
}

/// The folder of a repository's own files, also where names have no case.
pub(crate) fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

fn failed(error: &io::Error) -> PathState {
    PathState::Unknown {
        size: 0,
        modified_ns: 0,
        why: UnstoredReason::Failed(error.to_string()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        // A link on the way to it leads elsewhere: here nothing is.
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    )
}

fn mode_of(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & PERMISSIONS) as rustix::fs::RawMode)
}
