//! What a client may write: commands, and the frames that answer what was asked of it.

mod fields;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

pub use fields::*;

use super::facts::NOT_OFFERED;

/// One line of a client.
#[derive(Debug)]
pub enum Inbound {
    Command(Command),
    /// A frame that gets no answer.
    Side(Side),
}

/// A command with the id its answer carries.
#[derive(Debug)]
pub struct Command {
    pub id: Option<Box<RawValue>>,
    /// Its `type`, which the answer repeats.
    pub name: &'static str,
    pub body: CommandBody,
}

/// Why a line is no command. Each has its own form of answer (section 4).
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Answered as `parse`, without id.
    #[error("Failed to parse command: {0}")]
    NotJson(String),
    /// Answered without command and id.
    #[error("Unknown command: undefined")]
    NoType,
    /// Answered with the type as the command, without id.
    #[error("Unknown command: {name}")]
    Unknown { name: String },
    /// Answered with id and command.
    #[error("{name} is not supported")]
    NotOffered {
        id: Option<Box<RawValue>>,
        name: &'static str,
    },
    /// Answered with id and command.
    #[error("{why}")]
    BadFields {
        id: Option<Box<RawValue>>,
        name: &'static str,
        why: String,
    },
}

/// What a command asks for (section 6 and 19 to 21).
#[derive(Debug)]
pub enum CommandBody {
    Prompt(Prompt),
    Steer(MessageCommand),
    FollowUp(MessageCommand),
    Abort,
    AbortAndPrompt(MessageCommand),
    NewSession(NewSession),
    GetState,
    GetMessages,
    SetModel(SetModel),
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel(Level),
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode(Mode),
    SetFollowUpMode(Mode),
    SetInterruptMode(Mode),
    Compact(Compact),
    SetAutoCompaction(Switch),
    SetAutoRetry(Switch),
    AbortRetry,
    Bash(Bash),
    AbortBash,
    GetSessionStats,
    ExportHtml(ExportHtml),
    SwitchSession(SwitchSession),
    Branch(EntryId),
    Fork(EntryId),
    Clone,
    GetBranchMessages,
    GetForkMessages,
    GetLastAssistantText,
    SetSessionName(Name),
    GetCommands,
    GetAvailableCommands,
    GetEntries(GetEntries),
    GetTree,
    ClearQueue,
    RemoveQueuedMessage(RemoveQueued),
    PromoteQueuedMessage(PromoteQueued),
    SetEventFilter(EventFilter),
    GetMessagesPage(Page),
    SetTodos(SetTodos),
    SetSubagentSubscription(Subscription),
    GetSubagents,
    GetSubagentMessages(SubagentMessages),
    CancelSubagent(SubagentId),
    SteerSubagent(SteerSubagent),
    SetHostTools(SetHostTools),
    SetHostUriSchemes(SetHostUriSchemes),
    GetLoginProviders,
    Login(Login),
    NegotiateProtocol(NegotiateProtocol),
    OpenSession(OpenSession),
    SetFastMode(Switch),
    Handoff(Compact),
}

impl Inbound {
    /// Reads one line.
    pub fn parse(line: &str) -> Result<Self, Refused> {
        let envelope: Envelope = match serde_json::from_str(line) {
            Ok(envelope) => envelope,
            Err(error) => return Err(why_no_object(line, &error)),
        };
        let Some(name) = envelope.name else {
            return Err(Refused::NoType);
        };
        if let Some(side) = Side::parse(&name, line) {
            return Ok(Self::Side(side));
        }
        let Some((known, read)) = table(&name) else {
            let id = envelope.id;
            return Err(match NOT_OFFERED.into_iter().find(|known| *known == name) {
                Some(name) => Refused::NotOffered { id, name },
                None => Refused::Unknown { name },
            });
        };
        match read(line) {
            Ok(body) => Ok(Self::Command(Command {
                id: envelope.id,
                name: known,
                body,
            })),
            Err(why) => Err(Refused::BadFields {
                id: envelope.id,
                name: known,
                why: format!("Invalid {known} command: {why}"),
            }),
        }
    }
}

impl Side {
    fn parse(name: &str, line: &str) -> Option<Self> {
        fn read<T: DeserializeOwned>(
            name: &'static str,
            line: &str,
            make: fn(T) -> Side,
        ) -> Option<Side> {
            Some(match serde_json::from_str(line) {
                Ok(body) => make(body),
                Err(error) => Side::Unreadable {
                    name,
                    why: short(&error),
                },
            })
        }
        match name {
            "extension_ui_response" => read("extension_ui_response", line, Self::UiResponse),
            "host_tool_update" => read("host_tool_update", line, Self::HostToolUpdate),
            "host_tool_result" => read("host_tool_result", line, Self::HostToolResult),
            "host_uri_result" => read("host_uri_result", line, Self::HostUriResult),
            _ => None,
        }
    }
}

/// Id and type of a line. A key given twice counts with its last value, as in the originals.
#[derive(Default)]
struct Envelope {
    id: Option<Box<RawValue>>,
    name: Option<String>,
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> serde::de::Visitor<'de> for Keys {
            type Value = Envelope;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Envelope, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    match &*key {
                        "id" => envelope.id = Some(map.next_value()?),
                        "type" => {
                            envelope.name = match map.next_value::<Value>()? {
                                Value::String(name) => Some(name),
                                _ => None,
                            };
                        }
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// Reads the fields of a command; the error says which one is wrong.
type Read = fn(&str) -> Result<CommandBody, FieldError>;

/// What is wrong with a field, and with which.
#[derive(Debug, thiserror::Error)]
enum FieldError {
    #[error("{}", short(.0))]
    Command(serde_json::Error),
    #[error("{place}: {}", short(why))]
    Field {
        place: String,
        why: serde_json::Error,
    },
}

fn fields<T: DeserializeOwned>(line: &str) -> Result<T, FieldError> {
    serde_json::from_str(line).map_err(|why| {
        // Only what is wrong is read again to learn where.
        let again = &mut serde_json::Deserializer::from_str(line);
        let place = match serde_path_to_error::deserialize::<_, T>(again) {
            Err(error) => error.path().to_string(),
            Ok(_) => String::new(),
        };
        match place.as_str() {
            "" | "." => FieldError::Command(why),
            _ => FieldError::Field { place, why },
        }
    })
}

/// The commands there are, and how their fields are read.
fn table(name: &str) -> Option<(&'static str, Read)> {
    macro_rules! commands {
        ($($name:literal => $variant:ident $(($fields:ty))?,)*) => {
            match name {
                $($name => Some(($name, commands!(@read $variant $(($fields))?))),)*
                _ => None,
            }
        };
        (@read $variant:ident) => {
            |_| Ok(CommandBody::$variant)
        };
        (@read $variant:ident ($fields:ty)) => {
            |line| fields::<$fields>(line).map(CommandBody::$variant)
        };
    }
    commands! {
        "prompt" => Prompt(Prompt),
        "steer" => Steer(MessageCommand),
        "follow_up" => FollowUp(MessageCommand),
        "abort" => Abort,
        "abort_and_prompt" => AbortAndPrompt(MessageCommand),
        "new_session" => NewSession(NewSession),
        "get_state" => GetState,
        "get_messages" => GetMessages,
        "set_model" => SetModel(SetModel),
        "cycle_model" => CycleModel,
        "get_available_models" => GetAvailableModels,
        "set_thinking_level" => SetThinkingLevel(Level),
        "cycle_thinking_level" => CycleThinkingLevel,
        "get_available_thinking_levels" => GetAvailableThinkingLevels,
        "set_steering_mode" => SetSteeringMode(Mode),
        "set_follow_up_mode" => SetFollowUpMode(Mode),
        "set_interrupt_mode" => SetInterruptMode(Mode),
        "compact" => Compact(Compact),
        "set_auto_compaction" => SetAutoCompaction(Switch),
        "set_auto_retry" => SetAutoRetry(Switch),
        "abort_retry" => AbortRetry,
        "bash" => Bash(Bash),
        "abort_bash" => AbortBash,
        "get_session_stats" => GetSessionStats,
        "export_html" => ExportHtml(ExportHtml),
        "switch_session" => SwitchSession(SwitchSession),
        "branch" => Branch(EntryId),
        "fork" => Fork(EntryId),
        "clone" => Clone,
        "get_branch_messages" => GetBranchMessages,
        "get_fork_messages" => GetForkMessages,
        "get_last_assistant_text" => GetLastAssistantText,
        "set_session_name" => SetSessionName(Name),
        "get_commands" => GetCommands,
        "get_available_commands" => GetAvailableCommands,
        "get_entries" => GetEntries(GetEntries),
        "get_tree" => GetTree,
        "clear_queue" => ClearQueue,
        "remove_queued_message" => RemoveQueuedMessage(RemoveQueued),
        "promote_queued_message" => PromoteQueuedMessage(PromoteQueued),
        "set_event_filter" => SetEventFilter(EventFilter),
        "get_messages_page" => GetMessagesPage(Page),
        "set_todos" => SetTodos(SetTodos),
        "set_subagent_subscription" => SetSubagentSubscription(Subscription),
        "get_subagents" => GetSubagents,
        "get_subagent_messages" => GetSubagentMessages(SubagentMessages),
        "cancel_subagent" => CancelSubagent(SubagentId),
        "steer_subagent" => SteerSubagent(SteerSubagent),
        "set_host_tools" => SetHostTools(SetHostTools),
        "set_host_uri_schemes" => SetHostUriSchemes(SetHostUriSchemes),
        "get_login_providers" => GetLoginProviders,
        "login" => Login(Login),
        "negotiate_protocol" => NegotiateProtocol(NegotiateProtocol),
        "open_session" => OpenSession(OpenSession),
        "set_fast_mode" => SetFastMode(Switch),
        "handoff" => Handoff(Compact),
    }
}

/// A line that is no object: not JSON at all, `null`, or another value.
fn why_no_object(line: &str, error: &serde_json::Error) -> Refused {
    if line.trim() == "null" {
        return Refused::NotJson("null is not an object".to_owned());
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(line) {
        Ok(_) if !line.trim_start().starts_with('{') => Refused::NoType,
        Ok(_) => Refused::NotJson(short(error)),
        Err(error) => Refused::NotJson(error.to_string()),
    }
}

/// The reason without the place: a field of a command is found without a column.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text.get(..at).unwrap_or(&text).to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
