//! Serving a frontend: what every way in does alike, over stdin and stdout or as a client of the
//! server.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stentor_agent::agent::AgentError;
use stentor_serve::connection::Connection;
use stentor_serve::frontend::{DialectError, Frontend, Storing};
use stentor_serve::stdio::{self, Pipes};
use tokio::runtime::{Builder, Runtime};

use crate::config::{AttachMode, Config, ConfigErrors, locate};
use crate::dialect::Invocation;
use crate::environment::Variables;
use crate::log::PatientStderr;
use crate::relay::{self, RelayError};
use crate::setup::{self, FolderError};

/// Exit status when a frontend cannot be served.
const FAILED: u8 = 1;

/// Where a frontend was started: in this process, or where its client was.
#[derive(Debug, Clone)]
pub struct Start {
    pub folder: PathBuf,
    pub variables: Variables,
    /// Where new sessions go, if not where the configuration says.
    pub storing: Option<Storing>,
}

/// A frontend that is set up.
pub struct PreparedFrontend {
    pub frontend: Frontend,
    /// Whether its client is to be served by a server instead.
    pub attach: AttachMode,
}

/// There is nothing that sessions could run on.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the runtime: {0}")]
pub struct RuntimeError(io::Error);

/// Why a frontend is not served.
#[derive(Debug, thiserror::Error)]
pub enum FrontendError {
    #[error("cannot use stdin and stdout: {0}")]
    Pipes(io::Error),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Relay(#[from] RelayError),
    #[error(transparent)]
    Serve(#[from] DialectError),
    /// The session to resume.
    #[error(transparent)]
    Session(#[from] AgentError),
}

impl Start {
    /// In this process.
    pub fn of_process() -> Self {
        Self {
            folder: PathBuf::from("."),
            variables: Variables::OfProcess,
            storing: None,
        }
    }

    /// The folder to work in.
    pub fn working_folder(&self, asked: Option<&Path>) -> Result<PathBuf, FolderError> {
        setup::working_folder(&self.folder, asked)
    }

    /// The folder that `~` stands for.
    /// The home of whoever started it.
    pub fn home(&self) -> Option<PathBuf> {
        locate::places(&|name| self.variables.get(name), locate::Platform::HERE).home
    }
}

impl PreparedFrontend {
    /// A frontend under a configuration.
    pub fn new(frontend: Frontend, config: &Config) -> Self {
        Self {
            frontend,
            attach: config.settings.attach.value,
        }
    }

    /// Serves the frontend that started this process: by a server if it is configured so, else
    /// here. Returns the exit status.
    pub fn serve(self, pipes: Pipes, invocation: &Invocation) -> Result<u8, FrontendError> {
        if let Some(stream) = relay::connect_as_configured(self.attach)? {
            return Ok(relay::run(stream, invocation, pipes)?);
        }
        let served = serve_frontend(self.frontend.serve(Connection::stdio(pipes)))?;
        match served {
            // Bridges look for it among what is logged.
            Err(DialectError::Omp(why)) => {
                tracing::error!("{why}");
                Ok(FAILED)
            }
            served => Ok(served?),
        }
    }
}

/// Stdin and stdout, from now on for the frontend alone.
pub fn take_pipes() -> Result<Pipes, FrontendError> {
    stdio::take().map_err(FrontendError::Pipes)
}

/// Serves a frontend to its end, on a runtime of its own.
pub fn serve_frontend<T>(serving: impl Future<Output = T>) -> Result<T, RuntimeError> {
    let runtime = runtime()?;
    let served = runtime.block_on(serving);
    // Nothing that still blocks may hold up the end: everything that counts is on disk.
    runtime.shutdown_background();
    Ok(served)
}

/// What sessions run on.
pub fn runtime() -> Result<Runtime, RuntimeError> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(RuntimeError)
}

/// How serving ended, for who started us. Why it could not begin goes to stderr.
pub fn exit_code(served: Result<u8, impl Display>) -> ExitCode {
    match served {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            // Whoever would read it may be gone.
            let _ = writeln!(PatientStderr, "{why}");
            ExitCode::from(FAILED)
        }
    }
}
