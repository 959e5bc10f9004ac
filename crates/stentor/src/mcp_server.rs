//! `stentor mcp serve`: an MCP server on stdin and stdout, for other agents.

use std::fmt::Display;
use std::sync::Arc;

use stentor_policy::PermissionMode;
use stentor_serve::connection::Connection;
use stentor_serve::mcp::{self, McpOptions};
use stentor_serve::stdio::Pipes;
use stentor_wire::attach::AttachRefusal;

use crate::args::Args;
use crate::frontend::{Start, serve_frontend};
use crate::session_places;
use crate::setup::{self, Defaults};

/// Exit status for a wrong command line or configuration.
const USAGE: u8 = 2;
/// Exit status for everything else that went wrong.
const FAILED: u8 = 1;

/// Serves the client that started this process. Returns the exit status.
pub fn serve(args: &Args, pipes: Pipes) -> Result<u8, AttachRefusal> {
    let start = Start::of_process();
    let cwd = start.working_folder(args.session.cwd.as_deref());
    let cwd = cwd.map_err(usage)?;
    let flags = args.layer(&cwd, start.home().as_deref()).map_err(usage)?;
    let config = setup::load_config(&cwd, &flags, &start.variables).map_err(usage)?;
    let models = setup::models(&config, &flags, &cwd).map_err(usage)?;
    let defaults = Defaults {
        // Whoever calls is a model. What it may not have done without asking is refused, unless its
        // client can ask a person.
        permission_mode: PermissionMode::Ask,
        ..Defaults::new(flags, models, &config)
    };
    let files = session_places::own(&config.settings, args.session.no_session);
    let agent = setup::agent(&config, Arc::new(defaults), files);
    let serving = mcp::serve(agent, Connection::stdio(pipes), McpOptions { cwd });
    serve_frontend(serving).map_err(|why| AttachRefusal {
        message: why.to_string(),
        status: FAILED,
    })
}

fn usage(why: impl Display) -> AttachRefusal {
    AttachRefusal {
        message: why.to_string(),
        status: USAGE,
    }
}
