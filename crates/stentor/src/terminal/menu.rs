//! Choosing one or more of several: by arrows, by typing a part of it, or by number.

use std::collections::BTreeSet;

use super::keys::Key;
use super::styled::{Colour, Row, TextStyle};

/// Rows that are shown at once.
const SHOWN: usize = 10;

/// Something to choose from.
#[derive(Debug, Clone)]
pub struct Menu {
    pub title: String,
    items: Vec<MenuItem>,
    filter: String,
    /// The place among those that the filter leaves.
    at: usize,
    /// The items that are ticked, where several may be chosen.
    ticked: Option<BTreeSet<usize>>,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuItem {
    pub label: String,
    pub detail: String,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub enum MenuResult {
    NotYet,
    Nothing,
    /// The item with this index.
    Item(usize),
    /// The items with these indices.
    Items(Vec<usize>),
}

impl Menu {
    /// A menu; the first item is marked.
    pub fn new(title: impl Into<String>, items: Vec<MenuItem>) -> Self {
        Self {
            title: title.into(),
            items,
            filter: String::new(),
            at: 0,
            ticked: None,
        }
    }

    /// The same where several may be chosen: the space bar ticks what is marked.
    #[must_use]
    pub fn of_several(mut self) -> Self {
        self.ticked = Some(BTreeSet::new());
        self
    }

    /// The same with another item marked.
    #[must_use]
    pub fn at(mut self, index: usize) -> Self {
        self.at = index.min(self.items.len().saturating_sub(1));
        self
    }

    /// True when several may be chosen.
    pub fn is_of_several(&self) -> bool {
        self.ticked.is_some()
    }

    /// Does what a key means.
    pub fn press(&mut self, key: &Key) -> MenuResult {
        let found = self.found();
        match key {
            Key::Up | Key::Ctrl('p') => self.at = self.at.saturating_sub(1),
            Key::Down | Key::Tab | Key::Ctrl('n') => {
                self.at = (self.at + 1).min(found.len().saturating_sub(1));
            }
            Key::Enter => {
                let marked = found.get(self.at).copied();
                return match (&self.ticked, marked) {
                    (Some(ticked), _) if !ticked.is_empty() => {
                        MenuResult::Items(ticked.iter().copied().collect())
                    }
                    (Some(_), Some(index)) => MenuResult::Items(vec![index]),
                    (None, Some(index)) => MenuResult::Item(index),
                    (_, None) => MenuResult::NotYet,
                };
            }
            Key::Escape | Key::Ctrl('c' | 'd' | 'g') => return MenuResult::Nothing,
            Key::Backspace => {
                self.filter.pop();
                self.at = 0;
            }
            Key::Char(' ') if self.ticked.is_some() => self.tick(found.get(self.at).copied()),
            Key::Char(c) => {
                self.filter.push(*c);
                self.at = 0;
            }
            _ => {}
        }
        MenuResult::NotYet
    }

    /// What a line means in a terminal without keys: a number, or nothing.
    pub fn answer(&self, line: &str) -> MenuResult {
        let line = line.trim();
        if line.is_empty() {
            return MenuResult::Nothing;
        }
        match line.parse::<usize>() {
            Ok(number) if (1..=self.items.len()).contains(&number) => MenuResult::Item(number - 1),
            _ => MenuResult::NotYet,
        }
    }

    /// The rows of the menu. What of the marked item does not fit into its row is shown below.
    pub fn rows(&self, columns: usize) -> Vec<Row> {
        let title = Row::of(&self.title, TextStyle::BOLD);
        let hint = match (self.filter.is_empty(), &self.ticked) {
            (true, None) => "  ↑↓ and Enter, type to filter, Esc".to_owned(),
            (true, Some(_)) => "  ↑↓, space ticks, Enter answers, Esc".to_owned(),
            (false, _) => format!("  {}", self.filter),
        };
        let mut rows = vec![title.with(&hint, TextStyle::DIM)];
        let found = self.found();
        let first = self.at.saturating_sub(SHOWN - 1);
        let mut whole = Vec::new();
        for (place, index) in found.iter().enumerate().skip(first).take(SHOWN) {
            let is_marked = place == self.at;
            let mark = if is_marked { "› " } else { "  " };
            let look = TextStyle {
                bold: is_marked,
                ..TextStyle::PLAIN
            };
            if let Some(item) = self.items.get(*index) {
                let tick = match &self.ticked {
                    None => "",
                    Some(ticked) if ticked.contains(index) => "[x] ",
                    Some(_) => "[ ] ",
                };
                let row =
                    Row::of(mark, TextStyle::colour(Colour::Cyan)).with(tick, TextStyle::PLAIN);
                let row = row.with(&item.label, look);
                let row = row.with(&format!("  {}", item.detail), TextStyle::DIM);
                if is_marked && row.width() > columns {
                    let label = Row::of("  ", TextStyle::PLAIN).with(&item.label, TextStyle::BOLD);
                    let detail = Row::of("  ", TextStyle::PLAIN).with(&item.detail, TextStyle::DIM);
                    whole = [label, detail].map(|row| row.wrapped(columns)).concat();
                }
                rows.push(row);
            }
        }
        let below = found.len().saturating_sub(first + SHOWN);
        if below > 0 {
            rows.push(Row::of(&format!("  … {below} more"), TextStyle::DIM));
        }
        if found.is_empty() {
            rows.push(Row::of("  nothing matches", TextStyle::DIM));
        }
        rows.extend(whole);
        rows
    }

    /// The same with numbers, for a terminal without keys.
    pub fn numbered_rows(&self) -> Vec<Row> {
        let items = self.items.iter().enumerate().map(|(n, item)| {
            Row::of(&format!("{:>3}  ", n + 1), TextStyle::PLAIN)
                .with(&item.label, TextStyle::PLAIN)
                .with(&format!("  {}", item.detail), TextStyle::DIM)
        });
        let how = match self.ticked {
            None => "a number, or nothing",
            Some(_) => "numbers with commas, your own words, or nothing",
        };
        let title = Row::of(&format!("{} ({how})", self.title), TextStyle::BOLD);
        std::iter::once(title).chain(items).collect()
    }

    /// Ticks an item, or does so no more.
    fn tick(&mut self, index: Option<usize>) {
        if let (Some(ticked), Some(index)) = (&mut self.ticked, index)
            && !ticked.remove(&index)
        {
            ticked.insert(index);
        }
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
        let item = |label: &str| MenuItem {
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
        assert_eq!(press(&[Key::Down, Key::Enter]), Some(MenuResult::Item(1)));
        assert_eq!(
            press(&[Key::Char('h'), Key::Enter]),
            Some(MenuResult::Item(2))
        );
        assert_eq!(
            press(&[Key::Char('x'), Key::Enter]),
            Some(MenuResult::NotYet)
        );
        assert_eq!(press(&[Key::Escape]), Some(MenuResult::Nothing));
        assert_eq!(menu().answer("2"), MenuResult::Item(1));
        assert_eq!(menu().answer("9"), MenuResult::NotYet);
        assert_eq!(menu().answer(""), MenuResult::Nothing);
    }

    #[test]
    fn what_does_not_fit_of_the_marked_item_is_shown_below() {
        let item = |label: &str, detail: &str| MenuItem {
            label: label.into(),
            detail: detail.into(),
        };
        let items = vec![
            item("one", "short"),
            item("two", "a description of many words"),
        ];
        let shown = |menu: &Menu| {
            let rows = menu.rows(20).into_iter().skip(1);
            let texts = rows.map(|row| row.to_text(false));
            texts.collect::<Vec<_>>()
        };
        let mut menu = Menu::new("Which?", items);
        let cut = "  two  a description of many words";
        assert_eq!(shown(&menu), ["› one  short", cut]);
        menu.press(&Key::Down);
        assert_eq!(
            shown(&menu),
            [
                "  one  short",
                "› two  a description of many words",
                "  two",
                "  a description",
                "    of many words"
            ]
        );
    }

    #[test]
    fn several_items_are_ticked_with_the_space_bar() {
        let press = |keys: &[Key]| {
            let mut menu = menu().of_several();
            let pressed = keys.iter().map(|key| menu.press(key));
            pressed.last()
        };
        let space = || Key::Char(' ');
        assert_eq!(
            press(&[space(), Key::Down, Key::Down, space(), Key::Enter]),
            Some(MenuResult::Items(vec![0, 2]))
        );
        assert_eq!(
            press(&[space(), space(), Key::Down, Key::Enter]),
            Some(MenuResult::Items(vec![1]))
        );
        assert_eq!(press(&[space(), Key::Escape]), Some(MenuResult::Nothing));
    }
}
