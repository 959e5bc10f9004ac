//! Trying a server out: what it brings, how long it took, and what it said.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stentor_agent::event::CommandInfo;
use stentor_agent::tool::ToolSpec;
use stentor_agent::tool_servers::ToolServer;
use tokio::time::{Instant, timeout_at};

use super::callers::ServerFolders;
use super::client::GreetedServer;
use super::connection::{self, ServerAccess, ServerConnection};
use super::offer::Offer;
use super::resource::ResourceLists;
use crate::json_rpc_child::StderrTail;

/// What came of trying a server out.
#[derive(Debug, Clone)]
pub struct ProbedServer {
    /// What it brings, or why it cannot be used.
    pub result: Result<ServerContents, String>,
    /// The end of what its program said on stderr.
    pub stderr: Option<String>,
}

/// What a server brings.
#[derive(Debug, Clone)]
pub struct ServerContents {
    /// How long it took to be ready.
    pub took: Duration,
    /// What it calls itself, and its version.
    pub server: Option<String>,
    /// The version of the protocol that was agreed on.
    pub protocol: Option<String>,
    pub tools: Vec<ToolSpec>,
    pub prompts: Vec<CommandInfo>,
    /// Addresses, and templates of addresses.
    pub resources: Vec<String>,
    /// What of it cannot be used.
    pub problems: Vec<String>,
}

/// Starts a server, asks what it has, and ends it.
pub async fn probe(server: &ToolServer, cwd: &Path, access: &ServerAccess) -> ProbedServer {
    let stderr = StderrTail::default();
    let began = Instant::now();
    let deadline = began + server.start_limit;
    // Nobody can be asked here.
    let callers = Arc::default();
    let folders = ServerFolders {
        cwd: cwd.to_owned(),
        additional: Vec::new(),
    };
    let opening = connection::open(server, &folders, access, &callers, &stderr);
    let opened = timeout_at(deadline, opening).await;
    let result = match opened {
        Err(_) => Err(format!(
            "it did not start within {} s",
            server.start_limit.as_secs_f32()
        )),
        Ok(Err(failure)) => Err(failure.why),
        Ok(Ok(mut connection)) => {
            let asked = match connection.ask(server).await {
                Ok(offer) => {
                    let took = began.elapsed();
                    Ok(brought(server, offer, &connection.client, took).await)
                }
                Err(why) => Err(why.to_string()),
            };
            let ServerConnection { far_side, .. } = connection;
            far_side.end().await;
            asked
        }
    };
    // The program is gone by now.
    stderr.closed().await;
    let redacted = |text: String| server.redacted(&text);
    ProbedServer {
        result: result.map_err(redacted).map(|brought| ServerContents {
            server: brought.server.map(redacted),
            resources: brought.resources.into_iter().map(redacted).collect(),
            problems: brought.problems.into_iter().map(redacted).collect(),
            ..brought
        }),
        stderr: stderr.text().map(redacted),
    }
}

/// The offer, and the resources that nobody asks for otherwise before they are wanted.
async fn brought(
    server: &ToolServer,
    offer: Offer,
    client: &GreetedServer,
    took: Duration,
) -> ServerContents {
    let Offer {
        tools,
        prompts,
        has_resources,
        mut problems,
    } = offer;
    let mut resources = Vec::new();
    if has_resources {
        match ResourceLists::of(client, server.start_limit).await {
            Ok(listed) => {
                problems.extend(listed.problem);
                let all = listed.resources.into_iter().chain(listed.templates);
                resources.extend(all.map(|resource| resource.uri));
            }
            Err(why) => problems.push(why.to_string()),
        }
    }
    let info = client.info.server_info.as_ref();
    ServerContents {
        took,
        server: info.map(|info| format!("{} {}", info.name, info.version)),
        protocol: Some(client.info.protocol_version.clone()),
        tools: tools.into_iter().map(|tool| tool.spec).collect(),
        prompts: prompts.into_iter().map(|prompt| prompt.info).collect(),
        resources,
        problems,
    }
}
