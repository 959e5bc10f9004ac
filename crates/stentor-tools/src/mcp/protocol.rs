//! The messages of MCP, as far as a client needs them.
//!
//! They are read leniently: what is missing or unknown costs that and nothing else.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use stentor_agent::tool_servers::{SamplingConsent, SamplingSettings};

use crate::json_rpc_child::CancelNotice;
use stentor_wire::jsonrpc::Id;

/// The revision of the protocol that is offered to servers; they may answer with an older one.
pub(super) const VERSION: &str = "2025-11-25";

/// How a server learns that nobody waits for its answer any more.
pub(super) const CANCEL: CancelNotice = CancelNotice {
    method: "notifications/cancelled",
    id_member: "requestId",
};

/// How we introduce ourselves to a server: what it may ask of us.
pub(super) fn greeting(sampling: &SamplingSettings) -> Value {
    let mut capabilities = json!({
        "elicitation": { "form": {}, "url": {} },
        // The folder of a session never changes.
        "roots": {},
    });
    if sampling.consent != SamplingConsent::Deny
        && let Some(capabilities) = capabilities.as_object_mut()
    {
        capabilities.insert("sampling".to_owned(), json!({}));
    }
    json!({
        "protocolVersion": VERSION,
        "capabilities": capabilities,
        "clientInfo": { "name": "stentor", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The methods of requests, and of notifications in either direction.
pub(super) mod method {
    pub(in crate::mcp) const INITIALIZE: &str = "initialize";
    pub(in crate::mcp) const INITIALIZED: &str = "notifications/initialized";
    pub(in crate::mcp) const PING: &str = "ping";
    pub(in crate::mcp) const CALL_TOOL: &str = "tools/call";
    pub(in crate::mcp) const GET_PROMPT: &str = "prompts/get";
    pub(in crate::mcp) const READ_RESOURCE: &str = "resources/read";
    pub(in crate::mcp) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    pub(in crate::mcp) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub(in crate::mcp) const PROGRESS: &str = "notifications/progress";
    pub(in crate::mcp) const LOG: &str = "notifications/message";
    /// What servers ask of us.
    pub(in crate::mcp) const ROOTS: &str = "roots/list";
    pub(in crate::mcp) const ELICIT: &str = "elicitation/create";
    pub(in crate::mcp) const SAMPLE: &str = "sampling/createMessage";
}

/// A list that a server gives in pages.
pub(super) struct List {
    /// For people.
    pub what: &'static str,
    pub method: &'static str,
    /// The member of a page that has the items.
    pub member: &'static str,
}

pub(super) const TOOLS: List = List {
    what: "tools",
    method: "tools/list",
    member: "tools",
};
pub(super) const PROMPTS: List = List {
    what: "prompts",
    method: "prompts/list",
    member: "prompts",
};
pub(super) const RESOURCES: List = List {
    what: "resources",
    method: "resources/list",
    member: "resources",
};
pub(super) const RESOURCE_TEMPLATES: List = List {
    what: "resource templates",
    method: "resources/templates/list",
    member: "resourceTemplates",
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeResult {
    pub protocol_version: String,
    #[serde(default)]
    pub capabilities: Capabilities,
    pub server_info: Option<ServerInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Capabilities {
    pub tools: Option<IgnoredAny>,
    pub prompts: Option<IgnoredAny>,
    pub resources: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ServerInfo {
    pub name: String,
    #[serde(default)]
    pub version: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Map<String, Value>,
    /// What the server says of it. Any shape is accepted: nothing depends on it that must be right.
    #[serde(default)]
    annotations: Value,
}

impl Tool {
    /// Whether the server says that it changes nothing.
    pub fn claims_to_read(&self) -> bool {
        self.annotations.get("readOnlyHint") == Some(&Value::Bool(true))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Prompt {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    #[serde(default)]
    pub arguments: Option<Vec<PromptArgument>>,
}

/// Something a prompt wants to know.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PromptArgument {
    pub name: String,
    #[serde(default)]
    pub required: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct GetPromptResult {
    pub messages: Vec<PromptMessage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PromptMessage {
    pub role: Role,
    pub content: Block,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    /// The address, or the template of addresses.
    #[serde(alias = "uriTemplate")]
    pub uri: String,
    pub name: String,
    pub mime_type: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReadResourceResult {
    pub contents: Vec<ResourceContents>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceContents {
    #[serde(default)]
    pub uri: String,
    pub mime_type: Option<String>,
    pub text: Option<String>,
    pub blob: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallToolResult {
    #[serde(default)]
    pub content: Vec<Block>,
    pub structured_content: Option<Value>,
    pub is_error: Option<bool>,
}

/// A piece of content.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: Option<String>,
    },
    Audio {
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    Resource {
        resource: ResourceContents,
    },
    ResourceLink {
        name: String,
        uri: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgressParams {
    pub progress_token: Value,
    #[serde(flatten)]
    pub progress: CallProgress,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct CallProgress {
    #[serde(rename = "progress")]
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The request that nobody waits for any more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelledParams {
    pub request_id: Id,
}

/// What a server writes into our log.
#[derive(Debug, Deserialize)]
pub(super) struct LogParams {
    pub level: String,
    #[serde(default)]
    pub data: Value,
}
