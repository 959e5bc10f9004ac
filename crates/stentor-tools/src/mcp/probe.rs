//! Trying a server out: what it brings, how long it took, and what it said.

use std::path::Path;
use std::time::Duration;

use rmcp::Peer;
use rmcp::service::RoleClient;
use stentor_agent::event::CommandInfo;
use stentor_agent::tool::ToolSpec;
use stentor_agent::tool_servers::ToolServer;
use tokio::time::{Instant, timeout_at};

use super::connection::{self, Connection};
use super::listener::Listener;
use super::offer::{Listing, Offer};
use super::stdio::LastWords;
use crate::process::Launcher;

/// What came of trying a server out.
#[derive(Debug, Clone)]
pub struct Probed {
    /// What it brings, or why it cannot be used.
    pub result: Result<Brought, String>,
    /// The end of what its program said on stderr.
    pub stderr: Option<String>,
}

/// What a server brings.
#[derive(Debug, Clone)]
pub struct Brought {
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
pub async fn probe(server: &ToolServer, cwd: &Path, launcher: &Launcher) -> Probed {
    let last_words = LastWords::default();
    let began = Instant::now();
    let deadline = began + server.start_limit;
    let opening = connection::open(server, cwd, launcher, Listener::default(), &last_words);
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
                    Ok(brought(server, offer, connection.service.peer(), took).await)
                }
                Err(why) => Err(why),
            };
            let Connection { service, far_side } = connection;
            drop(service.cancel().await);
            far_side.end().await;
            asked
        }
    };
    // Said to the end: the program is gone by now.
    last_words.told_at_end().await;
    let redacted = |text: String| server.redacted(&text);
    Probed {
        result: result.map_err(redacted).map(|brought| Brought {
            server: brought.server.map(redacted),
            resources: brought.resources.into_iter().map(redacted).collect(),
            problems: brought.problems.into_iter().map(redacted).collect(),
            ..brought
        }),
        stderr: last_words.text().map(redacted),
    }
}

/// The offer, and the resources that nobody asks for otherwise before they are wanted.
async fn brought(
    server: &ToolServer,
    offer: Offer,
    peer: &Peer<RoleClient>,
    took: Duration,
) -> Brought {
    let Offer {
        tools,
        prompts,
        has_resources,
        mut problems,
    } = offer;
    let mut resources = Vec::new();
    if has_resources {
        let listed = Listing::of("resources", server.start_limit, |page| async move {
            let page = peer.list_resources(page).await?;
            Ok((page.resources, page.next_cursor))
        });
        match listed.await {
            Ok(listed) => {
                problems.extend(listed.problem);
                resources.extend(listed.items.into_iter().map(|resource| resource.uri));
            }
            Err(why) => problems.push(why.to_string()),
        }
        let templates = Listing::of("templates", server.start_limit, |page| async move {
            let page = peer.list_resource_templates(page).await?;
            Ok((page.resource_templates, page.next_cursor))
        });
        // A server without templates may refuse to list them.
        if let Ok(templates) = templates.await {
            let templates = templates.items.into_iter();
            resources.extend(templates.map(|template| template.uri_template));
        }
    }
    let info = peer.peer_info();
    let own = info.as_ref().and_then(|info| info.server_info.as_ref());
    Brought {
        took,
        server: own.map(|own| format!("{} {}", own.name, own.version)),
        protocol: info
            .as_ref()
            .map(|info| info.protocol_version.as_str().to_owned()),
        tools: tools.into_iter().map(|tool| tool.spec).collect(),
        prompts: prompts.into_iter().map(|prompt| prompt.info).collect(),
        resources,
        problems,
    }
}
