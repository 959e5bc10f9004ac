//! A subagent's tools: each call is permitted by the session the subagent works for.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_agent::tool::{
    Circumstances, Tool, ToolContext, ToolEffect, ToolFuture, ToolHost, ToolOutput, ToolSpec,
    Touches,
};
use stentor_journal::message::ToolCall;

use crate::tool_call;
use crate::tool_error::ToolError;

/// A tool that asks another session before it runs.
pub(super) struct PermittedTool {
    tool: Arc<dyn Tool>,
    /// Who is asked.
    host: Arc<dyn ToolHost>,
}

impl PermittedTool {
    /// The same tools, each of which asks `host` first.
    pub fn all(tools: Vec<Arc<dyn Tool>>, host: &Arc<dyn ToolHost>) -> Vec<Arc<dyn Tool>> {
        tools
            .into_iter()
            .map(|tool| {
                let host = Arc::clone(host);
                Arc::new(Self { tool, host }) as Arc<dyn Tool>
            })
            .collect()
    }
}

impl Tool for PermittedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        self.tool.touches(arguments, cwd)
    }

    fn effect_of(&self, arguments: &Map<String, Value>) -> ToolEffect {
        self.tool.effect_of(arguments)
    }

    fn is_offered(&self, now: Circumstances) -> bool {
        self.tool.is_offered(now)
    }

    fn runs_together(&self) -> bool {
        self.tool.runs_together()
    }

    fn without_question(&self) -> Option<Arc<dyn Tool>> {
        Some(Arc::clone(&self.tool))
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let spec = ToolSpec {
                effect: self.tool.effect_of(&arguments),
                ..self.tool.spec().clone()
            };
            // The session judges what the subagent judged and what will be opened.
            let touches = Touches::clone(&context.touches);
            let asked = Arc::new(ToolCall {
                id: context.call_id.clone(),
                name: spec.name.clone(),
                arguments: arguments.clone(),
                thought_signature: None,
                intent: None,
            });
            tokio::select! {
                permit = self.host.permit(asked, spec, touches) => permit?,
                () = context.cancel.cancelled() => return Err(ToolError::Aborted),
            }
            let output: ToolOutput = Arc::clone(&self.tool).run(arguments, context).await;
            Ok(output)
        })
    }
}
