//! Tables of Markdown, fitted to the width of a terminal.

use super::markdown::inline;
use super::styled::{Row, StyledSpan, TextStyle, wrap};

/// Narrower columns are not readable.
const NARROWEST: usize = 6;
const SEPARATOR: &str = " │ ";
const SEPARATOR_COLUMNS: usize = 3;

/// The rows of the table that these lines write down.
pub fn rows(lines: &[String], columns: usize, base: TextStyle) -> Vec<Row> {
    let table: Vec<Vec<String>> = lines.iter().map(|line| cells(line)).collect();
    let has_header = table.get(1).is_some_and(|cells| is_rule(cells));
    let head = TextStyle { bold: true, ..base };
    let body: Vec<Vec<Vec<StyledSpan>>> = table
        .iter()
        .enumerate()
        .filter(|(n, cells)| !cells.is_empty() && (!has_header || *n != 1))
        .map(|(n, cells)| {
            let look = if has_header && n == 0 { head } else { base };
            cells.iter().map(|cell| inline(cell, look)).collect()
        })
        .collect();
    let widths = fit(&natural_widths(&body), columns);
    let mut rows = Vec::new();
    for (n, cells) in body.iter().enumerate() {
        rows.extend(table_row(cells, &widths));
        if has_header && n == 0 {
            let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            rows.push(Row::of(&lines.join("─┼─"), TextStyle::DIM));
        }
    }
    rows
}

/// The cells of a line; a bar behind a backslash or in code separates nothing.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut escaped, mut in_code) = (false, false);
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    for c in line.chars() {
        match c {
            '|' if !escaped && !in_code => {
                cells.push(String::new());
                continue;
            }
            '`' => in_code = !in_code,
            _ => {}
        }
        escaped = c == '\\';
        if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
    }
    if cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    let trimmed = cells.iter().map(|cell| cell.trim().replace("\\|", "|"));
    trimmed.collect()
}

fn is_rule(cells: &[String]) -> bool {
    let is_line = |cell: &String| cell.contains('-') && cell.chars().all(|c| "-: ".contains(c));
    !cells.is_empty() && cells.iter().all(is_line)
}

fn natural_widths(body: &[Vec<Vec<StyledSpan>>]) -> Vec<usize> {
    let count = body.iter().map(Vec::len).max().unwrap_or(0);
    let widths = (0..count).map(|column| {
        let cells = body.iter().filter_map(|cells| cells.get(column));
        let widths = cells.map(|cell| cell.iter().map(StyledSpan::width).sum::<usize>());
        widths.max().unwrap_or(0)
    });
    widths.collect()
}

/// Takes from the widest columns until all fit.
fn fit(natural: &[usize], columns: usize) -> Vec<usize> {
    let between = natural.len().saturating_sub(1) * SEPARATOR_COLUMNS;
    let room = columns.saturating_sub(between);
    let mut widths = natural.to_vec();
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else {
            break;
        };
        *widest -= 1;
    }
    widths
}

fn table_row(cells: &[Vec<StyledSpan>], widths: &[usize]) -> Vec<Row> {
    let none = Vec::new();
    let wrapped: Vec<Vec<Row>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let cell = cells.get(column).unwrap_or(&none);
            wrap(cell, *width, &Row::new(), &Row::new())
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let rows = (0..height).map(|line| {
        let mut row = Row::new();
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                row = row.with(SEPARATOR, TextStyle::DIM);
            }
            let cell = wrapped.get(column).and_then(|rows| rows.get(line));
            let cell = cell.cloned().unwrap_or_default();
            let is_last = column + 1 == widths.len();
            let missing = width.saturating_sub(cell.width());
            row = row.with_spans(cell.into_spans());
            if !is_last {
                row = row.with(&" ".repeat(missing), TextStyle::PLAIN);
            }
        }
        row
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn cells_wrap_between_words_where_the_table_is_too_wide() {
        let lines = [
            "| name | what it says about itself |",
            "|:--|--:|",
            "| `a|b` | a rather long text that cannot be shown in one row |",
            "| short |",
        ]
        .map(str::to_owned);
        let shown: String = rows(&lines, 30, TextStyle::PLAIN)
            .iter()
            .map(|row| row.to_text(false) + "\n")
            .collect();
        expect![[r#"
            name  │ what it says about
                  │ itself
            ──────┼───────────────────────
            a|b   │ a rather long text
                  │ that cannot be shown
                  │ in one row
            short │ 
        "#]]
        .assert_eq(&shown);
    }
}
