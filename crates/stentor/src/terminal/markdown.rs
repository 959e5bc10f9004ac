//! Markdown as it streams in: rows for a terminal, as soon as a line of it is complete.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::styled::{Colour, Row, StyledSpan, TextStyle, wrap, wrap_exactly};
use super::table;

/// More is no sign of structure but of an accident.
const DEEPEST_INDENT: usize = 16;
/// A terminal that has fewer is taken for one that has so many.
const LEAST_COLUMNS: usize = 20;
/// A rule is no longer than this.
const RULE_COLUMNS: usize = 40;

/// Renders the text of one answer.
#[derive(Debug)]
pub struct Markdown {
    columns: usize,
    /// The line that is not complete yet.
    begun: String,
    block: MarkdownBlock,
    /// The last row was blank: another one says nothing.
    after_blank: bool,
    /// How all of it looks; thinking is dim.
    base: TextStyle,
}

/// What the next line is part of.
#[derive(Debug)]
enum MarkdownBlock {
    Text,
    Fence {
        marker: String,
        is_diff: bool,
    },
    /// Its lines so far: how wide columns are is known at its end.
    Table(Vec<String>),
}

impl Markdown {
    /// Renders for a terminal of so many columns.
    pub fn new(columns: usize, base: TextStyle) -> Self {
        Self {
            columns: columns.max(LEAST_COLUMNS),
            begun: String::new(),
            block: MarkdownBlock::Text,
            after_blank: true,
            base,
        }
    }

    /// The terminal has another width: rows that follow are made for it.
    pub fn resize(&mut self, columns: usize) {
        self.columns = columns.max(LEAST_COLUMNS);
    }

    /// Takes more text and gives the rows that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        self.begun.push_str(text);
        while let Some(end) = self.begun.find('\n') {
            let rest = self.begun.split_off(end + 1);
            let line = std::mem::replace(&mut self.begun, rest);
            let line = line.trim_end_matches(['\n', '\r']);
            let more = self.line(line);
            rows.extend(self.without_blank_pairs(more));
        }
        rows
    }

    /// The rows of what is left at the end.
    pub fn finish(&mut self) -> Vec<Row> {
        let line = std::mem::take(&mut self.begun);
        let mut rows = match line.is_empty() {
            true => Vec::new(),
            false => self.line(&line),
        };
        rows.extend(self.end_table());
        self.block = MarkdownBlock::Text;
        self.without_blank_pairs(rows)
    }

    /// What has come of the line that is not complete yet, as it would look.
    pub fn unfinished(&self) -> Vec<Row> {
        if let MarkdownBlock::Table(lines) = &self.block {
            return table::rows(lines, self.columns, self.base);
        }
        match (&self.block, self.begun.is_empty()) {
            (_, true) => Vec::new(),
            (MarkdownBlock::Fence { marker, .. }, false) if self.begun.trim_start() == marker => {
                Vec::new()
            }
            (MarkdownBlock::Fence { is_diff, .. }, false) => self.code(&self.begun, *is_diff),
            (MarkdownBlock::Text | MarkdownBlock::Table(_), false) => self.text(&self.begun),
        }
    }

    fn line(&mut self, line: &str) -> Vec<Row> {
        match &mut self.block {
            MarkdownBlock::Fence { marker, .. } if line.trim() == marker => {
                self.block = MarkdownBlock::Text;
                Vec::new()
            }
            MarkdownBlock::Fence { is_diff, .. } => {
                let is_diff = *is_diff;
                self.code(line, is_diff)
            }
            MarkdownBlock::Table(lines) if is_table_line(line) => {
                lines.push(line.to_owned());
                Vec::new()
            }
            MarkdownBlock::Table(_) => {
                let mut rows = self.end_table();
                rows.extend(self.line(line));
                rows
            }
            MarkdownBlock::Text => {
                if let Some((marker, language)) = fence(line) {
                    let is_diff = matches!(language, "diff" | "patch");
                    let marker = marker.to_owned();
                    self.block = MarkdownBlock::Fence { marker, is_diff };
                    return Vec::new();
                }
                if is_table_line(line) {
                    self.block = MarkdownBlock::Table(vec![line.to_owned()]);
                    return Vec::new();
                }
                self.text(line)
            }
        }
    }

    fn end_table(&mut self) -> Vec<Row> {
        match std::mem::replace(&mut self.block, MarkdownBlock::Text) {
            MarkdownBlock::Table(lines) => table::rows(&lines, self.columns, self.base),
            other => {
                self.block = other;
                Vec::new()
            }
        }
    }

    fn without_blank_pairs(&mut self, rows: Vec<Row>) -> Vec<Row> {
        let mut kept = Vec::with_capacity(rows.len());
        for row in rows {
            let is_blank = row.is_blank();
            if !(is_blank && self.after_blank) {
                kept.push(row);
            }
            self.after_blank = is_blank;
        }
        kept
    }

    fn code(&self, line: &str, is_diff: bool) -> Vec<Row> {
        let look = match (is_diff, line.chars().next()) {
            (true, Some('+')) => TextStyle::colour(Colour::Green),
            (true, Some('-')) => TextStyle::colour(Colour::Red),
            _ => TextStyle::colour(Colour::Cyan),
        };
        let look = TextStyle {
            dim: self.base.dim,
            ..look
        };
        let indent = Row::of("  ", TextStyle::PLAIN);
        wrap_exactly(&[StyledSpan::new(line, look)], self.columns, &indent)
    }

    /// A line outside of code and tables.
    fn text(&self, line: &str) -> Vec<Row> {
        let trimmed = line.trim_start();
        let indent = (line.len() - trimmed.len()).min(DEEPEST_INDENT);
        if trimmed.is_empty() {
            return vec![Row::new()];
        }
        if is_rule(trimmed) {
            let rule = "─".repeat(self.columns.min(RULE_COLUMNS));
            return vec![Row::of(&rule, TextStyle::DIM)];
        }
        if let Some((level, title)) = heading(trimmed) {
            let look = TextStyle {
                bold: true,
                underline: level == 1,
                ..self.base
            };
            let spans = inline(title, look);
            return wrap(&spans, self.columns, &Row::new(), &Row::new());
        }
        let margin = " ".repeat(indent);
        if let Some(quoted) = trimmed.strip_prefix('>') {
            let bar = Row::of(&format!("{margin}│ "), TextStyle::DIM);
            let look = TextStyle {
                italic: true,
                ..self.base
            };
            return wrap(&inline(quoted.trim_start(), look), self.columns, &bar, &bar);
        }
        let (mark, rest) = list_mark(trimmed).unwrap_or((String::new(), trimmed));
        let first = Row::of(&margin, TextStyle::PLAIN).with(&mark, TextStyle::colour(Colour::Blue));
        let next = Row::of(&" ".repeat(first.width()), TextStyle::PLAIN);
        wrap(&inline(rest, self.base), self.columns, &first, &next)
    }
}

/// The marker that closes it, and the language.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == first).count();
    let (marker, language) = line.split_at_checked(length)?;
    (length >= 3 && !language.contains('`')).then_some((marker, language.trim()))
}

fn is_table_line(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|')
}

fn is_rule(line: &str) -> bool {
    let marks: String = line.chars().filter(|c| *c != ' ').collect();
    let first = marks.chars().next();
    marks.len() >= 3
        && first.is_some_and(|first| {
            matches!(first, '-' | '*' | '_') && marks.chars().all(|c| c == first)
        })
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|c| *c == '#').count();
    let title = line.get(level..)?.strip_prefix(' ')?;
    ((1..=6).contains(&level)).then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

/// How a list item begins, as it is shown, and what follows.
fn list_mark(line: &str) -> Option<(String, &str)> {
    if let Some(rest) = line.strip_prefix(['-', '*', '+']) {
        let rest = rest.strip_prefix(' ')?.trim_start();
        let task = |mark: &str| rest.strip_prefix(mark);
        return Some(
            match (task("[ ] "), task("[x] ").or_else(|| task("[X] "))) {
                (Some(rest), _) => ("☐ ".to_owned(), rest),
                (None, Some(rest)) => ("☑ ".to_owned(), rest),
                (None, None) => ("• ".to_owned(), rest),
            },
        );
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits)?;
    let rest = rest.strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    (1..=9)
        .contains(&digits)
        .then(|| (format!("{number}. "), rest.trim_start()))
}

/// Stands before what is parsed, so that nothing at its beginning is taken for the beginning of a
/// block.
const GUARD: &str = ",";

/// The pieces of a line of text: emphasis, code, links.
pub(super) fn inline(text: &str, base: TextStyle) -> Vec<StyledSpan> {
    let guarded = format!("{GUARD}{text}");
    let mut spans = Vec::new();
    let mut look = base;
    let mut outer = Vec::new();
    let mut address: Option<(String, String)> = None;
    let mut guard_is_there = true;
    for event in Parser::new_ext(&guarded, Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(tag) => {
                outer.push(look);
                match tag {
                    Tag::Emphasis => look.italic = true,
                    Tag::Strong => look.bold = true,
                    Tag::Strikethrough => look.strike = true,
                    Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                        look.underline = true;
                        address = Some((dest_url.into_string(), String::new()));
                    }
                    _ => {}
                }
            }
            Event::End(tag) => {
                look = outer.pop().unwrap_or(base);
                if let (TagEnd::Link | TagEnd::Image, Some((url, shown))) = (tag, address.take())
                    && url != shown
                    && !url.is_empty()
                {
                    spans.push(StyledSpan::new(
                        &format!(" ({url})"),
                        TextStyle { dim: true, ..base },
                    ));
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                let mut text = &*text;
                if guard_is_there {
                    guard_is_there = false;
                    text = text.strip_prefix(GUARD).unwrap_or(text);
                }
                if let Some((_, shown)) = &mut address {
                    shown.push_str(text);
                }
                spans.push(StyledSpan::new(text, look));
            }
            Event::Code(text) => {
                let colour = Some(Colour::Cyan);
                spans.push(StyledSpan::new(&text, TextStyle { colour, ..look }));
            }
            Event::SoftBreak | Event::HardBreak => spans.push(StyledSpan::new(" ", look)),
            _ => {}
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const ANSWER: &str = "\
# What it does

It is **fast** and _small_; see `main.rs` and [the docs](https://x.example/d).


1. first point that is long enough to be wrapped
2. second
   - [x] nested
> quoted
```rust
fn main() {}
```
| name | meaning |
|---|---|
| a | the first |

1986. A year, ~~gone~~.
";

    fn plain(rows: &[Row]) -> String {
        rows.iter().map(|row| row.to_text(false) + "\n").collect()
    }

    #[test]
    fn every_kind_of_block_is_shown() {
        let mut markdown = Markdown::new(40, TextStyle::PLAIN);
        let mut rows = markdown.push(ANSWER);
        rows.extend(markdown.finish());
        expect![[r#"
            What it does

            It is fast and small; see main.rs and
            the docs (https://x.example/d).

            1. first point that is long enough to be
               wrapped
            2. second
               ☑ nested
            │ quoted
              fn main() {}
            name │ meaning
            ─────┼──────────
            a    │ the first

            1986. A year, gone.
        "#]]
        .assert_eq(&plain(&rows));
    }

    #[test]
    fn in_whatever_pieces_it_comes_the_rows_are_the_same() {
        let mut whole = Markdown::new(40, TextStyle::PLAIN);
        let mut expected = whole.push(ANSWER);
        expected.extend(whole.finish());
        for size in [1, 3, 7] {
            let mut markdown = Markdown::new(40, TextStyle::PLAIN);
            let letters: Vec<char> = ANSWER.chars().collect();
            let mut rows = Vec::new();
            for piece in letters.chunks(size) {
                rows.extend(markdown.push(&piece.iter().collect::<String>()));
            }
            rows.extend(markdown.finish());
            assert_eq!(plain(&rows), plain(&expected), "in pieces of {size}");
        }
    }

    #[test]
    fn looks_are_those_of_the_text() {
        let mut markdown = Markdown::new(40, TextStyle::PLAIN);
        let rows = markdown.push("**b** `c`\n");
        let text: Vec<String> = rows.iter().map(|row| row.to_text(true)).collect();
        assert_eq!(text, ["\u{1b}[1mb\u{1b}[0m \u{1b}[36mc\u{1b}[0m"]);
    }

    #[test]
    fn what_comes_after_a_resize_is_as_wide_as_the_terminal() {
        let mut markdown = Markdown::new(40, TextStyle::PLAIN);
        let line = "one two three four five six seven\n";
        assert_eq!(markdown.push(line).len(), 1);
        markdown.resize(20);
        assert_eq!(markdown.push(line).len(), 2);
    }

    #[test]
    fn what_is_not_complete_can_be_looked_at() {
        let mut markdown = Markdown::new(40, TextStyle::PLAIN);
        assert_eq!(plain(&markdown.push("one\ntwo **th")), "one\n");
        assert_eq!(plain(&markdown.unfinished()), "two **th\n");
    }
}
