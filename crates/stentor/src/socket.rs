//! The socket of `stentor serve`: where it is, and how a server comes to listen on it.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, flock};
use stentor_journal::inherited_lock::InheritedWait;

use crate::environment::Variables;

/// The variable that names the socket.
pub const VARIABLE: &str = "STENTOR_SOCKET";

/// Only the user may reach it.
const OWN_FOLDER: u32 = 0o700;

/// Only the user may open it.
const OWN_FILE: u32 = 0o600;

/// What nobody else may do with what is made for the socket.
const OTHERS: u32 = 0o077;

/// The user whose folders are the system's.
const ROOT: u32 = 0;

/// The first descriptor of a socket that systemd listens on.
#[cfg(target_os = "linux")]
const FIRST_PASSED: i32 = 3;

/// A socket that this process listens on.
pub struct ServerSocket {
    pub listener: UnixListener,
    /// Where it is, if it was made here. It is removed with this.
    pub path: Option<PathBuf>,
    /// Says that the server lives; the kernel takes it away with the process.
    _lock: Option<File>,
}

/// Why no server listens.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("a server already listens on {}; stop it with `stentor serve stop`", .0.display())]
    InUse(PathBuf),
    #[error("{} belongs to somebody else; use --socket", .0.display())]
    NotOurs(PathBuf),
    #[error("{} exists and is not a socket; choose another --socket", .0.display())]
    NoSocket(PathBuf),
    #[error("cannot listen on {}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
}

/// The socket where nobody names one.
pub fn usual(variables: &Variables) -> PathBuf {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(named) = set(VARIABLE) {
        return PathBuf::from(named);
    }
    let folder = match set("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder.join("stentor"),
        _ => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("stentor-{user}"))
        }
    };
    folder.join("serve.sock")
}

impl ServerSocket {
    /// Listens on `path`. What a server that died left there is replaced.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let failed = |why: io::Error| SocketError::Io {
            path: path.to_owned(),
            why,
        };
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder {
            own_folder(folder).map_err(failed)?;
            let made = folder.metadata().map_err(failed)?;
            let is_ours = made.uid() == rustix::process::geteuid().as_raw();
            // Anybody may make a folder of that name below a folder that all can write.
            if !is_ours && made.uid() != ROOT {
                return Err(SocketError::NotOurs(folder.to_owned()));
            }
        }
        // The lock decides among servers that start at once; it is free when its server is gone.
        let inherited = InheritedWait::default();
        let lock = loop {
            let mut lock = open_lock(path).map_err(failed)?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                if inherited.wait(holder(&mut lock)) {
                    continue;
                }
                return Err(SocketError::InUse(path.to_owned()));
            }
            // The server before may have removed the file after it was opened here: such a lock
            // keeps nobody out.
            if lock.metadata().map_err(failed)?.nlink() > 0 {
                write_holder(&mut lock).map_err(failed)?;
                break lock;
            }
        };
        remove_stale(path, &inherited)?;
        let before = rustix::process::umask(Mode::from_raw_mode(OTHERS | 0o100));
        let listener = UnixListener::bind(path);
        rustix::process::umask(before);
        Ok(Self {
            listener: listener.map_err(failed)?,
            path: Some(path.to_owned()),
            _lock: Some(lock),
        })
    }

    /// Where clients reach it, whoever made it.
    pub fn address(&self) -> Option<PathBuf> {
        let bound = || {
            let address = self.listener.local_addr().ok()?;
            address.as_pathname().map(Path::to_owned)
        };
        self.path.clone().or_else(bound)
    }

    /// The socket that systemd has made for this process, if it has.
    #[cfg(target_os = "linux")]
    pub fn passed() -> io::Result<Option<Self>> {
        use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let is_for_us = number("LISTEN_PID") == Some(std::process::id());
        if !is_for_us || number("LISTEN_FDS").is_none_or(|count| count == 0) {
            return Ok(None);
        }
        // A descriptor that is known by its number alone, without the trust that `unsafe` asks for.
        let this = pidfd_open(getpid(), PidfdFlags::empty())?;
        let passed = pidfd_getfd(this, FIRST_PASSED, PidfdGetfdFlags::empty())?;
        if !rustix::net::sockopt::socket_acceptconn(&passed)? {
            return Err(io::Error::other("nobody listens on it"));
        }
        Ok(Some(Self {
            listener: UnixListener::from(passed),
            path: None,
            _lock: None,
        }))
    }

    /// The socket that somebody has made for this process: there is no such thing here.
    #[cfg(not(target_os = "linux"))]
    pub fn passed() -> io::Result<Option<Self>> {
        Ok(None)
    }
}

impl Drop for ServerSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            std::fs::remove_file(path).ok();
            // Before the lock is given up, so that it is no other server's.
            std::fs::remove_file(lock_file(path)).ok();
        }
    }
}

/// The usual places of a server's socket and token that commands in a sandbox must not read.
pub fn hidden_from_sandbox(variables: &Variables) -> Vec<PathBuf> {
    let socket = usual(variables);
    match variables.get(VARIABLE) {
        // It may be in a folder that is not ours alone.
        Some(_) => vec![socket.with_file_name("serve.token"), socket],
        None => socket.parent().map(Path::to_owned).into_iter().collect(),
    }
}

/// The process that began to listen on the socket at the other end.
#[cfg(target_os = "linux")]
fn listener_of(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Which one it is cannot be known here.
#[cfg(not(target_os = "linux"))]
fn listener_of(_: &UnixStream) -> Option<u32> {
    None
}

fn own_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(OWN_FOLDER)
        .create(folder)
}

fn lock_file(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn open_lock(socket: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(OWN_FILE)
        .open(lock_file(socket))
}

/// Writes which process has the lock.
fn write_holder(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// The process that took the lock, if it has been written.
fn holder(lock: &mut File) -> Option<u32> {
    /// More than any number has.
    const MOST_BYTES: u64 = 32;
    let mut text = String::new();
    lock.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Removes the socket of a server that is gone.
fn remove_stale(path: &Path, inherited: &InheritedWait) -> Result<(), SocketError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(there) = path.symlink_metadata() else {
        return Ok(());
    };
    if !there.file_type().is_socket() {
        return Err(SocketError::NoSocket(path.to_owned()));
    }
    // One that was not made by us has no lock.
    while let Ok(stream) = UnixStream::connect(path) {
        if !inherited.wait(listener_of(&stream)) {
            return Err(SocketError::InUse(path.to_owned()));
        }
    }
    std::fs::remove_file(path).map_err(|why| SocketError::Io {
        path: path.to_owned(),
        why,
    })
}
