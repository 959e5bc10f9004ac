//! What ends a connection in an orderly way: the signals of the process, or the server.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

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

/// Waits for what asks a connection to end.
pub struct EndSignals {
    from: EndSource,
}

enum EndSource {
    Process {
        hangup: Signal,
        interrupt: Signal,
        terminate: Signal,
    },
    /// The server that has the connection.
    Server {
        stop: CancellationToken,
        /// It asks once.
        has_asked: bool,
    },
}

impl EndSignals {
    /// From here on these signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        // A file that may not grow any further is an error of the write, not the end.
        drop(signal(SignalKind::from_raw(
            rustix::process::Signal::XFSZ.as_raw(),
        ))?);
        Ok(Self {
            from: EndSource::Process {
                hangup: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            },
        })
    }

    /// For one connection of a server, which ends it by `stop`.
    pub fn of_server(stop: CancellationToken) -> Self {
        let from = EndSource::Server {
            stop,
            has_asked: false,
        };
        Self { from }
    }

    /// The next one.
    pub async fn next(&mut self) -> EndSignal {
        match &mut self.from {
            EndSource::Process {
                hangup,
                interrupt,
                terminate,
            } => tokio::select! {
                _ = hangup.recv() => EndSignal::Hangup,
                _ = interrupt.recv() => EndSignal::Interrupt,
                _ = terminate.recv() => EndSignal::Terminate,
            },
            EndSource::Server {
                has_asked: true, ..
            } => std::future::pending().await,
            EndSource::Server { stop, has_asked } => {
                stop.cancelled().await;
                *has_asked = true;
                EndSignal::Terminate
            }
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
