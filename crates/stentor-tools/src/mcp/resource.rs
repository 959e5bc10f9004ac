//! The resources of servers, as two tools: one lists them, one reads one. They are offered only
//! where a server has resources.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};

use super::client::Client;
use super::content::{budget, only, resource_shown};
use super::offer::{Listing, Unlisted};
use super::protocol::{
    RESOURCE_TEMPLATES, RESOURCES, ReadResourceResult, Resource, ResourceTemplate, method,
};
use super::server::{ServerHandle, Unavailable};
use super::tool::{ABORTED, failed};
use crate::tool_call;

const LIST: &str = "list_mcp_resources";
const READ: &str = "read_mcp_resource";

/// The tools for the resources of these servers; none when they have none.
pub(super) fn tools(servers: &[Arc<ServerHandle>]) -> Vec<Arc<dyn Tool>> {
    let with: Vec<Arc<ServerHandle>> = servers
        .iter()
        .filter(|server| server.offer().is_some_and(|offer| offer.has_resources))
        .cloned()
        .collect();
    if with.is_empty() {
        return Vec::new();
    }
    let with: Arc<[Arc<ServerHandle>]> = with.into();
    let names: Vec<&str> = with.iter().map(|server| server.name()).collect();
    let server = json!({ "type": "string", "enum": names, "description": "The server's name" });
    vec![
        Arc::new(List {
            spec: ToolSpec {
                name: LIST.to_owned(),
                label: "List MCP resources".to_owned(),
                description: "List the resources that MCP servers have, and the templates of \
                              addresses of further ones."
                    .to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": { "server": server.clone() },
                    "required": [],
                })
                .into(),
                effect: ToolEffect::Executes,
            },
            servers: Arc::clone(&with),
        }),
        Arc::new(Read {
            spec: ToolSpec {
                name: READ.to_owned(),
                label: "Read MCP resource".to_owned(),
                description: format!(
                    "Read a resource of an MCP server by its address, as {LIST} shows it."
                ),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "server": server,
                        "uri": { "type": "string", "description": "The resource's address" },
                    },
                    "required": ["server", "uri"],
                })
                .into(),
                effect: ToolEffect::Executes,
            },
            servers: with,
        }),
    ]
}

struct List {
    spec: ToolSpec,
    servers: Arc<[Arc<ServerHandle>]>,
}

struct Read {
    spec: ToolSpec,
    servers: Arc<[Arc<ServerHandle>]>,
}

#[derive(Deserialize)]
struct ListArguments {
    server: Option<String>,
}

#[derive(Deserialize)]
struct ReadArguments {
    server: String,
    uri: String,
}

impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        let work = async move {
            let wanted: ListArguments = tool_call::arguments(LIST, arguments)?;
            let chosen = self.servers.iter().filter(|server| {
                let name = wanted.server.as_deref();
                name.is_none_or(|name| name == server.name())
            });
            let listed = join_all(chosen.map(|server| listed(server))).await;
            let text = listed.join("\n\n");
            let text = match text.is_empty() {
                true => "There is no such server.".to_owned(),
                false => text,
            };
            Ok(ToolOutput {
                content: only(&text),
                details: None,
                is_error: false,
            })
        };
        unless_cancelled(context, tool_call::outcome(work))
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        let work = async move {
            let ReadArguments { server, uri } = tool_call::arguments(READ, arguments)?;
            let found = self.servers.iter().find(|have| have.name() == server);
            Ok(match found {
                Some(found) => match read(found, uri).await {
                    Ok(output) => output,
                    Err(why) => failed(&server, &why.to_string()),
                },
                None => ToolOutput::error(format!("There is no MCP server {server:?}.")),
            })
        };
        unless_cancelled(context, tool_call::outcome(work))
    }
}

/// The resources of one server and the templates of further ones, for a model.
async fn listed(server: &ServerHandle) -> String {
    let name = server.name();
    let lists = match server.live().await {
        Ok(live) => {
            let listed = ResourceLists::of(&live.client, server.wanted.call_limit).await;
            listed.map_err(|why| why.to_string())
        }
        Err(why) => Err(why.to_string()),
    };
    match lists {
        Err(why) => format!("{name}: {why}"),
        Ok(ResourceLists {
            resources,
            templates,
            ..
        }) => {
            let mut lines = vec![format!("{name}:")];
            lines.extend(resources.iter().map(resource_line));
            lines.extend(templates.iter().map(template_line));
            if lines.len() == 1 {
                lines.push("(none)".to_owned());
            }
            lines.join("\n")
        }
    }
}

/// What a server lists.
pub(super) struct ResourceLists {
    pub resources: Vec<Resource>,
    pub templates: Vec<ResourceTemplate>,
    /// What was left out and why.
    pub problem: Option<String>,
}

impl ResourceLists {
    /// Asks a server. One without templates may refuse to list them.
    pub async fn of(client: &Client, limit: Duration) -> Result<Self, Unlisted> {
        let resources = Listing::of(client, &RESOURCES, limit).await?;
        let templates = Listing::of(client, &RESOURCE_TEMPLATES, limit).await;
        Ok(Self {
            templates: templates.map_or(Vec::new(), |listing| listing.read()),
            resources: resources.read(),
            problem: resources.problem,
        })
    }
}

fn resource_line(resource: &Resource) -> String {
    line(
        &resource.uri,
        &resource.name,
        resource.mime_type.as_deref(),
        resource.description.as_deref(),
    )
}

fn template_line(template: &ResourceTemplate) -> String {
    let line = line(
        &template.uri_template,
        &template.name,
        template.mime_type.as_deref(),
        template.description.as_deref(),
    );
    format!("{line} [template]")
}

fn line(uri: &str, name: &str, kind: Option<&str>, description: Option<&str>) -> String {
    let mut line = format!("- {uri} ({name}");
    if let Some(kind) = kind {
        line.push_str(&format!(", {kind}"));
    }
    line.push(')');
    if let Some(first) = description.and_then(|text| text.lines().next()) {
        line.push_str(&format!(": {first}"));
    }
    line
}

async fn read(server: &ServerHandle, uri: String) -> Result<ToolOutput, Unavailable> {
    let params = json!({ "uri": uri });
    let read: ReadResourceResult = server.request(method::READ_RESOURCE, &params).await?;
    let mut budget = budget();
    let parts = read.contents.into_iter();
    let mut content: Vec<_> = parts
        .filter_map(|part| resource_shown(part, &mut budget))
        .collect();
    content.extend(budget.left_out());
    if content.is_empty() {
        content = only("(empty)");
    }
    Ok(ToolOutput {
        content,
        details: None,
        is_error: false,
    })
}

fn unless_cancelled(context: ToolContext, work: ToolFuture) -> ToolFuture {
    Box::pin(async move {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => ToolOutput::error(ABORTED),
            output = work => output,
        }
    })
}
