//! What of this machine is used: the shell, git, the kernel.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use stentor_tools::sandbox::{KernelSupport, kernel_support};
use tokio::process::Command;
use tokio::time::timeout;

use super::DoctorReport;

const SECTION: &str = "Tools";

/// A program that takes longer to say its version is not one that works.
const LIMIT: Duration = Duration::from_secs(5);

impl DoctorReport {
    /// The programs that commands need, and what the kernel has for the sandbox.
    pub(super) async fn tools(&mut self) {
        let shell = stentor_tools::shell_path();
        let shown = shell.display();
        let is_bash = shell.file_name().is_some_and(|name| name == "bash");
        match (is_bash, version_of(&shell).await) {
            (true, Some(version)) => self.good(SECTION, format!("{shown}: {version}")),
            (true, None) => self.bad(
                SECTION,
                format!("{shown} does not run"),
                "commands need it: install bash again",
            ),
            (false, _) => self.note(
                SECTION,
                format!("there is no bash: commands run in {shown}"),
                "install bash: models write for it",
            ),
        }
        match version_of(Path::new("git")).await {
            Some(version) => self.good(SECTION, version),
            None => self.note(
                SECTION,
                "git is not installed, or does not run",
                "install it if your projects are repositories",
            ),
        }
        self.kernel();
    }

    fn kernel(&mut self) {
        // Only Linux has it, and only Linux has the sandbox.
        let Ok(version) = std::fs::read_to_string("/proc/sys/kernel/osrelease") else {
            return self.good(SECTION, "this system has no sandbox for commands");
        };
        let version = version.trim();
        let KernelSupport { landlock, seccomp } = kernel_support();
        match (landlock, seccomp) {
            (Some(landlock), true) => self.good(
                SECTION,
                format!("Linux {version}, with Landlock {landlock} and seccomp for the sandbox"),
            ),
            (landlock, seccomp) => {
                let missing = match (landlock.is_some(), seccomp) {
                    (false, false) => "neither Landlock nor seccomp",
                    (false, true) => "no Landlock",
                    (true, _) => "no seccomp",
                };
                self.note(
                    SECTION,
                    format!(
                        "Linux {version}, with {missing}: the sandbox cannot hold commands back"
                    ),
                    "use Linux 5.13 or newer with Landlock enabled; containers may forbid it",
                );
            }
        }
    }
}

/// The first line of what a program says of its version.
async fn version_of(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        // What lies in the working folder has no say in it.
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().filter(|line| !line.is_empty())?;
    output.status.success().then(|| first.to_owned())
}
