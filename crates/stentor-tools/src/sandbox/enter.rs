//! What the helper does: give up rights, then become the command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::words::{self, InvalidWords};
use super::{Restrictions, kernel};

/// Why a command does not run in its sandbox, and therefore not at all.
#[derive(Debug, thiserror::Error)]
pub enum CannotEnter {
    #[error("the sandbox was called wrongly: {0}")]
    Words(#[from] InvalidWords),
    #[error("the sandbox cannot be entered: {0}")]
    Kernel(String),
    #[error("cannot run {program:?}: {error}")]
    Exec { program: OsString, error: io::Error },
}

/// Restricts this process as its words say and becomes the program they name. Returns only when
/// that fails; then nothing has run. The process must not have started any other thread.
pub fn enter(words: impl IntoIterator<Item = OsString>) -> Result<Infallible, CannotEnter> {
    let (restrictions, program, arguments) = words::decode(words)?;
    let Restrictions { mode, network, .. } = &restrictions;
    tracing::trace!(%mode, network, "entering the sandbox");
    kernel::restrict(&restrictions).map_err(CannotEnter::Kernel)?;
    let error = Command::new(&program).args(arguments).exec();
    Err(CannotEnter::Exec { program, error })
}
