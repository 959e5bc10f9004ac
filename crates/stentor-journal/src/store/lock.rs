//! One writer per session.
//!
//! The lock is an advisory lock of the kernel (`flock`) on a file beside the session,
//! `<session>.lock`. It belongs to the open file, not to the process, so it also keeps two openings
//! within one process apart, and the kernel drops it with the process however that dies. What is
//! written in the lock file only serves to name the holder. The descriptor is closed on exec, so
//! tools started meanwhile do not keep the lock alive; only one that was being started when the
//! holder was killed has it for a moment, and is waited for.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::{Holder, StoreError};
use crate::inherited_lock::InheritedWait;

/// The right to write to a session, as long as it lives.
#[derive(Debug)]
pub(super) struct SessionLock {
    path: PathBuf,
    /// Held, not read: closing it ends the lock.
    _file: File,
}

impl SessionLock {
    /// Takes the lock of the session file `session`, or says who has it.
    pub(super) fn acquire(session: &Path) -> Result<Self, StoreError> {
        let path = lock_path(session);
        let inherited = InheritedWait::default();
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(no_follow())
                .open(&path)
                .map_err(StoreError::io("open the lock file", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_holder(&mut file);
                    if inherited.wait(holder.pid) {
                        continue;
                    }
                    return Err(StoreError::Locked {
                        path: session.to_path_buf(),
                        holder,
                    });
                }
                Err(TryLockError::Error(source)) => {
                    return Err(StoreError::io("lock", &path)(source));
                }
            }
            // The holder before may have removed the file after it was opened here: such a lock
            // keeps nobody out.
            let links = file
                .metadata()
                .map_err(StoreError::io("inspect the lock file", &path))?
                .nlink();
            if links > 0 {
                write_holder(&mut file).map_err(StoreError::io("write the lock file", &path))?;
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Removed while still locked, so nobody else's lock file can be hit. If it cannot be
        // removed it stays as an unlocked file, which blocks nobody.
        let _ = fs::remove_file(&self.path);
    }
}

/// Refuses symbolic links: a file that is about to be written must be where its name says.
pub(super) fn no_follow() -> i32 {
    i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

fn lock_path(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn write_holder(file: &mut File) -> io::Result<()> {
    let command = std::env::current_exe().ok();
    let command = command.as_deref().and_then(Path::file_name);
    let command = command.map(|name| name.to_string_lossy().into_owned());
    file.set_len(0)?;
    file.rewind()?;
    // One write: a reader sees all of it or nothing.
    let text = format!("{}\n{}\n", std::process::id(), command.unwrap_or_default());
    file.write_all(text.as_bytes())
}

fn read_holder(file: &mut File) -> Holder {
    const MAX_BYTES: u64 = 4096;
    let mut text = Vec::new();
    if file.take(MAX_BYTES).read_to_end(&mut text).is_err() {
        return Holder::default();
    }
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    Holder {
        pid: lines.next().and_then(|pid| pid.trim().parse().ok()),
        command: lines
            .next()
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_second_writer_is_told_who_has_the_session() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("a.jsonl");
        let lock = SessionLock::acquire(&session).unwrap();
        let error = SessionLock::acquire(&session).unwrap_err();
        let StoreError::Locked { path, holder } = &error else {
            panic!("{error}")
        };
        assert_eq!(path, &session);
        assert_eq!(holder.pid, Some(std::process::id()));
        assert!(holder.command.is_some());
        assert!(error.to_string().contains("this process"), "{error}");
        drop(lock);
        SessionLock::acquire(&session).unwrap();
        assert!(!lock_path(&session).exists(), "nothing is left behind");
    }

    #[test]
    fn a_lock_that_outlives_its_dead_holder_for_a_moment_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("a.jsonl");
        let lock = SessionLock::acquire(&session).unwrap();
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        fs::write(lock_path(&session), format!("{}\nstentor\n", dead.id())).unwrap();
        let waiting = {
            let session = session.clone();
            thread::spawn(move || SessionLock::acquire(&session).map(|_| ()))
        };
        drop(lock);
        waiting.join().unwrap().unwrap();
    }

    #[test]
    fn a_lock_file_of_a_dead_holder_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("a.jsonl");
        fs::write(
            lock_path(&session),
            "1\nlong-gone-program-with-a-long-name\n",
        )
        .unwrap();
        let lock = SessionLock::acquire(&session).unwrap();
        let text = fs::read_to_string(lock_path(&session)).unwrap();
        assert!(text.starts_with(&format!("{}\n", std::process::id())));
        assert!(!text.contains("long-gone"));
        drop(lock);
    }

    #[test]
    fn a_holder_is_described_by_what_is_known_of_it() {
        let holder = |pid, command: Option<&str>| {
            Holder {
                pid,
                command: command.map(str::to_owned),
            }
            .to_string()
        };
        assert_eq!(holder(Some(1), Some("x")), "another process (pid 1, x)");
        assert_eq!(holder(Some(1), None), "another process (pid 1)");
        assert_eq!(holder(None, None), "another process");
    }

    #[test]
    fn a_link_in_place_of_the_lock_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("a.jsonl");
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, lock_path(&session)).unwrap();
        let error = SessionLock::acquire(&session).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
