//! Choosing one of several: by arrows, by typing a part of it, or by number.

use super::keys::Key;
use super::styled::{Colour, Look, Row};

/// Rows that are shown at once.
const SHOWN: usize = 10;

/// Something to choose from.
#[derive(Debug, Clone)]
pub struct Menu {
    pub title: String,
    items: Vec<Item>,
    filter: String,
    /// The place among those that the filter leaves.
    at: usize,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    pub detail: String,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked {
    NotYet,
    Nothing,
    /// The item with this index.
    Item(usize),
}

impl Menu {
    /// A menu; the first item is marked.
    pub fn new(title: impl Into<String>, items: Vec<Item>) -> Self {
        Self {
            title: title.into(),
            items,
            filter: String::new(),
            at: 0,
        }
    }

    /// The same with another item marked.
    #[must_use]
    pub fn at(mut self, index: usize) -> Self {
        self.at = index.min(self.items.len().saturating_sub(1));
        self
    }

    /// Does what a key means.
    pub fn press(&mut self, key: &Key) -> Picked {
        let found = self.found();
        match key {
            Key::Up | Key::Ctrl('p') => self.at = self.at.saturating_sub(1),
            Key::Down | Key::Tab | Key::Ctrl('n') => {
                self.at = (self.at + 1).min(found.len().saturating_sub(1));
            }
            Key::Enter => {
                return found
                    .get(self.at)
                    .map_or(Picked::NotYet, |index| Picked::Item(*index));
            }
            Key::Escape | Key::Ctrl('c' | 'd' | 'g') => return Picked::Nothing,
            Key::Backspace => {
                self.filter.pop();
                self.at = 0;
            }
            Key::Char(c) => {
                self.filter.push(*c);
                self.at = 0;
            }
            _ => {}
        }
        Picked::NotYet
    }

    /// What a line means in a terminal without keys: a number, or nothing.
    pub fn answer(&self, line: &str) -> Picked {
        let line = line.trim();
        if line.is_empty() {
            return Picked::Nothing;
        }
        match line.parse::<usize>() {
            Ok(number) if (1..=self.items.len()).contains(&number) => Picked::Item(number - 1),
            _ => Picked::NotYet,
        }
    }

    /// The rows of the menu.
    pub fn rows(&self) -> Vec<Row> {
        let title = Row::of(&self.title, Look::BOLD);
        let hint = match self.filter.is_empty() {
            true => "  ↑↓ and Enter, type to filter, Esc".to_owned(),
            false => format!("  {}", self.filter),
        };
        let mut rows = vec![title.with(&hint, Look::DIM)];
        let found = self.found();
        let first = self.at.saturating_sub(SHOWN - 1);
        for (place, index) in found.iter().enumerate().skip(first).take(SHOWN) {
            let is_marked = place == self.at;
            let mark = if is_marked { "› " } else { "  " };
            let look = Look {
                bold: is_marked,
                ..Look::PLAIN
            };
            if let Some(item) = self.items.get(*index) {
                let row = Row::of(mark, Look::colour(Colour::Cyan)).with(&item.label, look);
                rows.push(row.with(&format!("  {}", item.detail), Look::DIM));
            }
        }
        let below = found.len().saturating_sub(first + SHOWN);
        if below > 0 {
            rows.push(Row::of(&format!("  … {below} more"), Look::DIM));
        }
        if found.is_empty() {
            rows.push(Row::of("  nothing matches", Look::DIM));
        }
        rows
    }

    /// The same with numbers, for a terminal without keys.
    pub fn numbered_rows(&self) -> Vec<Row> {
        let items = self.items.iter().enumerate().map(|(n, item)| {
            Row::of(&format!("{:>3}  ", n + 1), Look::PLAIN)
                .with(&item.label, Look::PLAIN)
                .with(&format!("  {}", item.detail), Look::DIM)
        });
        let title = Row::of(
            &format!("{} (a number, or nothing)", self.title),
            Look::BOLD,
        );
        std::iter::once(title).chain(items).collect()
    }

    fn found(&self) -> Vec<usize> {
        let wanted = self.filter.to_lowercase();
        let items = self.items.iter().enumerate();
        let found = items.filter(|(_, item)| {
            let whole = format!("{} {}", item.label, item.detail);
            whole.to_lowercase().contains(&wanted)
        });
        found.map(|(index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        let item = |label: &str| Item {
            label: label.into(),
            detail: String::new(),
        };
        Menu::new("Which?", vec![item("one"), item("two"), item("three")])
    }

    #[test]
    fn an_item_is_chosen_by_arrows_by_a_part_of_it_or_by_number() {
        let press = |keys: &[Key]| {
            let mut menu = menu();
            let pressed = keys.iter().map(|key| menu.press(key));
            pressed.last()
        };
        assert_eq!(press(&[Key::Down, Key::Enter]), Some(Picked::Item(1)));
        assert_eq!(press(&[Key::Char('h'), Key::Enter]), Some(Picked::Item(2)));
        assert_eq!(press(&[Key::Char('x'), Key::Enter]), Some(Picked::NotYet));
        assert_eq!(press(&[Key::Escape]), Some(Picked::Nothing));
        assert_eq!(menu().answer("2"), Picked::Item(1));
        assert_eq!(menu().answer("9"), Picked::NotYet);
        assert_eq!(menu().answer(""), Picked::Nothing);
    }
}
