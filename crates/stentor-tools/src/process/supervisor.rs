//! The small process that outlives this one just long enough to take the tools' processes along.
//!
//! This process can be killed in a way it cannot notice. So with the first command a shell script
//! is started that knows every running process group and kills what is left when the pipe from
//! here closes. The pipe's writing end is closed in every child on exec, so it closes exactly when
//! this process is gone.
//!
//! A group can only be told after it exists. For the moment in between, and for processes that
//! leave their group (`timeout` does, `setsid` is for that), every command carries a mark in its
//! environment that its children inherit, and the script looks for it. The pipe is still open in a
//! child that has not yet become its program, so the script never looks before the mark is there.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::process::{Pid, test_kill_process_group};

use crate::file::random_name;

/// The environment variable with the mark. A program that shall stay after stentor has gone must
/// be started without it, in a session of its own.
pub(crate) const MARK_NAME: &str = "STENTOR_CALL";

/// What the marks of all commands of this process start with.
static MARK_START: LazyLock<String> = LazyLock::new(random_name);

/// There is one because there is one process to watch, and every session of it starts commands.
static SUPERVISOR: Mutex<Supervisor> = Mutex::new(Supervisor {
    script: None,
    groups: Vec::new(),
    left_behind: Vec::new(),
    started: 0,
});

struct Supervisor {
    script: Option<(Child, ChildStdin)>,
    /// What the script was told, so that a new one can be told again.
    groups: Vec<Pid>,
    /// Groups whose command has ended but which still have members, such as a server started
    /// with `&`. They stay watched.
    left_behind: Vec<Pid>,
    started: u64,
}

/// Starts a process with `spawn`, which is given the mark, and has its group watched.
pub(crate) fn start<T>(
    spawn: impl FnOnce(&str) -> io::Result<(T, Pid)>,
) -> io::Result<(T, Pid, String)> {
    let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    supervisor.must_run()?;
    supervisor.forget_the_gone();
    supervisor.started += 1;
    let mark = format!("{}.{}.", *MARK_START, supervisor.started);
    let (child, group) = spawn(&mark)?;
    supervisor.groups.push(group);
    supervisor.tell('+', group);
    Ok((child, group, mark))
}

/// The command of the group has ended. If the group lives on, it stays watched.
pub(crate) fn ended(group: Pid) {
    let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    if is_alive(group) {
        supervisor.left_behind.push(group);
    } else {
        supervisor.forget(group);
    }
}

impl Supervisor {
    fn must_run(&mut self) -> io::Result<()> {
        if let Some((script, _)) = &mut self.script
            && matches!(script.try_wait(), Ok(None))
        {
            return Ok(());
        }
        self.restart()
    }

    fn restart(&mut self) -> io::Result<()> {
        if let Some((mut script, input)) = self.script.take() {
            // It hangs or is dead; it must not see the end of its input and kill what runs.
            let _ = script.kill();
            let _ = script.wait();
            drop(input);
        }
        let mut script = Command::new("/bin/sh")
            .arg("-c")
            .arg(include_str!("supervisor.sh"))
            .arg("stentor-supervisor")
            .arg(format!("{MARK_NAME}={}\\.", *MARK_START))
            // Without the marks of whoever started us, and away from the keyboard's signals.
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let input = script
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("the supervisor has no input"))?;
        // A script that was stopped must not stop us.
        rustix::io::ioctl_fionbio(&input, true)?;
        self.script = Some((script, input));
        for group in self.groups.clone() {
            self.write('+', group)?;
        }
        Ok(())
    }

    fn tell(&mut self, sign: char, group: Pid) {
        if self.write(sign, group).is_err()
            && let Err(error) = self.restart()
        {
            tracing::warn!(%error, "tool processes are not watched");
        }
    }

    fn write(&mut self, sign: char, group: Pid) -> io::Result<()> {
        let line = format!("{sign} {}\n", group.as_raw_nonzero());
        match &mut self.script {
            Some((_, input)) => input.write_all(line.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn forget(&mut self, group: Pid) {
        self.groups.retain(|known| *known != group);
        self.tell('-', group);
    }

    /// A group that is gone must be forgotten, because its number can come back as another's.
    fn forget_the_gone(&mut self) {
        let (alive, gone): (Vec<Pid>, Vec<Pid>) = std::mem::take(&mut self.left_behind)
            .into_iter()
            .partition(|group| is_alive(*group));
        self.left_behind = alive;
        for group in gone {
            self.forget(group);
        }
    }
}

fn is_alive(group: Pid) -> bool {
    !matches!(test_kill_process_group(group), Err(rustix::io::Errno::SRCH))
}
