//! Becoming a program that a terminal controls.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The word after which the helper becomes such a program. What follows are the program and its
/// arguments.
pub(super) const TERMINAL: &str = "--terminal";

/// Makes the terminal on our standard input the one that controls us, and becomes the program. Only a
/// process that leads its session can have one, and that is nothing one process can do to another.
pub(super) fn become_program(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let Some(program) = words.next() else {
        return io::Error::other("no program is named");
    };
    let lead = || -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    match lead() {
        Ok(()) => Command::new(program).args(words).exec(),
        Err(error) => error,
    }
}
