//! Which shell runs the commands.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use tokio::process::Command;

use crate::sandbox::CommandSandbox;

/// A shell that takes a command after `-c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellProgram {
    path: PathBuf,
    sandbox: Option<CommandSandbox>,
}

impl ShellProgram {
    /// The user's shell if it is a bash, else the system's bash, else `sh`.
    pub(crate) fn of_this_machine() -> Self {
        Self::choose(std::env::var_os("SHELL").as_deref(), is_executable)
    }

    /// The same in a sandbox, if there is one.
    pub(crate) fn in_sandbox(self, sandbox: Option<CommandSandbox>) -> Self {
        Self { sandbox, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn sandbox(&self) -> Option<&CommandSandbox> {
        self.sandbox.as_ref()
    }

    /// What to start so that the shell runs `text` in `cwd`.
    pub(crate) fn command(&self, text: &str, cwd: &Path) -> Command {
        let mut command = match &self.sandbox {
            None => Command::new(&self.path),
            Some(sandbox) => {
                let (helper, before) = sandbox.wrap(&self.path, cwd);
                let mut command = Command::new(helper);
                command.args(before);
                command
            }
        };
        command.arg("-c").arg(text).current_dir(cwd);
        command
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
            sandbox: None,
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
