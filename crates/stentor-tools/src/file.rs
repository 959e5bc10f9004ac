//! Opening and replacing files so that nothing hangs, nothing is half written, and nothing but what
//! was judged is touched.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, Mode, OFlags};

use crate::folder::Folder;
use crate::paths::FileTarget;
use crate::tool_error::ToolError;

/// To read a file: without `O_NONBLOCK`, opening a FIFO blocks until somebody writes.
pub(crate) const TO_READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Opens the regular file that a call was judged by: only what is still there without a link on the
/// way. Pipes, devices and sockets are refused without waiting for whoever is at their other end.
pub(crate) fn open_judged(target: &FileTarget) -> Result<(File, Metadata), ToolError> {
    let (file, metadata) = Folder::open_target(target, "access", TO_READ)?;
    must_be_regular(&target.given, &metadata)?;
    Ok((file, metadata))
}

/// Refuses what is not a plain file.
pub(crate) fn must_be_regular(path: &Path, metadata: &Metadata) -> Result<(), ToolError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(ToolError::refused(if metadata.is_dir() {
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

/// Puts `content` in the place of the target's file, creating its folders.
///
/// A reader sees the old content or the new one, never a part. The mode stays, and of a link the
/// target is replaced, not the link. Where a new file could not stand for the old one (other hard
/// links, another owner, a folder that takes no new files) the old one is rewritten in place.
pub(crate) fn replace(target: &FileTarget, content: &[u8]) -> Result<(), ToolError> {
    let path = target.given.as_path();
    let (folder, name) = Folder::of_file_made(target)?;
    let Some(name) = name else {
        return Err(ToolError::system("open", path)(
            rustix::io::Errno::ISDIR.into(),
        ));
    };
    // O_PATH asks for no right to read what is only to be written.
    match folder.open(name, LOOK_AT, Mode::empty()) {
        Ok(old) => {
            let old = old.metadata().map_err(ToolError::system("stat", path))?;
            must_be_regular(path, &old)?;
            // A rename asks only the folder, so the file's own mode is asked here.
            rustix::fs::accessat(&folder, name, Access::WRITE_OK, AtFlags::empty())
                .map_err(|errno| ToolError::system("open", path)(errno.into()))?;
            let ours = old.nlink() == 1 && old.uid() == rustix::process::geteuid().as_raw();
            if ours {
                match write_beside(&folder, name, content, Some(&old)) {
                    Err(error) if folder_takes_no_files(&error) => {}
                    result => return result.map_err(ToolError::system("write", path)),
                }
            }
            let again = folder.open(name, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
            again
                .and_then(|mut file| {
                    file.set_len(0)?;
                    file.write_all(content)
                })
                .map_err(ToolError::system("write", path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_beside(&folder, name, content, None).map_err(ToolError::system("open", path))
        }
        Err(error) => Err(ToolError::system("open", path)(error)),
    }
}

/// Sixteen random hexadecimal digits, for names nobody else uses.
pub(crate) fn random_name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// To look at what something is.
#[cfg(target_os = "linux")]
pub(crate) const LOOK_AT: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const LOOK_AT: OFlags = TO_READ;

fn write_beside(
    folder: &Folder,
    name: &OsStr,
    content: &[u8],
    old: Option<&Metadata>,
) -> io::Result<()> {
    // Long names would become too long with an ending, so only ours is used.
    let beside = OsString::from(format!(".stentor-{}.tmp", random_name()));
    let written = (|| {
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = folder.open(&beside, new, Mode::from_raw_mode(0o666))?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        rustix::fs::renameat(folder, &beside, folder, name)?;
        Ok(())
    })();
    if written.is_err() {
        // The error that matters is the first one.
        let _ = rustix::fs::unlinkat(folder, &beside, AtFlags::empty());
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

    fn target(path: &Path) -> FileTarget {
        FileTarget::of(path.to_owned())
    }

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
        replace(&target(&path), b"new").unwrap();
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
        replace(&target(&at("second")), b"1").unwrap();
        replace(&target(&at("second")), b"22").unwrap();
        assert_eq!(std::fs::read(at("deep/real")).unwrap(), b"22");
        assert!(at("link").is_symlink() && at("second").is_symlink());
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("b", at("a")).unwrap();
        symlink("a", at("b")).unwrap();
        let fault = replace(&target(&at("a")), b"x").unwrap_err();
        assert_eq!(fault.code(), Some("ELOOP"));
    }

    #[test]
    fn other_hard_links_see_the_new_content() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "old").unwrap();
        std::fs::hard_link(at("a"), at("b")).unwrap();
        replace(&target(&at("a")), b"new").unwrap();
        assert_eq!(std::fs::read(at("b")).unwrap(), b"new");
    }

    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
            assert!(matches!(
                open_judged(&target(path)),
                Err(ToolError::Refused(_))
            ));
            assert!(matches!(
                replace(&target(path), b"x"),
                Err(ToolError::Refused(_))
            ));
        }
    }

    #[test]
    fn a_folder_that_becomes_a_link_after_it_was_judged_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("in")).unwrap();
        std::fs::create_dir_all(at("out")).unwrap();
        std::fs::write(at("in/file"), "in").unwrap();
        std::fs::write(at("out/file"), "out").unwrap();
        let judged = [target(&at("in/file")), target(&at("in/new/deep"))];
        std::fs::rename(at("in"), at("was")).unwrap();
        symlink("out", at("in")).unwrap();
        for judged in &judged {
            let fault = replace(judged, b"x").unwrap_err();
            assert!(fault.to_string().contains("changed"), "{fault}");
            let fault = open_judged(judged).unwrap_err();
            assert!(fault.to_string().contains("changed"), "{fault}");
        }
        assert_eq!(names(&at("out")), ["file"]);
        assert_eq!(std::fs::read(at("out/file")).unwrap(), b"out");
    }

    #[test]
    fn a_file_that_becomes_a_link_after_it_was_judged_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "in").unwrap();
        std::fs::write(at("out"), "out").unwrap();
        let judged = target(&at("file"));
        std::fs::remove_file(at("file")).unwrap();
        symlink("out", at("file")).unwrap();
        assert!(open_judged(&judged).is_err());
        assert!(replace(&judged, b"x").is_err());
        assert_eq!(std::fs::read(at("out")).unwrap(), b"out");
    }
}
