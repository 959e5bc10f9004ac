//! The processes of one command, as one thing that can be ended.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use super::program::ShellProgram;
use super::supervisor;

/// The process group of a command. Dropping it kills what is left of the command, unless
/// [`Group::let_go`] said that there is no need.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    /// What the command's processes carry in their environment, also outside the group.
    mark: String,
    has_ended: bool,
}

impl Group {
    /// Starts `command` in a new group, with nothing to read and both its outputs in `output`.
    pub(crate) fn start(
        program: &ShellProgram,
        command: &str,
        cwd: &Path,
        output: OwnedFd,
    ) -> io::Result<(Child, Self)> {
        let errors = output.try_clone()?;
        let mut shell = program.command(command, cwd);
        shell
            .stdin(Stdio::null())
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors));
        Self::spawn(&mut shell)
    }

    /// Starts a program, whose pipes and folder are set, in a new group.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let (child, id, mark) = supervisor::start(|mark| {
            let child = with_home(command)
                .env(supervisor::MARK_NAME, mark)
                .process_group(0)
                .spawn()?;
            let id = group_of(&child)?;
            Ok((child, id))
        })?;
        let group = Self {
            id,
            mark,
            has_ended: false,
        };
        Ok((child, group))
    }

    /// Sends a signal to every process of the command.
    pub(crate) async fn signal(&self, signal: Signal) {
        self.signal_group(signal);
        let mark = self.mark.clone();
        // Looking through all processes takes milliseconds on a busy machine.
        let looked = tokio::task::spawn_blocking(move || signal_marked(&mark, signal)).await;
        if let Err(error) = looked {
            tracing::warn!(%error, "processes outside the group were not signalled");
        }
    }

    /// Nothing is to be killed any more: the command ended by itself, and what it left running
    /// goes on until stentor ends, or everything has been killed.
    pub(crate) fn let_go(mut self) {
        self.has_ended = true;
    }

    fn signal_group(&self, signal: Signal) {
        // The group may be gone already, which is what is wanted.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.has_ended {
            self.signal_group(Signal::KILL);
            signal_marked(&self.mark, Signal::KILL);
        }
        supervisor::ended(self.id);
    }
}

/// Programs find their own files below `HOME`, which a frontend may have left out of our
/// environment: then it is the one of the password database.
fn with_home(command: &mut Command) -> &mut Command {
    let mut own = command.as_std().get_envs();
    let is_set = std::env::var_os("HOME").is_some() || own.any(|(name, _)| name == "HOME");
    match std::env::home_dir() {
        Some(home) if !is_set => command.env("HOME", home),
        _ => command,
    }
}

fn group_of(child: &Child) -> io::Result<Pid> {
    child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the command has no process id"))
}

/// Signals the processes that carry the mark, wherever they went. Only Linux shows environments;
/// elsewhere the group is all there is.
fn signal_marked(mark: &str, signal: Signal) {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    let needle = format!("{}={mark}", supervisor::MARK_NAME);
    let finder = memchr::memmem::Finder::new(needle.as_bytes());
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        // Processes of others, and ones that have just ended, cannot be read.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else {
            continue;
        };
        if finder.find(&environment).is_some() {
            let _ = kill_process(id, signal);
        }
    }
}
