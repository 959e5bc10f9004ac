//! What a client that reads strictly accepts (sections 1 and 7), as data.
//!
//! omp's Python client looks at the type of what it reads, and at words where only a few make
//! sense. A frame it cannot read is lost on it; an answer it cannot read is an exception.

use Field::{May, Must};

/// What a value has to be.
pub enum Is {
    Text,
    Flag,
    Number,
    /// A whole number that is not negative.
    Count,
    Whole,
    Object,
    Anything,
    Word(&'static [&'static str]),
    Each(&'static Is),
    With(&'static [Field]),
    /// A message with one of these roles, and what belongs to its role.
    Message(&'static [&'static str]),
    /// A step of a message that is being written.
    Update,
    /// The content of a message: a text, or blocks of these types.
    Content(&'static [&'static str]),
    /// A frame in a frame: one of a subagent.
    Event,
}

/// A field that must be there, or may.
pub enum Field {
    Must(&'static str, Is),
    May(&'static str, Is),
}

/// The roles of 7.4 without those that are not to be sent.
pub const ROLES: [&str; 11] = [
    "user",
    "developer",
    "assistant",
    "toolResult",
    "bashExecution",
    "pythonExecution",
    "custom",
    "hookMessage",
    "branchSummary",
    "compactionSummary",
    "fileMention",
];
const EFFORTS: Is = Is::Word(&["minimal", "low", "medium", "high", "xhigh", "max"]);
const LEVEL: Is = Is::Word(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
const QUEUE_MODE: Is = Is::Word(&["all", "one-at-a-time"]);
const ACTION: Is = Is::Word(&["context-full", "handoff", "shake", "snapcompact", "remote"]);
const TODO_STATUS: Is = Is::Word(&[
    "pending",
    "in_progress",
    "completed",
    "abandoned",
    "blocked",
]);
const AGENT_SOURCE: Is = Is::Word(&["bundled", "user", "project"]);
const MESSAGE: Is = Is::Message(&ROLES);
const ASSISTANT: Is = Is::Message(&["assistant"]);
const MESSAGES: Is = Is::Each(&MESSAGE);
const TEXTS: Is = Is::Each(&Is::Text);
const OUTPUT: Is = Is::With(&[
    Must("content", Is::Content(&["text", "image"])),
    May("details", Is::Anything),
]);
const COST: Is = Is::With(&[
    Must("input", Is::Number),
    Must("output", Is::Number),
    Must("cacheRead", Is::Number),
    Must("cacheWrite", Is::Number),
]);
const USAGE: Is = Is::With(&[
    Must("input", Is::Count),
    Must("output", Is::Count),
    Must("cacheRead", Is::Count),
    Must("cacheWrite", Is::Count),
    Must("totalTokens", Is::Count),
    Must("cost", COST),
]);
const COMPACTION: Is = Is::With(&[
    Must("summary", Is::Text),
    May("shortSummary", Is::Text),
    Must("firstKeptEntryId", Is::Text),
    Must("tokensBefore", Is::Count),
    May("details", Is::Anything),
    May("preserveData", Is::Object),
]);
pub const MODEL: Is = Is::With(&[
    Must("id", Is::Text),
    Must("name", Is::Text),
    Must("api", Is::Text),
    Must("provider", Is::Text),
    Must("baseUrl", Is::Text),
    Must("reasoning", Is::Flag),
    Must("input", TEXTS),
    Must("cost", COST),
    Must("contextWindow", Is::Count),
    Must("maxTokens", Is::Count),
    May("headers", Is::Object),
    May("compat", Is::Object),
    May(
        "thinking",
        Is::With(&[
            Must("mode", Is::Text),
            Must("efforts", Is::Each(&EFFORTS)),
            May("defaultLevel", EFFORTS),
        ]),
    ),
]);
const TODO: Is = Is::With(&[
    May("id", Is::Text),
    Must("content", Is::Text),
    Must("status", TODO_STATUS),
]);
const PHASES: Is = Is::Each(&Is::With(&[
    Must("name", Is::Text),
    Must("tasks", Is::Each(&TODO)),
]));
const COMMANDS: Is = Is::Each(&Is::With(&[
    Must("name", Is::Text),
    May("description", Is::Text),
    May("aliases", TEXTS),
    May("input", Is::With(&[May("hint", Is::Text)])),
    Must(
        "source",
        Is::Word(&[
            "builtin",
            "skill",
            "extension",
            "custom",
            "mcp_prompt",
            "file",
        ]),
    ),
]));

/// What is sent for other clients; this one hands it on unread.
const UNREAD: [&str; 9] = [
    "agent_settled",
    "bash_execution_update",
    "command_output",
    "compaction_end",
    "compaction_start",
    "config_update",
    "entry_appended",
    "session_info_changed",
    "session_info_update",
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
        "agent_start" | "turn_start" | "session_settled" => &[],
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
            May("result", COMPACTION),
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

/// The data of the answer to a command, where the client reads some of it.
pub fn data(command: &str) -> &'static [Field] {
    match command {
        "get_state" => STATE,
        "set_model" => match &MODEL {
            Is::With(fields) => fields,
            _ => &[],
        },
        "cycle_model" => &[
            Must("model", MODEL),
            May("thinkingLevel", LEVEL),
            Must("isScoped", Is::Flag),
        ],
        "get_available_models" => &[Must("models", Is::Each(&MODEL))],
        "cycle_thinking_level" => &[Must("level", LEVEL)],
        "get_available_thinking_levels" => &[Must("levels", Is::Each(&LEVEL))],
        "get_messages" => &[Must("messages", MESSAGES)],
        "get_messages_page" => &[
            Must("messages", MESSAGES),
            Must("totalMessages", Is::Count),
            May("nextCursor", Is::Text),
        ],
        "compact" => match &COMPACTION {
            Is::With(fields) => fields,
            _ => &[],
        },
        "bash" => &[
            Must("output", Is::Text),
            May("exitCode", Is::Whole),
            Must("cancelled", Is::Flag),
            Must("truncated", Is::Flag),
            Must("totalLines", Is::Count),
            Must("totalBytes", Is::Count),
            Must("outputLines", Is::Count),
            Must("outputBytes", Is::Count),
        ],
        "get_session_stats" => &[
            May("sessionFile", Is::Text),
            Must("sessionId", Is::Text),
            Must("userMessages", Is::Count),
            Must("assistantMessages", Is::Count),
            Must("toolCalls", Is::Count),
            Must("toolResults", Is::Count),
            Must("totalMessages", Is::Count),
            Must("tokens", Is::Object),
            Must("cost", Is::Number),
            Must("premiumRequests", Is::Count),
        ],
        "set_todos" => &[Must("todoPhases", PHASES)],
        "get_available_commands" => &[Must("commands", COMMANDS)],
        "get_entries" => &[
            Must("entries", Is::Each(&Is::Object)),
            Must("leafId", Is::Text),
        ],
        "get_tree" => &[
            Must("tree", Is::Each(&Is::Object)),
            Must("leafId", Is::Text),
        ],
        "get_subagents" => &[Must(
            "subagents",
            Is::Each(&Is::With(&[
                Must("id", Is::Text),
                Must("index", Is::Count),
                Must("agent", Is::Text),
                Must("agentSource", AGENT_SOURCE),
                Must(
                    "status",
                    Is::Word(&["pending", "running", "completed", "failed", "aborted"]),
                ),
                Must("lastUpdate", Is::Count),
                May("progress", Is::Object),
            ])),
        )],
        "get_subagent_messages" => &[
            Must("sessionFile", Is::Text),
            Must("fromByte", Is::Count),
            Must("nextByte", Is::Count),
            Must("reset", Is::Flag),
            Must("entries", Is::Each(&Is::Object)),
            Must("messages", MESSAGES),
        ],
        "get_login_providers" => &[Must(
            "providers",
            Is::Each(&Is::With(&[
                Must("id", Is::Text),
                Must("name", Is::Text),
                Must("available", Is::Flag),
                Must("authenticated", Is::Flag),
            ])),
        )],
        "branch" | "fork" => &[Must("text", Is::Text), Must("cancelled", Is::Flag)],
        "new_session" | "switch_session" | "clone" => &[Must("cancelled", Is::Flag)],
        _ => &[],
    }
}

const STATE: &[Field] = &[
    May("model", MODEL),
    May("thinkingLevel", LEVEL),
    Must("isStreaming", Is::Flag),
    Must("isCompacting", Is::Flag),
    Must("steeringMode", QUEUE_MODE),
    Must("followUpMode", QUEUE_MODE),
    Must("interruptMode", Is::Word(&["immediate", "wait"])),
    May("sessionFile", Is::Text),
    Must("sessionId", Is::Text),
    May("sessionName", Is::Text),
    Must("autoCompactionEnabled", Is::Flag),
    Must("messageCount", Is::Count),
    Must("queuedMessageCount", Is::Count),
    Must("pendingMessageCount", Is::Count),
    Must("isSettled", Is::Flag),
    Must(
        "queuedMessages",
        Is::With(&[Must("steering", TEXTS), Must("followUp", TEXTS)]),
    ),
    Must("todoPhases", PHASES),
    Must("systemPrompt", TEXTS),
    Must(
        "dumpTools",
        Is::Each(&Is::With(&[
            Must("name", Is::Text),
            Must("description", Is::Text),
            Must("parameters", Is::Object),
        ])),
    ),
    May("tokensPerSecond", Is::Number),
    May(
        "contextUsage",
        Is::With(&[
            Must("tokens", Is::Count),
            Must("contextWindow", Is::Count),
            Must("percent", Is::Number),
        ]),
    ),
];

/// The fields of a message beside its role (7.4).
pub fn message(role: &str) -> &'static [Field] {
    const SHOWN: Is = Is::Content(&["text", "image"]);
    match role {
        "user" | "developer" => &[Must("content", SHOWN), Must("timestamp", Is::Count)],
        "assistant" => &[
            Must(
                "content",
                Is::Content(&["text", "thinking", "redactedThinking", "toolCall"]),
            ),
            Must("api", Is::Text),
            Must("provider", Is::Text),
            Must("model", Is::Text),
            Must("usage", USAGE),
            Must(
                "stopReason",
                Is::Word(&["stop", "length", "toolUse", "error", "aborted"]),
            ),
            May("errorMessage", Is::Text),
            Must("timestamp", Is::Count),
        ],
        "toolResult" => &[
            Must("toolCallId", Is::Text),
            Must("toolName", Is::Text),
            Must("content", SHOWN),
            Must("isError", Is::Flag),
            Must("timestamp", Is::Count),
        ],
        "bashExecution" => &[
            Must("command", Is::Text),
            Must("output", Is::Text),
            May("exitCode", Is::Whole),
            Must("cancelled", Is::Flag),
            Must("truncated", Is::Flag),
            Must("timestamp", Is::Count),
        ],
        "custom" | "hookMessage" => &[
            Must("customType", Is::Text),
            Must("content", SHOWN),
            Must("display", Is::Flag),
            Must("timestamp", Is::Count),
        ],
        "branchSummary" => &[
            Must("summary", Is::Text),
            Must("fromId", Is::Text),
            Must("timestamp", Is::Count),
        ],
        "compactionSummary" => &[
            Must("summary", Is::Text),
            Must("tokensBefore", Is::Count),
            Must("timestamp", Is::Count),
        ],
        _ => &[],
    }
}

/// The fields of a step of a message that is being written (8.1); nothing for one there is not.
pub fn update(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "text_start" | "thinking_start" | "toolcall_start" => {
            &[Must("contentIndex", Is::Count), Must("partial", ASSISTANT)]
        }
        "text_delta" | "thinking_delta" | "toolcall_delta" => &[
            Must("contentIndex", Is::Count),
            Must("delta", Is::Text),
            Must("partial", ASSISTANT),
        ],
        "text_end" | "thinking_end" => &[
            Must("contentIndex", Is::Count),
            Must("content", Is::Text),
            Must("partial", ASSISTANT),
        ],
        "toolcall_end" => &[
            Must("contentIndex", Is::Count),
            Must("toolCall", Is::With(TOOL_CALL)),
            Must("partial", ASSISTANT),
        ],
        _ => return None,
    })
}

const TOOL_CALL: &[Field] = &[
    Must("id", Is::Text),
    Must("name", Is::Text),
    Must("arguments", Is::Object),
];

/// The fields of a block of a message (7.3).
pub fn block(kind: &str) -> &'static [Field] {
    match kind {
        "text" => &[Must("text", Is::Text)],
        "thinking" => &[Must("thinking", Is::Text)],
        "redactedThinking" => &[Must("data", Is::Text)],
        "toolCall" => TOOL_CALL,
        "image" => &[Must("data", Is::Text), Must("mimeType", Is::Text)],
        _ => &[],
    }
}
