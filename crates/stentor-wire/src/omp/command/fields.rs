//! The fields of commands, one type for each shape.

use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// `prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    pub message: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub images: Vec<Image>,
    #[serde(default, deserialize_with = "optional_word")]
    pub streaming_behavior: Option<StreamingBehavior>,
}

/// What becomes of a prompt that comes while the agent is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    Steer,
    FollowUp,
}

/// `steer`, `follow_up`, `abort_and_prompt`.
#[derive(Debug, Deserialize)]
pub struct MessageCommand {
    pub message: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub images: Vec<Image>,
}

/// A picture in a command, base64 encoded.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub data: String,
    pub mime_type: String,
}

/// `new_session`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    pub parent_session: Option<String>,
}

/// `set_model`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModel {
    pub provider: String,
    pub model_id: String,
}

/// `set_thinking_level`.
#[derive(Debug, Deserialize)]
pub struct Level {
    pub level: String,
}

/// `set_steering_mode`, `set_follow_up_mode`, `set_interrupt_mode`.
#[derive(Debug, Deserialize)]
pub struct Mode {
    pub mode: String,
}

/// `compact`, `handoff`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compact {
    pub custom_instructions: Option<String>,
}

/// `set_auto_compaction`, `set_auto_retry`, `set_fast_mode`.
#[derive(Debug, Deserialize)]
pub struct Switch {
    pub enabled: bool,
}

/// `bash`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bash {
    pub command: String,
    pub exclude_from_context: Option<bool>,
}

/// `export_html`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportHtml {
    pub output_path: Option<String>,
}

/// `switch_session`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwitchSession {
    pub session_path: String,
}

/// `open_session`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSession {
    pub session_dir: String,
    pub provider: Option<String>,
    pub model_id: Option<String>,
}

/// `branch`, `fork`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryId {
    pub entry_id: String,
}

/// `set_session_name`.
#[derive(Debug, Deserialize)]
pub struct Name {
    pub name: String,
}

/// `get_entries`.
#[derive(Debug, Deserialize)]
pub struct GetEntries {
    pub since: Option<String>,
}

/// `remove_queued_message`.
#[derive(Debug, Deserialize)]
pub struct RemoveQueued {
    pub message: String,
    #[serde(deserialize_with = "word")]
    pub queue: QueueName,
}

/// A queue by its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueName {
    Steering,
    FollowUp,
}

/// `promote_queued_message`.
#[derive(Debug, Deserialize)]
pub struct PromoteQueued {
    pub message: String,
}

/// `set_event_filter`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventFilter {
    /// The event types that are sent; all of them when absent.
    pub events: Option<Vec<String>>,
    #[serde(default, deserialize_with = "optional_word")]
    pub message_updates: Option<MessageUpdates>,
}

/// What a `message_update` carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageUpdates {
    /// The message so far, twice.
    #[default]
    Full,
    /// Only what is new.
    Delta,
    /// The same in pi's form, with what was consumed; no client can ask for it.
    #[serde(skip)]
    Bare,
}

/// `get_messages_page`.
#[derive(Debug, Deserialize)]
pub struct Page {
    pub cursor: Option<String>,
    pub limit: Option<u64>,
}

/// `set_todos`.
#[derive(Debug, Deserialize)]
pub struct SetTodos {
    pub phases: Vec<TodoPhase>,
}

/// A named part of a list of things to do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct TodoPhase {
    pub name: String,
    pub tasks: Vec<TodoItem>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct TodoItem {
    pub content: String,
    #[serde(deserialize_with = "word")]
    pub status: TodoStatus,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Abandoned,
    Blocked,
}

/// `set_subagent_subscription`.
#[derive(Debug, Deserialize)]
pub struct Subscription {
    #[serde(deserialize_with = "word")]
    pub level: SubagentLevel,
}

/// How much a client wants to hear of subagents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SubagentLevel {
    #[default]
    Off,
    Progress,
    Events,
}

/// `get_subagent_messages`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentMessages {
    pub subagent_id: Option<String>,
    pub session_file: Option<String>,
    pub from_byte: Option<u64>,
}

/// `cancel_subagent`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentId {
    pub subagent_id: String,
}

/// `steer_subagent`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SteerSubagent {
    pub subagent_id: String,
    pub message: String,
}

/// `set_host_tools`.
#[derive(Debug, Deserialize)]
pub struct SetHostTools {
    pub tools: Vec<HostTool>,
}

/// A tool that the client runs (section 21).
#[derive(Debug, Clone, Deserialize)]
pub struct HostTool {
    pub name: String,
    pub label: Option<String>,
    pub description: String,
    pub parameters: Map<String, Value>,
    #[serde(default)]
    pub hidden: Option<bool>,
}

/// `set_host_uri_schemes`.
#[derive(Debug, Deserialize)]
pub struct SetHostUriSchemes {
    pub schemes: Vec<HostUriScheme>,
}

/// A kind of address that the client resolves (section 21).
#[derive(Debug, Clone, Deserialize)]
pub struct HostUriScheme {
    pub scheme: String,
    pub description: Option<String>,
    pub writable: Option<bool>,
    pub immutable: Option<bool>,
}

/// `login`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    pub provider_id: String,
}

/// `negotiate_protocol`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NegotiateProtocol {
    pub protocol_version: u64,
}

/// A frame that gets no answer (section 3).
#[derive(Debug)]
pub enum Side {
    UiResponse(UiResponse),
    HostToolUpdate(HostToolUpdate),
    HostToolResult(HostToolResult),
    HostUriResult(HostUriResult),
    /// One of those kinds with fields that make no sense. It is ignored, as an unknown id is.
    Unreadable {
        name: &'static str,
        why: String,
    },
}

/// `extension_ui_response` (section 15). What has the wrong type counts as not given.
#[derive(Debug)]
pub struct UiResponse {
    pub id: String,
    pub value: Option<String>,
    pub confirmed: Option<bool>,
    pub cancelled: bool,
}

impl<'de> Deserialize<'de> for UiResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            id: String,
            #[serde(default)]
            value: Value,
            #[serde(default)]
            confirmed: Value,
            #[serde(default)]
            cancelled: Value,
        }
        let fields = Fields::deserialize(deserializer)?;
        let value = match fields.value {
            Value::String(value) => Some(value),
            _ => None,
        };
        Ok(Self {
            id: fields.id,
            value,
            confirmed: fields.confirmed.as_bool(),
            cancelled: fields.cancelled == Value::Bool(true),
        })
    }
}

/// `host_tool_update`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostToolUpdate {
    pub id: String,
    pub partial_result: HostToolOutput,
}

/// `host_tool_result`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostToolResult {
    pub id: String,
    pub result: HostToolOutput,
    pub is_error: Option<bool>,
}

/// What a host tool says. The blocks are those of messages.
#[derive(Debug, Deserialize)]
pub struct HostToolOutput {
    #[serde(default)]
    pub content: Vec<Value>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
}

/// `host_uri_result`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostUriResult {
    pub id: String,
    pub content: Option<String>,
    #[serde(default)]
    pub notes: Value,
    pub is_error: Option<bool>,
    pub error: Option<String>,
}

/// One of a few words. What is no string at all is refused as that.
fn word<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let word = String::deserialize(deserializer)?;
    T::deserialize(word.into_deserializer())
}

/// The same, or null.
fn optional_word<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    word.map(|word| T::deserialize(word.into_deserializer()))
        .transpose()
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
