//! A server's tool as one of ours.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stentor_agent::session::WeakSession;
use stentor_agent::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, Touches};
use stentor_agent::tool_servers::ToolServer;
use stentor_journal::message::ContentBlock;
use tokio::time::{Instant, sleep_until};

use super::content::{only, output};
use super::offer::OfferedTool;
use super::protocol::{CallProgress, CallToolResult, method};
use super::server::{LiveServer, ServerHandle, Unavailable};
use crate::json_rpc_child::{NotSent, RequestError};

/// What the model is told of a call that was stopped, as with all tools.
pub(super) const ABORTED: &str = "Command aborted";

/// A tool of a server.
pub(super) struct McpTool {
    offered: OfferedTool,
    server: Arc<ServerHandle>,
    /// Whose tool it is: what the server asks during a call is for this one.
    session: WeakSession,
}

impl McpTool {
    pub fn new(server: Arc<ServerHandle>, offered: OfferedTool, session: WeakSession) -> Self {
        Self {
            offered,
            server,
            session,
        }
    }

    async fn call(&self, arguments: Map<String, Value>, context: ToolContext) -> ToolOutput {
        context.progress.report(plain_output(Vec::new()));
        tokio::select! {
            biased;
            // The server is notified that nobody waits; whether it listens is its affair.
            () = context.cancel.cancelled() => ToolOutput::error(ABORTED),
            answered = self.answer(&arguments, &context) => match answered {
                Ok(result) => output(result),
                Err(why) => self.failed(&why.to_string()),
            },
        }
    }

    /// Gives the call to the server and waits for the result. One that turns out to be gone has not
    /// seen it: the call waits for the next start.
    async fn answer(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<CallToolResult, Unavailable> {
        let mut may_wait = true;
        loop {
            let live = self.server.live().await?;
            if may_wait && live.client.peer.is_closed() {
                may_wait = false;
                self.server.gone(&live).await;
                continue;
            }
            match self.ask(&live, arguments, context).await {
                Err(RequestError::NotSent(NotSent::Gone)) if may_wait => {
                    may_wait = false;
                    self.server.gone(&live).await;
                }
                Err(RequestError::Gone) => return Err(self.server.ended_early(&live).await),
                Err(RequestError::TimedOut(limit)) => {
                    self.server.suspect();
                    return Err(Unavailable::Late(limit));
                }
                Err(error) => {
                    if !matches!(error, RequestError::Refused(_)) {
                        self.server.suspect();
                    }
                    return Err(error.into());
                }
                Ok(result) => return Ok(result),
            }
        }
    }

    /// Calls the tool. Each report of the server gives it time again, and so does a person who is
    /// asked something meanwhile, but not for ever.
    async fn ask(
        &self,
        live: &LiveServer,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<CallToolResult, RequestError> {
        let _calling = self.server.callers.call(self.session.clone());
        let mut reports = live.client.notices.reports();
        let params = json!({
            "name": self.offered.name,
            "arguments": arguments,
            "_meta": { "progressToken": reports.token },
        });
        let ToolServer {
            call_limit: limit,
            total_limit,
            ..
        } = self.server.wanted;
        let last = Instant::now() + total_limit;
        let mut deadline = last.min(Instant::now() + limit);
        let mut asked = pin!(live.client.request(method::CALL_TOOL, &params));
        loop {
            tokio::select! {
                biased;
                answered = &mut asked => return answered,
                Some(progress) = reports.next() => {
                    deadline = last.min(Instant::now() + limit);
                    context.progress.report(plain_output(shown(&progress)));
                }
                () = sleep_until(deadline) => {
                    if deadline == last {
                        return Err(RequestError::TimedOut(total_limit));
                    }
                    if !self.server.callers.waits_for_person() {
                        return Err(RequestError::TimedOut(limit));
                    }
                    deadline = last.min(Instant::now() + limit);
                }
            }
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
        Touches {
            claims_to_read: self.offered.claims_to_read,
            ..Touches::default()
        }
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move { self.call(arguments, context).await })
    }
}

/// A result that says which server failed and why.
pub(super) fn failed(server: &str, why: &str) -> ToolOutput {
    ToolOutput::error(format!("The MCP server {server:?} failed: {why}"))
}

/// A result that is not an error and has nothing beside its content.
pub(super) fn plain_output(content: Vec<ContentBlock>) -> ToolOutput {
    ToolOutput {
        content,
        details: None,
        is_error: false,
    }
}

/// `3 of 10: fetching`, as far as it is known.
fn shown(progress: &CallProgress) -> Vec<ContentBlock> {
    let CallProgress {
        done,
        total,
        message,
    } = progress;
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
