//! Calls of tools, and shell commands of the client.

use stentor_agent::tool::ToolOutput;
use stentor_journal::message::ToolCall;
use stentor_wire::omp::frame::Frame;

use super::OmpEncoder;

impl OmpEncoder {
    pub(super) fn tool_started(&self, frames: &mut Vec<u8>, call: &ToolCall) {
        let frame = Frame::ToolExecutionStart {
            tool_call_id: &call.id,
            tool_name: &call.name,
            args: &call.arguments,
            intent: call.intent.as_deref(),
        };
        self.event(frames, "tool_execution_start", &frame);
    }

    pub(super) fn tool_progress(
        &self,
        frames: &mut Vec<u8>,
        call: &ToolCall,
        partial: &ToolOutput,
    ) {
        let frame = Frame::ToolExecutionUpdate {
            tool_call_id: &call.id,
            tool_name: &call.name,
            args: &call.arguments,
            partial_result: partial,
        };
        self.event(frames, "tool_execution_update", &frame);
    }

    pub(super) fn tool_ended(
        &self,
        frames: &mut Vec<u8>,
        call: &ToolCall,
        output: &ToolOutput,
        duration_ms: u64,
    ) {
        let frame = Frame::ToolExecutionEnd {
            tool_call_id: &call.id,
            tool_name: &call.name,
            result: output,
            is_error: output.is_error,
            duration_ms,
        };
        self.event(frames, "tool_execution_end", &frame);
    }

    pub(super) fn bash_output(&self, frames: &mut Vec<u8>, id: u64, delta: &str) {
        let id = self.connection.bash.id(id);
        let frame = Frame::BashExecutionUpdate {
            id: id.as_deref(),
            delta,
        };
        self.event(frames, "bash_execution_update", &frame);
    }
}
