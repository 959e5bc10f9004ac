//! The prompt of `-p`, and what stdin has to do with it.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

use crate::print::streams::stderr;

/// A prompt is typed or generated, never this long.
const LONGEST_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// A pipe into which nobody writes for so long is one that was left open by accident.
const SILENT_PIPE_S: i64 = 3;

/// How long a socket may be silent: most that are left open are never written to.
const SILENT_SOCKET_MS: i64 = 300;

/// A prompt, and what came with it.
pub struct PromptText {
    pub text: String,
    /// A person typed the text, so it names files to attach: what comes through a pipe may be
    /// anybody's.
    pub is_typed: bool,
    /// What was piped in beside it. It stays apart: no part of it is ever a command.
    pub piped: Option<String>,
}

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum PromptTextError {
    #[error("the prompt is empty")]
    Empty,
    #[error("no prompt: give one with -p \"...\", or pipe it in")]
    Terminal,
    #[error("cannot read the prompt from stdin: {0}")]
    Stdin(io::Error),
    #[error(
        "the prompt on stdin is longer than {LONGEST_PROMPT_BYTES} bytes; name a file in the prompt instead"
    )]
    TooLong,
}

/// The prompt: what was given, with what stdin says beside it, or what stdin says.
pub fn prompt_text(
    given: &str,
    add_stdin: bool,
    stdin: &mut File,
) -> Result<PromptText, PromptTextError> {
    let is_typed = given != "-";
    if is_typed && given.trim().is_empty() {
        return Err(PromptTextError::Empty);
    }
    if !is_typed && stdin.is_terminal() {
        return Err(PromptTextError::Terminal);
    }
    let read = match !is_typed || add_stdin || is_written_to(stdin) {
        true => Some(read_stdin(stdin)?).filter(|read| !read.trim().is_empty()),
        false => None,
    };
    match is_typed {
        true => Ok(PromptText {
            text: given.to_owned(),
            is_typed,
            piped: read,
        }),
        false => Ok(PromptText {
            text: read.ok_or(PromptTextError::Empty)?.trim().to_owned(),
            is_typed,
            piped: None,
        }),
    }
}

fn read_stdin(stdin: &mut File) -> Result<String, PromptTextError> {
    let mut bytes = Vec::new();
    stdin
        .take(LONGEST_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(PromptTextError::Stdin)?;
    if bytes.len() as u64 > LONGEST_PROMPT_BYTES {
        return Err(PromptTextError::TooLong);
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// True when stdin is there to be read and something comes out of it. Whoever starts us may have left
/// open a pipe that nobody writes to.
fn is_written_to(stdin: &File) -> bool {
    let input = StdinKind::of(stdin);
    let limit = match input {
        StdinKind::Other => return false,
        StdinKind::File => return true,
        StdinKind::Pipe => Timespec {
            tv_sec: SILENT_PIPE_S,
            tv_nsec: 0,
        },
        StdinKind::Socket => Timespec {
            tv_sec: 0,
            tv_nsec: SILENT_SOCKET_MS * 1_000_000,
        },
    };
    let mut asked = [PollFd::new(stdin, PollFlags::IN)];
    let is_ready = poll(&mut asked, Some(&limit)).is_ok_and(|ready| ready > 0);
    if !is_ready && input == StdinKind::Pipe {
        let _ = writeln!(
            stderr(),
            "warning: nothing came through standard input for {SILENT_PIPE_S} s; continuing without \
             it (--stdin waits for it)"
        );
    }
    is_ready
}

/// What stdin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinKind {
    Pipe,
    /// Node connects its children by these, whether or not it has anything to say to them.
    Socket,
    File,
    /// A terminal, `/dev/null`, nothing.
    Other,
}

impl StdinKind {
    /// Looks at it.
    pub fn of(stdin: &File) -> Self {
        let found = rustix::fs::fstat(stdin);
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            Ok(FileType::Fifo) => Self::Pipe,
            Ok(FileType::Socket) => Self::Socket,
            Ok(FileType::RegularFile) => Self::File,
            _ => Self::Other,
        }
    }
}
