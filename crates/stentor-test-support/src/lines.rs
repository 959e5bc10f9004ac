//! The lines that a process writes.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A test that waits this long for a line will never get it: in a fleet a client may have to wait for two
/// minutes and a lease.
const NEVER: Duration = Duration::from_secs(240);

/// Lines that a thread reads as they come, so that whoever writes them never waits for the test.
pub struct Lines {
    lines: Receiver<String>,
}

impl Lines {
    /// The lines of this pipe.
    pub fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n') {
                let line = String::from_utf8(line.unwrap()).unwrap();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines }
    }

    /// The next line, without its end; `None` when there is no further one.
    pub fn recv(&self) -> Option<String> {
        match self.lines.recv_timeout(NEVER) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line, and no end"),
        }
    }

    /// The next line; `None` when there is no further one, or none in that time.
    pub fn recv_within(&self, time: Duration) -> Option<String> {
        self.lines.recv_timeout(time).ok()
    }

    /// All further lines.
    pub fn rest(&self) -> Vec<String> {
        std::iter::from_fn(|| self.recv()).collect()
    }
}
