//! A client of a dialect whose bytes do not come from a socket of its own: the server serves one end
//! of a pair, the transport has the other.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;

use stentor_agent::tasks;
use stentor_wire::attach::AttachRefusal;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;

use super::limits;
use crate::server::AdmittedConnection;

/// A client that is being served.
pub(super) struct DialectStream {
    pub lines: DialectLines,
    pub input: OwnedWriteHalf,
    /// How it ended.
    pub served: JoinHandle<Result<u8, AttachRefusal>>,
}

/// What the dialect writes, line by line.
pub(super) struct DialectLines {
    from: OwnedReadHalf,
    read: Vec<u8>,
    /// Bytes of `read` that were given out.
    given: usize,
    /// Bytes of `read` that have no line end in them.
    searched: usize,
}

impl DialectStream {
    /// Begins to serve a client.
    pub fn begin(admitted: AdmittedConnection) -> io::Result<Self> {
        let (theirs, ours) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (from, input) = UnixStream::from_std(ours)?.into_split();
        Ok(Self {
            lines: DialectLines {
                from,
                read: Vec::new(),
                given: 0,
                searched: 0,
            },
            input,
            served: tasks::spawn(admitted.serve(theirs, Vec::new())),
        })
    }
}

impl DialectLines {
    /// The next line, without its end; `None` when there will be none.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(line) = self.ready()? {
                return Ok(Some(line));
            }
            self.read.drain(..self.given);
            self.searched -= self.given;
            self.given = 0;
            self.read.reserve(limits::CHUNK_BYTES);
            if self.from.read_buf(&mut self.read).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// The next line if it is here already.
    pub fn ready(&mut self) -> io::Result<Option<String>> {
        let new = self.read.get(self.searched..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.read.len();
            return Ok(None);
        };
        let end = self.searched + end;
        let line = self.read.get(self.given..end).unwrap_or_default();
        let line = String::from_utf8(line.to_vec());
        (self.given, self.searched) = (end + 1, end + 1);
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        line.map(Some).map_err(invalid)
    }
}
