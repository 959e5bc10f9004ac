//! Changing a configuration file, everything else in it as it was: comments, order, spelling.
//!
//! The text is changed where it must be, and the result is read before it is written: if anything
//! but what was meant would say something else than before, the file is left alone.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::private_file;

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("{}: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{what} is written in {} in a way only you can change; edit the file", path.display())]
    Unusual { path: PathBuf, what: String },
}

/// The mode of a file that may carry secrets.
const PRIVATE: u32 = 0o600;

/// A file that is being changed. Nothing is written before it is saved.
#[derive(Debug)]
pub struct Document {
    path: PathBuf,
    text: String,
    table: Table,
}

impl Document {
    /// Reads a file. One that is not there says nothing yet.
    pub fn open(path: &Path) -> Result<Self, EditError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot("read", path)(error)),
        };
        let table = text
            .parse()
            .map_err(|error: toml::de::Error| EditError::Syntax {
                path: path.to_owned(),
                message: error.message().trim_end().replace('\n', ", "),
            })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            table,
        })
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the text says.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The line of a key that stands above all tables, counted from one.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        let value = Spans::of(&self.text, key).value?;
        let before = self.text.get(..value.start)?;
        Some(before.matches('\n').count() + 1)
    }

    /// Sets a key that stands above all tables. One that is there already keeps its line, with
    /// whatever else is on it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), EditError> {
        let written = Value::String(value.to_owned()).to_string();
        let mut expected = self.table.clone();
        expected.insert(key.to_owned(), Value::String(value.to_owned()));
        let spans = Spans::of(&self.text, key);
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let mut text = self.text.clone();
        match (spans.value, spans.last_plain) {
            (Some(value), _) => text.replace_range(value, &written),
            (None, Some(last)) => {
                let rest = text.get(last..).unwrap_or_default();
                let line_end = rest.find('\n').map(|at| last + at + 1);
                let line = format!("{key} = {written}{newline}");
                match line_end {
                    Some(at) => text.insert_str(at, &line),
                    None => text.push_str(&format!("{newline}{line}")),
                }
            }
            (None, None) => {
                let between = if text.is_empty() { "" } else { newline };
                text.insert_str(0, &format!("{key} = {written}{newline}{between}"));
            }
        }
        self.replace(text, &format!("`{key}`"), |now| *now == expected)
    }

    /// Takes another text, if it says what it should. `what` is what is being changed.
    pub fn replace(
        &mut self,
        text: String,
        what: &str,
        says_what_it_should: impl FnOnce(&Table) -> bool,
    ) -> Result<(), EditError> {
        let table: Option<Table> = text.parse().ok();
        match table.filter(says_what_it_should) {
            Some(table) => {
                self.text = text;
                self.table = table;
                Ok(())
            }
            None => Err(EditError::Unusual {
                path: self.path.clone(),
                what: what.to_owned(),
            }),
        }
    }

    /// Writes the file. A reader sees the old one or the new one; a link to a file elsewhere stays
    /// a link. A new file may carry secrets, and only its owner may read it.
    pub fn save(&self) -> Result<(), EditError> {
        self.save_with(PRIVATE)
    }

    /// The same for a file that others are to read too: a new one is as open as other new files.
    pub fn save_shared(&self) -> Result<(), EditError> {
        self.save_with(0o666)
    }

    fn save_with(&self, mode_of_new: u32) -> Result<(), EditError> {
        let target = behind_links(&self.path);
        if let Some(folder) = target.parent() {
            // The folder of a file with secrets is its owner's alone, too.
            let made = match mode_of_new {
                PRIVATE => private_file::create_folder(folder),
                _ => fs::create_dir_all(folder),
            };
            made.map_err(cannot("create", folder))?;
        }
        // An old file stays as open as its owner made it.
        let mode =
            fs::metadata(&target).map_or(mode_of_new, |known| known.permissions().mode() & 0o777);
        let beside = target.with_extension(format!("toml.{}.new", std::process::id()));
        let written = (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&beside)?;
            file.write_all(self.text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &target)
        })();
        written.map_err(|error| {
            // What is left of the attempt is of no use.
            let _ = fs::remove_file(&beside);
            cannot("write", &target)(error)
        })
    }
}

/// Links that lead to links; more are a circle, which the system refuses as well.
const MOST_LINKS: usize = 40;

/// The file a path leads to, which need not be there yet.
fn behind_links(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            break;
        };
        target = match target.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    target
}

/// Places in a text that is known to be right.
#[derive(Debug, Default)]
struct Spans {
    /// The value of the key.
    value: Option<Range<usize>>,
    /// The end of the last value above all tables.
    last_plain: Option<usize>,
}

impl Spans {
    fn of(text: &str, key: &str) -> Self {
        let mut spans = Self::default();
        let Ok(document) = DeTable::parse(text) else {
            return spans;
        };
        for (name, value) in document.get_ref().iter() {
            if name.get_ref().as_ref() == key {
                spans.value = Some(value.span());
            }
            let is_plain = match value.get_ref() {
                DeValue::Table(_) => false,
                // A list of tables may be written with a header for each.
                DeValue::Array(items) => {
                    let mut items = items.iter();
                    !items.any(|item| matches!(item.get_ref(), DeValue::Table(_)))
                }
                _ => true,
            };
            if is_plain {
                spans.last_plain = spans.last_plain.max(Some(value.span().end));
            }
        }
        spans
    }
}

fn cannot(what: &'static str, path: &Path) -> impl Fn(io::Error) -> EditError {
    let path = path.to_owned();
    move |error| EditError::Io {
        what,
        path: path.clone(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: &str) -> Result<String, EditError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        let mut document = Document::open(&path)?;
        document.set(key, value)?;
        document.save()?;
        Ok(fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn a_key_is_set_and_the_rest_stays_as_it_was() {
        for (text, expected) in [
            ("", "model = \"a/b\"\n"),
            ("# mine\n", "model = \"a/b\"\n\n# mine\n"),
            (
                "# mine\n  model   = 'x'   # the good one\n[tools]\nmodel = 3\n",
                "# mine\n  model   = \"a/b\"   # the good one\n[tools]\nmodel = 3\n",
            ),
            (
                "\"model\" = \"\"\"\nx\n[no header]\n\"\"\" # why\nthinking = \"low\"\n",
                "\"model\" = \"a/b\" # why\nthinking = \"low\"\n",
            ),
            (
                "# mine\nthinking = \"low\" # x\n\n# tables\n[a]\nb = 1\n",
                "# mine\nthinking = \"low\" # x\nmodel = \"a/b\"\n\n# tables\n[a]\nb = 1\n",
            ),
            (
                "tools = [\n \"read\",\n]\n[[rule]]\nb = 1\n",
                "tools = [\n \"read\",\n]\nmodel = \"a/b\"\n[[rule]]\nb = 1\n",
            ),
            (
                "[a]\nb = 1\n[[rule]]\nc = 1\n",
                "model = \"a/b\"\n\n[a]\nb = 1\n[[rule]]\nc = 1\n",
            ),
            ("thinking = 'low'", "thinking = 'low'\nmodel = \"a/b\"\n"),
            (
                "thinking = 'low'\r\n[a]\r\n",
                "thinking = 'low'\r\nmodel = \"a/b\"\r\n[a]\r\n",
            ),
        ] {
            assert_eq!(set(text, "model", "a/b").unwrap(), expected, "{text}");
        }
        let odd = "a\"\\'\u{1}ü";
        let written: Table = set("", "model", odd).unwrap().parse().unwrap();
        assert_eq!(written.get("model").and_then(Value::as_str), Some(odd));
    }

    #[test]
    fn a_file_that_cannot_be_read_as_toml_is_left_alone() {
        let refused = set("model = \n", "model", "a/b").unwrap_err();
        assert!(matches!(refused, EditError::Syntax { .. }), "{refused}");
        // The key is a table here, which no name can take the place of.
        let refused = set("model.x = 1\n", "model", "a/b").unwrap_err();
        assert!(matches!(refused, EditError::Unusual { .. }), "{refused}");
    }

    #[test]
    fn a_file_that_is_not_there_is_made_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config.toml");
        let mut document = Document::open(&path).unwrap();
        document.set("model", "a/b").unwrap();
        document.save().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn a_link_to_a_file_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.toml"), folder.path().join("b.toml"));
        fs::write(&path, "thinking = 'low'\n").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut document = Document::open(&link).unwrap();
        document.set("model", "a/b").unwrap();
        document.save().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&path).unwrap().contains("a/b"));
    }
}
