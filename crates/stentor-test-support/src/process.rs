//! Processes that a test starts, and those it only hears of.

use std::ffi::OsStr;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// How long to wait before looking again, where nothing says that it is time to.
const PAUSE: Duration = Duration::from_millis(2);

/// A program in a folder, with an environment that has nothing but a home and a path.
pub fn isolated_command(program: impl AsRef<OsStr>, home: &Path, cwd: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(cwd)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// A process that a failed test does not leave behind.
pub struct KillOnDrop(pub Child);

impl Deref for KillOnDrop {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KillOnDrop {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // It may have ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// True when no process of that number runs, or only its remains are there.
pub fn is_dead(pid: &str) -> bool {
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    let state = std::fs::read_to_string(stat).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

/// Waits until a process is gone.
pub fn when_dead(pid: &str) {
    while !is_dead(pid) {
        std::thread::sleep(PAUSE);
    }
}

/// Waits for a file that a process makes, empty or not.
pub fn when_made(path: &Path) {
    while !path.exists() {
        std::thread::sleep(PAUSE);
    }
}

/// Waits until a process has written something into a file: a shell makes the file of `>` and `>>`
/// before the command writes.
pub fn when_written(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path)
            && !text.is_empty()
        {
            return text;
        }
        std::thread::sleep(PAUSE);
    }
}
