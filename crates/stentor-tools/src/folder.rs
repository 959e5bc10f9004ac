//! A folder that is reached without following any link, and stays the one it was.
//!
//! Where a path leads was decided when the call was judged. Somebody may put a link into it since,
//! while a person is asked or in a loop. So the way is walked again a name at a time, each from the
//! folder before it, and a link on it is an error.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::fault::Fault;
use crate::paths::Target;

/// An open folder.
pub(crate) struct Folder(OwnedFd);

/// A folder on the way needs to be passed, not listed.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

impl Folder {
    /// The folder of the target's file, and the file's name in it; no name for `/`.
    pub(crate) fn of_file<'a>(
        target: &'a Target,
        call: &'static str,
    ) -> Result<(Self, Option<&'a OsStr>), Fault> {
        let resolved = target.resolved()?;
        let folder = resolved.parent().unwrap_or(Path::new("/"));
        let walked = Self::walk(folder, |_, _| Err(Errno::NOENT.into()));
        let folder = walked.map_err(|error| on_the_way(error, call, target))?;
        Ok((folder, resolved.file_name()))
    }

    /// The same, where folders that are missing are made.
    pub(crate) fn of_file_made(target: &Target) -> Result<(Self, Option<&OsStr>), Fault> {
        let resolved = target.resolved()?;
        let folder = resolved.parent().unwrap_or(Path::new("/"));
        let made = Self::walk(folder, |parent, name| {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                // Somebody else has just made it.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        });
        let made = made.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => changed(target),
            // As clients know it from those who make folders by their path.
            Some(Errno::NOTDIR) => Fault::system("mkdir", folder)(Errno::EXIST.into()),
            _ => Fault::system("mkdir", folder)(error),
        })?;
        Ok((made, resolved.file_name()))
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

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Goes to `path` from the root; `missing` is asked for a folder that is not there.
    fn walk(
        path: &Path,
        missing: impl Fn(BorrowedFd<'_>, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut here = rustix::fs::open("/", flags, Mode::empty())?;
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            let enter = |here: &OwnedFd| rustix::fs::openat(here, name, flags, Mode::empty());
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

fn on_the_way(error: io::Error, call: &'static str, target: &Target) -> Fault {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => changed(target),
        _ => Fault::system(call, &target.given)(error),
    }
}

fn changed(target: &Target) -> Fault {
    Fault::refused(format!(
        "{} was changed while the call was decided on: a folder on the way has become a link. \
         Nothing was touched; look at it again.",
        target.given.display()
    ))
}
