//! The commands of the conversation itself: their names, and what they are for.

use stentor_agent::session::{JOBS, JOBS_HINT, PLAN, PLAN_HINT, REWIND, REWIND_HINT};
use stentor_text::spelling::nearest;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    Help,
    Model,
    Thinking,
    Permissions,
    Plan,
    Compact,
    Name,
    Usage,
    New,
    Resume,
    Fork,
    Tree,
    Rewind,
    Jobs,
    Export,
    Quit,
}

/// How a command is described.
pub struct DescribedBuiltin {
    pub builtin: Builtin,
    pub name: &'static str,
    /// What may follow the name.
    pub hint: &'static str,
    pub description: &'static str,
}

const fn described(
    builtin: Builtin,
    name: &'static str,
    hint: &'static str,
    description: &'static str,
) -> DescribedBuiltin {
    DescribedBuiltin {
        builtin,
        name,
        hint,
        description,
    }
}

/// All commands, in the order in which they are listed.
pub const BUILTINS: [DescribedBuiltin; 16] = [
    described(Builtin::Help, "help", "", "list the commands and keys"),
    described(
        Builtin::Model,
        "model",
        "[NAME]",
        "show or change the model",
    ),
    described(
        Builtin::Thinking,
        "thinking",
        "[LEVEL]",
        "show or change how much it thinks",
    ),
    described(
        Builtin::Permissions,
        "permissions",
        "[MODE]",
        "show or change what may run unasked",
    ),
    described(
        Builtin::Plan,
        PLAN,
        PLAN_HINT,
        "only reads until you accept a plan",
    ),
    described(
        Builtin::Compact,
        "compact",
        "[WHAT COUNTS]",
        "summarise the older part",
    ),
    described(
        Builtin::Name,
        "name",
        "[NAME]",
        "show or change the name of the session",
    ),
    described(
        Builtin::Usage,
        "usage",
        "",
        "show tokens, cost and how full the context is",
    ),
    described(Builtin::New, "new", "", "start a new session"),
    described(
        Builtin::Resume,
        "resume",
        "[ID]",
        "continue another session",
    ),
    described(
        Builtin::Fork,
        "fork",
        "",
        "go on from an earlier message in a copy",
    ),
    described(
        Builtin::Tree,
        "tree",
        "",
        "show the session with all its branches",
    ),
    described(
        Builtin::Rewind,
        REWIND,
        REWIND_HINT,
        "go back to before a message: files, conversation or both",
    ),
    described(
        Builtin::Jobs,
        JOBS,
        JOBS_HINT,
        "list what runs in the background, show it or stop it",
    ),
    described(
        Builtin::Export,
        "export",
        "[FILE]",
        "write the session as a web page",
    ),
    described(Builtin::Quit, "quit", "", "leave"),
];

/// The command that a line calls, and what follows its name.
pub fn called(line: &str) -> Option<(Builtin, &str)> {
    let (name, rest) = split(line)?;
    let name = match name {
        "exit" | "q" => "quit",
        "cost" => "usage",
        name => name,
    };
    let found = BUILTINS.iter().find(|one| one.name == name)?;
    Some((found.builtin, rest))
}

/// The name in `/name rest`, and the rest.
pub fn split(line: &str) -> Option<(&str, &str)> {
    let command = line.trim().strip_prefix('/')?;
    let (name, rest) = match command.split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (command, ""),
    };
    // A path is no command.
    (!name.is_empty() && !name.contains('/')).then_some((name, rest))
}

/// What to answer to a name that nobody knows.
pub fn unknown<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> String {
    let names = BUILTINS.iter().map(|one| one.name).chain(others);
    match nearest(name, names) {
        Some(near) => format!("there is no command /{name}; did you mean /{near}?"),
        None => format!("there is no command /{name}; /help lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_calls_a_command_by_its_first_word() {
        assert_eq!(called("/model opus "), Some((Builtin::Model, "opus")));
        assert_eq!(called("/quit"), Some((Builtin::Quit, "")));
        for other in ["model", "/", "/home/me/file is strange", "/review it"] {
            assert_eq!(called(other), None, "{other}");
        }
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        assert_eq!(
            unknown("modle", std::iter::empty()),
            "there is no command /modle; did you mean /model?"
        );
        assert_eq!(
            unknown("reveiw", ["review"].into_iter()).split("; ").last(),
            Some("did you mean /review?")
        );
    }
}
