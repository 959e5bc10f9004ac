//! `stentor acp`: the Agent Client Protocol on stdin and stdout.

use stentor_agent::agent::Agent;
use stentor_model::login::Logins;
use stentor_serve::acp::{self, AcpLogin, AcpOptions, Folders};
use stentor_serve::stdio::Pipes;

use crate::frontend::serve_frontend;

/// Serves one client and returns the exit status.
pub fn run(agent: Agent, logins: &Logins, pipes: Pipes) -> Result<u8, String> {
    let options = AcpOptions {
        logins: ways_to_log_in(logins),
        folders: Folders {
            current: std::env::current_dir().ok(),
            home: std::env::home_dir(),
        },
    };
    serve_frontend(acp::serve(agent, pipes, options))
}

fn ways_to_log_in(logins: &Logins) -> Vec<AcpLogin> {
    // Where logins cannot be read, none can be made.
    let known = logins.status().unwrap_or_default().into_iter();
    known
        .map(|login| AcpLogin {
            arguments: vec!["--login".to_owned(), login.id.clone()],
            id: format!("login-{}", login.id),
            name: login.name,
        })
        .collect()
}
