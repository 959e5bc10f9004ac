//! A tool that an extension brings.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_wire::extension::{ToolRunParams, ToolRunResult, method};

use super::content;
use super::handle::Extension;

/// A tool that an extension brings.
pub(super) struct ExtensionTool {
    pub extension: Arc<Extension>,
    pub spec: ToolSpec,
}

impl Tool for ExtensionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// What it touches is not known; the policy goes by the effect it declared. That it changes
    /// nothing is only a claim.
    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches {
            claims_to_read: matches!(self.spec.effect, ToolEffect::Nothing | ToolEffect::Reads),
            ..Touches::default()
        }
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            tokio::select! {
                output = self.call(arguments, &context) => output,
                () = context.cancel.cancelled() => ToolOutput::error("Operation aborted"),
            }
        })
    }
}

impl ExtensionTool {
    async fn call(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let name = self.extension.name();
        let Some(live) = self.extension.live() else {
            return ToolOutput::error(format!("The extension `{name}` is not running."));
        };
        let params = ToolRunParams {
            call_id: context.call_id.clone(),
            name: self.spec.name.clone(),
            arguments,
            cwd: context.cwd.display().to_string(),
        };
        let connection = &live.connection;
        let _reports = connection.running(&context.call_id, context.progress.clone());
        // No time limit: only who asked for the work knows how long it may take.
        match connection
            .request::<ToolRunResult>(method::TOOL_RUN, &params, None)
            .await
        {
            Ok(result) => content::output(result),
            Err(fault) => ToolOutput::error(format!("The extension `{name}` failed: {fault}")),
        }
    }
}
