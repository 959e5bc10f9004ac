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

use super::client::GreetedServer;
use super::content::{budget, only, resource_shown};
use super::offer::{PagedList, Unlisted};
use super::protocol::{RESOURCE_TEMPLATES, RESOURCES, ReadResourceResult, Resource, method};
use super::server::{ServerHandle, Unavailable};
use super::tool::{ABORTED, failed, plain_output};
use crate::tool_call;
use crate::tool_error::ToolError;

const LIST: &str = "list_mcp_resources";
const READ: &str = "read_mcp_resource";

/// The tools for the resources of these servers; none when they have none.
pub(super) fn tools(servers: &[Arc<ServerHandle>]) -> Vec<Arc<dyn Tool>> {
    let with: Arc<[Arc<ServerHandle>]> = servers
        .iter()
        .filter(|server| server.offer().is_some_and(|offer| offer.has_resources))
        .cloned()
        .collect();
    if with.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = with.iter().map(|server| server.name()).collect();
    let server = json!({ "type": "string", "enum": names, "description": "The server's name" });
    let uri = json!({ "type": "string", "description": "The resource's address" });
    let tool = |name: &str, label: &str, description: String, parameters: Value| {
        let spec = ToolSpec {
            name: name.to_owned(),
            label: label.to_owned(),
            description,
            parameters: parameters.into(),
            effect: ToolEffect::Executes,
        };
        let servers = Arc::clone(&with);
        Arc::new(ResourceTool { spec, servers }) as Arc<dyn Tool>
    };
    vec![
        tool(
            LIST,
            "List MCP resources",
            "List the resources that MCP servers have, and the templates of addresses of further \
             ones."
                .to_owned(),
            json!({ "type": "object", "properties": { "server": server }, "required": [] }),
        ),
        tool(
            READ,
            "Read MCP resource",
            format!("Read a resource of an MCP server by its address, as {LIST} shows it."),
            json!({
                "type": "object",
                "properties": { "server": server, "uri": uri },
                "required": ["server", "uri"],
            }),
        ),
    ]
}

/// One of the two tools; its name decides which.
struct ResourceTool {
    spec: ToolSpec,
    servers: Arc<[Arc<ServerHandle>]>,
}

#[derive(Deserialize)]
struct ListArguments {
    server: Option<String>,
}

#[derive(Deserialize)]
struct ResourceArguments {
    server: String,
    uri: String,
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            let work = async {
                match self.spec.name == LIST {
                    true => self.list(arguments).await,
                    false => self.read(arguments).await,
                }
            };
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutput::error(ABORTED),
                output = work => output.unwrap_or_else(ToolOutput::from),
            }
        })
    }
}

impl ResourceTool {
    async fn list(&self, arguments: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let wanted: ListArguments = tool_call::arguments(LIST, arguments)?;
        let chosen = self.servers.iter().filter(|server| {
            let name = wanted.server.as_deref();
            name.is_none_or(|name| name == server.name())
        });
        let listed = join_all(chosen.map(|server| listed(server))).await;
        let text = listed.join("\n\n");
        Ok(plain_output(only(match text.as_str() {
            "" => "There is no such server.",
            text => text,
        })))
    }

    async fn read(&self, arguments: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let ResourceArguments { server, uri } = tool_call::arguments(READ, arguments)?;
        let found = self.servers.iter().find(|have| have.name() == server);
        Ok(match found {
            Some(found) => match read(found, uri).await {
                Ok(output) => output,
                Err(why) => failed(&server, &why.to_string()),
            },
            None => ToolOutput::error(format!("There is no MCP server {server:?}.")),
        })
    }
}

/// The resources of one server and the templates of further ones, for a model.
async fn listed(server: &ServerHandle) -> String {
    let name = server.name();
    let lists = match server.live().await {
        Ok(live) => ResourceLists::of(&live.client, server.wanted.call_limit).await,
        Err(why) => return format!("{name}: {why}"),
    };
    let lists = match lists {
        Ok(lists) => lists,
        Err(why) => return format!("{name}: {why}"),
    };
    let mut lines = vec![format!("{name}:")];
    lines.extend(lists.resources.iter().map(line));
    let templates = lists.templates.iter().map(line);
    lines.extend(templates.map(|line| format!("{line} [template]")));
    if lines.len() == 1 {
        lines.push("(none)".to_owned());
    }
    lines.join("\n")
}

/// What a server lists.
pub(super) struct ResourceLists {
    pub resources: Vec<Resource>,
    pub templates: Vec<Resource>,
    /// What was left out and why.
    pub problem: Option<String>,
}

impl ResourceLists {
    /// Asks a server. One without templates may refuse to list them.
    pub async fn of(client: &GreetedServer, limit: Duration) -> Result<Self, Unlisted> {
        let resources = PagedList::of(client, &RESOURCES, limit).await?;
        let templates = PagedList::of(client, &RESOURCE_TEMPLATES, limit).await;
        Ok(Self {
            templates: templates.map_or(Vec::new(), |listing| listing.read()),
            resources: resources.read(),
            problem: resources.problem,
        })
    }
}

fn line(resource: &Resource) -> String {
    let mut line = format!("- {} ({}", resource.uri, resource.name);
    if let Some(kind) = &resource.mime_type {
        line.push_str(&format!(", {kind}"));
    }
    line.push(')');
    let description = resource.description.as_deref();
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
    Ok(plain_output(content))
}
