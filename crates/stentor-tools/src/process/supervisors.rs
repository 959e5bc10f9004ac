//! The supervisors of this process, and what it adopts from those that somebody kills.
//!
//! What a killed supervisor leaves becomes a child of this process, and children that are no
//! supervisors are killed. So a supervisor must be in the list before anybody looks for children:
//! one that has just started would otherwise be taken for an orphan and killed with its command.
//! [`STARTS`] sees to that, however long a start or a look takes.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, Once, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, WaitOptions, waitpid};
use stentor_agent::tasks;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::reports::ORDER;
use super::tree::{self, Children};

static SUPERVISORS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Shared by starts, from before the process is there until it is in the list; exclusive for whoever
/// lists our children. Both happen in threads that may wait.
static STARTS: RwLock<()> = RwLock::new(());

/// Whether this process adopts what loses its parent below it. It does with the first supervisor.
static ADOPTS: Once = Once::new();

/// How long what is killed may take to go: only what is stuck in the kernel takes longer.
const LONGEST_KILL: Duration = Duration::from_secs(5);

/// A program that hands its words after `first_word` to [`supervise`](super::supervise).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    pub program: PathBuf,
    pub first_word: OsString,
}

/// The standard streams of a program.
pub(super) struct TheirPipes {
    /// Nothing to read when absent.
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A supervisor that runs.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub control: UnixStream,
    pub process: Child,
    pub id: Pid,
}

/// How long a supervisor may take to hear an order, or to end, before it counts as stopped by somebody.
const LONGEST_ORDER: Duration = Duration::from_secs(5);

impl Supervisor {
    /// Starts one. It has no variables and no files of ours: what it runs can look at them.
    pub(super) fn start(helper: &Helper) -> io::Result<Self> {
        ADOPTS.call_once(adopt_orphans);
        let (control, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&helper.program);
        command
            .arg(&helper.first_word)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| finds_libraries(name)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _starts = STARTS.read().unwrap_or_else(PoisonError::into_inner);
        let process = command.spawn()?;
        let id = id_of(&process)?;
        supervisors().push(id);
        Ok(Self {
            control,
            process,
            id,
        })
    }

    /// Has it run something. Nothing runs when this fails.
    pub(super) fn order(&self, order: &[u8], files: &TheirPipes) -> io::Result<()> {
        let mut control = &self.control;
        control.set_nonblocking(false)?;
        control.set_write_timeout(Some(LONGEST_ORDER))?;
        let outputs = [files.stdout.as_fd(), files.stderr.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> = outputs
            .into_iter()
            .chain(files.stdin.as_ref().map(AsFd::as_fd))
            .collect();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let word = [IoSlice::new(&[ORDER])];
        sendmsg(control, &word, &mut ancillary, SendFlags::NOSIGNAL)?;
        control.write_all(order)?;
        control.set_nonblocking(true)
    }

    /// Has it end, which it does when it has nothing to do and its connection is closed.
    pub(super) fn retire(self) {
        let Self {
            control,
            mut process,
            id,
        } = self;
        drop(control);
        // Outside a runtime the program is about to end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if timeout(LONGEST_ORDER, process.wait()).await.is_err() {
                    // Somebody has stopped it. It is not there to be killed only if it has just ended.
                    let _ = process.kill().await;
                }
                forget(id);
            });
        }
    }
}

/// Variables without which the program may not find its libraries.
fn finds_libraries(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"LD_") || name.starts_with(b"DYLD_")
}

/// This one is gone.
pub(super) fn forget(id: Pid) {
    supervisors().retain(|known| *known != id);
}

pub(super) fn id_of(child: &Child) -> io::Result<Pid> {
    child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the program has no process id"))
}

/// Kills what lost its supervisor.
pub(super) async fn kill_adopted() {
    // Looking through all processes takes milliseconds on a busy machine.
    let killed = tasks::spawn_blocking(kill_until_nothing_is_adopted);
    if let Err(error) = killed.await {
        tracing::warn!(%error, "processes without a supervisor were not killed");
    }
}

/// Waits for the end of all supervisors, which have been told to end, and kills what is left.
pub(super) fn end() {
    if !ADOPTS.is_completed() {
        return;
    }
    let until = Instant::now() + LONGEST_KILL;
    let mut waiting = std::mem::take(&mut *supervisors());
    while !waiting.is_empty() && Instant::now() < until {
        waiting.retain(|id| matches!(waitpid(Some(*id), WaitOptions::NOHANG), Ok(None)));
        std::thread::sleep(Duration::from_millis(1));
    }
    for id in waiting {
        tree::kill(id);
    }
    kill_until_nothing_is_adopted();
}

fn supervisors() -> MutexGuard<'static, Vec<Pid>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the processes of a supervisor that somebody kills become ours instead of nobody's. Before the
/// first is started: what it starts may attack us at once.
fn adopt_orphans() {
    tree::keep_children_in_sight();
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "processes without a supervisor are not found again");
    }
}

/// In rounds: what is killed leaves its own children to us.
fn kill_until_nothing_is_adopted() {
    if !cfg!(target_os = "linux") {
        // Elsewhere nothing is adopted.
        return;
    }
    let until = Instant::now() + LONGEST_KILL;
    while Instant::now() < until {
        match adopted() {
            Children::Seen(adopted) if adopted.is_empty() => return,
            Children::Seen(adopted) => tree::kill_with_all_below(&adopted),
            Children::None => return,
            // They may come into sight again.
            Children::Hidden => {}
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Our children in other sessions that are no supervisors.
fn adopted() -> Children {
    let _no_start = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    let known = supervisors().clone();
    match tree::children_in_other_sessions() {
        Children::Seen(mut children) => {
            children.retain(|id| !known.contains(id));
            Children::Seen(children)
        }
        unseen => unseen,
    }
}
