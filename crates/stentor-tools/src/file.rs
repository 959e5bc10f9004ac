//! Opening and replacing files so that nothing hangs and nothing is half written.

use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags};

use crate::fault::Fault;

/// Opens a regular file for reading. Pipes, devices and sockets are refused without waiting for
/// whoever is at their other end.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), Fault> {
    // Without O_NONBLOCK, opening a FIFO blocks until somebody writes.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(Fault::system("access", path))?;
    let metadata = file.metadata().map_err(Fault::system("stat", path))?;
    must_be_regular(path, &metadata)?;
    Ok((file, metadata))
}

/// Refuses what is not a plain file.
pub(crate) fn must_be_regular(path: &Path, metadata: &Metadata) -> Result<(), Fault> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(Fault::refused(if metadata.is_dir() {
        format!(
            "EISDIR: {} is a directory. List it with ls, or name a file in it.",
            path.display()
        )
    } else {
        format!(
            "{} is not a regular file (it is a device, pipe or socket) and cannot be used here.",
            path.display()
        )
    }))
}

/// Puts `content` in the place of the file at `path`, creating its folders.
///
/// A reader sees the old content or the new one, never a part. The mode stays, and of a link the
/// target is replaced, not the link. Where a new file could not stand for the old one (other hard
/// links, another owner, a folder that takes no new files) the old one is rewritten in place.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Fault> {
    let target = final_target(path)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(Fault::system("mkdir", folder))?;
    match std::fs::metadata(&target) {
        Ok(old) => {
            must_be_regular(&target, &old)?;
            // A rename asks only the folder, so the file's own mode is asked here.
            rustix::fs::access(&target, Access::WRITE_OK)
                .map_err(|errno| Fault::system("open", path)(errno.into()))?;
            let ours = old.nlink() == 1 && old.uid() == rustix::process::geteuid().as_raw();
            if ours {
                match write_beside(&target, content, Some(&old)) {
                    Err(error) if folder_takes_no_files(&error) => {}
                    result => return result.map_err(Fault::system("write", path)),
                }
            }
            std::fs::write(&target, content).map_err(Fault::system("write", path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_beside(&target, content, None).map_err(Fault::system("open", path))
        }
        Err(error) => Err(Fault::system("open", path)(error)),
    }
}

/// Sixteen random hexadecimal digits, for names nobody else uses.
pub(crate) fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Where a write to `path` ends up: links are followed even to a file that does not exist yet.
fn final_target(path: &Path) -> Result<PathBuf, Fault> {
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(next) => {
                let folder = target.parent().unwrap_or(Path::new("/"));
                target = folder.join(next);
            }
            Err(_) => return Ok(target),
        }
    }
    Err(Fault::system("open", path)(rustix::io::Errno::LOOP.into()))
}

fn write_beside(target: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    // Long names would become too long with an ending, so only ours is used.
    name.push(format!("stentor-{}.tmp", random_name()));
    let beside = target.with_file_name(name);
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        std::fs::rename(&beside, target)
    })();
    if written.is_err() {
        // The error that matters is the first one.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn folder_takes_no_files(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_leaves_no_trace_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sh");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o751);
        assert_eq!(names(folder.path()), ["run.sh"]);
    }

    #[test]
    fn a_link_stays_a_link_even_to_a_file_that_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("deep/real", at("link")).unwrap();
        symlink(at("link"), at("second")).unwrap();
        replace(&at("second"), b"1").unwrap();
        replace(&at("second"), b"22").unwrap();
        assert_eq!(std::fs::read(at("deep/real")).unwrap(), b"22");
        assert!(at("link").is_symlink() && at("second").is_symlink());
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        let fault = replace(&at("a"), b"x").unwrap_err();
        assert_eq!(fault.code(), Some("ELOOP"));
    }

    #[test]
    fn other_hard_links_see_the_new_content() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "old").unwrap();
        std::fs::hard_link(at("a"), at("b")).unwrap();
        replace(&at("a"), b"new").unwrap();
        assert_eq!(std::fs::read(at("b")).unwrap(), b"new");
    }

    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(open_regular(path), Err(Fault::Refused(_))));
            assert!(matches!(replace(path, b"x"), Err(Fault::Refused(_))));
        }
    }
}
