//! The line that is typed: its editing, its history, and where its cursor stands.

use std::path::{Path, PathBuf};

use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::line_buffer::{ChangeListener, DeleteListener, Direction, LineBuffer};
use rustyline::{At, Config, Word};

use super::keys::Key;
use super::styled::{Row, StyledSpan, TextStyle, wrap_exactly};

/// The longest text that can be typed or pasted. Longer ones belong into a file.
pub const LONGEST_BYTES: usize = 1 << 20;
/// Lines that the history holds.
const HISTORY_LINES: usize = 1000;

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// The line was edited, or nothing happened.
    Edited,
    Submitted(String),
    /// The paste is longer than [`LONGEST_BYTES`].
    TooLong,
}

/// A line editor.
pub struct Editor {
    line: LineBuffer,
    history: FileHistory,
    /// Where the history is stored; nowhere when absent.
    file: Option<PathBuf>,
    /// The line of the history that is shown, and what was typed before.
    recalled: Option<(usize, String)>,
    killed: KillBuffer,
    search: Option<HistorySearch>,
}

/// A search through the history.
#[derive(Default)]
struct HistorySearch {
    text: String,
    found: Option<usize>,
}

/// What was cut out last, to be put in elsewhere.
#[derive(Default)]
struct KillBuffer {
    text: String,
    /// A word or a line is being cut out, not a letter.
    is_killing: bool,
}

impl DeleteListener for KillBuffer {
    fn start_killing(&mut self) {
        self.is_killing = true;
        self.text.clear();
    }

    fn delete(&mut self, _: usize, text: &str, _: Direction) {
        if self.is_killing {
            text.clone_into(&mut self.text);
        }
    }

    fn stop_killing(&mut self) {
        self.is_killing = false;
    }
}

impl ChangeListener for KillBuffer {
    fn insert_char(&mut self, _: usize, _: char) {}
    fn insert_str(&mut self, _: usize, _: &str) {}
    fn replace(&mut self, _: usize, _: &str, _: &str) {}
}

impl Editor {
    /// An empty line, with the history of `file`.
    pub fn new(file: Option<PathBuf>) -> Self {
        let config = Config::builder().max_history_size(HISTORY_LINES);
        let config = config.map(|config| config.build()).unwrap_or_default();
        let mut history = FileHistory::with_config(&config);
        if let Some(file) = file.as_ref().filter(|file| file.exists())
            && let Err(error) = history.load(file)
        {
            tracing::warn!("no history: {}: {error}", file.display());
        }
        Self {
            line: LineBuffer::with_capacity(LONGEST_BYTES),
            history,
            file,
            recalled: None,
            killed: KillBuffer::default(),
            search: None,
        }
    }

    /// What is typed so far.
    pub fn text(&self) -> &str {
        self.line.as_str()
    }

    /// The byte before which the next letter goes.
    pub fn cursor(&self) -> usize {
        self.line.pos()
    }

    pub fn is_empty(&self) -> bool {
        self.line.is_empty() && self.search.is_none()
    }

    /// Has another text in the line, with the cursor behind it.
    pub fn set(&mut self, text: &str) {
        let end = text.floor_char_boundary(LONGEST_BYTES);
        let text = text.get(..end).unwrap_or_default();
        self.line.update(text, text.len(), &mut self.killed);
        self.recalled = None;
        self.search = None;
    }

    /// Replaces what is between `start` and the cursor.
    pub fn complete(&mut self, start: usize, text: &str) {
        let end = self.line.pos();
        if self.line.len() + text.len() <= LONGEST_BYTES && start <= end {
            self.line.replace(start..end, text, &mut self.killed);
        }
    }

    /// Remembers a line that was submitted.
    pub fn remember(&mut self, line: &str) {
        let added = self.history.add(line);
        if let (Ok(true), Some(file)) = (added, &self.file)
            && let Err(error) = stored(&mut self.history, file)
        {
            tracing::warn!("the history is not stored: {}: {error}", file.display());
            self.file = None;
        }
    }

    /// Does what a key means.
    pub fn press(&mut self, key: Key) -> KeyEffect {
        if self.search.is_some() {
            return self.press_in_search(key);
        }
        let (line, killed) = (&mut self.line, &mut self.killed);
        match key {
            Key::Enter => return self.submit(),
            Key::Newline | Key::Ctrl('j') => {
                line.insert('\n', 1, killed);
            }
            Key::Char(c) => {
                line.insert(c, 1, killed);
            }
            Key::Paste(text) if line.len() + text.len() > LONGEST_BYTES => {
                return KeyEffect::TooLong;
            }
            Key::Paste(text) => {
                line.yank(&text, 1, killed);
            }
            Key::Backspace => {
                line.backspace(1, killed);
            }
            Key::Delete | Key::Ctrl('d') => {
                line.delete(1, killed);
            }
            Key::Left | Key::Ctrl('b') => {
                line.move_backward(1);
            }
            Key::Right | Key::Ctrl('f') => {
                line.move_forward(1);
            }
            Key::Home | Key::Ctrl('a') => {
                line.move_home();
            }
            Key::End | Key::Ctrl('e') => {
                line.move_end();
            }
            Key::WordLeft | Key::Alt('b') => {
                line.move_to_prev_word(Word::Emacs, 1);
            }
            Key::WordRight | Key::Alt('f') => {
                line.move_to_next_word(At::AfterEnd, Word::Emacs, 1);
            }
            Key::Ctrl('k') => killing(killed, |killed| line.kill_line(killed)),
            Key::Ctrl('u') => killing(killed, |killed| line.discard_line(killed)),
            Key::Ctrl('w') => {
                killing(killed, |killed| line.delete_prev_word(Word::Big, 1, killed));
            }
            Key::Alt('d') => {
                killing(killed, |killed| {
                    line.delete_word(At::AfterEnd, Word::Emacs, 1, killed)
                });
            }
            Key::Ctrl('y') => {
                let text = killed.text.clone();
                line.yank(&text, 1, killed);
            }
            Key::Ctrl('t') => {
                line.transpose_chars(killed);
            }
            Key::Up | Key::Ctrl('p') => self.up(),
            Key::Down | Key::Ctrl('n') => self.down(),
            Key::Ctrl('r') => self.search = Some(HistorySearch::default()),
            Key::Tab | Key::BackTab | Key::Ctrl(_) | Key::Alt(_) | Key::Escape => {}
        }
        KeyEffect::Edited
    }

    /// A line that ends with a backslash goes on.
    fn submit(&mut self) -> KeyEffect {
        if self.line.is_cursor_at_end() && self.text().ends_with('\\') {
            self.line.backspace(1, &mut self.killed);
            self.line.insert('\n', 1, &mut self.killed);
            return KeyEffect::Edited;
        }
        let text = self.text().to_owned();
        self.set("");
        KeyEffect::Submitted(text)
    }

    /// The line above, in the text or else in the history.
    fn up(&mut self) {
        let (before, _) = self
            .text()
            .split_at_checked(self.cursor())
            .unwrap_or_default();
        if let Some(start) = before.rfind('\n') {
            let column = before.len() - start - 1;
            let above = before.get(..start).unwrap_or_default();
            let begin = above.rfind('\n').map_or(0, |at| at + 1);
            let pos = above.floor_char_boundary(begin + column);
            return self.line.set_pos(pos);
        }
        let place = match &self.recalled {
            Some((place, _)) => place.checked_sub(1),
            None => self.history.len().checked_sub(1),
        };
        if let Some(place) = place {
            self.recall(place);
        }
    }

    fn down(&mut self) {
        let (before, after) = self
            .text()
            .split_at_checked(self.cursor())
            .unwrap_or_default();
        if let Some(end) = after.find('\n') {
            let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
            let begin = before.len() + end + 1;
            let rest = self.text().get(begin..).unwrap_or_default();
            let most = rest.find('\n').unwrap_or(rest.len());
            let pos = self.text().floor_char_boundary(begin + column.min(most));
            return self.line.set_pos(pos);
        }
        let Some((place, typed)) = self.recalled.clone() else {
            return;
        };
        match place + 1 < self.history.len() {
            true => self.recall(place + 1),
            false => self.set(&typed),
        }
    }

    fn recall(&mut self, place: usize) {
        let typed = match self.recalled.take() {
            Some((_, typed)) => typed,
            None => self.text().to_owned(),
        };
        if let Some(line) = self.line_of_history(place) {
            self.set(&line);
        }
        self.recalled = Some((place, typed));
    }

    fn line_of_history(&self, place: usize) -> Option<String> {
        let found = self.history.get(place, SearchDirection::Reverse).ok()??;
        Some(found.entry.into_owned())
    }

    fn press_in_search(&mut self, key: Key) -> KeyEffect {
        let Some(search) = &mut self.search else {
            return KeyEffect::Edited;
        };
        let from = match key {
            Key::Char(c) => {
                search.text.push(c);
                search.found
            }
            Key::Backspace => {
                search.text.pop();
                None
            }
            Key::Ctrl('r') => match search.found {
                Some(found) => found.checked_sub(1),
                None => None,
            },
            Key::Escape | Key::Ctrl('g') => {
                self.search = None;
                return KeyEffect::Edited;
            }
            other => {
                let found = search.found.and_then(|found| self.line_of_history(found));
                self.search = None;
                if let Some(line) = found {
                    self.set(&line);
                }
                return match other {
                    Key::Enter => self.submit(),
                    _ => KeyEffect::Edited,
                };
            }
        };
        let from = from.or_else(|| self.history.len().checked_sub(1));
        let text = search.text.clone();
        let found = from.and_then(|from| {
            let found = self.history.search(&text, from, SearchDirection::Reverse);
            Some(found.ok()??.idx)
        });
        if let Some(search) = &mut self.search {
            search.found = found.or(search.found);
        }
        KeyEffect::Edited
    }

    /// The rows of the line, and where the cursor stands in them.
    pub fn rows(&self, columns: usize, prompt: &Row) -> (Vec<Row>, (usize, usize)) {
        if let Some(search) = &self.search {
            let found = search.found.and_then(|found| self.line_of_history(found));
            let label = format!("search: {}", search.text);
            let cursor = prompt.width() + super::styled::width(&label);
            let row = prompt.clone().with(&label, TextStyle::PLAIN);
            let row = row.with(&format!("  {}", found.unwrap_or_default()), TextStyle::DIM);
            return (vec![row], (0, cursor));
        }
        let next = Row::of(&" ".repeat(prompt.width()), TextStyle::PLAIN);
        // A cursor behind the last column would be in no row.
        let columns = columns.saturating_sub(1).max(prompt.width() + 1);
        let mut rows = Vec::new();
        let mut cursor = (0, prompt.width());
        let mut start = 0;
        for (n, line) in self.text().split('\n').enumerate() {
            let indent = if n == 0 { prompt } else { &next };
            let shown = |text: &str| wrap_exactly(&[StyledSpan::plain(text)], columns, indent);
            if (start..=start + line.len()).contains(&self.cursor()) {
                let before = line.get(..self.cursor() - start).unwrap_or_default();
                let before = shown(before);
                let last = before.last().map_or(0, Row::width);
                cursor = (rows.len() + before.len().saturating_sub(1), last);
            }
            for (m, row) in shown(line).into_iter().enumerate() {
                // The prompt stands once.
                rows.push(match (n, m) {
                    (0, 0) => row,
                    (0, _) => continuation(row, &next, prompt),
                    _ => row,
                });
            }
            start += line.len() + 1;
        }
        (rows, cursor)
    }
}

/// Appends what is new to the file; the folder may not be there yet.
fn stored(history: &mut FileHistory, file: &Path) -> rustyline::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
        std::fs::create_dir_all(folder)?;
    }
    history.append(file)
}

/// The row with spaces instead of the prompt.
fn continuation(row: Row, next: &Row, prompt: &Row) -> Row {
    let spans = row
        .into_spans()
        .into_iter()
        .skip(prompt.clone().into_spans().len());
    next.clone().with_spans(spans)
}

fn killing(killed: &mut KillBuffer, kill: impl FnOnce(&mut KillBuffer) -> bool) {
    killed.start_killing();
    kill(killed);
    killed.stop_killing();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> Editor {
        let mut editor = Editor::new(None);
        for line in ["first", "second"] {
            editor.remember(line);
        }
        for key in keys {
            editor.press(key.clone());
        }
        editor
    }

    fn letters(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        for (keys, text, cursor) in [
            (letters("añb"), "añb", 4),
            (
                [letters("one two"), vec![Key::Ctrl('w')]].concat(),
                "one ",
                4,
            ),
            (
                [letters("one"), vec![Key::Home, Key::Char('x')]].concat(),
                "xone",
                1,
            ),
            (
                [
                    letters("one two"),
                    vec![Key::Alt('b'), Key::Ctrl('k'), Key::Home, Key::Ctrl('y')],
                ]
                .concat(),
                "twoone ",
                3,
            ),
            (vec![Key::Paste("a\nb".into())], "a\nb", 3),
            (
                [letters("a\\"), vec![Key::Enter], letters("b")].concat(),
                "a\nb",
                3,
            ),
            (vec![Key::Up], "second", 6),
            (vec![Key::Up, Key::Up, Key::Up], "first", 5),
            ([letters("x"), vec![Key::Up, Key::Down]].concat(), "x", 1),
            (
                vec![Key::Paste("ab\ncd".into()), Key::Up, Key::Char('x')],
                "abx\ncd",
                3,
            ),
            (
                [vec![Key::Ctrl('r')], letters("irs"), vec![Key::End]].concat(),
                "first",
                5,
            ),
        ] {
            let editor = typed(&keys);
            assert_eq!((editor.text(), editor.cursor()), (text, cursor), "{keys:?}");
        }
    }

    #[test]
    fn enter_gives_the_line_and_begins_another() {
        let mut editor = typed(&letters("hello"));
        assert_eq!(
            editor.press(Key::Enter),
            KeyEffect::Submitted("hello".into())
        );
        assert!(editor.is_empty());
    }

    #[test]
    fn a_long_line_goes_on_below_itself() {
        let editor = typed(&letters("abcdefgh"));
        let (rows, cursor) = editor.rows(7, &Row::of("› ", TextStyle::BOLD));
        let rows: Vec<String> = rows.iter().map(|row| row.to_text(false)).collect();
        assert_eq!(
            (rows, cursor),
            (vec!["› abcd".into(), "  efgh".into()], (1, 6))
        );
    }

    #[test]
    fn the_history_outlives_the_program_and_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let mut editor = Editor::new(Some(file.clone()));
        editor.remember("kept");
        drop(editor);
        let mut editor = Editor::new(Some(file.clone()));
        editor.press(Key::Up);
        assert_eq!(editor.text(), "kept");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
