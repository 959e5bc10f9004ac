//! The ends of a command's standard streams that are ours, and those that are its own.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe;

/// What a command reads.
pub(crate) enum CommandInput {
    /// Nothing.
    Empty,
    /// What somebody writes into the pipe that ends here.
    Pipe(OwnedFd),
    /// A terminal, which is also where it writes.
    Terminal(PseudoTerminal),
}

/// A terminal of our own making: what is at one end of it appears at the other.
pub(crate) struct PseudoTerminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

/// The standard streams that a command is started with.
pub(crate) struct CommandStreams {
    /// Nothing to read when absent.
    pub stdin: Option<OwnedFd>,
    pub output: OwnedFd,
    /// Both are a terminal, which shall be the one that controls it.
    pub is_terminal: bool,
}

/// Other programs that are started in the same moment must not inherit it, where the system can say so
/// at once.
#[cfg(target_os = "linux")]
const CLOSED_FOR_OTHERS: OpenptFlags = OpenptFlags::CLOEXEC;
#[cfg(not(target_os = "linux"))]
const CLOSED_FOR_OTHERS: OpenptFlags = OpenptFlags::empty();

/// How large a terminal is. Nobody sees it; wide lines are easier to read for a model.
const SIZE: Winsize = Winsize {
    ws_row: 40,
    ws_col: 120,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

impl CommandInput {
    /// A pipe, and our end of it.
    pub(crate) fn pipe() -> io::Result<(Self, InputStream)> {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self::Pipe(theirs), InputStream::new(ours, false)?))
    }

    /// A terminal, and our end of it.
    pub(crate) fn terminal() -> io::Result<(Self, InputStream)> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | CLOSED_FOR_OTHERS)?;
        rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let flags =
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let theirs = rustix::fs::open(&*name, flags, rustix::fs::Mode::empty())?;
        tcsetwinsize(&theirs, SIZE)?;
        let input = InputStream::new(ours.try_clone()?, true)?;
        Ok((Self::Terminal(PseudoTerminal { ours, theirs }), input))
    }

    /// The streams a command gets, and our end of its output.
    pub(super) fn streams(self) -> io::Result<(CommandStreams, pipe::Receiver)> {
        let (stdin, (output, ours), is_terminal) = match self {
            Self::Terminal(PseudoTerminal { ours, theirs }) => {
                (Some(theirs.try_clone()?), (theirs, ours), true)
            }
            Self::Empty => (None, new_pipe()?, false),
            Self::Pipe(stdin) => (Some(stdin), new_pipe()?, false),
        };
        let streams = CommandStreams {
            stdin,
            output,
            is_terminal,
        };
        rustix::io::ioctl_fionbio(&ours, true)?;
        // A terminal is read as a pipe is, only that its end is an error.
        Ok((streams, pipe::Receiver::from_owned_fd_unchecked(ours)?))
    }
}

/// Their end and ours.
fn new_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((theirs, ours))
}

/// Our end of what a command reads. Cheap to clone; it closes with the last of its clones.
#[derive(Clone)]
pub(crate) struct InputStream {
    sender: Arc<pipe::Sender>,
    is_terminal: bool,
}

impl InputStream {
    fn new(descriptor: OwnedFd, is_terminal: bool) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Self {
            sender: Arc::new(pipe::Sender::from_owned_fd_unchecked(descriptor)?),
            is_terminal,
        })
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes as much as the other end takes at once, and waits until it takes something. Dropped
    /// while it waits, it has written nothing.
    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.sender.writable().await?;
            match self.sender.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}
