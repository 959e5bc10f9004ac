//! Commands: what a parent writes (section 6).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command. Every one but `shutdown` carries an id that its response repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    Prompt {
        id: String,
        message: String,
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    FollowUp {
        id: String,
        message: String,
    },
    Compact {
        id: String,
    },
    NewSession {
        id: String,
    },
    GetMessages {
        id: String,
    },
    SetModel {
        id: String,
        model: String,
    },
    GetAvailableModels {
        id: String,
    },
    Abort {
        id: String,
    },
    GetSessionStats {
        id: String,
    },
    GetState {
        id: String,
    },
    ToolsList {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    Shutdown,
}

/// The types of the twelve commands, in the order of the reference.
pub const COMMAND_TYPES: [&str; 12] = [
    "prompt",
    "follow_up",
    "compact",
    "new_session",
    "get_messages",
    "set_model",
    "get_available_models",
    "abort",
    "get_session_stats",
    "get_state",
    "tools_list",
    "shutdown",
];

/// A file that goes with a prompt (section 5). `name` and `mime` are hints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
}

/// A line that is no command. The id is there when the line had a usable one, because a parent
/// that cannot tell which command failed gives up altogether (section 16.3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    pub id: Option<String>,
    pub message: String,
}

/// Reads one line. Blank lines are the caller's to skip.
pub fn parse(line: &str) -> Result<Command, ParseError> {
    // A tagged enum would also be read from an array, which is no frame.
    if line.trim_start().starts_with('[') {
        return Err(ParseError {
            id: None,
            message: "invalid type: sequence, expected a JSON object".to_owned(),
        });
    }
    serde_json::from_str(line).map_err(|error| ParseError {
        id: id_of(line),
        message: error.to_string(),
    })
}

/// The id of a line that is a JSON object with a string `id`.
fn id_of(line: &str) -> Option<String> {
    match serde_json::from_str::<Value>(line).ok()? {
        Value::Object(mut object) => match object.remove("id")? {
            Value::String(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_written_as_the_golden_lines_have_them() {
        let id = |id: &str| id.to_owned();
        for (command, line) in [
            (
                Command::Prompt {
                    id: id("x"),
                    message: "hi".into(),
                    attachments: vec![],
                },
                r#"{"type":"prompt","id":"x","message":"hi","attachments":[]}"#,
            ),
            (
                Command::FollowUp {
                    id: id("f1"),
                    message: "and then?".into(),
                },
                r#"{"type":"follow_up","id":"f1","message":"and then?"}"#,
            ),
            (
                Command::SetModel {
                    id: id("m1"),
                    model: "claude-sonnet-4-5".into(),
                },
                r#"{"type":"set_model","id":"m1","model":"claude-sonnet-4-5"}"#,
            ),
            (Command::ToolsList { id: None }, r#"{"type":"tools_list"}"#),
            (
                Command::ToolsList {
                    id: Some("req-42".into()),
                },
                r#"{"type":"tools_list","id":"req-42"}"#,
            ),
            (Command::Shutdown, r#"{"type":"shutdown"}"#),
        ] {
            assert_eq!(serde_json::to_string(&command).unwrap(), line);
            assert_eq!(parse(line).unwrap(), command);
        }
    }

    #[test]
    fn unknown_keys_any_order_and_spaces_are_accepted() {
        for line in [
            r#"{"op":"tools_list","type":"tools_list"}"#,
            r#"  {"type":"tools_list","id":null}  "#,
        ] {
            assert_eq!(parse(line), Ok(Command::ToolsList { id: None }));
        }
        let late_id = r#"{"message":"m","type":"prompt","extra":[1],"id":"i"}"#;
        let Ok(Command::Prompt { id, .. }) = parse(late_id) else {
            panic!("a prompt")
        };
        assert_eq!(id, "i");
        assert_eq!(
            parse(r#"{"type":"shutdown","id":"s"}"#),
            Ok(Command::Shutdown)
        );
    }

    #[test]
    fn what_is_no_command_is_an_error_with_the_id_it_had() {
        for (line, id, part) in [
            ("nope", None, "expected ident"),
            ("null", None, "invalid type: null"),
            ("42", None, "invalid type"),
            (r#""x""#, None, "invalid type"),
            ("[]", None, "invalid type: sequence"),
            (r#"["shutdown"]"#, None, "invalid type: sequence"),
            ("{}", None, "missing field `type`"),
            (r#"{"id":"a"}"#, Some("a"), "missing field `type`"),
            (
                r#"{"type":"dance","id":"d"}"#,
                Some("d"),
                "unknown variant `dance`",
            ),
            (
                r#"{"type":"prompt","id":"p"}"#,
                Some("p"),
                "missing field `message`",
            ),
            (
                r#"{"type":"prompt","id":7,"message":"m"}"#,
                None,
                "invalid type: integer `7`",
            ),
            (
                r#"{"type":"prompt","id":"n","message":"m","attachments":null}"#,
                Some("n"),
                "invalid type: null",
            ),
            (
                r#"{"type":"abort","id":"a","id":"b"}"#,
                Some("b"),
                "duplicate field `id`",
            ),
            (
                r#"{"type":"abort","id":"a"} {}"#,
                None,
                "trailing characters",
            ),
            ("\u{feff}{\"type\":\"shutdown\"}", None, "expected value"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.id.as_deref(), id, "{line}");
            assert!(error.message.contains(part), "{line}: {}", error.message);
        }
    }

    #[test]
    fn the_error_for_an_unknown_type_names_all_twelve() {
        let message = parse(r#"{"type":"dance"}"#).unwrap_err().message;
        for name in COMMAND_TYPES {
            assert!(message.contains(name), "{name} is not in {message}");
        }
    }
}
