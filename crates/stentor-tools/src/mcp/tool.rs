//! A server's tool as one of ours.

use std::path::Path;
use std::sync::Arc;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value};
use stentor_agent::message::ContentBlock;
use stentor_agent::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, Touches};
use tokio::time::{Instant, sleep_until};

use super::content::{only, output};
use super::listener::HowFar;
use super::offer::{OfferedTool, told};
use super::server::Post;

/// What the model is told of a call that was stopped, as with all tools.
pub(super) const ABORTED: &str = "Command aborted";

/// A tool of a server.
pub(super) struct McpTool {
    offered: OfferedTool,
    server: Arc<Post>,
}

impl McpTool {
    pub fn new(server: Arc<Post>, offered: OfferedTool) -> Self {
        Self { offered, server }
    }

    async fn call(&self, arguments: Map<String, Value>, context: ToolContext) -> ToolOutput {
        context.progress.report(report(Vec::new()));
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => ToolOutput::error(ABORTED),
            live = self.server.live() => match live {
                Ok(live) => self.called(&live, arguments, &context).await,
                Err(why) => self.failed(&why),
            }
        }
    }

    async fn called(
        &self,
        live: &super::server::Live,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> ToolOutput {
        let name = self.offered.name.clone();
        let params = CallToolRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = live
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match sending.await {
            Ok(handle) => handle,
            Err(error) => return self.failed(&told(&error)),
        };
        let mut reports = live.listener.reports(handle.progress_token.clone());
        let limit = self.server.wanted.call_limit;
        let mut deadline = Instant::now() + limit;
        let answered = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => break answer,
                () = context.cancel.cancelled() => {
                    // The server is told; whether it listens is its affair.
                    handle.cancel(Some("the user stopped it".to_owned())).await.ok();
                    return ToolOutput::error(ABORTED);
                }
                Some(how_far) = reports.next() => {
                    deadline = Instant::now() + limit;
                    context.progress.report(report(shown(&how_far)));
                }
                () = sleep_until(deadline) => {
                    handle.cancel(Some("it took too long".to_owned())).await.ok();
                    self.server.suspect();
                    return self.failed(&format!("no answer within {} s", limit.as_secs_f32()));
                }
            }
        };
        match answered {
            Ok(Ok(ServerResult::CallToolResult(result))) => output(result),
            Ok(Ok(_)) => self.failed("it answered with something that is no result of a tool"),
            Ok(Err(error)) => {
                if !matches!(error, ServiceError::McpError(_)) {
                    self.server.suspect();
                }
                self.failed(&told(&error))
            }
            Err(_) => self.failed("it ended before it answered"),
        }
    }

    fn failed(&self, why: &str) -> ToolOutput {
        failed(self.server.name(), why)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.offered.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move { self.call(arguments, context).await })
    }
}

/// A result that says which server failed and why.
pub(super) fn failed(server: &str, why: &str) -> ToolOutput {
    ToolOutput::error(format!("The MCP server {server:?} failed: {why}"))
}

fn report(content: Vec<ContentBlock>) -> ToolOutput {
    ToolOutput {
        content,
        details: None,
        is_error: false,
    }
}

/// `3 of 10: fetching`, as far as it is known.
fn shown(how_far: &HowFar) -> Vec<ContentBlock> {
    let HowFar {
        done,
        total,
        message,
    } = how_far;
    let count = match total {
        Some(total) => format!("{done} of {total}"),
        None => done.to_string(),
    };
    let text = match message {
        Some(message) => format!("{count}: {message}"),
        None => count,
    };
    only(&text)
}
