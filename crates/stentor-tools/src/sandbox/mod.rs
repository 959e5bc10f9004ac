//! Commands that can change only what they may: a sandbox of the kernel's own means.
//!
//! A command is not started directly but by a *helper*, which is this program again under another
//! word. The helper takes rights away from itself (files by Landlock, the network and a few system
//! calls by seccomp, the powers of root) and then becomes the command, with the same process id,
//! group and environment. What was taken away stays away from everything the command starts, in
//! whatever session or group, and there is no way back.
//!
//! [`settle`] says what the kernel can do of what was asked; [`CommandSandbox`] is how commands
//! are started; [`enter`] is what the helper does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stentor_agent::sandbox::SandboxMode;

mod enter;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
#[path = "linux/mod.rs"]
mod kernel;
#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
)))]
#[path = "elsewhere.rs"]
mod kernel;
mod settle;
mod words;

pub use enter::enter;
pub use settle::{Asked, Refused, Settled, settle};
pub use words::InvalidWords;

/// What a command is held back from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restrictions {
    pub mode: SandboxMode,
    /// Whether it may use the network.
    pub network: bool,
    /// Where it may write; only [`SandboxMode::WorkspaceWrite`] looks at it.
    pub writable: Vec<PathBuf>,
    /// Files and folders it may not read.
    pub unreadable: Vec<PathBuf>,
}

/// Starts programs so that they are held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSandbox {
    helper: PathBuf,
    first_words: Vec<OsString>,
    restrictions: Restrictions,
}

impl CommandSandbox {
    /// `helper` is a program that, after `first_words`, hands its words to [`enter`].
    pub fn new(helper: PathBuf, first_words: Vec<OsString>, restrictions: Restrictions) -> Self {
        Self {
            helper,
            first_words,
            restrictions,
        }
    }

    /// What the commands are held back from.
    pub fn restrictions(&self) -> &Restrictions {
        &self.restrictions
    }

    /// The program to start instead of `program`, and the words that come before the arguments of
    /// `program`. The command will work in `cwd`, and may write there if it may write at all.
    pub fn wrap(&self, program: &Path, cwd: &Path) -> (&Path, Vec<OsString>) {
        let mut restrictions = self.restrictions.clone();
        restrictions.writable.push(cwd.to_owned());
        let mut before = self.first_words.clone();
        before.extend(words::encode(&restrictions));
        before.push(program.into());
        (&self.helper, before)
    }
}
