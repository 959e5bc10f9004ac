//! What a client writes, as lines.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::thread;

use stentor_wire::framing::{Line, LineReader};
use tokio::sync::mpsc;

use crate::connection::Source;

/// Lines read ahead. The reading thread waits when it is full, and with it the client.
const LINES: usize = 32;

/// One line a client wrote, or what was there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Line(String),
    /// A line over the dialect's limit. It was skipped.
    TooLong,
    /// A line that is not UTF-8. It was skipped.
    InvalidUtf8,
}

/// What clients write, in order. Ends when they close the pipe.
pub struct InputLines {
    lines: mpsc::Receiver<Input>,
}

impl InputLines {
    /// Reads `source` in a thread of its own: a read that blocks must not hold up anything else.
    pub fn read(source: impl Into<Source>, limit_bytes: usize) -> Self {
        let (sender, lines) = mpsc::channel(LINES);
        let source = source.into();
        let reading = move || read_lines(source, limit_bytes, &sender);
        if let Err(error) = thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(reading)
        {
            // Without the thread the channel is closed: the dialect sees the end of its input.
            tracing::error!(%error, "stdin cannot be read");
        }
        Self { lines }
    }

    /// The next line; `None` when there will be none.
    pub async fn next(&mut self) -> Option<Input> {
        self.lines.recv().await
    }
}

fn read_lines(source: Source, limit_bytes: usize, sender: &mpsc::Sender<Input>) {
    let mut lines = LineReader::new(limit_bytes);
    let mut first = source.read_ahead.as_slice();
    while let Some(line) = lines.next_line(&mut first) {
        if sender.blocking_send(owned(line)).is_err() {
            return;
        }
    }
    let mut source = File::from(source.rest);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "stdin failed; continuing as if it had been closed");
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

fn owned(line: Line<'_>) -> Input {
    match line {
        Line::Text(text) => Input::Line(text.to_owned()),
        Line::TooLong => Input::TooLong,
        Line::InvalidUtf8 => Input::InvalidUtf8,
    }
}
