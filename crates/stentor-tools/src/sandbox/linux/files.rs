//! Files: what may be written and read, by Landlock.
//!
//! Landlock grants rights below folders and denies what nobody granted. It looks at the files
//! themselves, not at the names they were reached by, so links, `..` and `/proc` lead nowhere else.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use stentor_agent::sandbox::SandboxMode;
use stentor_policy::resolve;

use crate::sandbox::{CannotRestrict, Restrictions};

/// The newest version whose rights are known here; of an older kernel those it has are used.
const NEWEST: ABI = ABI::V9;

const VERSIONS: [(u8, ABI); 9] = [
    (9, ABI::V9),
    (8, ABI::V8),
    (7, ABI::V7),
    (6, ABI::V6),
    (5, ABI::V5),
    (4, ABI::V4),
    (3, ABI::V3),
    (2, ABI::V2),
    (1, ABI::V1),
];

/// Devices every program expects to be able to write; they keep nothing.
const HARMLESS_DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// Memory that programs share, under names; gone with the next start of the machine.
const SHARED_MEMORY: &str = "/dev/shm";

/// Which version of Landlock this kernel has, if it has it.
pub(super) fn version() -> Option<u8> {
    let has = |abi: &ABI| {
        let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        ruleset = ruleset.handle_access(AccessFs::from_write(*abi)).ok()?;
        if *abi >= ABI::V6 {
            ruleset = ruleset.scope(Scope::AbstractUnixSocket).ok()?;
        }
        ruleset.create().ok()
    };
    let mut versions = VERSIONS.iter();
    versions
        .find(|(_, abi)| has(abi).is_some())
        .map(|(version, _)| *version)
}

/// Takes the rights away.
pub(super) fn restrict(restrictions: &Restrictions) -> Result<(), CannotRestrict> {
    let writable: Vec<&Path> = match restrictions.mode {
        SandboxMode::Off => return Ok(()),
        SandboxMode::ReadOnly => Vec::new(),
        SandboxMode::WorkspaceWrite => {
            let asked = restrictions.writable.iter().map(PathBuf::as_path);
            asked.chain([Path::new(SHARED_MEMORY)]).collect()
        }
    };
    let reading = AccessFs::ReadFile | AccessFs::Execute;
    let hidden = hidden(restrictions, &writable)?;
    let mut handled = AccessFs::from_write(NEWEST);
    if !hidden.is_empty() {
        handled |= reading;
    }
    let mut ruleset = Ruleset::default()
        .handle_access(handled)
        .and_then(|ruleset| ruleset.scope(Scope::AbstractUnixSocket))
        .and_then(Ruleset::create)?;
    let in_folders = writing_in_folders() | (handled & reading);
    let on_devices =
        AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev | (handled & reading);
    ruleset = ruleset
        .add_rules(path_beneath_rules(writable, in_folders))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(HARMLESS_DEVICES, on_devices)))?;
    if !hidden.is_empty() {
        for path in beside(Path::new("/"), &hidden) {
            // What went away meanwhile needs no rights.
            if let Ok(fd) = PathFd::new(&path) {
                ruleset = ruleset.add_rule(PathBeneath::new(fd, reading))?;
            }
        }
    }
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(CannotRestrict::NoLandlock),
    }
}

/// All that is writing, except making devices: a disk's device would be a way to every file on it.
fn writing_in_folders() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev)
}

/// Where the unreadable things really are.
fn hidden(restrictions: &Restrictions, writable: &[&Path]) -> Result<Vec<PathBuf>, CannotRestrict> {
    let resolved = |path: &Path| resolve(path).ok_or_else(|| CannotRestrict::Loop(path.to_owned()));
    let mut hidden = Vec::new();
    for path in &restrictions.unreadable {
        let path = resolved(path)?;
        for folder in writable {
            if path.starts_with(resolved(folder)?) {
                return Err(CannotRestrict::UnreadableInWritable(path));
            }
        }
        hidden.push(path);
    }
    Ok(hidden)
}

/// Everything in `folder` that neither is hidden nor contains something hidden, as few paths as
/// possible: Landlock can only grant, so what is hidden is what is left.
fn beside(folder: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|hidden| folder.starts_with(hidden)) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(folder)) {
        return vec![folder.to_owned()];
    }
    // A folder that cannot be listed is skipped: nothing in it is granted.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        // A link is followed when it is used, and its target decides.
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .flat_map(|entry| beside(&entry.path(), hidden))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_beside_the_hidden_is_granted_and_no_link_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for path in ["home/.ssh", "home/work/src", "home/.config/x", "other"] {
            std::fs::create_dir_all(base.join(path)).unwrap();
        }
        std::fs::write(base.join("home/file"), "").unwrap();
        std::os::unix::fs::symlink(".ssh", base.join("home/link")).unwrap();
        let hidden = [base.join("home/.ssh"), base.join("home/.config/x")];
        let mut granted = beside(&base, &hidden);
        granted.sort();
        let expected: Vec<PathBuf> = ["home/file", "home/work", "other"]
            .iter()
            .map(|path| base.join(path))
            .collect();
        assert_eq!(granted, expected);
        assert_eq!(
            beside(&base.join("home/.ssh/k"), &hidden),
            [] as [PathBuf; 0]
        );
    }
}
