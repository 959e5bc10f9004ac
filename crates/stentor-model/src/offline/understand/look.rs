//! Rules for looking: list, read, find, search, count, summarise.

use super::Clause;
use super::places::{file, is_file_name, is_here, is_path, place};
use super::tokens::{Kind, Token};
use crate::offline::intent::{Intent, Lines};

/// Longer searches without quotes are sentences, not search terms.
const MAX_SEARCH_WORDS: usize = 4;

/// Requests that change nothing.
pub fn look(clause: Clause) -> Option<Intent> {
    let keys = clause.keys();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "summarise" | "summarize" | "describe" | "explain" | "overview" | "sum" | "analyse"
            | "analyze",
            ..,
        ] => summarise(clause.after(1)),
        ["tell", "me", "about", ..] => summarise(clause.after(3)),
        ["give", "me", "an" | "a", "overview" | "summary", "of", ..] => summarise(clause.after(5)),
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

fn is_containing(word: &str) -> bool {
    matches!(
        word,
        "contain"
            | "contains"
            | "mention"
            | "mentions"
            | "use"
            | "uses"
            | "have"
            | "has"
            | "include"
            | "includes"
    )
}

/// `show the files in src`, `show a.txt`.
fn show(clause: Clause) -> Option<Intent> {
    let clause = clause.without(&["me", "us"]);
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

/// `find X`: files by name, or text in files.
fn find(clause: Clause) -> Option<Intent> {
    let files = clause.position(&["files", "file"]);
    let within = clause.position(&["in", "inside", "within", "under"]);
    let about_files = files.is_some_and(|files| within.is_none_or(|within| files < within));
    if let Some(at) = files
        && about_files
        && let Some(contains) =
            clause.position(&["contain", "containing", "contains", "with", "mentioning"])
        && contains > at
        && !clause.contains(&["name", "ending", "extension"])
    {
        return search(clause.after(contains + 1));
    }
    if about_files {
        return find_files(clause);
    }
    let target = clause.part(0, within.unwrap_or(clause.tokens.len()));
    let by_name = match target.tokens {
        [only] => !only.is_quoted() && (is_glob(only.name()) || is_file_name(only)),
        _ => false,
    };
    if by_name {
        find_files(clause)
    } else {
        search(clause)
    }
}

fn find_files(clause: Clause) -> Option<Intent> {
    let (what, path) = split_place(clause)?;
    let pattern = pattern_before(what)?;
    Some(Intent::FindFiles { pattern, path })
}

/// The glob that words before (or around) `files` stand for.
fn pattern_before(clause: Clause) -> Option<String> {
    const ABOUT: &[&str] = &[
        "all",
        "the",
        "every",
        "any",
        "files",
        "file",
        "named",
        "called",
        "with",
        "name",
        "ending",
        "in",
        "extension",
        "me",
        "a",
        "an",
        "of",
        "type",
        "matching",
        "whose",
        "that",
        "end",
        "source",
        "",
    ];
    let mut names = clause
        .tokens
        .iter()
        .filter(|token| token.is_quoted() || !ABOUT.contains(&token.key().as_str()));
    let name = names.next()?;
    if names.next().is_some() {
        return None;
    }
    let text = name.name();
    // The word after `ending in` keeps its dot.
    let ending = clause.contains(&["ending", "end", "extension"]);
    if ending {
        return Some(format!("*.{}", text.trim_start_matches(['*', '.'])));
    }
    if let Some(ending) = language_ending(&name.key()) {
        return Some(format!("*.{ending}"));
    }
    if is_glob(text) || is_file_name(name) {
        return Some(text.to_owned());
    }
    let named =
        clause.contains(&["named", "called", "name", "matching", "file"]) || name.is_quoted();
    named.then(|| format!("*{text}*"))
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?']) && !text.contains(char::is_whitespace) && !text.ends_with('?')
}

fn language_ending(word: &str) -> Option<&'static str> {
    Some(match word {
        "rust" => "rs",
        "python" => "py",
        "javascript" | "js" => "js",
        "typescript" | "ts" => "ts",
        "markdown" => "md",
        "text" => "txt",
        "json" => "json",
        "toml" => "toml",
        "yaml" => "{yaml,yml}",
        "html" => "html",
        "css" => "css",
        "shell" | "bash" => "sh",
        "go" | "golang" => "go",
        "java" => "java",
        "c" => "c",
        "c++" | "cpp" => "cpp",
        "ruby" => "rb",
        "sql" => "sql",
        "clojure" => "clj",
        "lisp" | "elisp" => "el",
        _ => return None,
    })
}

fn search(clause: Clause) -> Option<Intent> {
    if clause.key(0) == "in" || clause.key(0) == "through" {
        return search_inside(clause.after(1));
    }
    // `search src for x`
    if clause.position(&["for"]) == Some(1) {
        return search_inside(clause);
    }
    let flags = clause
        .tokens
        .iter()
        .take_while(|token| token.text.starts_with('-'))
        .count();
    let from_shell = flags > 0;
    let (what, path) = split_place(clause.after(flags))?;
    let (what, path) = match (what.tokens, path) {
        // `grep -r x src`
        ([_, place], None) if from_shell => (what.part(0, 1), Some(place.name().to_owned())),
        ([_, place], None) if is_path(place) => (what.part(0, 1), Some(place.name().to_owned())),
        (_, path) => (what, path),
    };
    const ABOUT: &[&str] = &[
        "for",
        "all",
        "the",
        "every",
        "any",
        "each",
        "word",
        "text",
        "string",
        "pattern",
        "occurrences",
        "occurrence",
        "usages",
        "usage",
        "uses",
        "mentions",
        "references",
        "lines",
        "of",
        "to",
        "me",
        "phrase",
        "comments",
        "containing",
        "where",
        "it",
        "says",
    ];
    let introduction = what
        .tokens
        .iter()
        .take_while(|token| token.kind == Kind::Word && ABOUT.contains(&token.key().as_str()))
        .count();
    let mut what = what.after(introduction);
    // `TODO comments`, `foo everywhere`
    while what.tokens.len() > 1
        && matches!(
            what.key(what.tokens.len() - 1).as_str(),
            "comments" | "everywhere" | "occurrences" | "here" | "statements" | ""
        )
    {
        what = what.part(0, what.tokens.len() - 1);
    }
    let quoted = what.tokens.iter().any(Token::is_quoted);
    let sentence = what.tokens.len() > MAX_SEARCH_WORDS
        || matches!(
            what.key(0).as_str(),
            "a" | "an" | "some" | "out" | "my" | "your" | "me" | "how" | "why" | "what" | "ways"
        );
    if what.tokens.is_empty() || (sentence && !quoted) {
        return None;
    }
    let text = match what.tokens {
        [only] => only.name().to_owned(),
        _ => what.text(),
    };
    (!text.is_empty()).then_some(Intent::Search { text, path })
}

/// `src for x`.
fn search_inside(clause: Clause) -> Option<Intent> {
    let separator = clause.position(&["for"])?;
    let path = place(clause.part(0, separator).tokens)?;
    match search(clause.after(separator + 1))? {
        Intent::Search { text, .. } => Some(Intent::Search { text, path }),
        _ => None,
    }
}

/// `foo used`, `the function foo defined`.
fn where_used(clause: Clause) -> Option<Intent> {
    const ABOUT: &[&str] = &[
        "the", "function", "method", "struct", "class", "type", "variable", "constant", "symbol",
        "word", "string", "text", "we", "i", "they", "is", "are", "enum", "trait", "module", "it",
    ];
    let verb = clause.last_position(&[
        "used",
        "use",
        "defined",
        "called",
        "call",
        "mentioned",
        "referenced",
        "declared",
        "set",
        "implemented",
        "imported",
    ]);
    let (words, path) = match verb {
        Some(verb) => {
            let before = clause.part(0, verb);
            let after = clause.after(verb + 1);
            let is_name = |token: &Token| !ABOUT.contains(&token.key().as_str());
            if before.tokens.iter().any(is_name) {
                let path = match after.tokens {
                    [] => None,
                    [_, rest @ ..] => place(rest)?,
                };
                (before, path)
            } else {
                // `where do we use foo`
                (after, None)
            }
        }
        None => (clause, None),
    };
    let mut names = words
        .tokens
        .iter()
        .filter(|token| token.is_quoted() || !ABOUT.contains(&token.key().as_str()));
    let name = names.next()?;
    if names.next().is_some() {
        return None;
    }
    if verb.is_none() {
        // `where is main.rs`; without a verb anything else is a question about the world.
        return is_file_name(name).then(|| Intent::FindFiles {
            pattern: name.name().to_owned(),
            path: None,
        });
    }
    Some(Intent::Search {
        text: name.name().trim_end_matches("()").to_owned(),
        path,
    })
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

fn summarise(clause: Clause) -> Option<Intent> {
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
                None => says_folder.then_some(Intent::SummariseFolder { path: Some(path) }),
            }
        }
    }
}

/// What is looked for, and the place after the last `in`, if that is one.
fn split_place(clause: Clause<'_>) -> Option<(Clause<'_>, Option<String>)> {
    if let Some(at) = clause.last_position(&["in", "inside", "within", "under", "from"])
        && at > 0
        && !matches!(clause.key(at - 1).as_str(), "ending" | "end")
        && let Some(path) = place(clause.after(at + 1).tokens)
    {
        return Some((clause.part(0, at), path));
    }
    if clause.key(clause.tokens.len().saturating_sub(1)) == "here" && clause.tokens.len() > 1 {
        return Some((clause.part(0, clause.tokens.len() - 1), None));
    }
    Some((clause, None))
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
