//! A tool that the client runs.

use std::path::Path;
use std::sync::{Arc, Weak};

use serde_json::{Map, Value};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_journal::message::{ContentBlock, text_of};
use stentor_wire::omp::command::{HostTool, HostToolOutput};
use stentor_wire::omp::frame::Frame;
use tokio::sync::oneshot;

use super::calls::HostCallWaiter;
use crate::omp::dialect::OmpDialect;
use crate::omp::framing::AgentFrame;

/// A tool that the client runs.
pub(super) struct HostToolRunner {
    spec: ToolSpec,
    dialect: Weak<OmpDialect>,
}

impl HostToolRunner {
    pub fn new(tool: &HostTool, dialect: Weak<OmpDialect>) -> Self {
        let spec = ToolSpec {
            name: tool.name.clone(),
            label: tool.label.clone().unwrap_or_else(|| tool.name.clone()),
            description: tool.description.clone(),
            parameters: Value::Object(tool.parameters.clone()).into(),
            // What it does it does in the client, which can ask its user itself.
            effect: ToolEffect::Nothing,
        };
        Self { spec, dialect }
    }
}

impl Tool for HostToolRunner {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            match self.dialect.upgrade() {
                Some(dialect) => call(&dialect, &self.spec.name, &arguments, context).await,
                None => ToolOutput::error(GONE),
            }
        })
    }
}

const GONE: &str = "The client that runs this tool is gone.";

async fn call(
    dialect: &OmpDialect,
    tool_name: &str,
    arguments: &Map<String, Value>,
    context: ToolContext,
) -> ToolOutput {
    let (done, answer) = oneshot::channel();
    let calls = &dialect.hosting.calls;
    let progress = context.progress.clone();
    let id = match calls.open(HostCallWaiter::Tool { progress, done }) {
        Ok(id) => id,
        Err(why) => return ToolOutput::error(why.to_string()),
    };
    let frame: AgentFrame<'_> = Frame::HostToolCall {
        id: &id,
        tool_call_id: &context.call_id,
        tool_name,
        arguments,
    };
    let asked = async {
        dialect.send_frame("host_tool_call", &frame).await;
        answer.await
    };
    tokio::select! {
        // An answer counts more than an abort that comes with it.
        biased;
        output = asked => output.unwrap_or_else(|_| ToolOutput::error(GONE)),
        () = context.cancel.cancelled() => {
            calls.forget(&id);
            let cancel_id = calls.id();
            let frame: AgentFrame<'_> = Frame::HostToolCancel { id: &cancel_id, target_id: &id };
            dialect.send_frame("host_tool_cancel", &frame).await;
            ToolOutput::error("Command aborted")
        }
    }
}

/// What a client's tool said. The text of a failure is the error.
pub(super) fn output_of(said: HostToolOutput, is_error: Option<bool>) -> ToolOutput {
    let content: Vec<ContentBlock> = said
        .content
        .into_iter()
        .filter_map(|block| serde_json::from_value(block).ok())
        .collect();
    if is_error.or(said.is_error).unwrap_or(false) {
        let text = text_of(&content, "\n");
        let text = if text.is_empty() {
            "The tool failed without a reason.".to_owned()
        } else {
            text
        };
        return ToolOutput::error(text);
    }
    ToolOutput {
        content,
        details: Some(said.details.unwrap_or_else(|| Value::Object(Map::new()))),
        is_error: false,
    }
}
