//! `stentor acp`: the Agent Client Protocol on stdin and stdout.

use stentor_agent::agent::Agent;
use stentor_serve::acp::{self, AcpOptions};
use stentor_serve::stdio::Pipes;

/// Serves one client and returns the exit status.
pub fn run(agent: Agent, pipes: Pipes) -> Result<u8, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let options = AcpOptions {
        tool_servers: None,
        login_arguments: None,
    };
    let status = runtime.block_on(acp::serve(agent, pipes, options));
    // Whoever still waits for a disk or a client must not keep the process.
    runtime.shutdown_background();
    Ok(status)
}
