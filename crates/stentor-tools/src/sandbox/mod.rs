//! Commands that can change only what they may: a sandbox of the kernel's own means.
//!
//! A command is started by its supervisor (see `process::supervise`), in a thread that has given up
//! rights before: files by Landlock, the network and a few system calls by seccomp, the powers of
//! root. What was taken away stays away from everything the command starts, in whatever session or
//! group, and there is no way back.
//!
//! [`effective_sandbox`] says what the kernel can do of what was asked.

use std::path::PathBuf;

use stentor_agent::sandbox::{SandboxMode, SandboxState};

mod effective;
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
#[path = "unsupported.rs"]
mod kernel;

pub use effective::{
    EffectiveSandbox, KernelSupport, SandboxRefusal, SandboxRequest, SandboxRequirement,
    effective_sandbox, kernel_support,
};

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

impl Restrictions {
    /// What the commands of a session are held back from; nothing when it has no sandbox.
    pub fn of(state: &SandboxState) -> Option<Self> {
        state.is_on().then(|| Self {
            mode: state.mode,
            network: state.network,
            writable: state.writable.clone(),
            unreadable: state.unreadable.clone(),
        })
    }
}

/// Why the rights could not be taken away.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CannotRestrict {
    #[error("the process crashed while entering it")]
    Crashed,
    #[cfg(target_os = "linux")]
    #[error("cannot drop root's capabilities: {0}")]
    Capabilities(rustix::io::Errno),
    #[cfg(target_os = "linux")]
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[cfg(target_os = "linux")]
    #[error("this kernel has no Landlock")]
    NoLandlock,
    #[cfg(target_os = "linux")]
    #[error("seccomp: {0}")]
    Filter(#[from] seccompiler::BackendError),
    #[cfg(target_os = "linux")]
    #[error("seccomp: {0}")]
    Apply(#[from] seccompiler::Error),
    #[cfg(target_os = "linux")]
    #[error("the links of {} form a loop", .0.display())]
    Loop(PathBuf),
    #[cfg(target_os = "linux")]
    #[error("{} cannot be unreadable in a folder that is writable", .0.display())]
    UnreadableInWritable(PathBuf),
    #[cfg(not(target_os = "linux"))]
    #[error("this system has no sandbox")]
    NoSandbox,
}

/// Takes the rights away from this thread and everything it starts from now on. All of it, or an
/// error.
pub(crate) fn restrict(restrictions: &Restrictions) -> Result<(), CannotRestrict> {
    kernel::restrict(restrictions)
}
