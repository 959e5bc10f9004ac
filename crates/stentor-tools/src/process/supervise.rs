//! What the helper does: start one program and see to it that everything goes with it, then the next.
//!
//! The helper is this program again under another word. It takes the rights away that the program
//! shall not have, sets its limits, starts it, and stays above it. Becoming this program again takes
//! longer than a short command, so a helper whose program left nothing is there for the next one
//! that is held in the same way. On Linux it is the *subreaper* of
//! whatever the program starts: a process that loses its parent becomes the helper's child and no
//! stranger's, whatever it does to its environment, session, group or `/proc` entry. So the tree
//! below the helper is everything there is, and it is gone when the helper has no child left.
//!
//! Its standard input is a connection to whoever started it. Over it come orders, each with the files
//! of the program, and the word to end everything; its end is the end of the other process, however that ended, and
//! means the same.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getrlimit, kill_process, kill_process_group,
    setrlimit, wait,
};

use super::order::{self, InvalidOrder, ProgramOrder, ResourceLimits};
use super::reports::{KILL, ORDER, ProgramEnd, ReachedLimit, SupervisorReport, TERMINATE};
use super::terminal;
use super::tree::{self, TreeUsage};
use crate::sandbox::{self, CannotRestrict};

/// Why a program does not run, and nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum CannotSupervise {
    #[error("the supervisor got invalid arguments: {0}")]
    Order(#[from] InvalidOrder),
    #[error("the supervisor was not started by stentor: {0}")]
    Control(io::Error),
    #[error("an order came without the files for the program's output")]
    NoOutput,
    #[error("the command cannot run in a terminal: {0}")]
    Terminal(io::Error),
    #[error("the program cannot be supervised: {0}")]
    System(io::Error),
    #[error("some processes of the program are still running")]
    StillThere,
}

/// How often what is used is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// The same for what uses half of what it may: between two looks it must not get far beyond.
const CLOSE_INTERVAL: Duration = Duration::from_millis(50);
/// The same for what a command has left running.
const LATER_INTERVAL: Duration = Duration::from_secs(1);
/// How long killing may take: only what is stuck in the kernel takes longer.
const LONGEST_KILL: Duration = Duration::from_secs(10);
/// The exit status of a shell that cannot run a program; the helper stands in for one.
const CANNOT_RUN: i32 = 126;

/// Runs the programs it is told to, one after the other, until its connection ends. It starts the
/// next only when nothing of the one before is left.
pub fn supervise(words: impl IntoIterator<Item = OsString>) -> Result<(), CannotSupervise> {
    let mut words = words.into_iter();
    if let Some(word) = words.next() {
        return Err(match word == terminal::TERMINAL {
            true => CannotSupervise::Terminal(terminal::become_program(words)),
            false => InvalidOrder::Unknown(word).into(),
        });
    }
    let mut control = ControlStream::take().map_err(CannotSupervise::Control)?;
    become_reaper().map_err(CannotSupervise::System)?;
    let mut at_start = None;
    while let Some((order, files)) = control.receive()? {
        let limits = order.confines.limits;
        let StartCondition { threads, bounds } = at_start.get_or_insert_with(|| {
            set_limits(&limits);
            StartCondition {
                threads: running_threads(),
                bounds: own_bounds(),
            }
        });
        let left = run(&order, files, &mut control);
        let grown = running_threads().saturating_sub(*threads);
        // Our limit for processes, which cannot be raised, would be too low for the next. And a
        // command can change us as it can every process of its user: the next would inherit that.
        let can_go_on =
            limits.processes.is_none_or(|most| grown <= most) && *bounds == own_bounds();
        if left == LeftProcesses::Idle && can_go_on {
            control.report(SupervisorReport::Idle);
        }
        control.send();
        match left {
            LeftProcesses::Idle if can_go_on => {}
            LeftProcesses::Idle | LeftProcesses::Nothing => return Ok(()),
            // Whoever started us adopts it, and learns so from how we end.
            LeftProcesses::Something => return Err(CannotSupervise::StillThere),
        }
    }
    Ok(())
}

/// What was so when the first program was started.
struct StartCondition {
    /// How many threads the machine had.
    threads: u64,
    bounds: Bounds,
}

/// What every program inherits from us.
#[derive(PartialEq, Eq)]
struct Bounds {
    limits: String,
    oom_score: String,
    niceness: Option<i32>,
}

fn own_bounds() -> Bounds {
    Bounds {
        limits: std::fs::read_to_string("/proc/self/limits").unwrap_or_default(),
        oom_score: std::fs::read_to_string(OOM_SCORE).unwrap_or_default(),
        niceness: rustix::process::getpriority_process(None).ok(),
    }
}

/// Runs one program to its end, and beyond if what it started may stay.
fn run(order: &ProgramOrder, files: StandardStreams, control: &mut ControlStream) -> LeftProcesses {
    let limits = order.confines.limits;
    let own_score = limits.memory_bytes.and_then(|_| offer_to_be_killed_first());
    let main = start(order, &files);
    if let Some(score) = own_score {
        // This one has to stay, to end the others.
        let _ = std::fs::write(OOM_SCORE, score);
    }
    let main = match main {
        Ok(main) => main,
        Err(CannotStart::Exec(error)) => {
            let errno = error.raw_os_error().unwrap_or(Errno::NOEXEC.raw_os_error());
            control.report(SupervisorReport::Failed(errno));
            return LeftProcesses::Nothing;
        }
        Err(CannotStart::Sandbox(why)) => {
            // It goes where the program's own words would have gone, so the model reads it.
            let mut errors = File::from(files.stderr);
            let _ = writeln!(errors, "stentor: the sandbox cannot be entered: {why}");
            control.report(SupervisorReport::Started);
            control.report(SupervisorReport::Ended(ProgramEnd::Exited(CANNOT_RUN)));
            return LeftProcesses::Nothing;
        }
    };
    // The pipes it was started with must close when the program has closed them.
    drop(files);
    control.report(SupervisorReport::Started);
    control.send();
    let mut watch = Supervision {
        control,
        main,
        has_ended: false,
        limits,
        lingers: order.lingers,
    };
    watch.until_the_end()
}

enum CannotStart {
    Sandbox(CannotRestrict),
    Exec(io::Error),
}

fn start(order: &ProgramOrder, files: &StandardStreams) -> Result<Pid, CannotStart> {
    let mut command = order_as_command(order, files).map_err(CannotStart::Exec)?;
    let child = match &order.confines.restrictions {
        None => command.spawn(),
        // Rights are given up by a thread and what it starts. This one has to stay free, to be
        // able to end everything.
        Some(restrictions) => {
            let started = std::thread::scope(|scope| {
                let restricted = scope.spawn(|| {
                    sandbox::restrict(restrictions).map_err(CannotStart::Sandbox)?;
                    Ok(command.spawn())
                });
                restricted.join()
            });
            started.map_err(|_| CannotStart::Sandbox(CannotRestrict::Crashed))??
        }
    };
    let child = child.map_err(CannotStart::Exec)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| CannotStart::Exec(io::Error::other("it has no process id")))
}

fn order_as_command(order: &ProgramOrder, files: &StandardStreams) -> io::Result<Command> {
    let mut command = Command::new(&order.program);
    let input = files.stdin.as_ref().map(OwnedFd::try_clone).transpose()?;
    command
        .args(&order.arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.cwd)
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(files.stdout.try_clone()?)
        .stderr(files.stderr.try_clone()?);
    if !order.is_terminal {
        command.process_group(0);
    }
    Ok(command)
}

struct Supervision<'a> {
    control: &'a mut ControlStream,
    main: Pid,
    has_ended: bool,
    limits: ResourceLimits,
    lingers: bool,
}

/// What the other process wants.
enum SupervisorOrder {
    Nothing,
    Terminate,
    Kill,
}

/// Whether there is anything left.
#[derive(PartialEq, Eq)]
enum LeftProcesses {
    Something,
    Nothing,
    /// Nothing, and nobody wanted an end to it.
    Idle,
}

impl Supervision<'_> {
    fn until_the_end(&mut self) -> LeftProcesses {
        // Without it (elsewhere, or on an old kernel) the end is noticed by looking.
        let mut end_of_main = end_of(self.main);
        let mut next_look = Instant::now() + LOOK_INTERVAL;
        loop {
            match self.wait_for_something(end_of_main.as_ref(), next_look) {
                SupervisorOrder::Nothing => {}
                SupervisorOrder::Terminate => self.terminate(),
                SupervisorOrder::Kill => return self.kill(),
            }
            let has_lingered = self.has_ended;
            if self.reap() == LeftProcesses::Nothing {
                // Nobody waits any more to give us something else to do.
                return if has_lingered {
                    LeftProcesses::Nothing
                } else {
                    LeftProcesses::Idle
                };
            }
            self.control.send();
            if self.has_ended {
                end_of_main = None;
                if !self.lingers {
                    return self.kill();
                }
            }
            if Instant::now() >= next_look {
                let usage = self.usage();
                if let Some(limit) = usage.and_then(|usage| self.exceeded(usage)) {
                    self.control
                        .report(SupervisorReport::Ended(ProgramEnd::Exceeded(limit)));
                    self.control.send();
                    return self.kill();
                }
                next_look = Instant::now() + self.interval(usage);
            }
        }
    }

    fn interval(&self, usage: Option<TreeUsage>) -> Duration {
        let doubled = |usage: TreeUsage| TreeUsage {
            processes: usage.processes.saturating_mul(2),
            memory_bytes: usage.memory_bytes.saturating_mul(2),
        };
        if usage.is_some_and(|usage| self.exceeded(doubled(usage)).is_some()) {
            return CLOSE_INTERVAL;
        }
        match self.has_ended {
            true => LATER_INTERVAL,
            false => LOOK_INTERVAL,
        }
    }

    /// Waits until the program has ended, somebody wants something, or it is time to look.
    fn wait_for_something(
        &mut self,
        end_of_main: Option<&OwnedFd>,
        until: Instant,
    ) -> SupervisorOrder {
        const BLIND_INTERVAL: Duration = Duration::from_millis(10);
        let mut patience = until.saturating_duration_since(Instant::now());
        if end_of_main.is_none() && !self.has_ended {
            patience = patience.min(BLIND_INTERVAL);
        }
        let mut descriptors = vec![PollFd::new(&self.control.stream, PollFlags::IN)];
        descriptors.extend(end_of_main.map(|end| PollFd::new(end, PollFlags::IN)));
        let patience = Timespec::try_from(patience).ok();
        if poll(&mut descriptors, patience.as_ref()).is_err() {
            // A signal; what it was about is looked at next.
            return SupervisorOrder::Nothing;
        }
        let is_spoken_to = descriptors
            .first()
            .is_some_and(|control| !control.revents().is_empty());
        if !is_spoken_to {
            return SupervisorOrder::Nothing;
        }
        let mut byte = [0];
        match self.control.stream.read(&mut byte) {
            Ok(1..) if byte == [TERMINATE] => SupervisorOrder::Terminate,
            Ok(1..) if byte != [KILL] => SupervisorOrder::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => SupervisorOrder::Nothing,
            // The end of the connection is the end of the other process.
            Ok(_) | Err(_) => SupervisorOrder::Kill,
        }
    }

    /// Takes leave of what has ended, and tells of the program's own end.
    fn reap(&mut self) -> LeftProcesses {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((id, status))) if id == self.main => {
                    self.has_ended = true;
                    let ended = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => ProgramEnd::Exited(code),
                        (None, signal) => ProgramEnd::Signalled(signal.unwrap_or_default()),
                    };
                    self.control.report(SupervisorReport::Ended(ended));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return LeftProcesses::Something,
                // There is no child.
                Err(_) => return LeftProcesses::Nothing,
            }
        }
    }

    /// What is used of what is limited.
    fn usage(&self) -> Option<TreeUsage> {
        let memory = self.limits.memory_bytes;
        let is_limited = self.limits.processes.is_some() || memory.is_some();
        is_limited.then(|| tree::usage(memory.unwrap_or(u64::MAX)))
    }

    fn exceeded(&self, usage: TreeUsage) -> Option<ReachedLimit> {
        let ResourceLimits {
            processes,
            memory_bytes,
            ..
        } = self.limits;
        let too_many = processes.filter(|most| usage.processes > *most);
        let too_much = memory_bytes.filter(|most| usage.memory_bytes > *most);
        too_many
            .map(ReachedLimit::Processes)
            .or(too_much.map(ReachedLimit::MemoryBytes))
    }

    fn terminate(&self) {
        let _ = kill_process_group(self.main, Signal::TERM);
        for id in tree::descendants() {
            let _ = kill_process(id, Signal::TERM);
        }
    }

    /// Kills everything, in rounds: what is killed may just have started something.
    fn kill(&mut self) -> LeftProcesses {
        let until = Instant::now() + LONGEST_KILL;
        while Instant::now() < until {
            // All of a group at once leaves a flood of processes no time to go on.
            if !self.has_ended {
                let _ = kill_process_group(self.main, Signal::KILL);
            }
            for id in tree::descendants() {
                tree::kill(id);
            }
            if self.reap() == LeftProcesses::Nothing {
                return LeftProcesses::Nothing;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        LeftProcesses::Something
    }
}

/// What the program gets as its standard streams.
struct StandardStreams {
    stdout: OwnedFd,
    stderr: OwnedFd,
    /// Nothing to read when absent.
    stdin: Option<OwnedFd>,
}

/// The connection to the process that started us.
struct ControlStream {
    stream: UnixStream,
    /// Reports that belong together go out together: whoever reads of the end of a program then knows
    /// at once whether anything is left.
    unsent: String,
}

impl ControlStream {
    /// It comes as standard input.
    fn take() -> io::Result<Self> {
        let control = rustix::stdio::stdin().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        Ok(Self {
            stream: UnixStream::from(control),
            unsent: String::new(),
        })
    }

    fn report(&mut self, report: SupervisorReport) {
        self.unsent.push_str(&report.line());
    }

    fn send(&mut self) {
        // Whoever does not hear it is gone, which is noticed at the next look.
        let _ = self.stream.write_all(self.unsent.as_bytes());
        self.unsent.clear();
    }

    /// Waits for the next order; nothing comes when the other process is gone, or wants an end.
    fn receive(&mut self) -> Result<Option<(ProgramOrder, StandardStreams)>, CannotSupervise> {
        let received = self.receive_descriptors();
        let Some(descriptors) = received.map_err(CannotSupervise::Control)? else {
            return Ok(None);
        };
        let mut length = [0; 4];
        self.read(&mut length)?;
        let mut bytes = vec![0; order::length_of(length)?];
        self.read(&mut bytes)?;
        let order = order::decode(&bytes)?;
        let mut descriptors = descriptors.into_iter();
        let (Some(stdout), Some(stderr)) = (descriptors.next(), descriptors.next()) else {
            return Err(CannotSupervise::NoOutput);
        };
        let files = StandardStreams {
            stdout,
            stderr,
            stdin: descriptors.next(),
        };
        Ok(Some((order, files)))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), CannotSupervise> {
        let read = self.stream.read_exact(bytes);
        read.map_err(CannotSupervise::Control)
    }

    fn receive_descriptors(&self) -> io::Result<Option<Vec<OwnedFd>>> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut bytes = [IoSliceMut::new(&mut byte)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.stream, &mut bytes, &mut ancillary, flags)?;
        if received.bytes == 0 || byte != [ORDER] {
            return Ok(None);
        }
        let rights = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        Ok(Some(rights.flatten().collect()))
    }
}

/// In a session of its own no process below can join a group of whoever started us, or reach a
/// terminal.
fn become_reaper() -> io::Result<()> {
    rustix::process::setsid()?;
    tree::keep_children_in_sight();
    #[cfg(target_os = "linux")]
    // For people who look at their processes; nothing depends on it.
    let _ = rustix::thread::set_name(c"stentor-command");
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Limits that the kernel keeps. Those it does not are looked at from time to time.
fn set_limits(limits: &ResourceLimits) {
    if let Some(bytes) = limits.file_bytes {
        lower(Resource::Fsize, bytes);
    }
    // The kernel counts all threads of the user on the machine, so this is only a brake for the
    // time between two looks; root it does not count at all.
    let running = running_threads();
    if let Some(processes) = limits.processes
        && running > 0
    {
        const THREADS: u64 = 4;
        lower(Resource::Nproc, running + processes.saturating_mul(THREADS));
    }
}

/// How the kernel chooses whom to kill when memory runs out.
const OOM_SCORE: &str = "/proc/self/oom_score_adj";

/// Has the kernel prefer what is started next to everything else of the user when memory runs out
/// faster than it is looked at. Returns the score that this process had, if it was changed. Only
/// Linux has it.
fn offer_to_be_killed_first() -> Option<String> {
    /// As much as if it used another half of the machine's memory.
    const FIRST: i32 = 500;
    let own = std::fs::read_to_string(OOM_SCORE).ok()?;
    let is_lower = own.trim().parse::<i32>().ok()? < FIRST;
    (is_lower && std::fs::write(OOM_SCORE, FIRST.to_string()).is_ok()).then_some(own)
}

fn lower(resource: Resource, most: u64) {
    let Rlimit { current, maximum } = getrlimit(resource);
    let lowered = |old: Option<u64>| Some(old.map_or(most, |old| old.min(most)));
    let new = Rlimit {
        current: lowered(current),
        maximum: lowered(maximum),
    };
    // A limit can always be lowered.
    let _ = setrlimit(resource, new);
}

/// How many threads there are on the machine, without counting them; 0 where nobody says.
fn running_threads() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let threads = load.split_ascii_whitespace().nth(3);
    let all = threads.and_then(|threads| threads.split_once('/')?.1.parse().ok());
    all.unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn end_of(main: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(main, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_: Pid) -> Option<OwnedFd> {
    None
}
