//! Questions to the person at the terminal: how they look, and which answers there are.

use std::sync::Arc;

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_agent::event::EventKind;
use stentor_agent::permission::PermissionRequest;
use stentor_agent::session::Session;
use stentor_agent::tasks;
use stentor_policy::PermissionAnswer;

use super::calls::patch_rows;
use super::change_preview;
use super::keys::Key;
use super::markdown::Markdown;
use super::menu::{Menu, MenuItem, MenuResult};
use super::styled::{Colour, Row, TextStyle};

/// How much of a command is shown. Nobody should agree to what they cannot see.
const SUBJECT_BYTES: usize = 8 * 1024;

/// How wide the tables of a plan may become.
const PLAN_COLUMNS: usize = 80;

/// What somebody has to answer.
#[derive(Debug)]
pub enum TerminalQuestion {
    Permission {
        id: u64,
        choices: Vec<PermissionChoice>,
    },
    Confirm {
        id: u64,
    },
    Select {
        id: u64,
        menu: Menu,
        values: Vec<String>,
    },
    /// Answered with the line that is typed.
    Text {
        id: u64,
        prefill: String,
    },
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalAnswer {
    Permission(PermissionAnswer),
    Dialog(DialogAnswer),
}

/// A choice, the key that stands for it, and how far it reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionChoice {
    pub key: char,
    /// What stands for it where lines are typed, as the key does.
    word: &'static str,
    pub label: String,
    pub answer: PermissionAnswer,
}

/// The choices for a call, the usual one first.
fn choices(request: &PermissionRequest) -> Vec<PermissionChoice> {
    let choices = request.choices(|answer| key_and_words(answer).2);
    let choices = choices.into_iter().map(|choice| {
        let (key, word, _) = key_and_words(choice.answer);
        PermissionChoice {
            key,
            word,
            label: choice.label,
            answer: choice.answer,
        }
    });
    choices.collect()
}

/// The key of an answer, the word for it where lines are typed, and what the choice is called.
fn key_and_words(answer: PermissionAnswer) -> (char, &'static str, &'static str) {
    match answer {
        PermissionAnswer::AllowOnce => ('y', "yes", "yes, once"),
        PermissionAnswer::AllowAlways => ('a', "always", "always"),
        PermissionAnswer::RejectOnce => ('n', "no", "no"),
        PermissionAnswer::RejectAlways => ('d', "never", "never"),
        PermissionAnswer::Cancelled => ('c', "cancel", "cancel"),
    }
}

/// What is asked: which tool, why, and what it would do. Waits for the disk.
fn permission_rows(request: &PermissionRequest) -> Vec<Row> {
    let mut rows = vec![
        Row::of("? ", TextStyle::colour(Colour::Yellow))
            .with(&request.call.name, TextStyle::BOLD)
            .with(&format!("  {}", short_reason(request)), TextStyle::PLAIN),
    ];
    match change_preview::patch(request) {
        Some(patch) => {
            let path = request.paths.first().map(|path| path.display().to_string());
            rows.push(
                Row::of("  ", TextStyle::PLAIN).with(&path.unwrap_or_default(), TextStyle::BOLD),
            );
            rows.extend(patch_rows(&patch));
        }
        None => {
            let subject = request.subject(SUBJECT_BYTES).unwrap_or_else(|| {
                serde_json::Value::Object(request.call.arguments.clone()).to_string()
            });
            let lines = subject.lines();
            rows.extend(
                lines.map(|line| Row::of("  ", TextStyle::PLAIN).with(line, TextStyle::BOLD)),
            );
        }
    }
    rows
}

/// The reason without what stands beside it anyway: the tool, its command and its file.
fn short_reason(request: &PermissionRequest) -> String {
    let reason = &request.reason;
    let name = format!("{} ", request.call.name);
    let reason = reason.strip_prefix(&name).unwrap_or(reason);
    let shown = match (&request.command, request.paths.as_slice()) {
        (Some(command), _) => format!("`{command}` "),
        (None, [path]) => format!("on {} ", path.display()),
        (None, _) => return reason.to_owned(),
    };
    reason.replacen(&shown, "", 1)
}

/// The choices in a row each, with their keys.
fn choice_rows(choices: &[PermissionChoice]) -> Vec<Row> {
    let row = |choice: &PermissionChoice| {
        Row::of(
            &format!("  [{}] ", choice.key),
            TextStyle::colour(Colour::Yellow),
        )
        .with(&choice.label, TextStyle::PLAIN)
    };
    choices.iter().map(row).collect()
}

/// What was answered, to be left on the screen.
pub fn answered_rows(answer: &TerminalAnswer) -> Vec<Row> {
    match answer {
        TerminalAnswer::Permission(answer) => vec![answered_row(*answer)],
        TerminalAnswer::Dialog(_) => Vec::new(),
    }
}

fn answered_row(answer: PermissionAnswer) -> Row {
    let (text, colour) = match answer {
        PermissionAnswer::AllowOnce => ("allowed once", Colour::Green),
        PermissionAnswer::AllowAlways => ("allowed from now on", Colour::Green),
        PermissionAnswer::RejectOnce => ("not allowed", Colour::Red),
        PermissionAnswer::RejectAlways => ("not allowed from now on", Colour::Red),
        PermissionAnswer::Cancelled => ("not answered", Colour::Yellow),
    };
    Row::of("  ", TextStyle::PLAIN).with(text, TextStyle::colour(colour))
}

impl TerminalQuestion {
    /// A dialog of an extension or a server, and what is printed of it.
    fn of_dialog(id: u64, dialog: &Dialog) -> (Self, Vec<Row>) {
        let title =
            Row::of("? ", TextStyle::colour(Colour::Yellow)).with(&dialog.title, TextStyle::BOLD);
        let mut rows = vec![title];
        let question = match &dialog.kind {
            DialogKind::Confirm { message, .. } => {
                let lines = message.lines();
                rows.extend(
                    lines.map(|line| Row::of("  ", TextStyle::PLAIN).with(line, TextStyle::PLAIN)),
                );
                Self::Confirm { id }
            }
            DialogKind::Select { options } => Self::of_options(id, options, Menu::new),
            DialogKind::MultiSelect { options } => Self::of_options(id, options, |title, items| {
                Menu::new(title, items).of_several()
            }),
            DialogKind::Plan(presented) => {
                let mut markdown = Markdown::new(PLAN_COLUMNS, TextStyle::PLAIN);
                let mut plan = markdown.push(&presented.plan);
                plan.extend(markdown.finish());
                plan.extend([Row::default()]);
                rows.splice(0..0, plan);
                Self::of_options(id, &presented.options, Menu::new)
            }
            DialogKind::Input { placeholder } => {
                let hint = placeholder.as_deref().unwrap_or_default();
                if !hint.is_empty() {
                    rows.push(Row::of(&format!("  {hint}"), TextStyle::DIM));
                }
                Self::Text {
                    id,
                    prefill: String::new(),
                }
            }
            DialogKind::Editor { prefill } => Self::Text {
                id,
                prefill: prefill.clone().unwrap_or_default(),
            },
        };
        (question, rows)
    }

    fn of_options(
        id: u64,
        options: &[DialogOption],
        menu: impl Fn(&'static str, Vec<MenuItem>) -> Menu,
    ) -> Self {
        let items = options.iter().map(|option| MenuItem {
            label: option.label.clone(),
            detail: option.description.clone().unwrap_or_default(),
        });
        Self::Select {
            id,
            menu: menu("Choose", items.collect()),
            values: options.iter().map(|option| option.value.clone()).collect(),
        }
    }

    /// The number by which the session knows it.
    pub fn id(&self) -> u64 {
        match self {
            Self::Permission { id, .. }
            | Self::Confirm { id }
            | Self::Select { id, .. }
            | Self::Text { id, .. } => *id,
        }
    }

    /// True unless it is about a call.
    pub fn is_dialog(&self) -> bool {
        !matches!(self, Self::Permission { .. })
    }

    /// What to press.
    pub fn rows(&self, columns: usize) -> Vec<Row> {
        match self {
            Self::Permission { choices, .. } => choice_rows(choices),
            Self::Confirm { .. } => {
                vec![Row::of(
                    "  [y] yes  [n] no",
                    TextStyle::colour(Colour::Yellow),
                )]
            }
            Self::Select { menu, .. } => menu.rows(columns),
            Self::Text { .. } => vec![Row::of("  Enter answers, Esc does not", TextStyle::DIM)],
        }
    }

    /// The same for a terminal without keys.
    pub fn plain_rows(&self) -> Vec<Row> {
        match self {
            Self::Select { menu, .. } => menu.numbered_rows(),
            Self::Permission { .. } | Self::Confirm { .. } | Self::Text { .. } => {
                self.rows(usize::MAX)
            }
        }
    }
}

impl TerminalQuestion {
    /// The question of an event, and what is printed of it; `None` for an event that asks nothing.
    pub async fn of_event(kind: &EventKind) -> Option<(Self, Vec<Row>)> {
        match kind {
            EventKind::PermissionAsked { id, request } => {
                let choices = choices(request);
                let request = Arc::clone(request);
                // The change is shown, and its file is read for that.
                let read = tasks::spawn_blocking(move || permission_rows(&request));
                let rows = read.await.unwrap_or_default();
                Some((Self::Permission { id: *id, choices }, rows))
            }
            EventKind::DialogAsked { id, dialog } => Some(Self::of_dialog(*id, dialog)),
            _ => None,
        }
    }

    /// True when the event says that this needs no answer any more.
    pub fn is_closed_by(&self, kind: &EventKind) -> bool {
        match kind {
            EventKind::PermissionAnswered { id, .. } => !self.is_dialog() && self.id() == *id,
            EventKind::DialogClosed { id, .. } => self.is_dialog() && self.id() == *id,
            _ => false,
        }
    }

    /// Whether a key is for the question, or for the line that somebody types. A line that was begun
    /// comes first: whoever types it may not have seen the question yet, and Enter would answer it.
    pub fn takes(&self, key: &Key, is_typing: bool) -> bool {
        match self {
            Self::Text { .. } => true,
            Self::Permission { .. } | Self::Confirm { .. } | Self::Select { .. } => {
                !is_typing || *key == Key::Escape
            }
        }
    }

    /// The answer that a key gives, if it is one. Text is answered with a line.
    pub fn answer_of_key(&mut self, key: &Key) -> Option<TerminalAnswer> {
        match (self, key) {
            (Self::Permission { choices, .. }, Key::Char(letter)) => chosen(choices, *letter),
            (Self::Permission { .. }, Key::Escape) => {
                Some(TerminalAnswer::Permission(PermissionAnswer::RejectOnce))
            }
            (Self::Confirm { .. }, Key::Char(letter)) => confirmed(*letter),
            (Self::Confirm { .. }, Key::Escape) => confirmed('n'),
            (Self::Select { menu, values, .. }, key) => picked(menu.press(key), values),
            (Self::Text { .. }, Key::Escape) => Some(TerminalAnswer::Dialog(DialogAnswer::Nothing)),
            (Self::Permission { .. } | Self::Confirm { .. } | Self::Text { .. }, _) => None,
        }
    }

    /// The answer that a line gives, if it is one: a letter or a word, and nothing else. Whoever types
    /// "add a test" means something else than "always", and may not have seen the question.
    pub fn answer_of_line(&self, line: &str) -> Option<TerminalAnswer> {
        let said = line.trim().to_lowercase();
        let means = |key: char, word: &str| said == word || said.strip_prefix(key) == Some("");
        match self {
            Self::Permission { choices, .. } => {
                let choice = choices.iter().find(|choice| means(choice.key, choice.word));
                choice.map(|choice| TerminalAnswer::Permission(choice.answer))
            }
            Self::Confirm { .. } if means('y', "yes") => confirmed('y'),
            Self::Confirm { .. } if means('n', "no") => confirmed('n'),
            Self::Confirm { .. } => None,
            // What it means is known where the answer is made to fit.
            Self::Select { menu, .. } if menu.is_of_several() && !line.trim().is_empty() => {
                Some(TerminalAnswer::Dialog(DialogAnswer::Value(line.to_owned())))
            }
            Self::Select { menu, values, .. } => picked(menu.answer(line), values),
            Self::Text { .. } => Some(TerminalAnswer::Dialog(DialogAnswer::Value(line.to_owned()))),
        }
    }
}

/// Gives an answer to the session. One that comes too late counts no more.
pub async fn give(session: &Session, id: u64, answer: TerminalAnswer) {
    let given = match answer {
        TerminalAnswer::Permission(answer) => session.answer_permission(id, answer).await,
        TerminalAnswer::Dialog(answer) => session.answer_dialog(id, answer).await.map(drop),
    };
    if let Err(error) = given {
        tracing::debug!(%error, "an answer came too late");
    }
}

fn chosen(choices: &[PermissionChoice], letter: char) -> Option<TerminalAnswer> {
    let wanted = letter.to_ascii_lowercase();
    let choice = choices.iter().find(|choice| choice.key == wanted);
    choice.map(|choice| TerminalAnswer::Permission(choice.answer))
}

fn confirmed(letter: char) -> Option<TerminalAnswer> {
    match letter {
        'y' | 'Y' => Some(TerminalAnswer::Dialog(DialogAnswer::Confirmed(true))),
        'n' | 'N' => Some(TerminalAnswer::Dialog(DialogAnswer::Confirmed(false))),
        _ => None,
    }
}

fn picked(picked: MenuResult, values: &[String]) -> Option<TerminalAnswer> {
    let answer = match picked {
        MenuResult::NotYet => return None,
        MenuResult::Nothing => DialogAnswer::Nothing,
        MenuResult::Item(index) => DialogAnswer::Value(values.get(index)?.clone()),
        MenuResult::Items(chosen) => {
            let chosen = chosen.into_iter().filter_map(|index| values.get(index));
            DialogAnswer::Values(chosen.cloned().collect())
        }
    };
    Some(TerminalAnswer::Dialog(answer))
}
