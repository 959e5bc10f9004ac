//! Rules for finding: files by their names, text in files.

use super::Clause;
use super::places::{is_file_name, is_here, is_path, place};
use super::tokens::{Kind, Token};
use crate::offline::intent::Intent;

/// Longer searches without quotes are sentences, not search terms.
const MAX_SEARCH_WORDS: usize = 4;

/// True for a word as in `files that contain x`.
pub fn is_containing(word: &str) -> bool {
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

/// `find X`: files by name, or text in files.
pub fn find(clause: Clause) -> Option<Intent> {
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

/// `the file x`, `all rust files in src`.
pub fn find_files(clause: Clause) -> Option<Intent> {
    let (what, path) = split_place(clause);
    let pattern = pattern_before(what)?;
    Some(Intent::FindFiles { pattern, path })
}

/// The glob that words before (or around) `files` stand for.
pub fn pattern_before(clause: Clause) -> Option<String> {
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

/// `for x in src`, `-rn x src`.
pub fn search(clause: Clause) -> Option<Intent> {
    if clause.key(0) == "in" || clause.key(0) == "through" {
        return search_inside(clause.after(1));
    }
    // `search src for x`, `search the whole project for x`
    if let Some(at) = clause.position(&["for"]).filter(|at| *at > 0) {
        let inside = clause.part(0, at);
        if inside.contains(&["google", "web", "internet", "online", "wikipedia"]) {
            return None;
        }
        if at == 1 || is_here(inside.tokens) || inside.tokens.iter().any(is_path) {
            return search_inside(clause);
        }
    }
    let flags = clause
        .tokens
        .iter()
        .take_while(|token| token.text.starts_with('-'))
        .count();
    let from_shell = flags > 0;
    let (what, path) = split_place(clause.after(flags));
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
            "a" | "an"
                | "some"
                | "out"
                | "my"
                | "your"
                | "me"
                | "how"
                | "why"
                | "what"
                | "where"
                | "ways"
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
pub fn search_inside(clause: Clause) -> Option<Intent> {
    let separator = clause.position(&["for"])?;
    let path = place(clause.part(0, separator).tokens)?;
    match search(clause.after(separator + 1))? {
        Intent::Search { text, .. } => Some(Intent::Search { text, path }),
        _ => None,
    }
}

/// `foo used`, `the function foo defined`.
pub fn where_used(clause: Clause) -> Option<Intent> {
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

/// What is looked for, and the place after the last `in`, if that is one.
fn split_place(clause: Clause<'_>) -> (Clause<'_>, Option<String>) {
    if let Some(at) = clause.last_position(&["in", "inside", "within", "under", "from"])
        && at > 0
        && !matches!(clause.key(at - 1).as_str(), "ending" | "end")
        && let Some(path) = place(clause.after(at + 1).tokens)
    {
        return (clause.part(0, at), path);
    }
    if clause.key(clause.tokens.len().saturating_sub(1)) == "here" && clause.tokens.len() > 1 {
        return (clause.part(0, clause.tokens.len() - 1), None);
    }
    (clause, None)
}
