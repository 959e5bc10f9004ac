//! Rules for looking: list, read, count, summarise; and which of the rules for finding applies.

use super::Clause;
use super::find::{
    find, find_files, is_containing, pattern_before, search, search_inside, where_used,
};
use super::places::{file, is_file_name, is_here, is_path, place};
use super::tokens::Token;
use crate::offline::intent::{Intent, Lines};

/// Requests that change nothing.
pub fn look(clause: Clause) -> Option<Intent> {
    let keys = clause.keys();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "summarise" | "summarize" | "describe" | "explain" | "overview" | "sum" | "analyse"
            | "analyze",
            ..,
        ] => summarise(
            clause.after(1),
            words
                .first()
                .is_some_and(|word| word.starts_with("summari")),
        ),
        ["tell", "me", "about", ..] => summarise(clause.after(3), false),
        ["give", "me", "an" | "a", "overview" | "summary", "of", ..] => {
            summarise(clause.after(5), false)
        }
        ["give", "me", "an" | "a", "overview" | "summary"] => {
            Some(Intent::SummariseFolder { path: None })
        }
        [
            "what",
            "is",
            "this",
            "project" | "repo" | "repository" | "codebase" | "folder" | "code",
            ..,
        ]
        | [
            "what's",
            "this",
            "project" | "repo" | "repository" | "codebase" | "folder",
            ..,
        ]
        | [
            "what",
            "does",
            "this",
            "project" | "repo" | "repository" | "code" | "codebase",
            "do",
        ] => Some(Intent::SummariseFolder { path: None }),
        ["count", ..] | ["how", "many", ..] => count(clause),
        ["find" | "locate", ..] => find(clause.after(1)),
        ["search" | "grep" | "rg", ..] => search(clause.after(1)),
        ["look" | "scan", "for", ..] => search(clause.after(2)),
        ["look" | "scan", "in" | "through", ..] => search_inside(clause.after(2)),
        ["where", "is" | "are", "the", "file", ..] => find_files(clause.after(4)),
        ["where", "is" | "are" | "do", ..] => where_used(clause.after(2)),
        ["where's", ..] => where_used(clause.after(1)),
        ["which" | "what", "files" | "file", verb, ..] if is_containing(verb) => {
            search(clause.after(3))
        }
        ["which" | "what", "files", "are", "named" | "called", ..] => find_files(clause.after(4)),
        ["which" | "what", "files" | "folders", ..] => listed_place(clause.after(2)),
        ["what", "uses" | "calls", ..] => where_used(clause.after(2)),
        ["what", "is" | "are", "in", ..] => look_at(clause.after(3)),
        ["what's", "in", ..] => look_at(clause.after(2)),
        ["what", "is", "here"] | ["what's", "here"] => Some(Intent::List { path: None }),
        ["what", "does", .., "say" | "contain"] => read(clause.part(2, clause.tokens.len() - 1)),
        ["list" | "ls" | "dir", ..] => list(clause.after(1)),
        ["look", "at", ..] => look_at(clause.after(2)),
        ["head", ..] => head_or_tail(clause.after(1), true),
        ["tail", ..] => head_or_tail(clause.after(1), false),
        [
            "read" | "cat" | "print" | "view" | "display" | "type" | "less" | "more",
            ..,
        ] => read(clause.after(1)),
        ["show" | "open" | "see" | "give" | "get", ..] => show(clause.after(1)),
        _ => None,
    }
}

/// `show the files in src`, `show a.txt`.
fn show(clause: Clause) -> Option<Intent> {
    let clause = clause.without(&["me", "us"]);
    if clause.key(0) == "what's" && clause.key(1) == "in" {
        return look_at(clause.after(2));
    }
    if let Some(what) = clause.position(&[
        "files",
        "folders",
        "entries",
        "contents",
        "content",
        "listing",
        "directory",
        "folder",
    ]) && !clause.part(0, what).tokens.iter().any(is_path)
    {
        let key = clause.key(what);
        let after = clause.after(what + 1);
        if matches!(key.as_str(), "contents" | "content") {
            return match after.tokens {
                [] => None,
                _ => look_at(after.without(&["of"])),
            };
        }
        return list(clause);
    }
    if clause.contains(&["occurrences", "usages", "mentions", "references"]) {
        return search(clause);
    }
    let clear = clause
        .tokens
        .iter()
        .any(|token| is_path(token) || token.is_quoted());
    clear.then(|| look_at(clause)).flatten()
}

/// `files in src`, `src`, nothing.
fn list(clause: Clause) -> Option<Intent> {
    let files = clause.position(&["files", "file"]);
    if let Some(at) = files
        && let Some(pattern) = pattern_before(clause.part(0, at))
    {
        let path = match clause.after(at + 1).tokens {
            [] => None,
            [_, rest @ ..] => place(rest)?,
        };
        return Some(Intent::FindFiles { pattern, path });
    }
    let flags = clause
        .tokens
        .iter()
        .all(|token| token.text.starts_with('-'));
    if clause.tokens.is_empty() || flags {
        return Some(Intent::List { path: None });
    }
    listed_place(clause)
}

fn listed_place(clause: Clause) -> Option<Intent> {
    const ABOUT: &[&str] = &[
        "all",
        "the",
        "files",
        "file",
        "folders",
        "folder",
        "directories",
        "directory",
        "dir",
        "contents",
        "content",
        "entries",
        "everything",
        "of",
        "in",
        "inside",
        "are",
        "is",
        "there",
        "and",
        "subfolders",
        "me",
        "do",
        "we",
        "i",
        "have",
        "under",
        "within",
        "listing",
        "a",
        "what",
        "this",
        "current",
        "exist",
        "at",
        "",
    ];
    let rest: Vec<Token> = clause
        .tokens
        .iter()
        .filter(|token| token.is_quoted() || !ABOUT.contains(&token.key().as_str()))
        .cloned()
        .collect();
    if rest.is_empty() {
        return Some(Intent::List { path: None });
    }
    // `list my problems` names no folder.
    let owned = clause.contains(&["my", "your", "our", "some"]);
    if owned && !is_here(&rest) && !rest.iter().any(is_path) {
        return None;
    }
    let path = place(&rest)?;
    Some(Intent::List { path })
}

/// A place that may be a file or a folder.
fn look_at(clause: Clause) -> Option<Intent> {
    if is_here(clause.tokens) {
        return Some(Intent::List { path: None });
    }
    if clause.contains(&["folder", "directory"])
        || matches!(place(clause.tokens), Some(Some(path)) if path.ends_with('/'))
    {
        return listed_place(clause);
    }
    read(clause)
}

fn read(clause: Clause) -> Option<Intent> {
    let (lines, clause_tokens) = take_lines(clause);
    let rest: Vec<Token> = clause_tokens
        .into_iter()
        .filter(|token| {
            token.is_quoted()
                || !matches!(
                    token.key().as_str(),
                    "of" | "in" | "from" | "out" | "up" | "and" | ""
                )
        })
        .collect();
    if is_here(&rest) {
        return None;
    }
    // `read between the lines` names no file; a name must look like one, or stand alone.
    let path = file(&rest)?;
    let clear = rest.iter().any(|token| is_path(token) || token.is_quoted());
    (clear || rest.len() == 1 || clause.contains(&["file"])).then_some(Intent::Read { path, lines })
}

fn head_or_tail(clause: Clause, first: bool) -> Option<Intent> {
    let mut count = 10;
    let mut rest = Vec::new();
    for token in clause.tokens {
        match token
            .text
            .trim_start_matches('-')
            .trim_start_matches('n')
            .parse()
        {
            Ok(number) => count = number,
            Err(_) if token.text.starts_with('-') => {}
            Err(_) => rest.push(token.clone()),
        }
    }
    let path = file(&rest)?;
    let lines = if first {
        Lines::From {
            first: 1,
            count: Some(count),
        }
    } else {
        Lines::Last { count }
    };
    Some(Intent::Read { path, lines })
}

/// `lines 10 to 40`, `the first 20 lines`, `line 7`, `from line 10`; and what is left.
fn take_lines(clause: Clause) -> (Lines, Vec<Token>) {
    let keys = clause.keys();
    let number = |at: usize| keys.get(at).and_then(|key| key.parse::<u64>().ok());
    let word = |at: usize| keys.get(at).map_or("", String::as_str);
    for at in 0..keys.len() {
        let (lines, used) = match (word(at), word(at + 1), word(at + 2)) {
            ("first" | "top", _, "lines" | "line") if number(at + 1).is_some() => {
                let count = number(at + 1);
                (Lines::From { first: 1, count }, 3)
            }
            ("first", "line", _) => (from_to(1, 1), 2),
            ("last", "line", _) => (Lines::Last { count: 1 }, 2),
            ("last" | "bottom", _, "lines" | "line") => match number(at + 1) {
                Some(count) => (Lines::Last { count }, 3),
                None => continue,
            },
            ("lines" | "line", range, separator) => {
                if let Some((first, last)) = range.split_once(['-', '–'])
                    && let (Ok(first), Ok(last)) = (first.parse(), last.parse())
                {
                    (from_to(first, last), 2)
                } else if let (Some(first), "to" | "-" | "and" | "through" | "until", Some(last)) =
                    (number(at + 1), separator, number(at + 3))
                {
                    (from_to(first, last), 4)
                } else if let Some(first) = number(at + 1) {
                    let to_the_end = at > 0 && matches!(word(at - 1), "from" | "after");
                    let count = (!to_the_end).then_some(1);
                    (Lines::From { first, count }, 2)
                } else {
                    continue;
                }
            }
            _ => continue,
        };
        let mut rest = clause.tokens.to_vec();
        rest.drain(at..(at + used).min(clause.tokens.len()));
        return (lines, rest);
    }
    (Lines::All, clause.tokens.to_vec())
}

fn from_to(first: u64, last: u64) -> Lines {
    let (first, last) = (first.min(last).max(1), first.max(last));
    Lines::From {
        first,
        count: Some((last + 1).saturating_sub(first)),
    }
}

fn count(clause: Clause) -> Option<Intent> {
    let within = clause.position(&["in", "of", "does", "has", "inside"]);
    let place_of = |clause: Clause| -> Option<Option<String>> {
        let mut at = clause.position(&["in", "does", "has", "inside"]);
        if at.is_none() {
            at = clause.last_position(&["of"]);
        }
        let Some(at) = at else { return Some(None) };
        let rest = clause
            .after(at + 1)
            .without(&["have", "contain", "code", "are", "is", "there"]);
        if rest.tokens.is_empty() {
            Some(None)
        } else {
            place(rest.tokens)
        }
    };
    let before = clause.part(0, within.unwrap_or(clause.tokens.len()));
    if before.contains(&["lines", "line"]) {
        return Some(Intent::CountLines {
            path: place_of(clause)?,
        });
    }
    if before.contains(&["files", "file"]) {
        return Some(Intent::CountFiles {
            path: place_of(clause)?,
        });
    }
    None
}

/// `bare_folder` says that a word which is not clearly a path is a folder.
fn summarise(clause: Clause, bare_folder: bool) -> Option<Intent> {
    let clause = clause.without(&["up", "me"]);
    if clause.tokens.is_empty() || is_here(clause.tokens) {
        return Some(Intent::SummariseFolder { path: None });
    }
    let path = place(clause.tokens)?;
    let name = clause
        .tokens
        .iter()
        .find(|token| is_path(token) || token.is_quoted());
    match path {
        None => Some(Intent::SummariseFolder { path: None }),
        Some(path) => {
            let says_folder = clause.contains(&["folder", "directory", "dir"]);
            match name {
                Some(token) if is_file_name(token) && !says_folder => {
                    Some(Intent::SummariseFile { path })
                }
                Some(_) => Some(Intent::SummariseFolder { path: Some(path) }),
                None => (says_folder || bare_folder)
                    .then_some(Intent::SummariseFolder { path: Some(path) }),
            }
        }
    }
}

impl Clause<'_> {
    /// Without leading or trailing `words`.
    fn without(mut self, words: &[&str]) -> Self {
        while !self.tokens.is_empty() && words.contains(&self.key(0).as_str()) {
            self = self.after(1);
        }
        while let Some(last) = self.tokens.len().checked_sub(1)
            && words.contains(&self.key(last).as_str())
        {
            self = self.part(0, last);
        }
        self
    }
}
