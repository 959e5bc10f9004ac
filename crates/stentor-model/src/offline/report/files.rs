//! Reports about folders, files and matches.

use std::collections::BTreeMap;

use super::markdown::{code, counted, fenced, here_or, list};
use crate::offline::act::{Exchange, MAX_LISTED};

const MAX_ENTRIES: usize = 40;
const MAX_MATCHES: usize = 15;
const MAX_KINDS: usize = 6;
const MAX_OUTLINE: usize = 20;
const MAX_MATCH_CHARS: usize = 160;

/// A folder's content.
pub fn listing(path: Option<&str>, text: &str) -> String {
    let entries = entries(text);
    if entries.is_empty() {
        return format!("{} is empty.", start(&here_or(path)));
    }
    let folders = entries.iter().filter(|name| name.ends_with('/')).count();
    let files = entries.len() - folders;
    let names: Vec<String> = entries.iter().map(|name| code(name)).collect();
    format!(
        "{} has {}: {} and {}.\n\n{}",
        start(&here_or(path)),
        counted(entries.len(), "entry"),
        counted(folders, "folder"),
        counted(files, "file"),
        list(&names, MAX_ENTRIES)
    )
}

/// Files found by name.
pub fn found(pattern: &str, exchange: &Exchange) -> String {
    let text = exchange.text();
    let files = entries(&text);
    if files.is_empty() {
        return format!("No file is named {}.", code(pattern));
    }
    let names: Vec<String> = files.iter().map(|name| code(name)).collect();
    format!(
        "Found {}{} named {}:\n\n{}",
        at_least(exchange),
        counted(files.len(), "file"),
        code(pattern),
        list(&names, MAX_ENTRIES)
    )
}

/// Lines found by their text.
pub fn matches(wanted: &str, path: Option<&str>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let found: Vec<Match> = text.lines().filter_map(Match::parse).collect();
    if found.is_empty() {
        return format!("No match for {} in {}.", code(wanted), here_or(path));
    }
    let mut files: Vec<&str> = found.iter().map(|one| one.path).collect();
    files.sort_unstable();
    files.dedup();
    let lines: Vec<String> = found.iter().map(Match::shown).collect();
    format!(
        "Found {}{} for {} in {}:\n\n{}",
        at_least(exchange),
        counted(found.len(), "match"),
        code(wanted),
        counted(files.len(), "file"),
        list(&lines, MAX_MATCHES)
    )
}

/// How many files there are.
pub fn file_count(path: Option<&str>, text: &str) -> String {
    let files = entries(text)
        .into_iter()
        .filter(|name| !name.ends_with('/'));
    let count = files.count();
    let at_least = if count as u64 >= MAX_LISTED {
        "at least "
    } else {
        ""
    };
    format!(
        "{} has {at_least}{}.",
        start(&here_or(path)),
        counted(count, "file")
    )
}

/// What is in a folder: entries, kinds of files, the beginning of its README.
pub fn folder_summary(path: Option<&str>, had: &[Exchange]) -> String {
    let Some((first, rest)) = had.split_first() else {
        return "There is nothing to report.".to_owned();
    };
    if first.result.is_error {
        return format!(
            "{} could not be read: {}",
            start(&here_or(path)),
            first.text().trim()
        );
    }
    let text = first.text();
    let top = entries(&text);
    let folders: Vec<String> = top
        .iter()
        .filter(|name| name.ends_with('/'))
        .map(|name| code(name))
        .collect();
    let mut parts = vec![format!(
        "## {}",
        start(&path.map_or("this folder".to_owned(), code))
    )];
    parts.push(format!(
        "At the top {} and {}.",
        counted(folders.len(), "folder"),
        counted(top.len() - folders.len(), "file")
    ));
    if !folders.is_empty() {
        parts.push(format!("**Folders:** {}", shortened(&folders)));
    }
    let (readmes, all): (Vec<&Exchange>, Vec<&Exchange>) = rest
        .iter()
        .filter(|one| !one.result.is_error)
        .partition(|one| one.is_about_readme());
    if let Some(all) = all.first() {
        parts.push(kinds(&all.text()));
    }
    if let Some(readme) = readmes.first() {
        let text = readme.text();
        if let Some(title) = text.lines().find_map(|line| line.strip_prefix("# ")) {
            parts.push(format!("**README:** {}", title.trim()));
        }
        if let Some(paragraph) = first_paragraph(&text) {
            parts.push(format!("> {paragraph}"));
        }
    }
    parts.join("\n\n")
}

/// What is in a file: its size, its first paragraph, its headings or definitions.
pub fn file_summary(path: &str, exchange: &Exchange) -> String {
    let text = exchange.text();
    let words = text.split_whitespace().count();
    let mut parts = vec![format!(
        "{} has {} and {}.",
        code(path),
        counted(exchange.total_lines(), "line"),
        counted(words, "word")
    )];
    let prose = path.ends_with(".md") || path.ends_with(".txt") || path.ends_with(".rst");
    if prose && let Some(paragraph) = first_paragraph(&text) {
        parts.push(format!("> {paragraph}"));
    }
    let outline: Vec<String> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            if prose {
                line.starts_with('#')
            } else {
                is_definition(line)
            }
        })
        .map(|(n, line)| {
            format!(
                "line {}: {}",
                n + 1,
                code(line.trim().trim_end_matches('{').trim_end())
            )
        })
        .collect();
    if outline.is_empty() {
        let start: Vec<&str> = text.lines().take(10).collect();
        parts.push(format!(
            "It begins:\n\n{}",
            fenced(&start.join("\n"), "text", 10)
        ));
    } else {
        let what = if prose { "Headings" } else { "Definitions" };
        parts.push(format!("**{what}:**\n\n{}", list(&outline, MAX_OUTLINE)));
    }
    parts.join("\n\n")
}

/// One line of a search's output.
struct Match<'a> {
    path: &'a str,
    line: u64,
    text: &'a str,
}

impl<'a> Match<'a> {
    /// `path:line: text`; the path may contain colons, the number decides.
    fn parse(line: &'a str) -> Option<Self> {
        let mut from = 0;
        while let Some(colon) = line.get(from..)?.find(':') {
            let path = line.get(..from + colon)?;
            let rest = line.get(from + colon + 1..)?;
            let digits = rest.len()
                - rest
                    .trim_start_matches(|char: char| char.is_ascii_digit())
                    .len();
            let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
            if let (Some(number), Some(text)) = (number, rest.get(digits..)?.strip_prefix(':'))
                && !path.is_empty()
            {
                return Some(Self {
                    path: path.trim_start_matches("./"),
                    line: number,
                    text: text.trim(),
                });
            }
            from += colon + 1;
        }
        None
    }

    fn shown(&self) -> String {
        let text: String = self.text.chars().take(MAX_MATCH_CHARS).collect();
        let place = code(&format!("{}:{}", self.path, self.line));
        if text.is_empty() {
            place
        } else {
            format!("{place} {}", code(&text))
        }
    }
}

/// The entries of a listing, without the notes of the tool about it.
fn entries(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim_end)
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with('[')
                && !line.starts_with('(')
                && !line.starts_with("No files found")
        })
        .map(|line| {
            line.strip_prefix("./")
                .filter(|rest| !rest.is_empty())
                .unwrap_or(line)
        })
        .collect()
}

fn kinds(text: &str) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut total = 0;
    for name in entries(text)
        .into_iter()
        .filter(|name| !name.ends_with('/'))
    {
        let file = name.rsplit('/').next().unwrap_or(name);
        let ending = match file.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => ending,
            _ => "",
        };
        *kinds.entry(ending).or_default() += 1;
        total += 1;
    }
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(ending, count)| (std::cmp::Reverse(*count), *ending));
    let shown: Vec<String> = kinds
        .iter()
        .take(MAX_KINDS)
        .map(|(ending, count)| match *ending {
            "" => format!("{count} without ending"),
            ending => format!("{count} {}", code(&format!(".{ending}"))),
        })
        .collect();
    let at_least = if total as u64 >= MAX_LISTED {
        "at least "
    } else {
        ""
    };
    format!("**Files in all:** {at_least}{total} ({})", shown.join(", "))
}

/// What to say before a number that may be larger.
fn at_least(exchange: &Exchange) -> &'static str {
    if exchange.is_complete() {
        ""
    } else {
        "at least "
    }
}

fn shortened(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_ENTRIES).map(String::as_str).collect();
    let more = names.len().saturating_sub(MAX_ENTRIES);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", shown.join(", "))
}

/// The first lines of prose, up to a blank line.
fn first_paragraph(text: &str) -> Option<String> {
    const MAX_CHARS: usize = 400;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .skip_while(|line| {
            line.is_empty() || line.starts_with(['#', '<', '[', '!', '=', '-', '>', '|', '`'])
        })
        .take_while(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let paragraph: String = lines.join(" ").chars().take(MAX_CHARS).collect();
    (!paragraph.is_empty()).then_some(paragraph)
}

/// True for a line that defines something in one of the usual languages.
fn is_definition(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "fn ",
        "struct ",
        "enum ",
        "trait ",
        "impl ",
        "mod ",
        "def ",
        "class ",
        "function ",
        "interface ",
        "type ",
        "func ",
        "const fn ",
        "async fn ",
        "async def ",
        "defn ",
        "module ",
        "unsafe fn ",
        "async function ",
    ];
    let line = line.trim_end();
    let line = [
        "pub(crate) ",
        "pub(super) ",
        "pub ",
        "export default ",
        "export ",
    ]
    .iter()
    .find_map(|prefix| line.strip_prefix(prefix))
    .unwrap_or(line);
    STARTS.iter().any(|start| line.starts_with(start))
        || line.starts_with("(defn ")
        || line.starts_with("(defun ")
}

/// With a capital letter, for the beginning of a sentence.
pub fn start(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
