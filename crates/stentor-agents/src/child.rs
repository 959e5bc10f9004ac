//! How a child is started: below a supervisor, without keys, in the folder of its session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stentor_client::{
    ChildAgent, ChildAgentError, ChildPipes, Events, Host, InitialSession, Process, ProcessFuture,
    StartOptions,
};
use stentor_tools::process::{Launcher, PipedProgram};

use crate::settings::AgentSettings;

/// Starts an agent in `cwd`, unless its settings name another folder.
pub(crate) async fn start(
    settings: &AgentSettings,
    launcher: &Launcher,
    cwd: &Path,
    session: InitialSession,
    host: impl Host,
) -> Result<(ChildAgent, Events), ChildAgentError> {
    let cwd = settings.cwd.as_deref().unwrap_or(cwd).to_owned();
    let mut options = StartOptions::new(settings.dialect.dialect(), settings.command.iter());
    options.cwd = Some(cwd.clone());
    options.session = session;
    let mut words = settings.command.iter().cloned();
    let name = words.next().unwrap_or_default();
    let arguments = words.chain(options.session_arguments()).collect();
    let env = settings.env.clone().into_iter().collect();
    let program = PipedProgram::start(launcher, (&name).into(), arguments, env, &cwd);
    let mut program = program.await.map_err(|error| ChildAgentError::Spawn {
        program: name,
        error: Arc::new(error),
    })?;
    let Some((stdin, stdout, stderr)) = program.take_pipes() else {
        return Err(ChildAgentError::NotReady("it has no pipes".to_owned()));
    };
    let pipes = ChildPipes {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Some(Box::new(stderr)),
        process: Some(Box::new(SupervisedChild(program))),
    };
    ChildAgent::over(pipes, options, host).await
}

/// A program below a supervisor of its own.
struct SupervisedChild(PipedProgram);

impl Process for SupervisedChild {
    fn end(self: Box<Self>, patience: Duration) -> ProcessFuture {
        Box::pin(self.0.end(patience))
    }
}
