//! What a client reads besides answers: events, questions, calls of its own tools.
//!
//! `M` is a message, `O` the output of a tool, in the shapes of the session format. The frames of
//! a message that is being written are in [`super::snapshot`].

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::subagent::{SubagentLifecycle, SubagentProgress};

/// A frame. Keys without a value are absent, never null, except where a comment says so.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Frame<'a, M, O> {
    /// The first frame (sections 1 and 20).
    Ready {
        protocol_version: u8,
        supported_protocol_versions: [u8; 2],
        max_frame_bytes: usize,
        max_reassembled_frame_bytes: usize,
    },

    AgentStart,
    AgentEnd {
        /// Those added by this run.
        messages: &'a [M],
        will_retry: bool,
        is_terminal: bool,
        yielded: bool,
        message_count: usize,
    },
    TurnStart,
    TurnEnd {
        message: &'a M,
        tool_results: &'a [M],
    },
    MessageStart {
        message_id: &'a str,
        /// \[ours\] What `get_entries` knows the message by.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry_id: Option<&'a str>,
        message: &'a M,
    },
    MessageEnd {
        message_id: &'a str,
        message: &'a M,
    },
    ToolExecutionStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Map<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        intent: Option<&'a str>,
    },
    ToolExecutionUpdate {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Map<String, Value>,
        partial_result: &'a O,
    },
    ToolExecutionEnd {
        tool_call_id: &'a str,
        tool_name: &'a str,
        result: &'a O,
        is_error: bool,
        duration_ms: u64,
    },

    /// The waiting messages, complete lists.
    QueueUpdate {
        steering: &'a [String],
        follow_up: &'a [String],
    },
    /// omp's newer word for another model; which one, a client asks for.
    ModelChanged,
    /// pi reads `level`, omp `thinkingLevel`.
    ThinkingLevelChanged {
        level: &'a str,
        thinking_level: &'a str,
    },
    /// pi's word for a new name.
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    /// omp's word for a new name.
    SessionInfoUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        session_id: &'a str,
    },
    /// omp's words for a compaction that began by itself.
    AutoCompactionStart {
        reason: &'a str,
        action: &'static str,
    },
    AutoCompactionEnd {
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult<'a>>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    /// pi's words for any compaction.
    CompactionStart {
        reason: &'a str,
    },
    CompactionEnd {
        reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult<'a>>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'a str,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'a str>,
    },
    /// pi's words for a summary that is asked for again.
    SummarizationRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'a str,
    },
    SummarizationRetryAttemptStart {
        source: &'static str,
        reason: &'a str,
    },
    SummarizationRetryFinished,
    RetryFallbackApplied {
        from: &'a str,
        to: &'a str,
        role: &'a str,
        reason: &'a str,
    },
    RetryFallbackSucceeded {
        model: &'a str,
        role: &'a str,
    },
    TtsrTriggered {
        rules: Vec<Rule<'a>>,
    },
    TodoReminder {
        todos: Vec<ReminderItem<'a>>,
        attempt: u32,
        max_attempts: u32,
    },
    TodoAutoClear,
    /// An entry that an extension had appended to the session, or that changes the context.
    EntryAppended {
        entry: &'a RawValue,
    },
    /// Output of a `bash` command, with the id of the command.
    BashExecutionUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        delta: &'a str,
    },
    Notice {
        level: &'a str,
        message: &'a str,
    },
    ExtensionError {
        extension_path: &'a str,
        event: &'a str,
        error: &'a str,
    },

    /// How a prompt ended; once for each that was accepted (section 19).
    PromptResult {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        agent_invoked: bool,
        status: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<PromptError<'a>>,
        session_settled: bool,
    },
    SessionSettled,
    AgentSettled {
        aborted: bool,
    },

    /// What a slash command said that no model was asked for (section 19).
    CommandOutput {
        text: &'a str,
    },
    AvailableCommandsUpdate {
        commands: &'a [AvailableCommand],
    },
    SubagentLifecycle {
        payload: SubagentLifecycle<'a>,
    },
    SubagentProgress {
        payload: SubagentProgress<'a>,
    },

    ExtensionUiRequest(UiRequest<'a>),

    HostToolCall {
        id: &'a str,
        tool_call_id: &'a str,
        tool_name: &'a str,
        arguments: &'a Map<String, Value>,
    },
    HostToolCancel {
        id: &'a str,
        target_id: &'a str,
    },
    HostUriRequest {
        id: &'a str,
        operation: &'a str,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
    },
    HostUriCancel {
        id: &'a str,
        target_id: &'a str,
    },

    /// A frame that could not be sent (section 20).
    RpcFrameError {
        #[serde(skip_serializing_if = "Option::is_none")]
        original_type: Option<&'a str>,
        error: &'a str,
    },
}

/// What a compaction did (section 7.8).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult<'a> {
    pub summary: &'a str,
    pub short_summary: &'a str,
    pub first_kept_entry_id: &'a str,
    pub tokens_before: u64,
    pub estimated_tokens_after: u64,
    pub details: CompactionDetails<'a>,
}

/// The files a compacted part dealt with.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionDetails<'a> {
    pub read_files: &'a [String],
    pub modified_files: &'a [String],
}

/// A rule that watches what a model writes.
#[derive(Debug, Serialize)]
pub struct Rule<'a> {
    pub name: &'a str,
    pub path: &'a str,
    pub content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    pub condition: &'a [String],
    #[serde(rename = "_source")]
    pub source: RuleSource<'a>,
}

/// Where a rule comes from.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleSource<'a> {
    pub provider: &'a str,
    pub provider_name: &'a str,
    pub path: &'a str,
    pub level: &'a str,
}

/// A thing to do in a reminder.
#[derive(Debug, Serialize)]
pub struct ReminderItem<'a> {
    pub id: String,
    pub content: &'a str,
    pub status: &'a str,
}

/// Why a prompt failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptError<'a> {
    pub message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    pub retryable: bool,
}

/// A slash command as omp lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvailableCommand {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
    pub source: &'static str,
}

/// What may follow the name of a slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A question to a person, or something shown to one (section 15).
#[derive(Debug, Serialize)]
pub struct UiRequest<'a> {
    pub id: &'a str,
    #[serde(flatten)]
    pub method: UiMethod<'a>,
}

/// What is asked or shown.
#[derive(Debug, Serialize)]
#[serde(
    tag = "method",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum UiMethod<'a> {
    Select {
        title: &'a str,
        options: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        option_details: Option<Vec<OptionDetail<'a>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Confirm {
        title: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Input {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Editor {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'a str>,
    },
    Notify {
        message: &'a str,
        notify_type: &'a str,
    },
    SetStatus {
        status_key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status_text: Option<&'a str>,
    },
    SetWidget {
        widget_key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_lines: Option<&'a [String]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_placement: Option<&'static str>,
    },
    SetTitle {
        title: &'a str,
    },
    #[serde(rename = "set_editor_text")]
    SetEditorText {
        text: &'a str,
    },
    /// The dialog is void; the client closes it.
    Cancel {
        target_id: &'a str,
    },
    #[serde(rename = "open_url")]
    OpenUrl {
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    },
}

/// What a person may read about an option.
#[derive(Debug, Serialize)]
pub struct OptionDetail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frame: Frame<'_, Value, Value>) -> String {
        serde_json::to_string(&frame).unwrap()
    }

    #[test]
    fn frames_have_the_names_of_the_reference_and_no_null() {
        assert_eq!(written(Frame::AgentStart), r#"{"type":"agent_start"}"#);
        assert_eq!(
            written(Frame::AutoRetryEnd {
                success: true,
                attempt: 1,
                final_error: None
            }),
            r#"{"type":"auto_retry_end","success":true,"attempt":1}"#
        );
        assert_eq!(
            written(Frame::SessionSettled),
            r#"{"type":"session_settled"}"#
        );
    }

    #[test]
    fn ui_requests_have_their_method_beside_the_id() {
        for (method, expected) in [
            (
                UiMethod::Confirm {
                    title: "Confirm",
                    message: "Continue?",
                    timeout: Some(30_000),
                },
                r#"{"type":"extension_ui_request","id":"1","method":"confirm","title":"Confirm","message":"Continue?","timeout":30000}"#,
            ),
            (
                UiMethod::SetWidget {
                    widget_key: "demo",
                    widget_lines: None,
                    widget_placement: None,
                },
                r#"{"type":"extension_ui_request","id":"1","method":"setWidget","widgetKey":"demo"}"#,
            ),
            (
                UiMethod::SetEditorText { text: "prefill" },
                r#"{"type":"extension_ui_request","id":"1","method":"set_editor_text","text":"prefill"}"#,
            ),
            (
                UiMethod::Cancel { target_id: "2" },
                r#"{"type":"extension_ui_request","id":"1","method":"cancel","targetId":"2"}"#,
            ),
        ] {
            let frame = Frame::ExtensionUiRequest(UiRequest { id: "1", method });
            assert_eq!(written(frame), expected);
        }
    }
}
