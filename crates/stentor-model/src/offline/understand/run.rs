//! Rules for commands and plans.

use super::Clause;
use super::tokens::Kind;
use crate::offline::intent::{Intent, Refusal};

/// Programs that may be named without quotes. Anything else must be quoted to be run, because
/// `run the numbers` is no command.
const PROGRAMS: &[&str] = &[
    "awk", "bash", "basename", "bun", "cargo", "cat", "clang", "cmake", "curl", "cut", "date",
    "deno", "df", "diff", "dirname", "docker", "dotnet", "du", "echo", "env", "file", "find",
    "gcc", "gh", "git", "go", "gradle", "grep", "head", "hostname", "id", "jq", "just", "kubectl",
    "ls", "make", "mkdir", "mvn", "ninja", "node", "npm", "npx", "perl", "php", "pip", "pnpm",
    "printenv", "printf", "ps", "pwd", "pytest", "python", "python3", "rg", "ruby", "rustc",
    "rustup", "sed", "seq", "sh", "sleep", "sort", "stat", "tail", "tar", "tree", "true", "false",
    "uname", "uniq", "uptime", "uv", "wc", "wget", "which", "whoami", "xargs", "yarn", "zig",
];

/// Programs whose name at the beginning of a sentence can only be meant as a command.
const BARE: &[&str] = &[
    "cargo", "curl", "df", "docker", "du", "echo", "gcc", "jq", "kubectl", "mkdir", "node", "npm",
    "npx", "pnpm", "printenv", "ps", "pytest", "python", "python3", "rustc", "tree", "wget",
    "yarn",
];

/// `run X`, `execute X`, git in plain words.
pub fn run(clause: Clause) -> Option<Intent> {
    let keys = clause.keys();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run" | "execute" | "exec" | "launch", ..] => run_what(clause.after(1)),
        ["pwd" | "whoami" | "date" | "uname" | "hostname" | "uptime"] => command(clause.raw()),
        [
            "git",
            "add" | "commit" | "fetch" | "tag" | "ls-files" | "rev-parse" | "status" | "diff"
            | "log" | "branch" | "show" | "blame" | "stash" | "remote",
            ..,
        ] => command(clause.raw()),
        ["wc", ..] if words.len() > 1 => command(clause.raw()),
        ["which", "folder" | "directory", "is", "this"]
        | ["where", "am", "i"]
        | [
            "what",
            "is",
            "the",
            "current" | "working",
            "folder" | "directory",
        ]
        | [
            "what's",
            "the",
            "current" | "working",
            "folder" | "directory",
        ]
        | ["which" | "what", "folder" | "directory", "am", "i", "in"] => command("pwd"),
        [program, rest @ ..] if BARE.contains(program) => typed(clause, rest),
        [
            "ls" | "cat" | "grep" | "find" | "head" | "tail" | "sort",
            ..,
        ] if is_pipeline(clause) => command(clause.raw()),
        _ => git_in_words(clause, &words),
    }
}

/// A command that was given literally, unless it would destroy more than a project.
pub fn command(text: &str) -> Option<Intent> {
    let command = text.trim().to_owned();
    if command.is_empty() {
        None
    } else if is_destructive(&command) {
        Some(Intent::Refuse(Refusal::Destructive { command }))
    } else {
        Some(Intent::Run { command })
    }
}

/// `plan: a; b; c`, and lists of things to do.
pub fn plan(clause: Clause) -> Option<Intent> {
    let raw = clause.raw();
    let (head, body) = raw.split_once(':')?;
    let head = head.trim().to_lowercase();
    let about_plan = matches!(
        head.as_str(),
        "plan"
            | "a plan"
            | "make a plan"
            | "my plan"
            | "the plan"
            | "todo"
            | "todos"
            | "to do"
            | "todo list"
            | "make a todo list"
            | "tasks"
            | "create a plan"
            | "write a plan"
            | "set the plan"
            | "new plan"
            | "make a plan for"
            | "make a plan with"
    );
    if !about_plan {
        return None;
    }
    let body = body.trim();
    let items: Vec<&str> = if body.contains('\n') {
        body.lines().collect()
    } else if body.contains(';') {
        body.split(';').collect()
    } else if body.contains(" then ") {
        body.split(" then ").collect()
    } else {
        body.split(',').collect()
    };
    let items: Vec<String> = items.into_iter().filter_map(item).collect();
    (!items.is_empty()).then_some(Intent::Plan { items })
}

/// One thing to do, without its bullet or number.
fn item(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.trim_start_matches(['-', '*', '•']).trim_start();
    let text = text
        .strip_prefix("[ ]")
        .or_else(|| text.strip_prefix("[x]"))
        .unwrap_or(text);
    let digits = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let text = match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < text.len() => rest,
        _ => text,
    };
    let text = text.trim().trim_end_matches([',', '.']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// A command that was typed as into a shell; not a sentence about a program.
fn typed(clause: Clause, arguments: &[&str]) -> Option<Intent> {
    const SENTENCE: &[&str] = &[
        "is", "are", "was", "were", "does", "has", "can", "and", "or", "says", "said", "fails",
        "failed", "seems", "looks", "gives", "keeps", "should", "will", "would", "takes", "code",
        "files", "scripts",
    ];
    let about = arguments
        .first()
        .is_some_and(|word| SENTENCE.contains(word));
    let asks = clause.raw().ends_with('?');
    (!about && !asks).then(|| command(clause.raw())).flatten()
}

fn is_pipeline(clause: Clause) -> bool {
    clause
        .tokens
        .iter()
        .any(|token| matches!(token.text.as_str(), "|" | "&&" | "||" | ">" | ">>"))
}

fn run_what(clause: Clause) -> Option<Intent> {
    let clause = without_end(clause);
    let introduction = clause
        .tokens
        .iter()
        .take_while(|token| {
            ["the", "this", "following", "command", "shell", "a"].contains(&token.key().as_str())
        })
        .count();
    let after = clause.after(introduction);
    let first = after.tokens.first()?;
    if first.is_quoted() {
        // `run "x" and tell me what it says`: that is what happens anyway.
        let keys = after.keys();
        let words: Vec<&str> = keys.iter().skip(1).map(String::as_str).collect();
        let only_that = matches!(
            words.as_slice(),
            [] | ["and", "tell" | "show" | "report" | "give" | "let", ..]
        );
        return only_that.then(|| command(&first.text)).flatten();
    }
    // `run the tests` runs no program called `tests`; only the word `command` makes it one.
    let said_command = clause.part(0, introduction).contains(&["command"]);
    let name = first.text.as_str();
    let script = name.contains('/') || name.ends_with(".sh") || name.ends_with(".py");
    let named = introduction == 0 && (PROGRAMS.contains(&name) || script);
    if first.kind == Kind::Word && (said_command || named) {
        return command(after.raw().trim_end_matches(['?', '!']));
    }
    None
}

/// Without `in this folder` and the like, which say nothing a command needs.
fn without_end(mut clause: Clause) -> Clause {
    const ENDS: &[&[&str]] = &[
        &["in", "this", "folder"],
        &["in", "this", "directory"],
        &["in", "the", "terminal"],
        &["in", "the", "shell"],
        &["in", "a", "shell"],
        &["here"],
        &["command"],
    ];
    for end in ENDS {
        let keys = clause.keys();
        let start = keys.len().saturating_sub(end.len());
        if start > 0 && keys.iter().skip(start).eq(end.iter()) {
            clause = clause.part(0, start);
        }
    }
    clause
}

fn git_in_words(clause: Clause, words: &[&str]) -> Option<Intent> {
    let asks = matches!(
        words,
        [
            "show"
                | "give"
                | "what"
                | "what's"
                | "get"
                | "print"
                | "display"
                | "list"
                | "check"
                | "see"
                | "view",
            ..
        ]
    );
    if !asks || clause.tokens.iter().any(super::places::is_path) {
        return None;
    }
    if clause.contains(&["status"]) && clause.contains(&["git", "repo", "repository"]) {
        return command("git status");
    }
    if clause.contains(&["diff"])
        || (words.first() == Some(&"what") && clause.contains(&["changed"]))
    {
        return command("git diff");
    }
    if clause.contains(&["changes"])
        && clause.contains(&["uncommitted", "git", "my", "local", "unstaged"])
    {
        return command("git diff");
    }
    let history = clause.contains(&["commits", "commit"])
        || (clause.contains(&["git"]) && clause.contains(&["log", "history"]));
    if history {
        let count = words.iter().find_map(|word| word.parse::<u32>().ok());
        let count = count.unwrap_or(10);
        return command(&format!("git log --oneline -n {count}"));
    }
    None
}

/// Paths that mean everything there is.
const EVERYTHING: &[&str] = &[
    "/", "/*", "~", "~/", "~/*", "$home", "$home/", "*", ".", "./", "./*", "..", "../", "\"/\"",
    "'/'",
];

/// Commands the guide never runs, however they are asked for. The permission policy decides about
/// all others; these are the ones where a mistake is past help.
fn is_destructive(command: &str) -> bool {
    let lower = command.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let removes = words.iter().enumerate().any(|(at, word)| {
        let arguments = || words.iter().skip(at + 1);
        (*word == "rm" || word.ends_with("/rm"))
            && arguments().any(|flag| flag.starts_with('-') && flag.contains('r'))
            && arguments().any(|path| EVERYTHING.contains(path))
    });
    removes
        || words.iter().any(|word| {
            word.starts_with("mkfs")
                || matches!(
                    *word,
                    "shutdown" | "reboot" | "poweroff" | "halt" | "wipefs" | "shred"
                )
        })
        || (words.contains(&"dd") && lower.contains("of=/dev/"))
        || lower.contains("> /dev/sd")
        || lower.contains(":(){")
}
