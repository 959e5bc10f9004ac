//! What a client that reads strictly accepts (sections 1 and 7), as data: the shapes.
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
const ROLES: [&str; 11] = [
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
pub const LEVEL: Is = Is::Word(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
pub const QUEUE_MODE: Is = Is::Word(&["all", "one-at-a-time"]);
pub const ACTION: Is = Is::Word(&["context-full", "handoff", "shake", "snapcompact", "remote"]);
const TODO_STATUS: Is = Is::Word(&[
    "pending",
    "in_progress",
    "completed",
    "abandoned",
    "blocked",
]);
pub const AGENT_SOURCE: Is = Is::Word(&["bundled", "user", "project"]);
pub const MESSAGE: Is = Is::Message(&ROLES);
pub const ASSISTANT: Is = Is::Message(&["assistant"]);
pub const MESSAGES: Is = Is::Each(&MESSAGE);
pub const TEXTS: Is = Is::Each(&Is::Text);
pub const OUTPUT: Is = Is::With(&[
    Must("content", Is::Content(&["text", "image"])),
    May("details", Is::Anything),
]);
const COST: Is = Is::With(&[
    Must("input", Is::Number),
    Must("output", Is::Number),
    Must("cacheRead", Is::Number),
    Must("cacheWrite", Is::Number),
]);
pub const USAGE: Is = Is::With(&[
    Must("input", Is::Count),
    Must("output", Is::Count),
    Must("cacheRead", Is::Count),
    Must("cacheWrite", Is::Count),
    Must("totalTokens", Is::Count),
    Must("cost", COST),
]);
pub const COMPACTION: &[Field] = &[
    Must("summary", Is::Text),
    May("shortSummary", Is::Text),
    Must("firstKeptEntryId", Is::Text),
    Must("tokensBefore", Is::Count),
    May("details", Is::Anything),
    May("preserveData", Is::Object),
];
pub const MODEL: &[Field] = &[
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
];
pub const TODO: Is = Is::With(&[
    May("id", Is::Text),
    Must("content", Is::Text),
    Must("status", TODO_STATUS),
]);
pub const PHASES: Is = Is::Each(&Is::With(&[
    Must("name", Is::Text),
    Must("tasks", Is::Each(&TODO)),
]));
pub const COMMANDS: Is = Is::Each(&Is::With(&[
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
