//! What the program says on stderr besides its answers.
//!
//! A parent may never read the pipe behind stderr. A pipe holds little, and a write to a full one
//! waits for ever, so what does not fit is left out: losing a line of the log is better than
//! stopping the program.

use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stentor_text::visible::visible;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// A pipe that can be written to at all takes this much at once (`PIPE_BUF`).
const PIECE_BYTES: usize = 4096;

/// `STENTOR_LOG` says what is logged, otherwise `usual` does.
pub fn to_stderr(usual: &str) {
    let wanted = std::env::var("STENTOR_LOG").ok();
    let wanted = wanted.and_then(|wanted| wanted.parse::<Targets>().ok());
    let filter = wanted.or_else(|| usual.parse().ok()).unwrap_or_default();
    let lines = fmt::layer()
        .with_writer(PatientStderr)
        // What is logged may hold anything: no escape sequence leaves, not even one of ours.
        .with_ansi(false)
        .without_time()
        .with_target(false);
    let logger = tracing_subscriber::registry().with(filter).with(lines);
    // Whoever set a logger before wants to keep it.
    logger.try_init().ok();
}

/// Stderr as far as it takes what is written without waiting.
#[derive(Debug, Clone, Copy)]
pub struct PatientStderr;

impl Write for PatientStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = visible(&String::from_utf8_lossy(bytes)).into_owned();
        for piece in shown.as_bytes().chunks(PIECE_BYTES) {
            if !takes_more() {
                break;
            }
            rustix::io::write(rustix::stdio::stderr(), piece)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for PatientStderr {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        *self
    }
}

fn takes_more() -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let stderr = rustix::stdio::stderr();
    let mut asked = [PollFd::new(&stderr, PollFlags::OUT)];
    poll(&mut asked, Some(&at_once)).is_ok_and(|ready| ready > 0)
}
