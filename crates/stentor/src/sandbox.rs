//! The sandbox of a session's commands: from the configuration to what holds, and the helper.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stentor_agent::policy::{Wall, WriteLimit};
use stentor_agent::sandbox::{SandboxMode, SandboxState};
use stentor_tools::sandbox::{Asked, CommandSandbox, enter, settle};

use crate::config::Config;
use crate::print::printed::stderr;

/// The first word of the helper that restricts itself and becomes the command. It is no command
/// for people and not in the help.
pub const HELPER_WORD: &str = "__sandbox";

/// The exit status of a shell that cannot run a program; the helper stands in for one.
const CANNOT_RUN: u8 = 126;

/// The sandbox of the sessions in a folder.
pub struct Sandbox {
    pub state: SandboxState,
    /// How commands are started; absent when there is no sandbox.
    pub commands: Option<CommandSandbox>,
    /// The same limits for the tools that run no commands. They hold where the kernel cannot.
    pub wall: Wall,
}

/// What the configuration asks for, and what of it holds here. The error is text for a person.
pub fn sandbox(config: &Config, cwd: &Path, spill_dir: &Path) -> Result<Sandbox, String> {
    let settings = &config.settings;
    let mode = settings.sandbox_mode.value;
    let unreadable = settings.sandbox_unreadable.value.0.clone();
    let mut writable = settings.sandbox_writable.value.0.clone();
    writable.push(std::env::temp_dir());
    if spill_dir.exists() {
        writable.push(spill_dir.to_owned());
    }
    let data_dir = settings.data_dir.as_ref().map(|data| data.value.clone());
    let asked = Asked {
        mode,
        network: settings.sandbox_network.value,
        required: settings.sandbox_required.value,
        writable: writable.clone(),
        unreadable: unreadable.clone(),
        cwd: cwd.to_owned(),
        guarded: config
            .places
            .config_dir
            .clone()
            .into_iter()
            .chain(data_dir)
            .collect(),
    };
    let settled = settle(asked).map_err(|refused| refused.to_string())?;
    let commands = settled.restrictions.map(|restrictions| {
        let words = vec![OsString::from(HELPER_WORD)];
        CommandSandbox::new(this_program(), words, restrictions)
    });
    let wall = match mode {
        SandboxMode::Off => Wall::default(),
        SandboxMode::ReadOnly => Wall {
            writes: WriteLimit::Nowhere,
            unreadable,
        },
        SandboxMode::WorkspaceWrite => Wall {
            writes: WriteLimit::Within(writable),
            unreadable,
        },
    };
    Ok(Sandbox {
        state: settled.state,
        commands,
        wall,
    })
}

/// The helper: becomes the command, or says why not.
pub fn run_helper(words: impl Iterator<Item = OsString>) -> ExitCode {
    let Err(error) = enter(words);
    // It goes where the command's own words would have gone, so the model reads it.
    let _ = writeln!(stderr(), "stentor: {error}");
    ExitCode::from(CANNOT_RUN)
}

/// The file this program runs from, also when another has taken its name since: on Linux every
/// process finds its own there, and a child that has not yet become its program finds ours.
fn this_program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    match own.exists() {
        true => own.to_owned(),
        false => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("stentor")),
    }
}
