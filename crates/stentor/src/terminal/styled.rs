//! Text with a look: what is measured, wrapped and cut before it becomes bytes for a terminal.
//!
//! A [`StyledSpan`] is the only way to put text on the screen, and it makes everything visible that would
//! act on a terminal. So nothing of a model, a tool or a file can move the cursor.

use stentor_text::visible::visible;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a tab becomes.
const TAB: &str = "    ";

/// The colours that are readable on light and on dark grounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextStyle {
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub colour: Option<Colour>,
}

/// A piece of text of one look, without line breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledSpan {
    text: String,
    look: TextStyle,
}

/// One row of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row(Vec<StyledSpan>);

impl TextStyle {
    /// Text as it is.
    pub const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        colour: None,
    };
    /// Text of more importance.
    pub const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    /// Text of less importance.
    pub const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };

    /// Text of this colour.
    pub const fn colour(colour: Colour) -> Self {
        Self {
            colour: Some(colour),
            ..Self::PLAIN
        }
    }

    fn codes(self) -> String {
        let colour = self.colour.map(|colour| match colour {
            Colour::Red => "31",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Blue => "34",
            Colour::Magenta => "35",
            Colour::Cyan => "36",
        });
        let codes = [
            self.bold.then_some("1"),
            self.dim.then_some("2"),
            self.italic.then_some("3"),
            self.underline.then_some("4"),
            self.strike.then_some("9"),
            colour,
        ];
        codes.into_iter().flatten().collect::<Vec<_>>().join(";")
    }
}

impl StyledSpan {
    /// The text as it may be shown; line breaks in it become spaces.
    pub fn new(text: &str, look: TextStyle) -> Self {
        let text = visible(text).replace('\t', TAB).replace('\n', " ");
        Self { text, look }
    }

    /// Text without a look of its own.
    pub fn plain(text: &str) -> Self {
        Self::new(text, TextStyle::PLAIN)
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.text.width()
    }
}

impl Row {
    /// An empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// A row of one piece.
    pub fn of(text: &str, look: TextStyle) -> Self {
        Self(vec![StyledSpan::new(text, look)])
    }

    /// The same with more text at its end.
    #[must_use]
    pub fn with(mut self, text: &str, look: TextStyle) -> Self {
        self.0.push(StyledSpan::new(text, look));
        self
    }

    /// The same with more pieces at its end.
    #[must_use]
    pub fn with_spans(mut self, spans: impl IntoIterator<Item = StyledSpan>) -> Self {
        self.0.extend(spans);
        self
    }

    /// Its pieces.
    pub fn into_spans(self) -> Vec<StyledSpan> {
        self.0
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(StyledSpan::width).sum()
    }

    /// True when nothing is seen of it.
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(|span| span.text.trim().is_empty())
    }

    /// The row, broken between words where it is longer than `columns`.
    pub fn wrapped(self, columns: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self];
        }
        let first = self.0.first().map_or("", |span| span.text.as_str());
        let indent = first.len() - first.trim_start_matches(' ').len();
        let next = Self::of(&" ".repeat(indent + 2), TextStyle::PLAIN);
        wrap(&self.0, columns, &Self::new(), &next)
    }

    /// The row cut to `width` columns, with a mark where something is missing.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut kept = Vec::new();
        for span in self.0 {
            let mut text = String::new();
            let mut full = false;
            for part in span.text.graphemes(true) {
                let columns = part.width();
                if columns > left {
                    full = true;
                    break;
                }
                left -= columns;
                text.push_str(part);
            }
            kept.push(StyledSpan {
                text,
                look: span.look,
            });
            if full {
                break;
            }
        }
        kept.push(StyledSpan::new("…", TextStyle::DIM));
        Self(kept)
    }

    /// The row as bytes for a terminal, or without any look.
    pub fn to_text(&self, in_colour: bool) -> String {
        let mut text = String::new();
        let shown: Vec<&StyledSpan> = self.0.iter().filter(|span| !span.text.is_empty()).collect();
        for same in shown.chunk_by(|one, next| one.look == next.look) {
            let codes = same.first().map(|span| span.look.codes());
            let codes = codes.filter(|codes| in_colour && !codes.is_empty());
            let words = same.iter().map(|span| span.text.as_str());
            match codes {
                None => text.extend(words),
                Some(codes) => {
                    text.push_str(&format!("\u{1b}[{codes}m"));
                    text.extend(words);
                    text.push_str("\u{1b}[0m");
                }
            }
        }
        text
    }
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Puts pieces into rows of at most `columns`, broken between words. The first row begins with
/// `first`, the others with `next`; both should be of one width.
pub fn wrap(spans: &[StyledSpan], columns: usize, first: &Row, next: &Row) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = first.clone();
    let room = columns
        .saturating_sub(first.width().max(next.width()))
        .max(1);
    let mut used = 0;
    // Spaces that wait for a word behind them: at the end of a row they go away.
    let mut gap: Vec<StyledSpan> = Vec::new();
    let mut gap_width = 0;
    for word in words(spans) {
        let is_gap = word.iter().all(|part| part.text.trim().is_empty());
        let columns: usize = word.iter().map(StyledSpan::width).sum();
        if is_gap {
            gap_width += columns;
            gap.extend(word);
            continue;
        }
        if used > 0 && used + gap_width + columns > room {
            rows.push(std::mem::replace(&mut row, next.clone()));
            used = 0;
        } else {
            row.0.append(&mut gap);
            used += gap_width;
        }
        gap.clear();
        gap_width = 0;
        for part in word {
            for piece in broken(&part, room, &mut used) {
                match piece {
                    StyledPiece::Text(span) => row.0.push(span),
                    StyledPiece::Break => rows.push(std::mem::replace(&mut row, next.clone())),
                }
            }
        }
    }
    rows.push(row);
    rows
}

/// The same for text whose spaces count, such as code: it is broken where the row is full.
pub fn wrap_exactly(spans: &[StyledSpan], columns: usize, indent: &Row) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = indent.clone();
    let room = columns.saturating_sub(indent.width()).max(1);
    let mut used = 0;
    for span in spans {
        for piece in broken(span, room, &mut used) {
            match piece {
                StyledPiece::Text(span) => row.0.push(span),
                StyledPiece::Break => rows.push(std::mem::replace(&mut row, indent.clone())),
            }
        }
    }
    rows.push(row);
    rows
}

enum StyledPiece {
    Text(StyledSpan),
    Break,
}

/// The span in pieces that fit, given that a row has `room` and so much of it is `used`.
fn broken(span: &StyledSpan, room: usize, used: &mut usize) -> Vec<StyledPiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let piece = |text: &mut String| {
        StyledPiece::Text(StyledSpan {
            text: std::mem::take(text),
            look: span.look,
        })
    };
    for part in span.text.graphemes(true) {
        let columns = part.width();
        if *used > 0 && *used + columns > room {
            if !text.is_empty() {
                pieces.push(piece(&mut text));
            }
            pieces.push(StyledPiece::Break);
            *used = 0;
        }
        *used += columns;
        text.push_str(part);
    }
    if !text.is_empty() {
        pieces.push(piece(&mut text));
    }
    pieces
}

/// Words and the spaces between them, each with the looks it is made of.
fn words(spans: &[StyledSpan]) -> Vec<Vec<StyledSpan>> {
    let mut words: Vec<Vec<StyledSpan>> = Vec::new();
    let mut last_is_gap = None;
    for span in spans {
        for part in span.text.split_inclusive(' ').flat_map(split_space) {
            let is_gap = part == " ";
            let piece = StyledSpan {
                text: part.to_owned(),
                look: span.look,
            };
            match words.last_mut() {
                Some(word) if last_is_gap == Some(is_gap) => word.push(piece),
                _ => words.push(vec![piece]),
            }
            last_is_gap = Some(is_gap);
        }
    }
    words
}

fn split_space(part: &str) -> impl Iterator<Item = &str> {
    let (word, space) = match part.strip_suffix(' ') {
        Some(word) => (word, Some(" ")),
        None => (part, None),
    };
    (!word.is_empty()).then_some(word).into_iter().chain(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        let rows = wrap(
            &[StyledSpan::plain(text)],
            columns,
            &Row::new(),
            &Row::new(),
        );
        rows.iter().map(|row| row.to_text(false)).collect()
    }

    #[test]
    fn text_is_broken_between_words_and_long_words_anywhere() {
        for (text, columns, rows) in [
            ("one two three", 7, &["one two", "three"][..]),
            ("one two", 40, &["one two"]),
            ("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]),
            ("日本語 です", 5, &["日本", "語", "です"]),
            ("", 10, &[""]),
        ] {
            assert_eq!(wrapped(text, columns), rows, "{text:?} in {columns}");
        }
    }

    #[test]
    fn what_acts_on_a_terminal_is_made_visible() {
        let row = Row::of("a\u{1b}[2Jb\tc", TextStyle::BOLD);
        assert_eq!(row.to_text(false), "a\\u{1b}[2Jb    c");
        assert_eq!(row.to_text(true), "\u{1b}[1ma\\u{1b}[2Jb    c\u{1b}[0m");
    }

    #[test]
    fn a_row_that_is_too_long_is_cut_with_a_mark() {
        assert_eq!(
            Row::of("日本語", TextStyle::PLAIN).cut(5).to_text(false),
            "日本…"
        );
        assert_eq!(
            Row::of("abc", TextStyle::PLAIN).cut(3).to_text(false),
            "abc"
        );
    }
}
