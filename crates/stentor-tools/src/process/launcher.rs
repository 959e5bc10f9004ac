//! How programs are started: the one place that decides what they get and what holds them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};
use stentor_agent::tasks;
use tokio::net::unix::pipe;
use tokio::process::Command;

use super::order::{Confinement, ProgramOrder, ResourceLimits};
use super::running::RunningProgram;
use super::streams::CommandStreams;
use super::supervisors::{Helper, TheirPipes};
use super::terminal::TERMINAL;
use crate::sandbox::Restrictions;

/// Starts programs. Cheap to clone.
///
/// Without a [`Helper`] a program is started directly and only its process group is ended with it;
/// restrictions and limits need one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launcher {
    helper: Option<Arc<Helper>>,
    restrictions: Option<Arc<Restrictions>>,
    limits: ResourceLimits,
    withheld: Arc<[String]>,
    /// The environment of programs, if it is not ours.
    environment: Option<Arc<BTreeMap<String, String>>>,
}

/// What is started.
pub(crate) struct Program<'a> {
    pub program: &'a Path,
    pub args: Vec<OsString>,
    pub cwd: &'a Path,
    /// What is added to its environment, withheld or not.
    pub env: &'a [(String, String)],
}

/// Our ends of the pipes of a server.
pub(crate) struct ServerPipes {
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
}

/// What becomes of what a program started when it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DescendantPolicy {
    /// It ends, too.
    EndsAll,
    /// It may stay.
    Lingers,
    /// The same for a program that makes itself the leader of a terminal's session.
    LingersInTerminal,
}

/// Starts a program in a thread that may wait: it takes milliseconds in which a thread of the
/// runtime could do nothing else.
pub(crate) async fn start_in_background<T: Send + 'static>(
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::current();
    let started = tasks::spawn_blocking(move || {
        let _runtime = runtime.enter();
        start()
    });
    started.await.map_err(io::Error::other)?
}

impl Launcher {
    /// Programs are supervised by `helper` and do not get the variables `withheld`.
    pub fn new(helper: Option<Helper>, limits: ResourceLimits, withheld: Vec<String>) -> Self {
        Self {
            helper: helper.map(Arc::new),
            restrictions: None,
            limits,
            withheld: withheld.into(),
            environment: None,
        }
    }

    /// The same, whose programs have this environment and not ours.
    #[must_use]
    pub fn in_environment(self, variables: Arc<BTreeMap<String, String>>) -> Self {
        Self {
            environment: Some(variables),
            ..self
        }
    }

    /// The same, in a sandbox if there is one.
    #[must_use]
    pub fn restricted(&self, restrictions: Option<Restrictions>) -> Self {
        Self {
            restrictions: restrictions.map(Arc::new),
            ..self.clone()
        }
    }

    /// The same, without the sandbox unless `sandboxed`.
    #[must_use]
    pub fn sandboxed(&self, sandboxed: bool) -> Self {
        let mut launcher = self.clone();
        if !sandboxed {
            launcher.restrictions = None;
        }
        launcher
    }

    /// What programs are held back from; nothing when there is no sandbox.
    pub fn restrictions(&self) -> Option<&Restrictions> {
        self.restrictions.as_deref()
    }

    /// Starts a command with both its outputs in one stream. What it leaves behind when it ends may
    /// stay.
    pub(super) fn start_command(
        &self,
        program: &Program<'_>,
        streams: CommandStreams,
    ) -> io::Result<RunningProgram> {
        let pipes = TheirPipes {
            stdin: streams.stdin,
            stderr: streams.output.try_clone()?,
            stdout: streams.output,
        };
        if !streams.is_terminal {
            return self.start(program, pipes, DescendantPolicy::Lingers);
        }
        let Some(helper) = &self.helper else {
            return Err(io::Error::other("there is no helper to give it a terminal"));
        };
        // The helper becomes the program when it has the terminal.
        let words = [
            helper.first_word.clone(),
            TERMINAL.into(),
            program.program.into(),
        ];
        let own = Program {
            program: &helper.program,
            args: words.into_iter().chain(program.args.clone()).collect(),
            cwd: program.cwd,
            env: program.env,
        };
        self.start(&own, pipes, DescendantPolicy::LingersInTerminal)
    }

    /// Starts a program that is spoken to through its pipes and leaves nothing behind.
    pub(crate) fn start_server(
        &self,
        program: &Program<'_>,
    ) -> io::Result<(RunningProgram, ServerPipes)> {
        let (stdin, our_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let pipes = ServerPipes {
            stdin: pipe::Sender::from_owned_fd(our_stdin)?,
            stdout: pipe::Receiver::from_owned_fd(our_stdout)?,
            stderr: pipe::Receiver::from_owned_fd(our_stderr)?,
        };
        // A server is no command: it may need what it needs.
        let unlimited = Self {
            limits: ResourceLimits::default(),
            ..self.clone()
        };
        let theirs = TheirPipes {
            stdin: Some(stdin),
            stdout,
            stderr,
        };
        Ok((
            unlimited.start(program, theirs, DescendantPolicy::EndsAll)?,
            pipes,
        ))
    }

    fn start(
        &self,
        program: &Program<'_>,
        pipes: TheirPipes,
        end: DescendantPolicy,
    ) -> io::Result<RunningProgram> {
        match &self.helper {
            Some(helper) => self.start_supervised(helper, program, pipes, end),
            None if self.restrictions.is_some() => Err(io::Error::other(
                "there is no helper to run it in a sandbox",
            )),
            None => self.start_directly(program, pipes),
        }
    }

    fn start_supervised(
        &self,
        helper: &Helper,
        program: &Program<'_>,
        pipes: TheirPipes,
        end: DescendantPolicy,
    ) -> io::Result<RunningProgram> {
        let restrictions = self.restrictions.as_deref().map(|restrictions| {
            let mut restrictions = restrictions.clone();
            // The folder it works in is one it may write, if it may write at all.
            restrictions.writable.push(program.cwd.to_owned());
            restrictions
        });
        let order = ProgramOrder {
            confines: Confinement {
                restrictions,
                limits: self.limits,
            },
            lingers: end != DescendantPolicy::EndsAll,
            is_terminal: end == DescendantPolicy::LingersInTerminal,
            cwd: program.cwd.to_owned(),
            environment: self.variables(program).into_iter().collect(),
            program: program.program.into(),
            arguments: program.args.clone(),
        };
        RunningProgram::supervised(helper, order, &pipes)
    }

    fn start_directly(
        &self,
        program: &Program<'_>,
        pipes: TheirPipes,
    ) -> io::Result<RunningProgram> {
        let mut command = Command::new(program.program);
        command
            .args(&program.args)
            .env_clear()
            .envs(self.variables(program))
            .current_dir(program.cwd)
            .stdin(pipes.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::from(pipes.stdout))
            .stderr(Stdio::from(pipes.stderr))
            .process_group(0);
        RunningProgram::direct(command.spawn()?)
    }

    /// The environment a program shall have.
    fn variables(&self, program: &Program<'_>) -> BTreeMap<OsString, OsString> {
        let mut variables: BTreeMap<OsString, OsString> = match &self.environment {
            Some(variables) => variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            None => std::env::vars_os().collect(),
        };
        for name in self.withheld.iter() {
            variables.remove(OsStr::new(name));
        }
        if let Some(home) = self.missing_home() {
            variables.insert("HOME".into(), home.into());
        }
        let added = program.env.iter();
        variables.extend(added.map(|(name, value)| (name.into(), value.into())));
        variables
    }

    /// Programs find their own files below `HOME`, which a frontend may have left out of its
    /// environment: then it is the one of the password database.
    fn missing_home(&self) -> Option<PathBuf> {
        let is_set = match &self.environment {
            Some(variables) => variables.contains_key("HOME"),
            None => std::env::var_os("HOME").is_some(),
        };
        match is_set {
            true => None,
            false => std::env::home_dir(),
        }
    }
}
