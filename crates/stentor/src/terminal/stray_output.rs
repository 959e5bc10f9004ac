//! What is written to stderr while the conversation has the screen: the log, and whatever a library
//! prints. It goes through the screen, line by line, instead of into the middle of it.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;

use rustix::stdio::{dup2_stderr, stderr};
use tokio::sync::mpsc;

/// Lines that wait to be shown. More are dropped: nothing may wait for the screen to log something.
const WAITING_LINES: usize = 256;

/// Stderr is given back when this goes.
pub struct StrayOutput {
    before: OwnedFd,
}

impl StrayOutput {
    /// Takes stderr. The lines come out of the receiver.
    pub fn take() -> io::Result<(Self, mpsc::Receiver<String>)> {
        let before = rustix::io::fcntl_dupfd_cloexec(stderr(), 3)?;
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        dup2_stderr(&write)?;
        let (sender, lines) = mpsc::channel(WAITING_LINES);
        std::thread::spawn(move || {
            for line in BufReader::new(File::from(read)).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8_lossy(&line).into_owned();
                if let Err(mpsc::error::TrySendError::Closed(_)) = sender.try_send(line) {
                    return;
                }
            }
        });
        Ok((Self { before }, lines))
    }
}

impl Drop for StrayOutput {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        let _ = dup2_stderr(&self.before);
    }
}

/// A line of the log without what only a log needs: its level and the session.
pub fn message(line: &str) -> &str {
    let line = line.trim();
    let levels = ["WARN ", "ERROR ", "INFO "];
    let line = levels
        .iter()
        .find_map(|level| line.strip_prefix(level))
        .unwrap_or(line);
    line.split_once(" session=")
        .map_or(line, |(message, _)| message)
}
