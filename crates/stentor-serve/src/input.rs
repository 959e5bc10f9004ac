//! What a client writes, as lines.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::thread;

use stentor_agent::tasks;
use stentor_wire::framing::{FramedLine, LineReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc;

use crate::connection::InputSource;

/// Lines read ahead. The reader waits when it is full, and with it the client.
const LINES: usize = 32;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// One line a client wrote, or what was there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLine {
    Line(String),
    /// A line over the dialect's limit. It was skipped.
    TooLong,
    /// A line that is not UTF-8. It was skipped.
    InvalidUtf8,
}

/// What clients write, in order. Ends when they close the pipe.
pub struct InputLines {
    lines: mpsc::Receiver<InputLine>,
}

impl InputLines {
    /// Reads stdin in a thread of its own: a read that blocks must not hold up anything else. A socket
    /// is read by a task.
    pub fn read(source: impl Into<InputSource>, limit_bytes: usize) -> Self {
        let (sender, lines) = mpsc::channel(LINES);
        match source.into() {
            InputSource::Pipe(pipe) => {
                let reading = move || read_pipe(pipe, limit_bytes, &sender);
                let thread = thread::Builder::new().name("stdin".to_owned());
                if let Err(error) = thread.spawn(reading) {
                    // Without the thread the channel is closed: the dialect sees the end of its input.
                    tracing::error!(%error, "stdin cannot be read");
                }
            }
            InputSource::Socket { read_ahead, rest } => {
                tasks::spawn(read_socket(read_ahead, rest, limit_bytes, sender));
            }
        }
        Self { lines }
    }

    /// The next line; `None` when there will be none.
    pub async fn next(&mut self) -> Option<InputLine> {
        self.lines.recv().await
    }
}

fn read_pipe(pipe: OwnedFd, limit_bytes: usize, sender: &mpsc::Sender<InputLine>) {
    let mut lines = LineReader::new(limit_bytes);
    let mut pipe = File::from(pipe);
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                failed(&error);
                break;
            }
        };
        let mut chunk = buffer.get(..read).unwrap_or_default();
        while let Some(line) = lines.next_line(&mut chunk) {
            if sender.blocking_send(owned(line)).is_err() {
                return;
            }
        }
    }
    if let Some(line) = lines.finish() {
        // The dialect may have stopped listening; then nobody misses the line.
        sender.blocking_send(owned(line)).ok();
    }
}

async fn read_socket(
    read_ahead: Vec<u8>,
    socket: OwnedReadHalf,
    limit_bytes: usize,
    sender: mpsc::Sender<InputLine>,
) {
    let mut lines = LineReader::new(limit_bytes);
    let mut buffer = read_ahead;
    loop {
        let mut chunk = buffer.as_slice();
        while let Some(line) = lines.next_line(&mut chunk) {
            if sender.send(owned(line)).await.is_err() {
                return;
            }
        }
        match read_some(&socket, &mut buffer, &sender).await {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                failed(&error);
                break;
            }
        }
    }
    if let Some(line) = lines.finish() {
        // The dialect may have stopped listening; then nobody misses the line.
        sender.send(owned(line)).await.ok();
    }
}

/// Replaces what is in the buffer by what comes next. While nothing comes there is no buffer: most
/// clients are silent most of the time. The end is when nobody wants to know, too.
async fn read_some(
    socket: &OwnedReadHalf,
    buffer: &mut Vec<u8>,
    sender: &mpsc::Sender<InputLine>,
) -> io::Result<usize> {
    buffer.clear();
    loop {
        match socket.try_read_buf(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => *buffer = Vec::new(),
            read => return read,
        }
        tokio::select! {
            ready = socket.readable() => ready?,
            () = sender.closed() => return Ok(0),
        }
        buffer.reserve(CHUNK_BYTES);
    }
}

fn failed(error: &io::Error) {
    tracing::warn!(%error, "stdin failed; continuing as if it had been closed");
}

fn owned(line: FramedLine<'_>) -> InputLine {
    match line {
        FramedLine::Text(text) => InputLine::Line(text.to_owned()),
        FramedLine::TooLong => InputLine::TooLong,
        FramedLine::InvalidUtf8 => InputLine::InvalidUtf8,
    }
}
