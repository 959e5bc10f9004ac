//! A connection: where a client's bytes come from, where ours go, what the client may, and what
//! ends it besides the client.
//!
//! A dialect's `serve` takes one and cannot tell which transport carries it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use tokio::net::unix::OwnedReadHalf;
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
    carrier: ConnectionCarrier,
    access: Access,
}

/// What carries the bytes, and what ends the connection besides its client.
enum ConnectionCarrier {
    /// The pipes of the process, which is there for this client alone: its signals end it.
    Stdio(Pipes),
    /// One socket of several. The server ends it.
    Socket {
        stream: UnixStream,
        /// What was read already, and comes first.
        read_ahead: Vec<u8>,
        stop: CancellationToken,
        given_up: CancellationToken,
    },
}

/// Where a client's bytes come from.
pub enum InputSource {
    Pipe(OwnedFd),
    Socket {
        /// What was read already, and comes first.
        read_ahead: Vec<u8>,
        rest: OwnedReadHalf,
    },
}

/// A connection that a dialect has begun to serve.
pub(crate) struct OpenedConnection {
    pub source: InputSource,
    pub output: Output,
    pub signals: EndSignals,
}

impl Connection {
    /// The frontend that started this process.
    pub fn stdio(pipes: Pipes) -> Self {
        Self {
            carrier: ConnectionCarrier::Stdio(pipes),
            access: Access::Drive,
        }
    }

    /// One client of several, at the other end of a stream from which `read_ahead` was read
    /// already. `stop` ends it; `given_up` is cancelled when it ends because the client does not read
    /// while others of its session wait.
    pub fn of_server(
        stream: &UnixStream,
        read_ahead: Vec<u8>,
        access: Access,
        stop: CancellationToken,
        given_up: CancellationToken,
    ) -> io::Result<Self> {
        let stream = stream.try_clone()?;
        Ok(Self {
            carrier: ConnectionCarrier::Socket {
                stream,
                read_ahead,
                stop,
                given_up,
            },
            access,
        })
    }

    /// What the client may do.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Starts writing, and listens to what ends it.
    pub(crate) fn open(self) -> io::Result<OpenedConnection> {
        match self.carrier {
            ConnectionCarrier::Stdio(pipes) => Ok(OpenedConnection {
                source: InputSource::Pipe(pipes.stdin),
                output: Output::write_to(pipes.stdout)?,
                signals: EndSignals::listen()?,
            }),
            ConnectionCarrier::Socket {
                stream,
                read_ahead,
                stop,
                given_up,
            } => {
                stream.set_nonblocking(true)?;
                let watched = tokio::net::UnixStream::from_std(stream.try_clone()?)?;
                let stream = tokio::net::UnixStream::from_std(stream)?;
                let (rest, target) = stream.into_split();
                Ok(OpenedConnection {
                    source: InputSource::Socket { read_ahead, rest },
                    output: Output::write_to_socket(target, watched, given_up),
                    signals: EndSignals::of_server(stop),
                })
            }
        }
    }
}

impl From<OwnedFd> for InputSource {
    fn from(pipe: OwnedFd) -> Self {
        Self::Pipe(pipe)
    }
}
