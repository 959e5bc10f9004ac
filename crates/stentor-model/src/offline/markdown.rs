//! Pieces of Markdown.

/// `3 files`, `1 file`, `no files`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = match what {
        "entry" => "entries".to_owned(),
        "match" => "matches".to_owned(),
        word => format!("{word}s"),
    };
    match count {
        0 => format!("no {plural}"),
        1 => format!("1 {what}"),
        _ => format!("{count} {plural}"),
    }
}

/// Text as inline code, however many backticks it contains.
pub fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// A path as code, or the working folder in words.
pub fn here_or(path: Option<&str>) -> String {
    path.map_or_else(|| "this folder".to_owned(), code)
}

/// Which part of a long text is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ExcerptPart {
    Beginning,
    /// Where a command reports what went wrong.
    End,
}

/// Text as a code block of at most `max` lines, with a fence that is not in the text.
pub fn fenced(text: &str, language: &str, max: usize, part: ExcerptPart) -> String {
    let ticks = |line: &str| line.len() - line.trim_start_matches('`').len();
    let longest = text.lines().map(|line| ticks(line.trim_start())).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(max);
    let (shown, before, after) = match part {
        _ if left_out == 0 => (lines.as_slice(), String::new(), String::new()),
        ExcerptPart::Beginning => (
            lines.get(..max).unwrap_or_default(),
            String::new(),
            format!("\n\n… and {}.", counted(left_out, "more line")),
        ),
        ExcerptPart::End => (
            lines.get(left_out..).unwrap_or_default(),
            format!(
                "{} before this are left out.\n\n",
                counted(left_out, "line")
            ),
            String::new(),
        ),
    };
    format!(
        "{before}{fence}{language}\n{}\n{fence}{after}",
        shown.join("\n")
    )
}

/// A list of at most `max` items.
pub fn list(items: &[String], max: usize) -> String {
    let shown = items.iter().take(max).map(|item| format!("- {item}"));
    let mut lines: Vec<String> = shown.collect();
    if items.len() > max {
        lines.push(format!("- … and {} more", items.len() - max));
    }
    lines.join("\n")
}

/// With a capital letter, for the beginning of a sentence.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The language name of a file for its code block.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("js" | "mjs") => "javascript",
        Some("ts") => "typescript",
        Some("md") => "markdown",
        Some("yml") => "yaml",
        Some(
            ending @ ("toml" | "json" | "yaml" | "html" | "css" | "go" | "java" | "c" | "xml"
            | "sql" | "sh" | "diff"),
        ) => ending,
        _ => "text",
    }
}
