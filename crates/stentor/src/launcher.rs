//! How the programs of sessions are started: their limits, their environment, and the helper that is
//! above each of them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use stentor_model::catalogue::is_key_variable;
use stentor_tools::process::{Helper, Launcher, ResourceLimits, supervise};

use crate::config::{Config, Settings};
use crate::environment::Variables;

/// The first word of the helper that supervises a command. It is no command for people and not in
/// the help.
pub const HELPER_WORD: &str = "__command";

/// The exit status of a shell that cannot run a program; the helper stands in for one.
const CANNOT_RUN: u8 = 126;

/// Whether this process runs from a file that understands [`HELPER_WORD`]. Others that use the library
/// have no helper.
static IS_THE_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program and can be its own helper.
pub fn this_is_the_program() {
    IS_THE_PROGRAM.store(true, Ordering::Relaxed);
}

/// Starts programs under a configuration, without the variables that hold providers' keys: what a
/// command can read it can send away, and a command needs none. Those the user passes by name stay.
pub fn launcher(config: &Config, mut key_variables: Vec<String>) -> Launcher {
    let set = config.variables.names().into_iter();
    key_variables.extend(set.filter(|name| is_key_variable(name)));
    let passed = &config.settings.pass_env.value;
    key_variables.retain(|name| !passed.contains(name));
    let helper = IS_THE_PROGRAM.load(Ordering::Relaxed).then(|| Helper {
        program: this_program(),
        first_word: HELPER_WORD.into(),
    });
    let launcher = Launcher::new(helper, limits(&config.settings), key_variables);
    match &config.variables {
        Variables::OfProcess => launcher,
        Variables::OfClient(variables) => launcher.in_environment(Arc::clone(variables)),
    }
}

/// The helper: supervises a command to its end, or says why not.
pub fn run_helper(words: impl Iterator<Item = OsString>) -> ExitCode {
    match supervise(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "stentor: {error}");
            ExitCode::from(CANNOT_RUN)
        }
    }
}

fn limits(settings: &Settings) -> ResourceLimits {
    let megabytes = |megabytes: u64| megabytes.saturating_mul(1 << 20);
    let memory = settings.limits_memory_mb.as_ref().map(|set| set.value);
    ResourceLimits {
        processes: limit(settings.limits_processes.value),
        memory_bytes: match memory {
            Some(memory) => limit(megabytes(memory)),
            None => most_of_the_memory(),
        },
        file_bytes: limit(megabytes(settings.limits_file_mb.value)),
    }
}

/// Nought is no limit.
fn limit(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

/// Three quarters of what the machine has: beyond it everything else suffers. Read once, not for
/// every session.
fn most_of_the_memory() -> Option<u64> {
    static MOST: OnceLock<Option<u64>> = OnceLock::new();
    *MOST.get_or_init(read_most_of_the_memory)
}

fn read_most_of_the_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 4 * 3 * 1024)
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
