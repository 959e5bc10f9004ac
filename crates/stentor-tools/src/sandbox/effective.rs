//! From what was asked to what holds on this kernel, and what of it does not.

use std::path::{Path, PathBuf};

use stentor_agent::sandbox::{SandboxMode, SandboxState};
use stentor_policy::resolve;

use super::{Restrictions, kernel};

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRequest {
    pub mode: SandboxMode,
    pub network: bool,
    pub required: SandboxRequirement,
    /// Further folders that commands may write.
    pub writable: Vec<PathBuf>,
    pub unreadable: Vec<PathBuf>,
    /// The folder the session works in.
    pub cwd: PathBuf,
    /// The agent's own folders: whoever writes them could open the sandbox.
    pub guarded: Vec<PathBuf>,
}

/// What happens where a sandbox has gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxRequirement {
    /// They are told, and the rest holds.
    No,
    /// What this machine cannot keep is refused; what is open because of where one works is told.
    #[default]
    Kept,
    /// Every gap is refused.
    Fully,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSandbox {
    pub state: SandboxState,
    /// What commands are to be held back from; nothing when there is no sandbox.
    pub restrictions: Option<Restrictions>,
}

/// Why a session does not start with the sandbox that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxRefusal {
    #[error(
        "the sandbox cannot be enforced: {}. Nothing starts without it; to run with the \
         restrictions that are available, use `--sandbox-optional`, or set `required = false` \
         under [sandbox] in your own file",
        .0.join("; ")
    )]
    Gaps(Vec<String>),
    #[error(
        "{unreadable} cannot be made unreadable, since it lies in {writable}, which commands may \
         write to: move it, or remove it from `sandbox.unreadable`",
        unreadable = unreadable.display(), writable = writable.display()
    )]
    UnreadableInWritable {
        unreadable: PathBuf,
        writable: PathBuf,
    },
}

/// What a kernel has for the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSupport {
    /// Which version of Landlock.
    pub landlock: Option<u8>,
    pub seccomp: bool,
}

/// What this machine's kernel has.
pub fn kernel_support() -> KernelSupport {
    kernel::support()
}

/// Says what of a sandbox holds on this machine, or why the session is refused.
pub fn effective_sandbox(asked: SandboxRequest) -> Result<EffectiveSandbox, SandboxRefusal> {
    if asked.mode == SandboxMode::Off {
        return Ok(EffectiveSandbox {
            state: SandboxState::default(),
            restrictions: None,
        });
    }
    effective_with(asked, kernel::support())
}

/// The versions of Landlock from which on it knows more.
const TRUNCATION: u8 = 3;
const ABSTRACT_SOCKETS: u8 = 6;

/// What is found open while it is worked out what holds.
#[derive(Default)]
struct SandboxGaps {
    /// For want of a kernel that could.
    by_kernel: Vec<String>,
    /// Because of where one works.
    by_place: Vec<String>,
    /// Told as gaps, but nothing is open because of them.
    missing: Vec<String>,
}

fn effective_with(
    asked: SandboxRequest,
    support: KernelSupport,
) -> Result<EffectiveSandbox, SandboxRefusal> {
    let mut gaps = SandboxGaps::default();
    let (mode, network) = kept_by_kernel(&asked, support, &mut gaps.by_kernel);
    let writable = match mode {
        SandboxMode::WorkspaceWrite => writable_folders(&asked, &mut gaps)?,
        SandboxMode::Off | SandboxMode::ReadOnly => Vec::new(),
    };
    let state = SandboxState {
        mode,
        network,
        writable,
        unreadable: match mode {
            SandboxMode::Off => Vec::new(),
            SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => asked.unreadable,
        },
        gaps: gaps.accepted(asked.required)?,
    };
    Ok(EffectiveSandbox {
        restrictions: Restrictions::of(&state),
        state,
    })
}

/// The mode and whether there is a network, as far as the kernel can see to it.
fn kept_by_kernel(
    asked: &SandboxRequest,
    support: KernelSupport,
    gaps: &mut Vec<String>,
) -> (SandboxMode, bool) {
    let mut gap = |text: String| gaps.push(text);
    let mut mode = asked.mode;
    let mut network = asked.network;
    match support.landlock {
        None => {
            gap(format!(
                "this system has no Landlock, so commands can write wherever you can \
                 (`sandbox.mode` is \"{mode}\")"
            ));
            if !asked.unreadable.is_empty() {
                gap("without Landlock nothing can be made unreadable".to_owned());
            }
            mode = SandboxMode::Off;
        }
        Some(version) => {
            if version < TRUNCATION {
                gap(format!(
                    "Landlock {version} does not prevent commands from truncating files they may \
                     not write to; Linux 6.2 does"
                ));
            }
            if version < ABSTRACT_SOCKETS && network {
                gap(format!(
                    "Landlock {version} does not prevent commands from using abstract sockets, \
                     such as those of a desktop; Linux 6.12 does"
                ));
            }
        }
    }
    if !support.seccomp {
        if !network {
            gap(
                "this system has no seccomp filters, so commands can use the network \
                 (`sandbox.network` is false)"
                    .to_owned(),
            );
            network = true;
        }
        if mode != SandboxMode::Off {
            gap(
                "without seccomp filters commands can change the modes and times of your files"
                    .to_owned(),
            );
        }
    }
    (mode, network)
}

/// The folders that commands may write besides the one they work in.
fn writable_folders(
    asked: &SandboxRequest,
    gaps: &mut SandboxGaps,
) -> Result<Vec<PathBuf>, SandboxRefusal> {
    let mut writable = Vec::new();
    for folder in &asked.writable {
        match folder.exists() {
            true => writable.push(resolve(folder).unwrap_or_else(|| folder.clone())),
            false => gaps.missing.push(format!(
                "{} does not exist, so commands cannot write to it",
                folder.display()
            )),
        }
    }
    let holder_of = |path: &Path| {
        let mut everything = std::iter::once(&asked.cwd).chain(&writable);
        everything.find(|writable| contains(writable, path))
    };
    for folder in &asked.guarded {
        if let Some(holder) = holder_of(folder) {
            gaps.by_place.push(format!(
                "commands may write {}, and with it {}, which belongs to Stentor: work in another \
                 folder",
                holder.display(),
                folder.display()
            ));
        }
    }
    for hidden in &asked.unreadable {
        if let Some(holder) = holder_of(hidden) {
            return Err(SandboxRefusal::UnreadableInWritable {
                unreadable: hidden.clone(),
                writable: holder.clone(),
            });
        }
    }
    Ok(writable)
}

impl SandboxGaps {
    /// All of them, unless some are a reason to refuse the session.
    fn accepted(self, required: SandboxRequirement) -> Result<Vec<String>, SandboxRefusal> {
        let is_refused = match required {
            SandboxRequirement::No => false,
            SandboxRequirement::Kept => !self.by_kernel.is_empty(),
            SandboxRequirement::Fully => !self.by_kernel.is_empty() || !self.by_place.is_empty(),
        };
        let mut gaps = self.by_kernel;
        gaps.extend(self.by_place);
        if is_refused {
            return Err(SandboxRefusal::Gaps(gaps));
        }
        gaps.extend(self.missing);
        Ok(gaps)
    }
}

fn contains(folder: &Path, path: &Path) -> bool {
    match (resolve(folder), resolve(path)) {
        (Some(folder), Some(path)) => path.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SandboxMode::{Off, ReadOnly, WorkspaceWrite};

    const ALL: KernelSupport = KernelSupport {
        landlock: Some(7),
        seccomp: true,
    };

    fn asked(mode: SandboxMode) -> SandboxRequest {
        SandboxRequest {
            mode,
            network: false,
            required: SandboxRequirement::No,
            writable: Vec::new(),
            unreadable: Vec::new(),
            cwd: "/work".into(),
            guarded: Vec::new(),
        }
    }

    #[test]
    fn what_the_kernel_lacks_is_told_and_the_rest_holds() {
        let support = |landlock, seccomp| KernelSupport { landlock, seccomp };
        for (mode, network, support, holds, gaps) in [
            (WorkspaceWrite, false, ALL, "workspace-write, no network", 0),
            (ReadOnly, true, ALL, "read-only, with network", 0),
            (ReadOnly, false, support(None, true), "off, no network", 1),
            (ReadOnly, true, support(None, true), "off", 1),
            (ReadOnly, false, support(None, false), "off", 2),
            (
                ReadOnly,
                false,
                support(Some(1), true),
                "read-only, no network",
                1,
            ),
            (
                ReadOnly,
                true,
                support(Some(5), true),
                "read-only, with network",
                1,
            ),
            (
                WorkspaceWrite,
                false,
                support(Some(7), false),
                "workspace-write, with network",
                2,
            ),
        ] {
            let asked = |required| SandboxRequest {
                network,
                required,
                ..asked(mode)
            };
            let settled = effective_with(asked(SandboxRequirement::No), support).unwrap();
            assert_eq!(settled.state.to_string(), holds, "{support:?}");
            assert_eq!(settled.state.gaps.len(), gaps, "{:?}", settled.state.gaps);
            assert_eq!(settled.restrictions.is_some(), settled.state.is_on());
            let required = effective_with(asked(SandboxRequirement::Kept), support);
            match gaps {
                0 => assert_eq!(required, Ok(settled)),
                _ => assert_eq!(required, Err(SandboxRefusal::Gaps(settled.state.gaps))),
            }
        }
    }

    #[test]
    fn no_sandbox_asks_nothing_of_the_kernel() {
        let settled = effective_sandbox(SandboxRequest {
            required: SandboxRequirement::Kept,
            unreadable: vec!["/work/x".into()],
            ..asked(Off)
        });
        assert_eq!(settled.unwrap().restrictions, None);
    }

    #[test]
    fn a_folder_that_is_not_there_or_holds_our_own_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("work")).unwrap();
        let settled = effective_with(
            SandboxRequest {
                writable: vec![base.join("none"), base.join("work")],
                guarded: vec![base.join("work/.config/stentor"), base.join("other")],
                cwd: base.join("work"),
                ..asked(WorkspaceWrite)
            },
            ALL,
        )
        .unwrap();
        assert_eq!(settled.state.writable, [base.join("work")]);
        let [own, missing] = settled.state.gaps.as_slice() else {
            panic!("two gaps expected, not {:?}", settled.state.gaps)
        };
        assert!(missing.contains("none does not exist"), "{missing}");
        for (required, is_refused) in [
            (SandboxRequirement::Kept, false),
            (SandboxRequirement::Fully, true),
        ] {
            let asked = SandboxRequest {
                required,
                guarded: vec![base.join("work/own")],
                cwd: base.join("work"),
                ..asked(WorkspaceWrite)
            };
            assert_eq!(effective_with(asked, ALL).is_err(), is_refused);
        }
        assert!(own.contains("/work/.config/stentor"), "{own}");
    }

    #[test]
    fn what_commands_may_write_cannot_be_hidden_from_them() {
        let refused = effective_with(
            SandboxRequest {
                unreadable: vec!["/work/.env".into()],
                ..asked(WorkspaceWrite)
            },
            ALL,
        );
        assert_eq!(
            refused,
            Err(SandboxRefusal::UnreadableInWritable {
                unreadable: "/work/.env".into(),
                writable: "/work".into()
            })
        );
        let above = SandboxRequest {
            unreadable: vec!["/".into()],
            ..asked(WorkspaceWrite)
        };
        assert!(effective_with(above, ALL).is_ok());
    }
}
