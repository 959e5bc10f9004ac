//! Which shell runs the commands.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::launcher::{Launcher, Program};
use super::running::RunningProgram;
use super::streams::CommandStreams;

/// A shell that takes a command after `-c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellProgram {
    path: PathBuf,
    launcher: Launcher,
}

impl ShellProgram {
    /// The user's shell if it is a bash, else the system's bash, else `sh`.
    pub(crate) fn of_this_machine() -> Self {
        Self::choose(std::env::var_os("SHELL").as_deref(), is_executable)
    }

    /// The same, started by `launcher`.
    pub(crate) fn started_by(self, launcher: Launcher) -> Self {
        Self { launcher, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Has the shell run `text` in `cwd`, with these streams.
    pub(super) fn start(
        &self,
        text: &str,
        cwd: &Path,
        streams: CommandStreams,
    ) -> io::Result<RunningProgram> {
        // Nobody sees the terminal: what is written for an eye would only be taken out again.
        let plain = [("TERM".to_owned(), "dumb".to_owned())];
        let program = Program {
            program: &self.path,
            args: vec!["-c".into(), text.into()],
            cwd,
            env: match streams.is_terminal {
                true => &plain,
                false => &[],
            },
        };
        self.launcher.start_command(&program, streams)
    }

    fn choose(users: Option<&OsStr>, is_executable: impl Fn(&Path) -> bool) -> Self {
        // Models write bash; other shells read some of it differently.
        let users = users
            .map(PathBuf::from)
            .filter(|path| path.is_absolute() && path.file_name() == Some(OsStr::new("bash")));
        let candidates = users
            .into_iter()
            .chain(["/bin/bash", "/usr/bin/bash"].map(PathBuf::from));
        let path = candidates
            .into_iter()
            .find(|path| is_executable(path))
            .unwrap_or_else(|| PathBuf::from("/bin/sh"));
        Self {
            path,
            launcher: Launcher::default(),
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bash_is_preferred_and_sh_is_the_last_resort() {
        for (users, there, expected) in [
            (
                Some("/opt/bin/bash"),
                &["/opt/bin/bash", "/bin/bash"][..],
                "/opt/bin/bash",
            ),
            (
                Some("/usr/bin/fish"),
                &["/usr/bin/fish", "/bin/bash"],
                "/bin/bash",
            ),
            (Some("/opt/bin/bash"), &["/usr/bin/bash"], "/usr/bin/bash"),
            (Some("bash"), &["bash"], "/bin/sh"),
            (None, &[], "/bin/sh"),
        ] {
            let chosen = ShellProgram::choose(users.map(OsStr::new), |path| {
                there.iter().any(|name| Path::new(name) == path)
            });
            assert_eq!(chosen.path(), Path::new(expected));
        }
    }
}
