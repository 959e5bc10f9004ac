//! Which words are names of files and folders.

use super::tokens::Token;

/// Endings that make a word a file name. A closed list, because `console.log` is none.
const ENDINGS: &[&str] = &[
    "bash", "c", "cc", "cfg", "clj", "conf", "cpp", "cs", "css", "csv", "el", "env", "erl", "ex",
    "exs", "go", "h", "hpp", "hs", "htm", "html", "ini", "java", "js", "json", "jsonl", "jsx",
    "kt", "lock", "log", "lua", "md", "mjs", "ml", "nix", "org", "patch", "pdf", "php", "pl",
    "png", "proto", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svg", "swift", "toml",
    "ts", "tsx", "tsv", "txt", "vue", "xml", "yaml", "yml", "zig", "zsh", "jpg", "jpeg", "gif",
];

/// Files that are known by a name without an ending.
const NAMES: &[&str] = &[
    "readme",
    "license",
    "licence",
    "makefile",
    "dockerfile",
    "changelog",
    "contributing",
    "justfile",
    "gemfile",
    "rakefile",
    "procfile",
    "todo.txt",
    "copying",
    "authors",
];

/// Words that only lead up to a name.
const ARTICLES: &[&str] = &[
    "the",
    "a",
    "an",
    "my",
    "our",
    "your",
    "this",
    "that",
    "file",
    "files",
    "folder",
    "directory",
    "dir",
    "called",
    "named",
    "of",
    "contents",
    "content",
    "me",
    "us",
    "all",
    "whole",
    "entire",
    "complete",
    "new",
    "at",
    "path",
    "is",
    "to",
    "into",
    "inside",
    "within",
    "under",
];

/// Words for the working folder.
const HERE: &[&str] = &[
    "here",
    "folder",
    "directory",
    "dir",
    "project",
    "repo",
    "repository",
    "codebase",
    "code",
    "workspace",
    "everywhere",
    "files",
    "cwd",
    "source",
    "sources",
    "tree",
    ".",
    "./",
];

/// Words that may stand around those, and mean nothing alone.
const AROUND_HERE: &[&str] = &[
    "this", "the", "current", "my", "our", "working", "whole", "entire", "all", "it", "of", "file",
    "place", "them", "there",
];

/// True for a word that can only be the name of a file: it has a well-known ending or name.
pub fn is_file_name(token: &Token) -> bool {
    let name = token.name();
    let last = name.rsplit('/').next().unwrap_or(name);
    let lower = last.to_lowercase();
    if lower.contains(char::is_whitespace) || name.contains("://") {
        return false;
    }
    let ending = lower.rsplit_once('.').map(|(_, ending)| ending);
    NAMES.contains(&lower.as_str())
        || ending.is_some_and(|ending| ENDINGS.contains(&ending))
        || (last.starts_with('.') && last.len() > 2 && !last.starts_with(".."))
}

/// True for a word that can only be a path: a file name, or something with a slash.
pub fn is_path(token: &Token) -> bool {
    let name = token.name();
    let slash = name.contains('/')
        && !name.contains("://")
        && !name.contains(char::is_whitespace)
        && !matches!(
            name.to_lowercase().as_str(),
            "and/or" | "either/or" | "n/a" | "i/o"
        );
    slash || matches!(name, "." | ".." | "~") || is_file_name(token)
}

/// True when the words mean the working folder, as in `this folder`.
pub fn is_here(tokens: &[Token]) -> bool {
    let is_one = |token: &Token, words: &[&str]| words.contains(&token.key().as_str());
    tokens.iter().any(|token| is_one(token, HERE))
        && tokens
            .iter()
            .all(|token| is_one(token, HERE) || is_one(token, AROUND_HERE))
}

/// The one place the words name: `Some(None)` is the working folder, `None` is not a place.
pub fn place(tokens: &[Token]) -> Option<Option<String>> {
    if is_here(tokens) {
        return Some(None);
    }
    let mut names = tokens.iter().filter(|token| {
        let key = token.key();
        token.is_quoted() || !(key.is_empty() || ARTICLES.contains(&key.as_str()))
    });
    let name = names.next()?;
    // `it` may be anything that was talked about; guessing is not for us.
    let is_vague = !name.is_quoted() && AROUND_HERE.contains(&name.key().as_str());
    match names.next() {
        None if !is_vague => Some(Some(tidy(name.name()))),
        _ => None,
    }
}

/// The single file the words name, if they name one.
pub fn file(tokens: &[Token]) -> Option<String> {
    place(tokens).flatten()
}

/// A path as tools want it.
fn tidy(path: &str) -> String {
    let path = path.strip_prefix('@').unwrap_or(path);
    path.to_owned()
}
