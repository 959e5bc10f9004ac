//! Serving a frontend over stdin and stdout: what every way in does alike.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use stentor_serve::stdio::{self, Pipes};
use tokio::runtime::{Builder, Runtime};

use crate::log::PatientStderr;

/// Exit status when a frontend cannot be served.
const FAILED: u8 = 1;

/// Stdin and stdout, from now on for the frontend alone. The error is text for a person.
pub fn take_pipes() -> Result<Pipes, String> {
    stdio::take().map_err(|error| format!("cannot use stdin and stdout: {error}"))
}

/// Serves a frontend to its end, on a runtime of its own. The error is text for a person.
pub fn serve_frontend<T>(serving: impl Future<Output = T>) -> Result<T, String> {
    let runtime = runtime()?;
    let served = runtime.block_on(serving);
    // Nothing that still blocks may hold up the end: everything that counts is on disk.
    runtime.shutdown_background();
    Ok(served)
}

/// What sessions run on. The error is text for a person.
pub fn runtime() -> Result<Runtime, String> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
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
