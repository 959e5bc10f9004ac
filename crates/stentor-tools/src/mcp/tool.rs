//! A server's tool as one of ours.

use std::path::Path;
use std::sync::Arc;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use stentor_agent::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, Touches};
use stentor_journal::message::ContentBlock;
use tokio::time::{Instant, sleep_until};

use super::content::{only, output};
use super::listener::HowFar;
use super::offer::{OfferedTool, told};
use super::server::{Live, Post};

/// What the model is told of a call that was stopped, as with all tools.
pub(super) const ABORTED: &str = "Command aborted";

/// A call that a server has.
type Handle = RequestHandle<RoleClient>;

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
            sent = self.sent(arguments) => match sent {
                Ok((live, handle)) => self.answered(&live, handle, &context).await,
                Err(why) => self.failed(&why),
            }
        }
    }

    /// Gives the call to the server. One that turns out to be gone has not seen it: the call waits
    /// for the next start. The error is text for a person.
    async fn sent(&self, arguments: Map<String, Value>) -> Result<(Arc<Live>, Handle), String> {
        let name = self.offered.name.clone();
        let params = CallToolRequestParams::new(name).with_arguments(arguments);
        let mut may_wait = true;
        loop {
            let live = self.server.live().await?;
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let sending = live
                .peer
                .send_cancellable_request(request, PeerRequestOptions::no_options());
            match sending.await {
                Ok(handle) => return Ok((live, handle)),
                Err(ServiceError::TransportClosed) if may_wait => {
                    may_wait = false;
                    self.server.gone(&live).await;
                }
                Err(error) => return Err(told(&error)),
            }
        }
    }

    async fn answered(&self, live: &Live, mut handle: Handle, context: &ToolContext) -> ToolOutput {
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
            // Nobody is there any more who would answer.
            Err(_) => tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutput::error(ABORTED),
                why = self.server.told_gone(live) => self.failed(&why),
            },
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
