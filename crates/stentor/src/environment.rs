//! The environment the program was started in.

use std::ffi::OsString;
use std::path::PathBuf;

/// A variable of the environment. `HOME` comes from the password database where it
/// is not set: some frontends start their agents with `PATH` alone.
pub fn variable(name: &str) -> Option<OsString> {
    let set = std::env::var_os(name);
    match name {
        "HOME" => set.or_else(|| std::env::home_dir().map(PathBuf::into_os_string)),
        _ => set,
    }
}
