//! The frames a strict client reads (section 8 and the newer ones).

use super::shapes::Field::{May, Must};
use super::shapes::{
    ACTION, AGENT_SOURCE, ASSISTANT, COMMANDS, COMPACTION, Field, Is, LEVEL, MESSAGE, MESSAGES,
    OUTPUT, TEXTS, TODO, USAGE,
};

/// What is sent for other clients; this one hands it on unread.
const UNREAD: [&str; 12] = [
    "agent_settled",
    "bash_execution_update",
    "command_output",
    "compaction_end",
    "compaction_start",
    "config_update",
    "entry_appended",
    "session_info_changed",
    "session_info_update",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
    "summarization_retry_scheduled",
];

/// The fields of a frame of that type; nothing for a type the client has never heard of.
pub fn frame(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "ready" => &[
            Must("protocolVersion", Is::Count),
            Must("supportedProtocolVersions", Is::Each(&Is::Count)),
            Must("maxFrameBytes", Is::Count),
            Must("maxReassembledFrameBytes", Is::Count),
        ],
        "agent_start" | "turn_start" | "session_settled" | "todo_auto_clear" | "model_changed" => {
            &[]
        }
        "agent_end" => &[
            Must("messages", MESSAGES),
            May("messageCount", Is::Count),
            May("isTerminal", Is::Flag),
            May("yielded", Is::Flag),
        ],
        "turn_end" => &[
            Must("message", ASSISTANT),
            Must("toolResults", Is::Each(&Is::Message(&["toolResult"]))),
        ],
        "message_start" | "message_end" => &[Must("message", MESSAGE), May("messageId", Is::Text)],
        "message_update" => &[
            Must("message", ASSISTANT),
            Must("assistantMessageEvent", Is::Update),
            May("messageId", Is::Text),
            Must("usage", USAGE),
        ],
        "tool_execution_start" => &[
            Must("toolCallId", Is::Text),
            Must("toolName", Is::Text),
            Must("args", Is::Object),
            May("intent", Is::Text),
        ],
        "tool_execution_update" => &[
            Must("toolCallId", Is::Text),
            Must("toolName", Is::Text),
            Must("args", Is::Object),
            Must("partialResult", OUTPUT),
        ],
        "tool_execution_end" => &[
            Must("toolCallId", Is::Text),
            Must("toolName", Is::Text),
            Must("result", OUTPUT),
            Must("isError", Is::Flag),
        ],
        "auto_compaction_start" => &[
            Must(
                "reason",
                Is::Word(&["threshold", "overflow", "idle", "incomplete"]),
            ),
            Must("action", ACTION),
        ],
        "auto_compaction_end" => &[
            Must("action", ACTION),
            May("result", Is::With(COMPACTION)),
            Must("aborted", Is::Flag),
            Must("willRetry", Is::Flag),
            May("errorMessage", Is::Text),
        ],
        "auto_retry_start" => &[
            Must("attempt", Is::Count),
            Must("maxAttempts", Is::Count),
            Must("delayMs", Is::Count),
            Must("errorMessage", Is::Text),
        ],
        "auto_retry_end" => &[
            Must("success", Is::Flag),
            Must("attempt", Is::Count),
            May("finalError", Is::Text),
        ],
        "retry_fallback_applied" => &[
            Must("from", Is::Text),
            Must("to", Is::Text),
            Must("role", Is::Text),
        ],
        "retry_fallback_succeeded" => &[Must("model", Is::Text), Must("role", Is::Text)],
        "notice" => &[
            Must("level", Is::Word(&["info", "warning", "error"])),
            Must("message", Is::Text),
            May("source", Is::Text),
        ],
        "ttsr_triggered" => &[Must("rules", Is::Each(&Is::Object))],
        "todo_reminder" => &[
            Must("todos", Is::Each(&TODO)),
            Must("attempt", Is::Count),
            Must("maxAttempts", Is::Count),
        ],
        "queue_update" => &[Must("steering", TEXTS), Must("followUp", TEXTS)],
        "thinking_level_changed" => &[Must("level", LEVEL), Must("thinkingLevel", LEVEL)],
        "prompt_result" => &[
            May("id", Is::Text),
            Must("agentInvoked", Is::Flag),
            Must("status", Is::Word(&["completed", "aborted", "error"])),
            May(
                "error",
                Is::With(&[
                    Must("message", Is::Text),
                    Must("retryable", Is::Flag),
                    May("provider", Is::Text),
                    May("model", Is::Text),
                    May("httpStatus", Is::Count),
                ]),
            ),
            Must("sessionSettled", Is::Flag),
        ],
        "extension_ui_request" => &[
            Must("id", Is::Text),
            Must(
                "method",
                Is::Word(&[
                    "select",
                    "confirm",
                    "input",
                    "editor",
                    "cancel",
                    "notify",
                    "setStatus",
                    "setWidget",
                    "setTitle",
                    "set_editor_text",
                    "open_url",
                ]),
            ),
            May("title", Is::Text),
            May("options", TEXTS),
            May("optionDetails", Is::Each(&Is::Object)),
            May("message", Is::Text),
            May("placeholder", Is::Text),
            May("prefill", Is::Text),
            May("timeout", Is::Count),
            May("targetId", Is::Text),
            May("notifyType", Is::Word(&["info", "warning", "error"])),
            May("statusKey", Is::Text),
            May("statusText", Is::Text),
            May("widgetKey", Is::Text),
            May("widgetLines", TEXTS),
            May("widgetPlacement", Is::Word(&["aboveEditor", "belowEditor"])),
            May("text", Is::Text),
            May("url", Is::Text),
            May("launchUrl", Is::Text),
            May("instructions", Is::Text),
        ],
        "extension_error" => &[
            Must("extensionPath", Is::Text),
            Must("event", Is::Text),
            Must("error", Is::Text),
        ],
        "available_commands_update" => &[Must("commands", COMMANDS)],
        "subagent_lifecycle" => &[Must(
            "payload",
            Is::With(&[
                Must("id", Is::Text),
                Must("agent", Is::Text),
                Must("agentSource", AGENT_SOURCE),
                Must(
                    "status",
                    Is::Word(&["started", "completed", "failed", "aborted"]),
                ),
                Must("index", Is::Count),
                May("description", Is::Text),
                May("sessionFile", Is::Text),
                May("parentToolCallId", Is::Text),
            ]),
        )],
        "subagent_progress" => &[Must(
            "payload",
            Is::With(&[
                Must("index", Is::Count),
                Must("agent", Is::Text),
                Must("agentSource", AGENT_SOURCE),
                Must("task", Is::Text),
                Must("progress", Is::Object),
                May("sessionFile", Is::Text),
                May("parentToolCallId", Is::Text),
            ]),
        )],
        "subagent_event" => &[Must(
            "payload",
            Is::With(&[Must("id", Is::Text), Must("event", Is::Event)]),
        )],
        "host_tool_call" => &[
            Must("id", Is::Text),
            Must("toolCallId", Is::Text),
            Must("toolName", Is::Text),
            Must("arguments", Is::Object),
        ],
        "host_tool_cancel" | "host_uri_cancel" => {
            &[Must("id", Is::Text), Must("targetId", Is::Text)]
        }
        "host_uri_request" => &[
            Must("id", Is::Text),
            Must("operation", Is::Word(&["read", "write"])),
            Must("url", Is::Text),
            May("content", Is::Text),
        ],
        // Its data is looked at by the command it answers.
        "response" => &[
            Must("success", Is::Flag),
            May("command", Is::Text),
            May("error", Is::Text),
            May("code", Is::Text),
            May("data", Is::Object),
        ],
        _ if UNREAD.contains(&kind) => &[],
        _ => return None,
    })
}
