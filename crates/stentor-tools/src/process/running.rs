//! A program that runs, with everything it started, as one thing that can be ended.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use stentor_agent::left_running::LeftProcess;
use stentor_agent::tasks;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::time::timeout;

use super::idle_supervisors;
use super::order::{self, Confinement, ProgramOrder};
use super::reports::{KILL, ProgramEnd, SupervisorReport, TERMINATE};
use super::supervisors::{self, Helper, Supervisor, TheirPipes, forget, id_of, kill_adopted};

/// A started program. Dropping it kills the program and what it started, unless
/// [`RunningProgram::leave`] said that there is no need.
#[derive(Debug)]
pub(crate) struct RunningProgram(Option<ProgramHandle>);

#[derive(Debug)]
enum ProgramHandle {
    Supervised(SupervisedProgram),
    Direct(DirectProgram),
}

/// Behind a supervisor of its own, which kills everything when `control` is closed.
#[derive(Debug)]
struct SupervisedProgram {
    control: UnixStream,
    supervisor: Child,
    id: Pid,
    heard: Vec<u8>,
    confines: Confinement,
}

/// In a process group of its own.
#[derive(Debug)]
struct DirectProgram {
    child: Child,
    group: Pid,
}

/// How long the end of what is killed is awaited.
const PATIENCE_AFTER_KILL: Duration = Duration::from_millis(60);
/// How long a supervisor may take to kill everything before it counts as stopped by somebody.
const PATIENCE_WITH_SUPERVISOR: Duration = Duration::from_secs(5);

/// Those of commands that have ended but left something running, such as a server started with
/// `&`. It goes when this process ends and the connections with it, or before when its session
/// ends.
static LEFT_BEHIND: Mutex<Vec<Unattended>> = Mutex::new(Vec::new());

/// Numbers what is left behind: process ids are used again.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A supervisor whose command has ended.
struct Unattended {
    number: u64,
    id: Pid,
    control: StdStream,
    is_gone: bool,
}

/// What one command left running. Dropping it ends it.
pub(super) struct LeftBehind(Option<u64>);

impl RunningProgram {
    /// Has a supervisor run something: one that is idle, or a new one.
    pub(super) fn supervised(
        helper: &Helper,
        order: ProgramOrder,
        files: &TheirPipes,
    ) -> io::Result<Self> {
        forget_the_gone();
        let bytes = order::encode(&order)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let idle = idle_supervisors::take(&order.confines);
        let ordered = |supervisor: Supervisor| match supervisor.order(&bytes, files) {
            Ok(()) => Ok(supervisor),
            Err(error) => {
                supervisor.retire();
                Err(error)
            }
        };
        let supervisor = match idle.map(&ordered) {
            Some(Ok(supervisor)) => supervisor,
            Some(Err(_)) | None => ordered(Supervisor::start(helper)?)?,
        };
        Ok(Self(Some(ProgramHandle::Supervised(SupervisedProgram {
            control: UnixStream::from_std(supervisor.control)?,
            supervisor: supervisor.process,
            id: supervisor.id,
            heard: Vec::new(),
            confines: order.confines,
        }))))
    }

    pub(super) fn direct(child: Child) -> io::Result<Self> {
        let group = id_of(&child)?;
        Ok(Self(Some(ProgramHandle::Direct(DirectProgram {
            child,
            group,
        }))))
    }

    /// Waits until the program runs. The error says why it does not.
    pub(crate) async fn started(&mut self) -> io::Result<()> {
        let Some(ProgramHandle::Supervised(supervised)) = &mut self.0 else {
            return Ok(());
        };
        match supervised.report().await? {
            Some(SupervisorReport::Started) => Ok(()),
            Some(SupervisorReport::Failed(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(SupervisorReport::Ended(_) | SupervisorReport::Idle) | None => {
                Err(io::Error::other("its supervisor ended"))
            }
        }
    }

    /// Waits until the program has ended by itself. Dropped while it waits, it loses nothing.
    pub(crate) async fn wait(&mut self) -> io::Result<ProgramEnd> {
        match &mut self.0 {
            Some(ProgramHandle::Direct(direct)) => direct.child.wait().await.map(ended),
            Some(ProgramHandle::Supervised(supervised)) => loop {
                match supervised.report().await? {
                    Some(SupervisorReport::Ended(ended)) => return Ok(ended),
                    Some(_) => {}
                    None => {
                        supervised.has_gone().await;
                        return Ok(ProgramEnd::Signalled(Signal::KILL.as_raw()));
                    }
                }
            },
            None => Err(io::Error::other("it was let go")),
        }
    }

    /// Asks everything to end.
    pub(crate) fn terminate(&self) {
        match &self.0 {
            Some(ProgramHandle::Direct(direct)) => direct.signal(Signal::TERM),
            // A supervisor that does not listen is killed later.
            Some(ProgramHandle::Supervised(supervised)) => {
                drop(supervised.control.try_write(&[TERMINATE]))
            }
            None => {}
        }
    }

    /// Kills everything. It is gone when this returns, or a moment later.
    pub(crate) async fn kill(mut self) {
        match self.0.take() {
            Some(ProgramHandle::Direct(mut direct)) => {
                direct.signal(Signal::KILL);
                // Only a process stuck in the kernel is not gone by then; it is reaped later.
                let _ = timeout(PATIENCE_AFTER_KILL, direct.child.wait()).await;
            }
            Some(ProgramHandle::Supervised(supervised)) => {
                let _ = supervised.control.try_write(&[KILL]);
                // Whoever waits here may stop waiting; the end is seen to all the same.
                let end = tasks::spawn(supervised.end());
                let _ = timeout(PATIENCE_AFTER_KILL, end).await;
            }
            None => {}
        }
    }

    /// Nothing is to be killed now: the command ended by itself, and what it left running goes on
    /// until somebody ends it, at the latest this process.
    pub(super) fn leave(mut self) -> Option<LeftBehind> {
        let Some(ProgramHandle::Supervised(supervised)) = self.0.take() else {
            return None;
        };
        let is_idle = supervised.is_idle();
        let SupervisedProgram { id, confines, .. } = supervised;
        let control = supervised.control.into_std().ok()?;
        if is_idle {
            let supervisor = Supervisor {
                control,
                process: supervised.supervisor,
                id,
            };
            idle_supervisors::keep(supervisor, confines);
            return None;
        }
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        left_behind().push(Unattended {
            number,
            id,
            control,
            is_gone: false,
        });
        Some(LeftBehind(Some(number)))
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        match self.0.take() {
            Some(ProgramHandle::Supervised(supervised)) => supervised.abandon(),
            Some(ProgramHandle::Direct(direct)) => direct.signal(Signal::KILL),
            None => {}
        }
    }
}

impl SupervisedProgram {
    /// Whether it has said, with the end of its program, that nothing is left.
    fn is_idle(&self) -> bool {
        self.heard == SupervisorReport::Idle.line().as_bytes()
    }

    /// The next report; nothing when the supervisor is gone.
    async fn report(&mut self) -> io::Result<Option<SupervisorReport>> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.heard) {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                match SupervisorReport::read(&String::from_utf8_lossy(&line)) {
                    Some(report) => return Ok(Some(report)),
                    None => continue,
                }
            }
            if self.control.read_buf(&mut self.heard).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Waits until the supervisor is gone, and with it everything it had.
    async fn gone(&mut self) {
        while let Ok(Some(_)) = self.report().await {}
        self.has_gone().await;
    }

    /// Looks at how it went. When it did not end everything, what it had is ours now.
    async fn has_gone(&mut self) {
        // Not before it is really gone: its children come to us with its last breath.
        let status = self.supervisor.wait().await;
        forget(self.id);
        if status.is_ok_and(|status| !status.success()) {
            kill_adopted().await;
        }
    }

    /// Ends it without anybody waiting.
    fn abandon(self) {
        let _ = self.control.try_write(&[KILL]);
        // Outside a runtime its connection closes, which means the same to it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.end());
        }
    }

    /// Waits for its end, and makes one to a supervisor that somebody has stopped.
    async fn end(mut self) {
        let gone = timeout(PATIENCE_WITH_SUPERVISOR, self.gone()).await;
        if gone.is_err() {
            // It is not there to be killed only if it has just ended.
            let _ = self.supervisor.kill().await;
            forget(self.id);
            kill_adopted().await;
        }
    }
}

impl DirectProgram {
    fn signal(&self, signal: Signal) {
        // The group may be gone already, which is what is wanted.
        let _ = kill_process_group(self.group, signal);
    }
}

fn ended(status: ExitStatus) -> ProgramEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, signal) => ProgramEnd::Signalled(signal.unwrap_or_default()),
    }
}

/// Drops the connections to supervisors that have nothing left to watch.
fn forget_the_gone() {
    left_behind().retain_mut(|one| {
        let is_gone = one.is_gone();
        if is_gone {
            forget(one.id);
        }
        !is_gone
    });
}

fn left_behind() -> std::sync::MutexGuard<'static, Vec<Unattended>> {
    LEFT_BEHIND.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unattended {
    /// Whether everything is. The supervisor may be there: all it still has to say is that it is idle.
    fn is_gone(&mut self) -> bool {
        self.is_gone |= self.control.read(&mut [0; 64]).is_ok();
        self.is_gone
    }
}

impl LeftBehind {
    pub(super) fn until_this_process_ends(mut self) {
        self.0 = None;
    }
}

impl LeftProcess for LeftBehind {
    fn is_gone(&mut self) -> bool {
        let mut left = left_behind();
        let mine = left.iter_mut().find(|one| Some(one.number) == self.0);
        mine.is_none_or(Unattended::is_gone)
    }
}

impl Drop for LeftBehind {
    /// To a supervisor the end of what it hears is the word to kill everything. It stays among the
    /// others until it has done so.
    fn drop(&mut self) {
        let mut left = left_behind();
        if let Some(mine) = left.iter_mut().find(|one| Some(one.number) == self.0) {
            // It fails only if the supervisor is gone.
            let _ = mine.control.shutdown(Shutdown::Write);
        }
    }
}

/// Ends everything that was left behind, for a program that is about to end: nothing of it is there
/// any more when this returns, unless it is stuck in the kernel.
pub fn end_everything() {
    // Without their connections the supervisors kill what they have, and end.
    left_behind().clear();
    idle_supervisors::end();
    supervisors::end();
}
