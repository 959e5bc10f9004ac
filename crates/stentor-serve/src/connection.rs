//! A connection: where a client's bytes come from, where ours go, what the client may, and what
//! ends it besides the client.
//!
//! A dialect's `serve` takes one and cannot tell which transport carries it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tokio_util::sync::CancellationToken;

use crate::output::Output;
use crate::signals::EndSignals;
use crate::stdio::Pipes;

/// What a client may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Everything: prompt, steer, abort, answer questions, change settings.
    #[default]
    Drive,
    /// Watch and read.
    Observe,
}

/// A client that is to be served.
pub struct Connection {
    source: Source,
    target: OwnedFd,
    access: Access,
    ended_by: EndedBy,
}

/// Where a client's bytes come from.
pub struct Source {
    /// What was read already, and comes first.
    pub(crate) read_ahead: Vec<u8>,
    pub(crate) rest: OwnedFd,
}

/// A connection that a dialect has begun to serve.
pub(crate) struct Opened {
    pub source: Source,
    pub output: Output,
    pub signals: EndSignals,
}

/// What ends a connection besides its client.
enum EndedBy {
    /// The signals of the process, which is there for this client alone.
    Signals,
    /// The server.
    Server(CancellationToken),
}

impl Connection {
    /// The frontend that started this process.
    pub fn stdio(pipes: Pipes) -> Self {
        Self {
            source: pipes.stdin.into(),
            target: pipes.stdout,
            access: Access::Drive,
            ended_by: EndedBy::Signals,
        }
    }

    /// One client of several, at the other end of a stream from which `read_ahead` was read
    /// already. `stop` ends it.
    pub fn of_server(
        stream: &UnixStream,
        read_ahead: Vec<u8>,
        access: Access,
        stop: CancellationToken,
    ) -> io::Result<Self> {
        Ok(Self {
            source: Source {
                read_ahead,
                rest: stream.try_clone()?.into(),
            },
            target: stream.try_clone()?.into(),
            access,
            ended_by: EndedBy::Server(stop),
        })
    }

    /// What the client may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Starts writing, and listens to what ends it.
    pub(crate) fn open(self) -> io::Result<Opened> {
        let signals = match self.ended_by {
            EndedBy::Signals => EndSignals::listen()?,
            EndedBy::Server(stop) => EndSignals::of_server(stop),
        };
        Ok(Opened {
            source: self.source,
            output: Output::write_to(self.target)?,
            signals,
        })
    }
}

impl From<OwnedFd> for Source {
    fn from(rest: OwnedFd) -> Self {
        Self {
            read_ahead: Vec::new(),
            rest,
        }
    }
}
