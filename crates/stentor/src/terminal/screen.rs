//! What is on the screen: rows that stay, and below them a few that change.
//!
//! The rows that change (what is running, the line that is typed) are erased before anything is
//! printed and painted again below it. Nothing else moves the cursor, so what was printed is in the
//! terminal's own history, to be scrolled and copied as usual. A terminal that cannot move its cursor
//! gets the rows that stay and nothing else.

use std::fs::File;
use std::io::{self, Write};

use super::styled::Row;
use super::tty::{Abilities, Size};

/// Rows that change, and where the cursor stands in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveRows {
    pub rows: Vec<Row>,
    /// Row and column, from zero.
    pub cursor: Option<(usize, usize)>,
}

/// The screen.
pub struct Screen {
    out: File,
    abilities: Abilities,
    size: Size,
    painted: Painted,
}

/// What the live part looks like now.
#[derive(Default)]
struct Painted {
    live: LiveRows,
    /// The widths of its rows.
    widths: Vec<usize>,
    /// The row the cursor is in.
    cursor_row: usize,
}

/// Terminals that know it show what is between both at once; others ignore it.
const BEGIN_UPDATE: &str = "\u{1b}[?2026h";
const END_UPDATE: &str = "\u{1b}[?2026l";
const PASTES_ARE_MARKED: &str = "\u{1b}[?2004h";
const PASTES_ARE_NOT_MARKED: &str = "\u{1b}[?2004l";
const ERASE_BELOW: &str = "\r\u{1b}[J";

impl Screen {
    /// A screen on which nothing has been painted.
    pub fn new(out: File, abilities: Abilities) -> Self {
        Self {
            size: Size::of(&out),
            out,
            abilities,
            painted: Painted::default(),
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> Size {
        self.size
    }

    /// What the terminal can do.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Has the terminal mark what is pasted, so that a line break in it submits nothing.
    pub fn begin(&mut self) -> io::Result<()> {
        self.control(PASTES_ARE_MARKED)
    }

    /// Leaves the terminal as it was.
    pub fn end(&mut self) -> io::Result<()> {
        self.paint(LiveRows::default())?;
        self.control(PASTES_ARE_NOT_MARKED)
    }

    /// The terminal has another size. Rows that got too long for it have been broken by it.
    pub fn resize(&mut self) {
        let size = Size::of(&self.out);
        if size == self.size {
            return;
        }
        self.size = size;
        let broken = |width: &usize| width.saturating_sub(1) / size.columns.max(1);
        let widths = self.painted.widths.iter();
        let above = widths.take(self.painted.cursor_row).map(broken);
        self.painted.cursor_row += above.sum::<usize>();
        self.painted.live = LiveRows::default();
    }

    /// Somebody else wrote to the terminal: the live part is painted anew, below it.
    pub fn forget_painted(&mut self) {
        self.painted = Painted::default();
    }

    /// Clears the screen; what was printed stays in the terminal's history.
    pub fn clear(&mut self) -> io::Result<()> {
        self.painted = Painted::default();
        self.control("\u{1b}[H\u{1b}[2J")
    }

    /// Prints rows that stay, and the live part below them.
    pub fn print(&mut self, rows: &[Row], live: LiveRows) -> io::Result<()> {
        if !self.abilities.moves_cursor {
            let text: String = rows.iter().map(|row| row.to_text(false) + "\n").collect();
            return self.write(&text);
        }
        if rows.is_empty() && live == self.painted.live {
            return Ok(());
        }
        let mut text = String::from(BEGIN_UPDATE);
        match self.painted.cursor_row {
            0 => {}
            up => text.push_str(&format!("\u{1b}[{up}A")),
        }
        text.push_str(ERASE_BELOW);
        for row in rows {
            text.push_str(&row.to_text(self.abilities.has_colour));
            text.push_str("\r\n");
        }
        self.painted = self.paint_into(&mut text, live);
        text.push_str(END_UPDATE);
        self.write(&text)
    }

    /// Paints the live part.
    pub fn paint(&mut self, live: LiveRows) -> io::Result<()> {
        self.print(&[], live)
    }

    /// Text in a terminal that cannot move its cursor, without a line break behind it.
    pub fn write_plain(&mut self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn paint_into(&self, text: &mut String, live: LiveRows) -> Painted {
        let columns = self.size.columns;
        // The cursor must be able to go up to the first row.
        let most = self.size.rows.saturating_sub(1).max(1);
        let dropped = live.rows.len().saturating_sub(most);
        let rows: Vec<Row> = live.rows.iter().skip(dropped).cloned().collect();
        let rows: Vec<Row> = rows.into_iter().map(|row| row.cut(columns)).collect();
        let widths: Vec<usize> = rows.iter().map(Row::width).collect();
        let shown = rows
            .iter()
            .map(|row| row.to_text(self.abilities.has_colour));
        text.push_str(&shown.collect::<Vec<_>>().join("\r\n"));
        let last = rows.len().saturating_sub(1);
        let (row, column) = match live.cursor {
            Some((row, column)) => (row.saturating_sub(dropped).min(last), column),
            None => (last, widths.last().copied().unwrap_or(0)),
        };
        if last > row {
            text.push_str(&format!("\u{1b}[{}A", last - row));
        }
        text.push('\r');
        if column > 0 {
            text.push_str(&format!("\u{1b}[{column}C"));
        }
        Painted {
            live,
            widths,
            cursor_row: row,
        }
    }

    fn control(&mut self, sequence: &str) -> io::Result<()> {
        match self.abilities.moves_cursor {
            true => self.write(sequence),
            false => Ok(()),
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}
