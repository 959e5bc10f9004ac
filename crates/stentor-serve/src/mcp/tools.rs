//! What a client can call: the names, and what each takes.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::{LISTED, MAX_LISTED, MAX_READ, READ};

/// A call whose arguments are read.
#[derive(Debug)]
pub(super) enum McpToolCall {
    Prompt(PromptArguments),
    Steer(SteerArguments),
    Abort(SessionArguments),
    Status(SessionArguments),
    Sessions(SessionsArguments),
    ReadSession(ReadArguments),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptArguments {
    pub prompt: String,
    pub session_id: Option<String>,
    pub cwd: Option<PathBuf>,
    #[serde(default = "yes")]
    pub wait: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SteerArguments {
    pub session_id: String,
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionArguments {
    pub session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsArguments {
    #[serde(default = "listed_usually")]
    pub limit: usize,
    #[serde(default)]
    pub subfolders: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArguments {
    pub session_id: String,
    #[serde(default = "read_usually")]
    pub last: usize,
}

fn yes() -> bool {
    true
}

fn listed_usually() -> usize {
    LISTED
}

fn read_usually() -> usize {
    READ
}

/// Why a call is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCall {
    #[error("there is no tool {0:?}")]
    Unknown(String),
    #[error("the arguments of {tool}: {why}")]
    Arguments {
        tool: String,
        why: serde_json::Error,
    },
}

impl McpToolCall {
    pub fn read(tool: String, arguments: Value) -> Result<Self, NoCall> {
        let read = match tool.as_str() {
            "prompt" => PromptArguments::deserialize(arguments).map(Self::Prompt),
            "steer" => SteerArguments::deserialize(arguments).map(Self::Steer),
            "abort" => SessionArguments::deserialize(arguments).map(Self::Abort),
            "status" => SessionArguments::deserialize(arguments).map(Self::Status),
            "sessions" => SessionsArguments::deserialize(arguments).map(Self::Sessions),
            "read_session" => ReadArguments::deserialize(arguments).map(Self::ReadSession),
            _ => return Err(NoCall::Unknown(tool)),
        };
        read.map_err(|why| NoCall::Arguments { tool, why })
    }
}

/// The tools as a client lists them.
pub(super) fn listed() -> Value {
    let session_id = json!({ "type": "string", "description": "The id of the session" });
    let one_session = arguments(json!({ "session_id": session_id }), &["session_id"]);
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    json!([
        {
            "name": "prompt",
            "title": "Give Stentor a task",
            "description": "Give the coding agent a task, in a new session or in one that exists, and \
                            wait for its answer. The agent works with its own tools and may take \
                            minutes. With wait = false the id of the session is returned at once.",
            "inputSchema": arguments_of_prompt(),
            "annotations": { "readOnlyHint": false, "destructiveHint": true },
        },
        {
            "name": "steer",
            "title": "Steer a running task",
            "description": "Add a message to a task that runs. The agent reads it between two steps.",
            "inputSchema": arguments(
                json!({ "session_id": session_id, "message": { "type": "string" } }),
                &["session_id", "message"],
            ),
            "annotations": { "readOnlyHint": false, "destructiveHint": false },
        },
        {
            "name": "abort",
            "title": "Stop a task",
            "description": "Stop what a session does and return when it has stopped.",
            "inputSchema": one_session,
            "annotations": { "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true },
        },
        {
            "name": "status",
            "title": "Look at a session",
            "description": "Whether a session runs, its model and folder, what it consumed, and how its \
                            last task ended.",
            "inputSchema": one_session,
            "annotations": reads,
        },
        {
            "name": "sessions",
            "title": "List sessions",
            "description": "The stored sessions, newest first.",
            "inputSchema": arguments(
                json!({
                    "limit": number("How many sessions", MAX_LISTED, LISTED),
                    "subfolders": flag("Those of the folders below, too", false),
                }),
                &[],
            ),
            "annotations": reads,
        },
        {
            "name": "read_session",
            "title": "Read a session",
            "description": "The last messages of a session: what was asked, answered and called.",
            "inputSchema": arguments(
                json!({
                    "session_id": session_id,
                    "last": number("How many messages", MAX_READ, READ),
                }),
                &["session_id"],
            ),
            "annotations": reads,
        },
    ])
}

fn arguments_of_prompt() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    arguments(
        json!({
            "prompt": text("The task"),
            "session_id": text("The session to continue; omit it to start a new one"),
            "cwd": text(
                "The folder of a new session, absolute: the one the server was started in, which it \
                 is if absent, or one below it",
            ),
            "wait": flag("Whether to wait for the answer", true),
        }),
        &["prompt"],
    )
}

fn arguments(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn number(description: &str, most: usize, usual: usize) -> Value {
    json!({
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": usual,
        "description": description,
    })
}

fn flag(description: &str, usual: bool) -> Value {
    json!({ "type": "boolean", "default": usual, "description": description })
}
