//! The data of answers a strict client reads (sections 6, 7 and 19).

use super::shapes::Field::{May, Must};
use super::shapes::{
    AGENT_SOURCE, COMMANDS, COMPACTION, Field, Is, LEVEL, MESSAGES, MODEL, PHASES, QUEUE_MODE,
    TEXTS,
};

/// The data of the answer to a command, where the client reads some of it.
pub fn data(command: &str) -> &'static [Field] {
    match command {
        "get_state" => STATE,
        "set_model" => MODEL,
        "cycle_model" => &[
            Must("model", Is::With(MODEL)),
            May("thinkingLevel", LEVEL),
            Must("isScoped", Is::Flag),
        ],
        "get_available_models" => &[Must("models", Is::Each(&Is::With(MODEL)))],
        "cycle_thinking_level" => &[Must("level", LEVEL)],
        "get_available_thinking_levels" => &[Must("levels", Is::Each(&LEVEL))],
        "get_messages" => &[Must("messages", MESSAGES)],
        "get_messages_page" => &[
            Must("messages", MESSAGES),
            Must("totalMessages", Is::Count),
            May("nextCursor", Is::Text),
        ],
        "compact" => COMPACTION,
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
    May("model", Is::With(MODEL)),
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
