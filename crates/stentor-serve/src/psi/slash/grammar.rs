//! What a slash command is (section 13.1).

use stentor_agent::event::CommandSource;

/// The built-in commands, in the order of the help, without the slash.
pub(in crate::psi) const BUILTINS: &[(&str, &str)] = &[
    ("help", "Show the commands there are"),
    ("new", "Start a new session"),
    (
        "resume",
        "Choose a stored session, or load the one in a file",
    ),
    (
        "tree",
        "Choose a live session or a place to fork; /tree ID switches, /tree name ID NAME renames",
    ),
    (
        "model",
        "Choose a model; /model PROVIDER ID sets it, with project or user for later sessions, too",
    ),
    (
        "thinking",
        "Choose a thinking level; /thinking LEVEL sets it",
    ),
    ("effort", "The same as /thinking"),
    ("status", "Show how the session is"),
    ("history", "Show the message history"),
    ("prompts", "List the prompt templates"),
    ("skills", "List the skills"),
    ("worktree", "Show the working folder and its repository"),
    (
        "delegate",
        "Give a task to an agent: /delegate AGENT TASK; alone it lists the agents",
    ),
    (
        "jobs",
        "List background jobs; /jobs STATUS… lists others than running ones",
    ),
    ("job", "Show a background job"),
    ("cancel-job", "Stop a background job"),
    ("remember", "Keep a note across sessions"),
    ("login", "Log in at a provider"),
    ("logout", "Log out"),
    ("reload-models", "Look for models again"),
    (
        "reload-prompts",
        "Read the prompt templates and skills again",
    ),
    (
        "reload-extension-installs",
        "Show the extensions' commands, and how to look for extensions again",
    ),
    ("project-repl", "Talk to the project's REPL"),
    ("quit", "Leave"),
    ("exit", "Leave"),
];

/// A slash input, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::psi) enum Slash {
    Quit,
    New,
    Resume(Option<String>),
    Tree(Tree),
    Model(Vec<String>),
    Thinking(Option<String>),
    Status,
    History,
    Help,
    Prompts,
    Skills,
    Worktree,
    /// The agent and its task; without them the agents are listed.
    Delegate(Option<String>),
    Jobs(Vec<String>),
    Job(Option<String>),
    CancelJob(Option<String>),
    Remember(Option<String>),
    Login(Option<String>),
    Logout,
    ReloadModels,
    ReloadPrompts,
    ReloadExtensions,
    ProjectRepl,
    /// A command of an extension.
    Extension,
    /// A prompt template, a skill or another prompt: it says what the agent is asked.
    Prompt,
    Unknown,
}

impl Slash {
    /// Whether it looks at files, asks servers or waits for others.
    pub fn takes_long(&self) -> bool {
        matches!(
            self,
            Self::Resume(None)
                | Self::Remember(_)
                | Self::Login(_)
                | Self::Logout
                | Self::ReloadModels
        )
    }
}

/// What `/tree` is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::psi) enum Tree {
    Choose,
    Switch(String),
    Rename { session: String, name: String },
    Wrong,
}

/// Resolves a text. `None` when it is no slash input at all. `called` says whose command it is that
/// the session knows by that name.
pub(in crate::psi) fn parse(text: &str, called: Option<CommandSource>) -> Option<Slash> {
    let text = text.trim();
    let command = text.strip_prefix('/')?;
    if let Some(exact) = exact(command) {
        return Some(exact);
    }
    let (name, rest) = match command.split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (command, ""),
    };
    if let Some(prefixed) = prefixed(name, rest) {
        return Some(prefixed);
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

/// The commands that are the whole text.
fn exact(command: &str) -> Option<Slash> {
    Some(match command {
        "quit" | "exit" => Slash::Quit,
        "new" => Slash::New,
        "status" => Slash::Status,
        "history" => Slash::History,
        "help" | "?" => Slash::Help,
        "prompts" => Slash::Prompts,
        "skills" => Slash::Skills,
        "worktree" => Slash::Worktree,
        "logout" => Slash::Logout,
        "reload-models" => Slash::ReloadModels,
        "reload-prompts" => Slash::ReloadPrompts,
        "reload-extension-installs" => Slash::ReloadExtensions,
        _ => return None,
    })
}

/// The commands that something may follow.
fn prefixed(name: &str, rest: &str) -> Option<Slash> {
    let one = || (!rest.is_empty()).then(|| rest.to_owned());
    let words = || rest.split_whitespace().map(str::to_owned).collect();
    Some(match name {
        "resume" => Slash::Resume(one()),
        "tree" => Slash::Tree(tree(rest)),
        "model" => Slash::Model(words()),
        "thinking" | "effort" => Slash::Thinking(one()),
        "delegate" => Slash::Delegate(one().filter(|rest| rest != "list")),
        "jobs" => Slash::Jobs(words()),
        "job" => Slash::Job(one()),
        "cancel-job" => Slash::CancelJob(one()),
        "remember" => Slash::Remember(one()),
        "login" => Slash::Login(one()),
        "project-repl" => Slash::ProjectRepl,
        _ => return None,
    })
}

fn tree(rest: &str) -> Tree {
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
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("hello", None),
            (" /quit ", Some(Slash::Quit)),
            ("/exit", Some(Slash::Quit)),
            ("/quit now", Some(Slash::Extension)),
            ("/?", Some(Slash::Help)),
            ("/resume", Some(Slash::Resume(None))),
            (
                "/resume /a b.jsonl",
                Some(Slash::Resume(some("/a b.jsonl"))),
            ),
            ("/tree", Some(Slash::Tree(Tree::Choose))),
            ("/tree abc", Some(Slash::Tree(Tree::Switch("abc".into())))),
            ("/tree a b", Some(Slash::Tree(Tree::Wrong))),
            ("/tree name", Some(Slash::Tree(Tree::Wrong))),
            ("/tree name a", Some(Slash::Tree(Tree::Wrong))),
            (
                "/tree name a my  name",
                Some(Slash::Tree(Tree::Rename {
                    session: "a".into(),
                    name: "my name".into(),
                })),
            ),
            ("/model", Some(Slash::Model(vec![]))),
            (
                "/model a b",
                Some(Slash::Model(vec!["a".into(), "b".into()])),
            ),
            ("/thinking high", Some(Slash::Thinking(some("high")))),
            ("/delegate", Some(Slash::Delegate(None))),
            ("/delegate list", Some(Slash::Delegate(None))),
            (
                "/delegate scout look around",
                Some(Slash::Delegate(some("scout look around"))),
            ),
            ("/jobs", Some(Slash::Jobs(vec![]))),
            ("/remember a\nb", Some(Slash::Remember(some("a\nb")))),
            ("/deploy now", Some(Slash::Extension)),
            ("/modelling", Some(Slash::Unknown)),
            ("/nope", Some(Slash::Unknown)),
            ("/", Some(Slash::Unknown)),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}
