//! The sandbox of a session's commands: from the configuration to what holds.

use std::path::{Path, PathBuf};

use stentor_agent::sandbox::{SandboxMode, SandboxState};
use stentor_policy::{PathGuard, WriteLimit};
use stentor_tools::process::Launcher;
use stentor_tools::sandbox::{
    SandboxRefusal, SandboxRequest, SandboxRequirement, effective_sandbox,
};

use crate::config::{Config, ValueSource};
use crate::environment::Variables;
use crate::notes::notes_file;
use crate::socket;

/// The sandbox of the sessions in a folder.
pub struct Sandbox {
    pub state: SandboxState,
    /// How commands are started, in the sandbox if there is one.
    pub launcher: Launcher,
    /// The same limits for the tools that run no commands. They hold where the kernel cannot.
    pub path_guard: PathGuard,
}

/// What the configuration asks for, and what of it holds here.
pub fn sandbox(
    config: &Config,
    cwd: &Path,
    spill_dir: &Path,
    launcher: &Launcher,
) -> Result<Sandbox, SandboxRefusal> {
    let settings = &config.settings;
    let mode = settings.sandbox_mode.value;
    let mut unreadable = settings.sandbox_unreadable.value.0.clone();
    let mut writable = settings.sandbox_writable.value.0.clone();
    writable.push(std::env::temp_dir());
    if spill_dir.exists() {
        writable.push(spill_dir.to_owned());
    }
    let hides = |path: &PathBuf| can_be_hidden(path, cwd, &writable);
    let own = socket::hidden_from_sandbox(&Variables::OfProcess);
    unreadable.extend(own.into_iter().filter(hides));
    let asked = SandboxRequest {
        mode,
        network: settings.sandbox_network.value,
        required: match (
            &settings.sandbox_required.source,
            settings.sandbox_required.value,
        ) {
            (_, false) => SandboxRequirement::No,
            (ValueSource::Default, true) => SandboxRequirement::Kept,
            (_, true) => SandboxRequirement::Fully,
        },
        writable: writable.clone(),
        unreadable: unreadable.clone(),
        cwd: cwd.to_owned(),
        guarded: config.own_folders(),
    };
    let effective = effective_sandbox(asked)?;
    // Commands may not write the notes, but the tool for them may.
    let mut tools_write = writable;
    tools_write.extend(notes_file(settings, config.project.root()));
    let path_guard = match mode {
        SandboxMode::Off => PathGuard::default(),
        SandboxMode::ReadOnly => PathGuard {
            writes: WriteLimit::Nowhere,
            unreadable,
        },
        SandboxMode::WorkspaceWrite => PathGuard {
            writes: WriteLimit::Within(tools_write),
            unreadable,
        },
    };
    Ok(Sandbox {
        state: effective.state,
        launcher: launcher.restricted(effective.restrictions),
        path_guard,
    })
}

/// Whether something of ours is there and can be hidden: not from who may write where it is.
fn can_be_hidden(path: &Path, cwd: &Path, writable: &[PathBuf]) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let resolved = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut folders = writable.iter().map(PathBuf::as_path).chain([cwd]);
    !folders.any(|folder| path.starts_with(resolved(folder)))
}
