//! What the originals have and have not: each generation has fields and frames that others lack,
//! and this program writes those of all of them.

use serde_json::Value;

/// Whose run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Original {
    Omp13,
    Omp18,
    Pi073,
    Pi087,
}

use Original::{Omp13, Omp18, Pi073, Pi087};

const PI: &[Original] = &[Pi073, Pi087];
const OMP: &[Original] = &[Omp13, Omp18];
const NONE: &[Original] = &[];

impl Original {
    /// The original a recording is of, by the name of its file.
    pub fn of(name: &str) -> Self {
        match name.split('_').next().unwrap() {
            "omp-13.19.0" => Omp13,
            "omp-18.3.4" => Omp18,
            "pi-0.73.1" => Pi073,
            "pi-0.87.1" => Pi087,
            other => panic!("{other}"),
        }
    }

    /// Whether it is a pi.
    pub fn is_pi(self) -> bool {
        PI.contains(&self)
    }
}

/// Frames that this program writes and only these originals.
const FRAMES: &[(&str, &[Original])] = &[
    ("ready", OMP),
    ("session_info_update", NONE),
    ("model_changed", &[Omp18]),
    ("entry_appended", &[Pi087]),
    ("queue_update", PI),
    ("compaction_start", PI),
    ("compaction_end", PI),
    ("session_info_changed", PI),
    ("thinking_level_changed", &[Omp18, Pi073, Pi087]),
    ("agent_settled", &[Pi087]),
    ("session_settled", &[Omp18]),
    ("prompt_result", &[Omp18]),
    // Time decides how many of these there are.
    ("tool_execution_update", NONE),
    ("bash_execution_update", NONE),
    // The recordings leave the catalogue out.
    ("available_commands_update", NONE),
];

/// Whether both sides have frames of this kind.
pub fn is_compared(frame: &Value, original: Original) -> bool {
    let kind = frame["type"].as_str().unwrap();
    if frame["message"]["role"] == "system" {
        return false;
    }
    let known = FRAMES.iter().find(|(name, _)| *name == kind);
    known.is_none_or(|(_, who)| who.contains(&original))
}

/// Fields that this program writes: where, which, and the originals that have them too.
const OURS: &[(&str, &[&str], &[Original])] = &[
    (
        "ready",
        &["protocolVersion", "supportedProtocolVersions"],
        &[Omp18],
    ),
    (
        "ready",
        &["maxFrameBytes", "maxReassembledFrameBytes"],
        &[Omp18],
    ),
    ("message_start", &["messageId"], &[Omp18]),
    ("message_update", &["messageId"], &[Omp18]),
    ("message_end", &["messageId"], &[Omp18]),
    ("message:user", &["attribution"], OMP),
    ("message:user", &["steering"], &[Omp18]),
    ("message:assistant", &["duration", "ttft"], OMP),
    ("assistantMessageEvent", &["id", "toolName"], &[Pi087]),
    ("tool_execution_end", &["durationMs"], NONE),
    ("thinking_level_changed", &["level"], PI),
    ("thinking_level_changed", &["thinkingLevel"], &[Omp18]),
    ("agent_end", &["isTerminal", "yielded"], &[Omp18]),
    ("agent_end", &["willRetry"], &[Pi087]),
    ("agent_end", &["messageCount"], NONE),
    ("agent_settled", &["aborted"], NONE),
    ("details", &["patch"], &[Pi087]),
    ("model", &["thinking"], OMP),
    ("thinking", &["efforts"], &[Omp18]),
    ("thinking", &["minLevel", "maxLevel"], &[Omp13]),
    // The disposition.
    ("response:prompt", &["data"], NONE),
    ("response:steer", &["data"], NONE),
    ("response:follow_up", &["data"], NONE),
    ("response:abort_and_prompt", &["data"], NONE),
    (
        "response:get_state",
        &["interruptMode", "queuedMessageCount"],
        OMP,
    ),
    ("response:get_state", &["pendingMessageCount"], PI),
    ("response:get_state", &["queuedMessages"], NONE),
    ("response:get_state", &["todoPhases"], &[Omp18]),
    (
        "response:get_state",
        &["isSettled", "hasPendingAsyncWork"],
        &[Omp18],
    ),
    (
        "response:get_state",
        &["fastModeEnabled", "fastModeActive"],
        &[Omp18],
    ),
    ("response:get_state", &["autoRetryEnabled"], NONE),
    (
        "response:get_session_stats",
        &["contextUsage"],
        &[Omp18, Pi073, Pi087],
    ),
    ("response:get_session_stats", &["premiumRequests"], OMP),
    ("response:cycle_model", &["thinkingLevel"], PI),
    ("response:bash", &["totalLines", "totalBytes"], OMP),
    ("response:bash", &["outputLines", "outputBytes"], OMP),
    ("response:bash", &["fullOutputPath"], PI),
    ("message:bashExecution", &["fullOutputPath"], PI),
    ("response:compact", &["shortSummary"], OMP),
    ("response:compact", &["estimatedTokensAfter"], &[Pi087]),
    ("result", &["shortSummary"], OMP),
    ("result", &["estimatedTokensAfter"], &[Pi087]),
    // What the recordings leave out, and what depends on the tools and on the system prompt.
    (
        "response:get_state",
        &["systemPrompt", "dumpTools", "contextUsage"],
        NONE,
    ),
    ("response:get_state", &["tokensPerSecond"], NONE),
];

/// Fields that this program does not write: where, which, and whose they are.
const THEIRS: &[(&str, &[&str], &[Original])] = &[
    (
        "response:get_state",
        &["systemPrompt", "dumpTools", "contextUsage"],
        &[Omp18],
    ),
    ("response:get_state", &["tokensPerSecond"], &[Omp18]),
    (
        "message:assistant",
        &["completedAt", "contextSnapshot"],
        &[Omp18],
    ),
    ("message:assistant", &["errorId", "errorStatus"], &[Omp18]),
    ("message:assistant", &["rawStopReason"], &[Pi087]),
    ("usage", &["cacheWrite1h"], &[Pi087]),
    ("response:bash", &["workingDir"], &[Omp18]),
    ("model", &["compat", "identity", "isOAuth"], &[Omp18]),
    (
        "model",
        &["requiresGlyphTokenization", "supportsComputerUse"],
        &[Omp18],
    ),
];

/// Whether this program writes a field that the original has not.
pub fn is_ours_alone(place: &str, key: &str, original: Original) -> bool {
    let mut known = OURS.iter();
    known.any(|(at, keys, who)| *at == place && keys.contains(&key) && !who.contains(&original))
        || counts_system_message(place, key, original)
}

/// Whether the original writes a field that this program has not.
pub fn is_theirs_alone(place: &str, key: &str, original: Original) -> bool {
    let mut known = THEIRS.iter();
    known.any(|(at, keys, who)| *at == place && keys.contains(&key) && who.contains(&original))
        || counts_system_message(place, key, original)
}

/// pi 0.87 counts a message of the system, which this program does not tell.
fn counts_system_message(place: &str, key: &str, original: Original) -> bool {
    let counts = [
        ("response:get_state", "messageCount"),
        ("response:get_session_stats", "totalMessages"),
    ];
    original == Pi087 && counts.contains(&(place, key))
}
