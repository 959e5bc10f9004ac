//! What a file is about, from the file itself: its first comment and its definitions or headings.

use super::markdown::{ExcerptPart, code, counted, fenced, list};

const MAX_OUTLINE: usize = 25;
const MAX_PARAGRAPH_CHARS: usize = 400;

/// The outline of a file with this text, of which there are `lines` lines.
pub fn outline(path: &str, text: &str, lines: usize) -> String {
    let prose = is_prose(path);
    let mut parts = vec![format!("{} has {}.", code(path), counted(lines, "line"))];
    let about = if prose {
        first_paragraph(text)
    } else {
        first_comment(text)
    };
    parts.extend(about.map(|about| format!("> {about}")));
    let (what, items) = if prose {
        ("Headings", headings(text))
    } else {
        ("Definitions", definitions(text))
    };
    match items.is_empty() {
        false => parts.push(format!("**{what}:**\n\n{}", list(&items, MAX_OUTLINE))),
        true if parts.len() == 1 => parts.push(format!(
            "It begins:\n\n{}",
            fenced(text, "text", 10, ExcerptPart::Beginning)
        )),
        true => {}
    }
    parts.join("\n\n")
}

/// The first lines of prose, up to a blank line.
pub fn first_paragraph(text: &str) -> Option<String> {
    let marks = ['#', '<', '[', '!', '=', '-', '>', '|', '`'];
    let lines = text.lines().map(str::trim);
    let prose = lines.skip_while(|line| line.is_empty() || line.starts_with(marks));
    let paragraph = prose.take_while(|line| !line.is_empty() && !line.starts_with('#'));
    shortened(&paragraph.collect::<Vec<_>>().join(" "))
}

fn is_prose(path: &str) -> bool {
    let endings = [".md", ".txt", ".rst", ".org", ".adoc"];
    let lower = path.to_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
        || !lower.rsplit('/').next().unwrap_or_default().contains('.')
}

/// The comment or docstring with which a source file begins.
fn first_comment(text: &str) -> Option<String> {
    let marks = [
        "//!", "///", "//", "#", ";;;", ";;", ";", "--", "\"\"\"", "/**", "/*", "*/", "*",
    ];
    let bare = |line: &str| {
        let mark = marks.iter().find(|mark| line.starts_with(**mark))?;
        Some(
            line.strip_prefix(mark)?
                .trim_end_matches("\"\"\"")
                .trim()
                .to_owned(),
        )
    };
    let lines = text.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.is_empty() || line.starts_with("#!"));
    let comment: Vec<String> = lines
        .map_while(bare)
        .take_while(|line| !line.is_empty())
        .collect();
    shortened(&comment.join(" "))
}

fn shortened(text: &str) -> Option<String> {
    let text = text.trim();
    match text.char_indices().nth(MAX_PARAGRAPH_CHARS) {
        Some((end, _)) => text.get(..end).map(|start| format!("{start}…")),
        None => (!text.is_empty()).then(|| text.to_owned()),
    }
}

fn headings(text: &str) -> Vec<String> {
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code && line.starts_with('#')
    });
    lines
        .map(|line| line.trim_matches(['#', ' ']).to_owned())
        .collect()
}

/// The lines that define something in one of the usual languages, with their numbers.
fn definitions(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| is_definition(line));
    lines
        .map(|(at, line)| {
            let head = line.trim().trim_end_matches(['{', ':', '(']).trim_end();
            format!("line {}: {}", at + 1, code(head))
        })
        .collect()
}

fn is_definition(line: &str) -> bool {
    const PREFIXES: &str = "pub(crate)|pub(super)|pub|export|default|async|unsafe|const|static|\
                            public|private|abstract|final";
    const STARTS: &str = "fn|struct|enum|trait|impl|mod|macro_rules!|def|class|function|interface|\
                          type|func|module|(defn|(defun|(def|(ns";
    // Indented ones are parts of others, methods of Python classes aside.
    let mut rest = line
        .strip_prefix("    def ")
        .map_or(line, |_| line.trim_start());
    let mut word;
    loop {
        (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if !PREFIXES.split('|').any(|prefix| prefix == word) {
            break;
        }
    }
    let starts = STARTS.split('|').any(|start| start == word) || word.starts_with("impl<");
    // Only a declaration: its definition is in another file.
    let elsewhere = word == "mod" && line.trim_end().ends_with(';');
    starts && !elsewhere
}
