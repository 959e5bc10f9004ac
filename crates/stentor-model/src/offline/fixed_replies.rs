//! What the guide says about itself, and when it does not know what to do.

use super::intent::Refusal;

/// Said once in a conversation.
pub const WHO_I_AM: &str =
    "I am Stentor's offline guide: I follow rules and am not a language model.";

/// How to get a language model.
const CONNECT: &str = "For anything else, connect a language model: `stentor models` lists the \
                       models, `stentor login` logs in to a provider, and an environment variable \
                       such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` works too.";

/// The answer to `help`.
pub fn help() -> String {
    format!(
        "{WHO_I_AM} I need no key and no network, and everything I do goes through the same tools \
         and permissions a language model would use.\n\n\
You can ask me to\n\n\
- **look**: `list src`, `read README.md lines 1 to 40`, `show the last 20 lines of app.log`\n\
- **find**: `find *.toml`, `find TODO in this folder`, `where is parse_line used?`\n\
- **run**: ``run `cargo test` ``, `git status`, `show the last 5 commits`\n\
- **write**: `write hello to a.txt`, `create a file notes.md with the content: …`, `append 'x' to a.txt`\n\
- **change**: `replace 'old' with 'new' in src/lib.rs`\n\
- **sum up**: `summarise this folder`, `summarise README.md`, `how many lines are in src?`\n\
- **plan**: `plan: read the code; write a test; fix it`\n\n\
Several requests can be joined with *then*.\n\n{CONNECT}"
    )
}

/// The answer to a greeting.
pub fn greeting() -> String {
    "Hello! Tell me what to look at: `summarise this folder`, `find TODO in this folder` or \
     `help` are good ways to start."
        .to_owned()
}

/// The answer to thanks.
pub fn thanks() -> String {
    "You are welcome.".to_owned()
}

/// The answer to a request that is understood and not done.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Delete => "I do not delete things from a description, because my rules could \
                            misread it. If you know exactly what should go, give me the command \
                            and it will be run as it is: ``run `rm path/to/file` ``."
            .to_owned(),
        Refusal::Destructive { command } => format!(
            "I will not run `{command}`: it could destroy more than this project, and nothing could bring it back. \
If you really mean it, run it in a terminal of your own."
        ),
        Refusal::Negated => "All right, I did nothing.".to_owned(),
    }
}

/// The answer to a request no tool at hand can do.
pub fn impossible(needs: &str) -> String {
    format!(
        "I would need the tool `{needs}` for that, and it is not enabled in this session. Use \
         `--tools` to choose the tools."
    )
}

/// The answer to something that was not understood, with examples near to it.
pub fn not_understood(prompt: &str) -> String {
    let examples: Vec<String> = examples_near(prompt)
        .into_iter()
        .map(|example| format!("- {example}"))
        .collect();
    format!(
        "I did not understand that well enough to act on it, so I did nothing. I know a fixed set \
         of simple requests, for example\n\n{}\n\n`help` shows all of them. {CONNECT}",
        examples.join("\n")
    )
}

/// Requests I understand, each with the words that make it likely to be near.
const EXAMPLES: &[(&[&str], &str)] = &[
    (
        &[
            "run", "test", "tests", "build", "execute", "command", "start", "compile", "install",
        ],
        "``run `cargo test` `` (a command in backticks is run as it is)",
    ),
    (
        &[
            "write",
            "create",
            "make",
            "generate",
            "add",
            "file",
            "function",
            "save",
            "documentation",
        ],
        "`create a file FILE with the content: …`",
    ),
    (
        &[
            "change", "fix", "refactor", "replace", "rename", "update", "edit", "bug", "improve",
        ],
        "`replace 'old text' with 'new text' in FILE`",
    ),
    (
        &["find", "search", "where", "look", "which", "used", "grep"],
        "`find TODO in this folder`",
    ),
    (
        &[
            "read", "show", "open", "explain", "what", "why", "how", "does", "code",
        ],
        "`read FILE lines 1 to 40`",
    ),
    (
        &["list", "files", "folder", "directory"],
        "`list the files in src`",
    ),
    (
        &[
            "project",
            "repo",
            "about",
            "overview",
            "explain",
            "understand",
            "summary",
            "summarise",
        ],
        "`summarise this folder`",
    ),
    (
        &[
            "commit", "branch", "git", "diff", "changed", "history", "push",
        ],
        "`git status`, `show the last 5 commits`",
    ),
    (
        &["plan", "steps", "todo", "task", "tasks"],
        "`plan: first thing; second thing; third thing`",
    ),
];

fn examples_near(prompt: &str) -> Vec<String> {
    let words: Vec<String> = prompt
        .split_whitespace()
        .take(200)
        .map(|word| {
            word.trim_matches(|char: char| !char.is_alphanumeric())
                .to_lowercase()
        })
        .collect();
    let file = prompt
        .split_whitespace()
        .map(|word| {
            word.trim_matches(['`', '\'', '"', ',', '?', '!', '(', ')'])
                .trim_end_matches('.')
        })
        .find(|word| word.contains('.') && !word.contains("://") && word.len() > 3)
        .unwrap_or("README.md");
    let mut scored: Vec<(usize, &str)> = EXAMPLES
        .iter()
        .map(|(near, example)| {
            let score = words
                .iter()
                .filter(|word| near.contains(&word.as_str()))
                .count();
            (score, *example)
        })
        .collect();
    // The sort is stable: without a hint the first of the list are shown.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored
        .into_iter()
        .take(3)
        .map(|(_, example)| example.replace("FILE", file))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_near_what_was_asked() {
        for (prompt, expected) in [
            ("how do I run the tests?", "cargo test"),
            ("fix the bug in main.rs", "in main.rs"),
            ("add tests to foo.rs", "create a file foo.rs"),
            ("which commit broke it?", "git status"),
        ] {
            let answer = not_understood(prompt);
            assert!(answer.contains(expected), "{prompt}: {answer}");
            assert!(answer.contains("stentor models"));
        }
    }
}
