//! Slash commands: what the client lists, and what a prompt that starts with one means
//! (sections 6.1 and 7).

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::session::OwnCommand;

/// What a prompt asks for instead of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AcpBuiltin {
    Compact {
        instructions: Option<String>,
    },
    Name {
        name: String,
    },
    /// What every dialect has, unless the user has a command by that name.
    Own {
        text: String,
    },
}

/// The commands that every session has and nothing replaces.
fn builtins() -> Vec<CommandInfo> {
    let info = |name: &str, description: &str, hint: &str| CommandInfo {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        hint: Some(hint.to_owned()),
        source: CommandSource::Builtin,
        path: None,
    };
    vec![
        info(
            "compact",
            "Summarise the older part of the conversation to make room.",
            "what to keep in mind (optional)",
        ),
        info("name", "Name this session.", "the name"),
    ]
}

/// The commands that every session has where nobody has written another by that name.
fn own() -> impl Iterator<Item = CommandInfo> {
    OwnCommand::infos().into_iter().map(|mut info| {
        if let Some(about) = &mut info.description {
            about.push('.');
        }
        info
    })
}

/// The built-in command a prompt is, if it is one.
pub(super) fn builtin(text: &str) -> Option<AcpBuiltin> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, argument) = match rest.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim()),
        None => (rest, ""),
    };
    match name {
        "compact" => Some(AcpBuiltin::Compact {
            instructions: (!argument.is_empty()).then(|| argument.to_owned()),
        }),
        "name" => Some(AcpBuiltin::Name {
            name: argument.to_owned(),
        }),
        _ => OwnCommand::called(text).map(|_| AcpBuiltin::Own {
            text: text.to_owned(),
        }),
    }
}

/// The list of all commands: those every session has, and those of this one.
pub(super) fn update(list: &[CommandInfo]) -> acp::SessionUpdate {
    let built_in = builtins();
    let is_in = |list: &[CommandInfo], name: &str| list.iter().any(|info| info.name == name);
    let own: Vec<CommandInfo> = own().filter(|info| !is_in(list, &info.name)).collect();
    // What is built in cannot be replaced, so nothing else is offered by its name.
    let further = list.iter().filter(|info| !is_in(&built_in, &info.name));
    let commands = built_in.iter().chain(&own).chain(further).map(|info| {
        let description = info.description.clone().unwrap_or_default();
        let input = info.hint.as_ref().map(|hint| {
            acp::AvailableCommandInput::Unstructured(acp::UnstructuredCommandInput::new(
                hint.clone(),
            ))
        });
        acp::AvailableCommand::new(info.name.clone(), description).input(input)
    });
    let update = acp::AvailableCommandsUpdate::new(commands.collect());
    acp::SessionUpdate::AvailableCommandsUpdate(update)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_name_after_a_slash_is_a_command() {
        let compact = |text: Option<&str>| AcpBuiltin::Compact {
            instructions: text.map(str::to_owned),
        };
        for (text, expected) in [
            ("/compact", Some(compact(None))),
            ("  /compact \n", Some(compact(None))),
            (
                "/compact keep the plan",
                Some(compact(Some("keep the plan"))),
            ),
            (
                "/name a b",
                Some(AcpBuiltin::Name {
                    name: "a b".to_owned(),
                }),
            ),
            (
                "/plan off",
                Some(AcpBuiltin::Own {
                    text: "/plan off".to_owned(),
                }),
            ),
            ("/compaction", None),
            ("compact", None),
            ("/", None),
            ("/etc/passwd is a file", None),
        ] {
            assert_eq!(builtin(text), expected, "{text:?}");
        }
    }
}
