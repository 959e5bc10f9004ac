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

/// Text as a code block of at most `max_lines` lines, with a fence that is not in the text.
pub fn fenced(text: &str, language: &str, max_lines: usize) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start())
        .map(|line| line.len() - line.trim_start_matches('`').len())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let total = text.lines().count();
    let shown: Vec<&str> = text.lines().take(max_lines).collect();
    let rest = total.saturating_sub(max_lines);
    let more = if rest == 0 {
        String::new()
    } else {
        format!("\n\n… and {}.", counted(rest, "more line"))
    };
    format!("{fence}{language}\n{}\n{fence}{more}", shown.join("\n"))
}

/// A list of at most `max` items.
pub fn list(items: &[String], max: usize) -> String {
    let mut lines: Vec<String> = items
        .iter()
        .take(max)
        .map(|item| format!("- {item}"))
        .collect();
    if items.len() > max {
        lines.push(format!("- … and {} more", items.len() - max));
    }
    lines.join("\n")
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
        Some("sh") => "sh",
        Some("yml") => "yaml",
        Some(
            ending @ ("toml" | "json" | "yaml" | "html" | "css" | "go" | "java" | "c" | "xml"
            | "sql"),
        ) => ending,
        _ => "text",
    }
}
