//! What a slash command is (section 13.1).

use stentor_agent::event::CommandSource;
use stentor_agent::session::{PLAN, PLAN_ABOUT, REWIND, REWIND_ABOUT};

/// A built-in command.
pub struct SlashBuiltin {
    /// Without the slash.
    pub name: &'static str,
    pub about: &'static str,
    command: SlashAction,
    /// Otherwise the text is another command, or none, when something follows the name.
    takes_arguments: bool,
}

/// What the built-in commands do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashAction {
    Help,
    New,
    Resume,
    Tree,
    Rewind,
    Plan,
    Model,
    Thinking,
    Status,
    History,
    Prompts,
    Skills,
    Worktree,
    Delegate,
    Jobs,
    Job,
    CancelJob,
    Remember,
    Login,
    Logout,
    ReloadModels,
    ReloadPrompts,
    ReloadExtensions,
    ProjectRepl,
    Quit,
}

/// The built-in commands, in the order of the help.
#[rustfmt::skip]
pub const BUILTINS: &[SlashBuiltin] = &[
    alone("help", SlashAction::Help, "Show the commands there are"),
    alone("new", SlashAction::New, "Start a new session"),
    with_arguments("resume", SlashAction::Resume, "Choose a stored session, or load the one in a file"),
    with_arguments("tree", SlashAction::Tree,
        "Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames"),
    with_arguments(REWIND, SlashAction::Rewind, REWIND_ABOUT),
    with_arguments(PLAN, SlashAction::Plan, PLAN_ABOUT),
    with_arguments("model", SlashAction::Model,
        "Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too"),
    with_arguments("thinking", SlashAction::Thinking, "Choose a thinking level; /thinking LEVEL sets it"),
    with_arguments("effort", SlashAction::Thinking, "The same as /thinking"),
    alone("status", SlashAction::Status, "Show how the session is"),
    alone("history", SlashAction::History, "Show the message history"),
    alone("prompts", SlashAction::Prompts, "List the prompt templates"),
    alone("skills", SlashAction::Skills, "List the skills"),
    alone("worktree", SlashAction::Worktree, "Show the working folder and its repository"),
    with_arguments("delegate", SlashAction::Delegate,
        "Give a task to an agent: /delegate AGENT TASK; alone it lists the agents"),
    with_arguments("jobs", SlashAction::Jobs,
        "List background jobs; /jobs STATUS… lists others than running ones"),
    with_arguments("job", SlashAction::Job, "Show a background job"),
    with_arguments("cancel-job", SlashAction::CancelJob, "Stop a background job"),
    with_arguments("remember", SlashAction::Remember, "Keep a note across sessions"),
    with_arguments("login", SlashAction::Login, "Log in at a provider"),
    alone("logout", SlashAction::Logout, "Log out"),
    alone("reload-models", SlashAction::ReloadModels, "Look for models again"),
    alone("reload-prompts", SlashAction::ReloadPrompts, "Read the prompt templates and skills again"),
    alone("reload-extension-installs", SlashAction::ReloadExtensions,
        "Show the extensions' commands, and how to look for extensions again"),
    with_arguments("project-repl", SlashAction::ProjectRepl, "Talk to the project's REPL"),
    alone("quit", SlashAction::Quit, "Leave"),
    alone("exit", SlashAction::Quit, "Leave"),
];

const fn alone(name: &'static str, command: SlashAction, about: &'static str) -> SlashBuiltin {
    SlashBuiltin {
        name,
        about,
        command,
        takes_arguments: false,
    }
}

const fn with_arguments(
    name: &'static str,
    command: SlashAction,
    about: &'static str,
) -> SlashBuiltin {
    SlashBuiltin {
        takes_arguments: true,
        ..alone(name, command, about)
    }
}

/// A slash input, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    /// A built-in command and what follows its name.
    Builtin(SlashAction, String),
    /// A command of an extension.
    Extension,
    /// A prompt template, a skill or another prompt: it says what the agent is asked.
    Prompt,
    Unknown,
}

impl SlashAction {
    /// Whether it looks at files, asks servers or waits for others.
    pub fn takes_long(self, arguments: &str) -> bool {
        match self {
            Self::Resume => arguments.is_empty(),
            Self::Rewind | Self::Remember | Self::Login | Self::Logout | Self::ReloadModels => true,
            _ => false,
        }
    }
}

/// What `/tree` is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TreeAction {
    Choose,
    Switch(String),
    Rename { session: String, name: String },
    Wrong,
}

/// Resolves a text. `None` when it is no slash input at all. `called` says whose command it is that
/// the session knows by that name.
pub(super) fn parse(text: &str, called: Option<CommandSource>) -> Option<Slash> {
    let command = text.trim().strip_prefix('/')?;
    let (name, rest) = match command.split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (command, ""),
    };
    let name = if command == "?" { "help" } else { name };
    let mut builtins = BUILTINS.iter();
    let builtin = builtins
        .find(|builtin| builtin.name == name && (rest.is_empty() || builtin.takes_arguments));
    if let Some(builtin) = builtin {
        return Some(Slash::Builtin(builtin.command, rest.to_owned()));
    }
    Some(match called {
        None | Some(CommandSource::Builtin) => Slash::Unknown,
        Some(CommandSource::Extension) => Slash::Extension,
        Some(
            CommandSource::Prompt
            | CommandSource::Skill
            | CommandSource::Agent
            | CommandSource::McpPrompt,
        ) => Slash::Prompt,
    })
}

/// What follows `/tree`.
pub(super) fn tree(rest: &str) -> TreeAction {
    let mut words = rest.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => TreeAction::Choose,
        (Some("name"), Some(session)) => {
            let name = words.collect::<Vec<_>>().join(" ");
            if name.is_empty() {
                TreeAction::Wrong
            } else {
                TreeAction::Rename {
                    session: session.to_owned(),
                    name,
                }
            }
        }
        (Some("name"), None) | (Some(_), Some(_)) => TreeAction::Wrong,
        (Some(session), None) => TreeAction::Switch(session.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_resolved_in_the_order_of_the_reference() {
        let resolve = |text: &str| {
            let is_extension = text.starts_with("/deploy") || text.starts_with("/quit");
            parse(text, is_extension.then_some(CommandSource::Extension))
        };
        let builtin = |command, rest: &str| Some(Slash::Builtin(command, rest.to_owned()));
        for (text, expected) in [
            ("hello", None),
            (" /quit ", builtin(SlashAction::Quit, "")),
            ("/exit", builtin(SlashAction::Quit, "")),
            ("/quit now", Some(Slash::Extension)),
            ("/?", builtin(SlashAction::Help, "")),
            ("/? now", Some(Slash::Unknown)),
            ("/resume", builtin(SlashAction::Resume, "")),
            (
                "/resume /a b.jsonl",
                builtin(SlashAction::Resume, "/a b.jsonl"),
            ),
            ("/tree  name a", builtin(SlashAction::Tree, "name a")),
            ("/model", builtin(SlashAction::Model, "")),
            ("/model a b", builtin(SlashAction::Model, "a b")),
            ("/thinking high", builtin(SlashAction::Thinking, "high")),
            ("/effort", builtin(SlashAction::Thinking, "")),
            ("/delegate", builtin(SlashAction::Delegate, "")),
            (
                "/delegate scout look around",
                builtin(SlashAction::Delegate, "scout look around"),
            ),
            ("/jobs", builtin(SlashAction::Jobs, "")),
            ("/remember a\nb", builtin(SlashAction::Remember, "a\nb")),
            ("/deploy now", Some(Slash::Extension)),
            ("/modelling", Some(Slash::Unknown)),
            ("/nope", Some(Slash::Unknown)),
            ("/", Some(Slash::Unknown)),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }

    #[test]
    fn a_tree_is_chosen_from_switched_to_or_renamed() {
        let renamed = TreeAction::Rename {
            session: "a".into(),
            name: "my name".into(),
        };
        for (rest, expected) in [
            ("", TreeAction::Choose),
            ("abc", TreeAction::Switch("abc".into())),
            ("a b", TreeAction::Wrong),
            ("name", TreeAction::Wrong),
            ("name a", TreeAction::Wrong),
            ("name a my  name", renamed),
        ] {
            assert_eq!(tree(rest), expected, "{rest}");
        }
    }
}
