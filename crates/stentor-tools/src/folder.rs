//! A folder that is reached without following any link, and stays the one it was.
//!
//! Where a path leads was decided when the call was judged. Somebody may put a link into it since,
//! while a person is asked or in a loop. So the way is walked again a name at a time, each from the
//! folder before it, and a link on it is an error.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::paths::FileTarget;
use crate::tool_error::ToolError;

/// An open folder.
pub(crate) struct Folder(OwnedFd);

/// A folder on the way needs to be passed, not listed.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

const ENTER: OFlags = PASS
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// The folder of the target's file, and the file's name in it; no name for `/`.
    pub(crate) fn of_file<'a>(
        target: &'a FileTarget,
        call: &'static str,
    ) -> Result<(Self, Option<&'a OsStr>), ToolError> {
        let resolved = target.resolved()?;
        let folder = resolved.parent().unwrap_or(Path::new("/"));
        let walked = Self::system_root().and_then(|root| root.below(folder));
        let folder = walked.map_err(|error| on_the_way(error, call, target))?;
        Ok((folder, resolved.file_name()))
    }

    /// The same, where folders that are missing are made.
    pub(crate) fn of_file_made(target: &FileTarget) -> Result<(Self, Option<&OsStr>), ToolError> {
        let resolved = target.resolved()?;
        let folder = resolved.parent().unwrap_or(Path::new("/"));
        let make_missing = |parent: BorrowedFd<'_>, name: &OsStr| {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                // Somebody else has just made it.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        };
        let made = Self::system_root().and_then(|root| root.walk(folder, make_missing));
        let made = made.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => changed(target),
            // As clients know it from those who make folders by their path.
            Some(Errno::NOTDIR) => ToolError::system("mkdir", folder)(Errno::EXIST.into()),
            _ => ToolError::system("mkdir", folder)(error),
        })?;
        Ok((made, resolved.file_name()))
    }

    /// Opens what the target is, which must not have become a link.
    pub(crate) fn open_target(
        target: &FileTarget,
        call: &'static str,
        flags: OFlags,
    ) -> Result<(File, Metadata), ToolError> {
        let (folder, name) = Self::of_file(target, call)?;
        let opened = match name {
            Some(name) => folder.open(name, flags, Mode::empty()),
            None => Ok(File::from(folder.0)),
        };
        let file = opened.map_err(|error| on_the_way(error, call, target))?;
        let metadata = file
            .metadata()
            .map_err(ToolError::system("stat", &target.given))?;
        Ok((file, metadata))
    }

    /// An open file that is a folder.
    pub(crate) fn of_open(file: File) -> Self {
        Self(file.into())
    }

    /// The folder at `path` below this one.
    pub(crate) fn below(&self, path: &Path) -> io::Result<Self> {
        self.walk(path, |_, _| Err(Errno::NOENT.into()))
    }

    /// The names in it.
    pub(crate) fn names(&self) -> io::Result<rustix::fs::Dir> {
        // The descriptor itself may be one that only passes.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        Ok(rustix::fs::Dir::new(readable)?)
    }

    /// What a name in it is: a link itself unless it is followed.
    pub(crate) fn kind(&self, name: &OsStr, follow: bool) -> io::Result<FileType> {
        let flags = match follow {
            true => AtFlags::empty(),
            false => AtFlags::SYMLINK_NOFOLLOW,
        };
        let stat = rustix::fs::statat(&self.0, name, flags)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Opens a file in the folder, which must not be a link.
    pub(crate) fn open(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, name, flags, mode)?;
        let file = File::from(fd);
        // O_PATH opens the link itself instead of failing.
        if file.metadata()?.is_symlink() {
            return Err(Errno::LOOP.into());
        }
        Ok(file)
    }

    fn system_root() -> io::Result<Self> {
        Ok(Self(rustix::fs::open("/", ENTER, Mode::empty())?))
    }

    /// Goes to `path` from here; `missing` is asked for a folder that is not there.
    fn walk(
        &self,
        path: &Path,
        missing: impl Fn(BorrowedFd<'_>, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut here = self.0.try_clone()?;
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            let enter = |here: &OwnedFd| rustix::fs::openat(here, name, ENTER, Mode::empty());
            here = match enter(&here) {
                Err(Errno::NOENT) => {
                    missing(here.as_fd(), name)?;
                    enter(&here)
                }
                entered => entered,
            }
            .map_err(|errno| why_not(errno, &here, name))?;
        }
        Ok(Self(here))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A link is told as one, whatever the system calls it when it wanted a folder.
fn why_not(errno: Errno, folder: &OwnedFd, name: &OsStr) -> Errno {
    match errno {
        Errno::NOTDIR if rustix::fs::readlinkat(folder, name, Vec::new()).is_ok() => Errno::LOOP,
        other => other,
    }
}

fn on_the_way(error: io::Error, call: &'static str, target: &FileTarget) -> ToolError {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => changed(target),
        _ => ToolError::system(call, &target.given)(error),
    }
}

fn changed(target: &FileTarget) -> ToolError {
    ToolError::refused(format!(
        "{} was changed while permission was decided: it, or a folder on its path, has become a \
         link. Nothing was changed; check it again.",
        target.given.display()
    ))
}
