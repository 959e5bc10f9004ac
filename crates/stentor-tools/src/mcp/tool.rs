//! A server's tool as one of ours.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::Peer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock as Block,
    ResourceContents, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RoleClient};
use serde_json::{Map, Value};
use stentor_agent::message::ContentBlock;
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};

use super::name::full_name;
use crate::truncation::MAX_BYTES;

/// How long one call may take.
const CALL_LIMIT: Duration = Duration::from_secs(600);

/// A tool of a server.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// Its name at the server.
    name: String,
    server: String,
    peer: Peer<RoleClient>,
}

impl McpTool {
    /// The hints of a server about what its tools do are not believed: each call counts as one
    /// that runs something.
    pub fn new(server: &str, tool: rmcp::model::Tool, peer: Peer<RoleClient>) -> Self {
        let name = tool.name.into_owned();
        let parameters = Value::Object((*tool.input_schema).clone());
        Self {
            spec: ToolSpec {
                name: full_name(server, &name),
                label: tool.title.unwrap_or_else(|| name.clone()),
                description: tool.description.unwrap_or_default().into_owned(),
                parameters,
                effect: ToolEffect::Executes,
            },
            name,
            server: server.to_owned(),
            peer,
        }
    }

    async fn call(&self, arguments: Map<String, Value>, context: ToolContext) -> ToolOutput {
        context.progress.report(ToolOutput {
            content: Vec::new(),
            details: None,
            is_error: false,
        });
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match sending.await {
            Ok(handle) => handle,
            Err(error) => return self.failed(&error.to_string()),
        };
        let answered = tokio::select! {
            answer = &mut handle.rx => answer,
            () = context.cancel.cancelled() => {
                // The server is told; whether it listens is its affair.
                handle.cancel(Some("the user stopped it".to_owned())).await.ok();
                return ToolOutput::error("Command aborted");
            }
            () = tokio::time::sleep(CALL_LIMIT) => {
                handle.cancel(Some("it took too long".to_owned())).await.ok();
                return self.failed(&format!("no answer within {} s", CALL_LIMIT.as_secs()));
            }
        };
        match answered {
            Ok(Ok(ServerResult::CallToolResult(result))) => output(result),
            Ok(Ok(_)) => self.failed("it answered with something that is no result of a tool"),
            Ok(Err(error)) => self.failed(&error.to_string()),
            Err(_) => self.failed("it is gone"),
        }
    }

    fn failed(&self, why: &str) -> ToolOutput {
        ToolOutput::error(format!("The MCP server {:?} failed: {why}", self.server))
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move { self.call(arguments, context).await })
    }
}

pub(super) fn output(result: CallToolResult) -> ToolOutput {
    let mut left = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let mut content: Vec<ContentBlock> = result
        .content
        .into_iter()
        .map(|block| shown(block, &mut left))
        .collect();
    if content.is_empty() {
        let text = match &result.structured_content {
            Some(value) => value.to_string(),
            None => "(no output)".to_owned(),
        };
        content.push(text_within(&text, &mut left));
    }
    ToolOutput {
        content,
        details: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
    }
}

fn shown(block: Block, left: &mut usize) -> ContentBlock {
    match block {
        Block::Text(text) => text_within(&text.text, left),
        Block::Image(image) => ContentBlock::image(image.data, image.mime_type),
        Block::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                text_within(&format!("{uri}:\n{text}"), left)
            }
            ResourceContents::BlobResourceContents { uri, mime_type, .. } => {
                let kind = mime_type.unwrap_or_else(|| "data".to_owned());
                text_within(&format!("[{uri}: {kind}, not shown]"), left)
            }
            _ => text_within("[a resource of an unknown form]", left),
        },
        Block::ResourceLink(link) => text_within(&format!("[{}]({})", link.name, link.uri), left),
        Block::Audio(audio) => text_within(&format!("[{}, not shown]", audio.mime_type), left),
        _ => text_within("[content of an unknown form]", left),
    }
}

/// The text as far as there is room, with a note of what is missing.
fn text_within(text: &str, left: &mut usize) -> ContentBlock {
    let kept = text.get(..text.floor_char_boundary(*left)).unwrap_or(text);
    *left -= kept.len();
    ContentBlock::text(match text.len() - kept.len() {
        0 => text.to_owned(),
        missing => format!("{kept}\n\n[{missing} more bytes were left out.]"),
    })
}
