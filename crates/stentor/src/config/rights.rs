//! Who can write the user's configuration: it names programs, so whoever can write it can run
//! commands as the user.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Warning};
use super::source::Scope;
use crate::shell_argument::shell_argument;

const OWNER: u32 = 0o700;
const GROUP_WRITES: u32 = 0o020;
const GROUP_ENTERS: u32 = 0o010;
const ANYBODY_WRITES: u32 = 0o002;

/// Makes a folder of ours its owner's alone, however it was made. Says so where others could have
/// written into it; that they can no longer look into it is nobody's loss.
pub fn tighten(folder: &Path) {
    let Ok(about) = fs::metadata(folder) else {
        return;
    };
    let before = about.mode() & 0o777;
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || !about.is_dir() || before & !OWNER == 0 {
        return;
    }
    let folder_shown = folder.display();
    // Where that cannot be done, what follows from it is said of the folder as it is.
    match fs::set_permissions(folder, Permissions::from_mode(before & OWNER)) {
        Ok(()) if before & (GROUP_WRITES | ANYBODY_WRITES) != 0 => tracing::warn!(
            "other users could write to {folder_shown} (mode {before:04o}); now only you can. \
             Check that nobody has put anything there"
        ),
        Ok(()) => tracing::info!("{folder_shown} is now yours alone (it was mode {before:04o})"),
        Err(error) => tracing::info!("the mode of {folder_shown} stays {before:04o}: {error}"),
    }
}

/// Refuses a file or folder of the user's that belongs to somebody else or that anybody can write to,
/// and warns of one that a group can: on many systems every user has a group of their own.
pub fn check(path: &Path, errors: &mut Vec<ConfigError>) -> Option<Warning> {
    let about = fs::metadata(path).ok()?;
    if !is_trusted_owner(about.uid()) {
        errors.push(ConfigError::OfAnotherUser {
            path: path.to_owned(),
        });
        return None;
    }
    if about.mode() & ANYBODY_WRITES != 0 {
        errors.push(ConfigError::WritableByAnybody {
            path: path.to_owned(),
        });
        return None;
    }
    let is_open = about.mode() & GROUP_WRITES != 0 && group_enters(path).unwrap_or(true);
    is_open.then(|| {
        let message = format!(
            "its group can write to it, and it can run commands as you; unless the group is yours \
             alone, run `chmod go-w {}`",
            shell_argument(path)
        );
        Warning::of_file(path, Scope::User, message)
    })
}

/// The user, the administrator, and who became the administrator with `sudo`.
fn is_trusted_owner(owner: u32) -> bool {
    const ROOT: u32 = 0;
    let user = rustix::process::geteuid().as_raw();
    let by_sudo = || std::env::var("SUDO_UID").ok()?.parse::<u32>().ok();
    owner == user || owner == ROOT || (user == ROOT && by_sudo() == Some(owner))
}

/// Whether a group that may do something there gets there at all.
fn group_enters(path: &Path) -> io::Result<bool> {
    let real: PathBuf = path.canonicalize()?;
    let folder = real.parent().map(fs::metadata).transpose()?;
    Ok(folder.is_none_or(|folder: Metadata| folder.mode() & GROUP_ENTERS != 0))
}
