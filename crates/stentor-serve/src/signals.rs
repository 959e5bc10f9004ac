//! The signals that end the process in an orderly way.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    Hangup,
    Interrupt,
    Terminate,
}

impl EndSignal {
    /// The exit code of a process that dies of the signal, as a shell reports it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Waits for signals that ask the process to end.
pub struct EndSignals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl EndSignals {
    /// From here on these signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        // A file that may not grow any further is an error of the write, not the end.
        drop(signal(SignalKind::from_raw(
            rustix::process::Signal::XFSZ.as_raw(),
        ))?);
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next one.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.hangup.recv() => EndSignal::Hangup,
            _ = self.interrupt.recv() => EndSignal::Interrupt,
            _ = self.terminate.recv() => EndSignal::Terminate,
        }
    }

    /// Waits for `work` of the end: no longer than `limit`, and only until one more signal comes.
    /// False when it was not done by then. What is given up this way is lost by nobody: what
    /// counts is on disk, and the processes of tools end with this one.
    pub async fn wind_down(&mut self, limit: Duration, work: impl Future) -> bool {
        tokio::select! {
            _ = work => true,
            () = tokio::time::sleep(limit) => false,
            _ = self.next() => false,
        }
    }
}
