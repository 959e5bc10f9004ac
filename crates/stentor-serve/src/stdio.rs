//! Taking stdin and stdout away from everybody else.
//!
//! A stray print in a dependency, or a child process that inherited our pipes, could corrupt the
//! stream of frames or eat a client's command. So at start both pipes are moved to descriptors
//! that only this program knows and that children do not inherit; descriptor 0 becomes an empty
//! input and descriptor 1 becomes stderr.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// The pipes a frontend talks to us through.
#[derive(Debug)]
pub struct Pipes {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
}

/// The first descriptor number the pipes may move to: the three standard ones stay what they are.
const FIRST_FREE: i32 = 3;

/// Moves stdin and stdout out of everybody's reach. Call it once, first of all.
pub fn take() -> io::Result<Pipes> {
    let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?;
    let stdout = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    if rustix::stdio::dup2_stdout(rustix::stdio::stderr()).is_err() {
        // A parent that closed stderr gets its stray prints thrown away.
        rustix::stdio::dup2_stdout(&nothing)?;
    }
    Ok(Pipes { stdin, stdout })
}
