//! What a slash command is (section 13.1).

use stentor_agent::event::CommandSource;
use stentor_agent::session::{PLAN, PLAN_ABOUT, REWIND, REWIND_ABOUT};

/// A built-in command.
pub(in crate::psi) struct Builtin {
    /// Without the slash.
    pub name: &'static str,
    pub about: &'static str,
    command: Command,
    arguments: Arguments,
}

/// What may follow the name of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    /// With something behind it the text is another command, or none.
    None,
    Any,
}

/// What the built-in commands do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
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
pub(in crate::psi) const BUILTINS: &[Builtin] = &[
    builtin("help", Command::Help, Arguments::None, "Show the commands there are"),
    builtin("new", Command::New, Arguments::None, "Start a new session"),
    builtin("resume", Command::Resume, Arguments::Any,
        "Choose a stored session, or load the one in a file"),
    builtin("tree", Command::Tree, Arguments::Any,
        "Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames"),
    builtin(REWIND, Command::Rewind, Arguments::Any, REWIND_ABOUT),
    builtin(PLAN, Command::Plan, Arguments::Any, PLAN_ABOUT),
    builtin("model", Command::Model, Arguments::Any,
        "Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too"),
    builtin("thinking", Command::Thinking, Arguments::Any,
        "Choose a thinking level; /thinking LEVEL sets it"),
    builtin("effort", Command::Thinking, Arguments::Any, "The same as /thinking"),
    builtin("status", Command::Status, Arguments::None, "Show how the session is"),
    builtin("history", Command::History, Arguments::None, "Show the message history"),
    builtin("prompts", Command::Prompts, Arguments::None, "List the prompt templates"),
    builtin("skills", Command::Skills, Arguments::None, "List the skills"),
    builtin("worktree", Command::Worktree, Arguments::None,
        "Show the working folder and its repository"),
    builtin("delegate", Command::Delegate, Arguments::Any,
        "Give a task to an agent: /delegate AGENT TASK; alone it lists the agents"),
    builtin("jobs", Command::Jobs, Arguments::Any,
        "List background jobs; /jobs STATUS… lists others than running ones"),
    builtin("job", Command::Job, Arguments::Any, "Show a background job"),
    builtin("cancel-job", Command::CancelJob, Arguments::Any, "Stop a background job"),
    builtin("remember", Command::Remember, Arguments::Any, "Keep a note across sessions"),
    builtin("login", Command::Login, Arguments::Any, "Log in at a provider"),
    builtin("logout", Command::Logout, Arguments::None, "Log out"),
    builtin("reload-models", Command::ReloadModels, Arguments::None, "Look for models again"),
    builtin("reload-prompts", Command::ReloadPrompts, Arguments::None,
        "Read the prompt templates and skills again"),
    builtin("reload-extension-installs", Command::ReloadExtensions, Arguments::None,
        "Show the extensions' commands, and how to look for extensions again"),
    builtin("project-repl", Command::ProjectRepl, Arguments::Any, "Talk to the project's REPL"),
    builtin("quit", Command::Quit, Arguments::None, "Leave"),
    builtin("exit", Command::Quit, Arguments::None, "Leave"),
];

const fn builtin(
    name: &'static str,
    command: Command,
    arguments: Arguments,
    about: &'static str,
) -> Builtin {
    Builtin {
        name,
        about,
        command,
        arguments,
    }
}

/// A slash input, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    /// A built-in command and what follows its name.
    Builtin(Command, String),
    /// A command of an extension.
    Extension,
    /// A prompt template, a skill or another prompt: it says what the agent is asked.
    Prompt,
    Unknown,
}

impl Command {
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
pub(super) enum Tree {
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
    let builtin = builtins.find(|builtin| {
        builtin.name == name && (rest.is_empty() || builtin.arguments == Arguments::Any)
    });
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
pub(super) fn tree(rest: &str) -> Tree {
    let mut words = rest.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => Tree::Choose,
        (Some("name"), Some(session)) => {
            let name = words.collect::<Vec<_>>().join(" ");
            if name.is_empty() {
                Tree::Wrong
            } else {
                Tree::Rename {
                    session: session.to_owned(),
                    name,
                }
            }
        }
        (Some("name"), None) | (Some(_), Some(_)) => Tree::Wrong,
        (Some(session), None) => Tree::Switch(session.to_owned()),
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
            (" /quit ", builtin(Command::Quit, "")),
            ("/exit", builtin(Command::Quit, "")),
            ("/quit now", Some(Slash::Extension)),
            ("/?", builtin(Command::Help, "")),
            ("/? now", Some(Slash::Unknown)),
            ("/resume", builtin(Command::Resume, "")),
            ("/resume /a b.jsonl", builtin(Command::Resume, "/a b.jsonl")),
            ("/tree  name a", builtin(Command::Tree, "name a")),
            ("/model", builtin(Command::Model, "")),
            ("/model a b", builtin(Command::Model, "a b")),
            ("/thinking high", builtin(Command::Thinking, "high")),
            ("/effort", builtin(Command::Thinking, "")),
            ("/delegate", builtin(Command::Delegate, "")),
            (
                "/delegate scout look around",
                builtin(Command::Delegate, "scout look around"),
            ),
            ("/jobs", builtin(Command::Jobs, "")),
            ("/remember a\nb", builtin(Command::Remember, "a\nb")),
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
        let renamed = Tree::Rename {
            session: "a".into(),
            name: "my name".into(),
        };
        for (rest, expected) in [
            ("", Tree::Choose),
            ("abc", Tree::Switch("abc".into())),
            ("a b", Tree::Wrong),
            ("name", Tree::Wrong),
            ("name a", Tree::Wrong),
            ("name a my  name", renamed),
        ] {
            assert_eq!(tree(rest), expected, "{rest}");
        }
    }
}
