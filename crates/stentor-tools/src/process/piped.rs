//! A program that others speak to through its pipes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::launcher::{Launcher, Program, start_in_background};
use super::reports::ProgramEnd;
use super::running::RunningProgram;

/// A program with pipes to it, below a supervisor of its own. Dropping it kills it and everything it
/// started.
pub struct PipedProgram {
    running: RunningProgram,
    pipes: Option<(pipe::Sender, pipe::Receiver, pipe::Receiver)>,
}

impl PipedProgram {
    /// Starts `program` in `cwd`. `env` is added to its environment, withheld or not.
    pub async fn start(
        launcher: &Launcher,
        program: PathBuf,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: &Path,
    ) -> io::Result<Self> {
        if !cwd.is_dir() {
            let folder = cwd.display();
            return Err(io::Error::other(format!("{folder} is not there")));
        }
        let (launcher, cwd) = (launcher.clone(), cwd.to_owned());
        let started = start_in_background(move || {
            launcher.start_server(&Program {
                program: &program,
                args: args.iter().map(Into::into).collect(),
                cwd: &cwd,
                env: &env,
            })
        });
        let (mut running, pipes) = started.await?;
        running.started().await?;
        Ok(Self {
            running,
            pipes: Some((pipes.stdin, pipes.stdout, pipes.stderr)),
        })
    }

    /// Its stdin, stdout and stderr; once.
    pub fn take_pipes(&mut self) -> Option<(pipe::Sender, pipe::Receiver, pipe::Receiver)> {
        self.pipes.take()
    }

    /// Waits until it has ended by itself, but no longer than `patience`; then kills it and everything
    /// it started. Returns how it ended, for people.
    pub async fn end(mut self, patience: Duration) -> Option<String> {
        let ended = timeout(patience, self.running.wait()).await;
        self.running.kill().await;
        Some(match ended.ok()?.ok()? {
            ProgramEnd::Exited(code) => format!("exit status: {code}"),
            ProgramEnd::Signalled(signal) => format!("signal: {signal}"),
            ProgramEnd::Exceeded(_) => "it exceeded a limit".to_owned(),
        })
    }
}
