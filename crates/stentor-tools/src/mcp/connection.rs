//! Reaching a server: through the pipes of a program, or over HTTP.

use std::collections::HashMap;
use std::path::Path;

use rmcp::ServiceExt;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};

use super::server::Listener;
use super::stdio::{self, LastWords, Program};

/// A server that answers.
pub(super) struct Connection {
    pub service: RunningService<RoleClient, Listener>,
    pub last_words: LastWords,
    /// Its process, which goes with the connection.
    pub _process: Option<Program>,
}

/// Reaches a server and greets it. The error is text for a person.
pub(super) async fn open(
    server: &ToolServer,
    cwd: &Path,
    listener: Listener,
) -> Result<Connection, String> {
    match &server.transport {
        ToolServerTransport::Stdio { command, args, env } => {
            let (program, pipes) = stdio::start(command, args, env, cwd)
                .map_err(|error| format!("{} cannot be run: {error}", command.display()))?;
            let last_words = program.last_words();
            match listener.serve(pipes).await {
                Ok(service) => Ok(Connection {
                    service,
                    last_words,
                    _process: Some(program),
                }),
                Err(error) => Err(format!(
                    "{error}{}",
                    program.last_words().told_at_end().await
                )),
            }
        }
        ToolServerTransport::Http { url, headers } => {
            let transport = http(url, headers)?;
            let service = listener.serve(transport).await;
            let service = service.map_err(|error| error.to_string())?;
            Ok(Connection {
                service,
                last_words: LastWords::default(),
                _process: None,
            })
        }
    }
}

fn http(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        // A value may be a secret and is never repeated.
        let wrong = || format!("the header {name:?} is not one HTTP can carry");
        let value = value.parse().map_err(|_| wrong())?;
        custom.insert(name.parse().map_err(|_| wrong())?, value);
    }
    // The first one wins, and every one of them is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .user_agent(concat!("stentor/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
