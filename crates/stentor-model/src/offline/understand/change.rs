//! Rules for writing and changing files.
//!
//! A misread request here costs somebody a file, so text without quotes is only taken literally
//! when it cannot be a description: `write hello to a.txt` is, `write the docs to a.md` is not.

use super::Clause;
use super::places::{file, is_path};
use super::tokens::{Kind, Token};
use crate::offline::intent::Intent;

/// Words with which a description begins rather than the text itself.
const DESCRIBES: &[&str] = &[
    "a",
    "an",
    "the",
    "some",
    "my",
    "our",
    "your",
    "all",
    "it",
    "this",
    "that",
    "these",
    "those",
    "them",
    "everything",
    "something",
    "down",
    "about",
    "how",
    "what",
    "why",
    "documentation",
    "docs",
    "doc",
    "tests",
    "test",
    "unit",
    "code",
    "comments",
    "comment",
    "function",
    "functions",
    "output",
    "results",
    "result",
    "summary",
    "report",
    "changes",
    "more",
    "new",
    "another",
    "support",
    "error",
    "logging",
    "back",
    "access",
    "data",
    "types",
    "examples",
    "example",
];

/// Words between the verb and the colon in `create a file F with the following content: …`.
const LEADS_TO_TEXT: &[&str] = &[
    "a",
    "an",
    "the",
    "new",
    "file",
    "called",
    "named",
    "to",
    "into",
    "in",
    "with",
    "as",
    "content",
    "contents",
    "containing",
    "text",
    "following",
    "saying",
    "this",
    "line",
    "lines",
    "and",
    "end",
    "of",
    "that",
    "says",
    "contains",
    "it",
];

/// `write`, `create`, `append`, `replace` and their relatives.
pub fn change(clause: Clause) -> Option<Intent> {
    match clause.key(0).as_str() {
        "write" | "save" | "put" | "store" => write(clause.after(1)),
        "create" | "make" | "touch" | "new" | "generate" => create(clause.after(1)),
        "append" => append(clause.after(1), false),
        "add" => append(clause.after(1), true),
        "replace" | "substitute" => replace(clause.after(1), &["with", "by"]),
        "change" | "rename" | "turn" => replace(clause.after(1), &["to", "into"]),
        "in" => {
            // `in a.txt, replace x with y`
            let verb = clause.position(&["replace", "change", "substitute"])?;
            let path = file(clause.part(1, verb).tokens)?;
            let separator: &[&str] = if clause.key(verb) == "change" {
                &["to", "into"]
            } else {
                &["with", "by"]
            };
            replaced(clause.after(verb + 1), separator, path)
        }
        _ => None,
    }
}

/// `create a file F with the content: …`, where everything after the colon is the content.
pub fn with_text_after_colon(clause: Clause) -> Option<Intent> {
    let verb = clause.key(0);
    let appends = matches!(verb.as_str(), "append" | "add");
    if !appends && !matches!(verb.as_str(), "write" | "create" | "make" | "save" | "put") {
        return None;
    }
    let colon = clause
        .tokens
        .iter()
        .position(|token| token.kind == Kind::Word && token.text.ends_with(':'))?;
    let head = clause.part(1, colon + 1);
    let mut paths = head.tokens.iter().filter(|token| is_path(token));
    let path = paths.next()?.name().to_owned();
    if paths.next().is_some() {
        return None;
    }
    // Any other word makes it a description: `add tests to a.rs: …`
    let only_leads_up = head
        .tokens
        .iter()
        .all(|token| is_path(token) || LEADS_TO_TEXT.contains(&token.key().as_str()));
    if !only_leads_up {
        return None;
    }
    let after = clause.after(colon + 1);
    let content = match after.tokens {
        [] => return None,
        [only] if only.is_quoted() => only.text.clone(),
        _ => {
            let start = clause.tokens.get(colon)?.span.end;
            clause
                .source
                .get(start..)?
                .trim_start_matches([' ', '\t', '\r', '\n'])
                .to_owned()
        }
    };
    let content = with_newline(content);
    Some(if appends {
        Intent::Append { path, content }
    } else {
        Intent::Write { path, content }
    })
}

/// `X to F`, or `F` with a code block.
fn write(clause: Clause) -> Option<Intent> {
    if let Some(to) = clause.last_position(&["to", "into", "in", "as"])
        && let Some(path) = path_of(clause.after(to + 1))
        && let Some(content) = literal(clause.part(0, to))
    {
        return Some(Intent::Write {
            path,
            content: with_newline(content),
        });
    }
    create(clause)
}

/// `a file F with X`, `an empty file F`, `F` with a code block.
fn create(clause: Clause) -> Option<Intent> {
    let path_at = clause.tokens.iter().position(is_path).or_else(|| {
        // `a file called notes`
        let named = clause.position(&["called", "named"])?;
        (named + 1 < clause.tokens.len()).then_some(named + 1)
    })?;
    let before = clause.part(0, path_at);
    let only_leads_up = before.tokens.iter().all(|token| {
        [
            "a", "an", "the", "new", "empty", "file", "called", "named", "to", "text", "at", "me",
        ]
        .contains(&token.key().as_str())
    });
    if !only_leads_up {
        return None;
    }
    let path = clause.tokens.get(path_at)?.name().to_owned();
    let after = clause.after(path_at + 1);
    let fence = after.tokens.iter().find(|token| token.kind == Kind::Fence);
    if let Some(fence) = fence {
        let content = fence.text.clone();
        return Some(Intent::Write { path, content });
    }
    if after.tokens.is_empty() {
        // An existing file is not emptied because somebody said `make a.txt`.
        let says_file = before.contains(&["empty", "file"]);
        return says_file.then_some(Intent::Write {
            path,
            content: String::new(),
        });
    }
    let introduction = after
        .tokens
        .iter()
        .take_while(|token| {
            [
                "with",
                "containing",
                "that",
                "contains",
                "says",
                "saying",
                "content",
                "contents",
                "the",
                "text",
                "following",
                "and",
                "of",
            ]
            .contains(&token.key().as_str())
        })
        .count();
    // `that says x` introduces a text, `that sorts a list` a wish for one.
    let that = after.position(&["that"]).filter(|at| *at < introduction);
    let says = ["says", "contains"];
    if that.is_some_and(|at| !says.contains(&after.key(at + 1).as_str())) {
        return None;
    }
    if introduction == 0 {
        return None;
    }
    let content = literal(after.after(introduction))?;
    Some(Intent::Write {
        path,
        content: with_newline(content),
    })
}

fn append(clause: Clause, must_be_quoted: bool) -> Option<Intent> {
    let to = clause.last_position(&["to"])?;
    let target = clause.after(to + 1);
    let target = match target.last_position(&["of"]) {
        Some(of) if target.contains(&["end", "bottom"]) => target.after(of + 1),
        _ => target,
    };
    let path = path_of(target)?;
    let what = clause.part(0, to);
    let introduction = what
        .tokens
        .iter()
        .take_while(|token| {
            ["the", "a", "line", "lines", "text", "word", "words"].contains(&token.key().as_str())
        })
        .count();
    let says_line = what
        .part(0, introduction)
        .contains(&["line", "lines", "text", "word", "words"]);
    let what = if says_line {
        what.after(introduction)
    } else {
        what
    };
    let quoted = matches!(what.tokens, [only] if only.is_quoted());
    if must_be_quoted && !quoted && !says_line {
        return None;
    }
    Some(Intent::Append {
        path,
        content: with_newline(literal(what)?),
    })
}

/// `X with Y in F`.
fn replace(clause: Clause, separators: &[&str]) -> Option<Intent> {
    let within = clause.last_position(&["in", "inside", "within"])?;
    let path = path_of(clause.after(within + 1))?;
    replaced(clause.part(0, within), separators, path)
}

fn replaced(clause: Clause, separators: &[&str], path: String) -> Option<Intent> {
    let separator = clause.position(separators)?;
    let old = clause.part(0, separator);
    let skip = old
        .tokens
        .iter()
        .take_while(|token| {
            [
                "all",
                "every",
                "each",
                "the",
                "word",
                "text",
                "string",
                "occurrences",
                "occurrence",
                "of",
                "line",
            ]
            .contains(&token.key().as_str())
        })
        .count();
    // `the` alone may be the word to be replaced.
    let old = if skip < old.tokens.len() {
        old.after(skip)
    } else {
        old
    };
    let old = old.text();
    let new = clause.after(separator + 1);
    if old.is_empty() || new.tokens.is_empty() {
        return None;
    }
    Some(Intent::Replace {
        path,
        old,
        new: new.text(),
    })
}

/// The path the words name; a word that is not clearly one must be introduced as a file.
fn path_of(clause: Clause) -> Option<String> {
    let clear = clause
        .tokens
        .iter()
        .any(|token| is_path(token) || token.is_quoted());
    let introduced = clause.contains(&["file", "called", "named"]);
    (clear || introduced).then(|| file(clause.tokens)).flatten()
}

/// Text to be taken as it is: quoted, or words that describe nothing.
fn literal(clause: Clause) -> Option<String> {
    match clause.tokens {
        [] => None,
        [.., last] if last.kind == Kind::Fence => Some(last.text.clone()),
        [only] if only.is_quoted() => Some(only.text.clone()),
        tokens => {
            let mut quoted = tokens.iter().filter(|token| token.is_quoted());
            let introduced = tokens
                .iter()
                .all(|token| token.is_quoted() || INTRODUCES.contains(&token.key().as_str()));
            match (quoted.next(), quoted.next()) {
                (Some(only), None) if introduced => Some(only.text.clone()),
                (None, None) if !describes(tokens) => Some(clause.raw().to_owned()),
                _ => None,
            }
        }
    }
}

/// Words that may stand before a quotation: `the text "x"`.
const INTRODUCES: &[&str] = &[
    "the",
    "text",
    "word",
    "words",
    "line",
    "string",
    "content",
    "contents",
    "following",
    "a",
    "",
];

fn describes(tokens: &[Token]) -> bool {
    let first = tokens.first().map(Token::key).unwrap_or_default();
    DESCRIBES.contains(&first.as_str())
}

/// Text files end with a newline.
fn with_newline(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
