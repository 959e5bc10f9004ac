//! Changing a configuration file, everything else in it as it was: comments, order, spelling.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use stentor_journal::private_file::{self, FileReplacement, PRIVATE};
use toml_edit::{DocumentMut, Item, Table, TableLike, TomlError, Value};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigEditError {
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("{}: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("`{key}` is {found} in {}; edit the file", path.display())]
    Unusual {
        path: PathBuf,
        key: String,
        found: &'static str,
    },
}

/// A file that is being changed. Nothing is written before it is saved.
#[derive(Debug)]
pub struct Document {
    path: PathBuf,
    content: DocumentMut,
    /// Lines end as they do on Windows.
    has_crlf: bool,
}

impl Document {
    /// Reads a file. One that is not there says nothing yet.
    pub fn open(path: &Path) -> Result<Self, ConfigEditError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot("read", path)(error)),
        };
        let parsed = text.parse();
        let content = parsed.map_err(|error: TomlError| ConfigEditError::Syntax {
            path: path.to_owned(),
            message: error.message().trim_end().replace('\n', ", "),
        })?;
        Ok(Self {
            path: path.to_owned(),
            content,
            has_crlf: text.contains("\r\n"),
        })
    }

    /// Whether the file sets this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.content.contains_key(key)
    }

    /// The line of a key that stands above all tables, counted from one.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        let text = self.text();
        let parsed = toml_edit::Document::parse(text.as_str()).ok()?;
        let before = text.get(..parsed.get(key)?.span()?.start)?;
        Some(before.matches('\n').count() + 1)
    }

    /// Sets a key that stands above all tables. One that is there already keeps its line, with
    /// whatever else is on it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigEditError> {
        let has_plain = self.content.iter().any(|(_, item)| item.is_value());
        match self.content.get_mut(key) {
            Some(Item::Value(old)) => {
                let decor = old.decor().clone();
                *old = Value::from(value);
                *old.decor_mut() = decor;
            }
            Some(_) => return Err(self.unusual(key, "a table")),
            None => {
                // What the file begins with would be taken for a comment about the new key.
                if !has_plain && !self.content.to_string().is_empty() {
                    self.put_at_the_start("\n");
                }
                self.content.insert(key, value.into());
            }
        }
        Ok(())
    }

    /// Puts a text before everything else, which is comments and tables.
    fn put_at_the_start(&mut self, text: &str) {
        let before_first = self.content.iter_mut().find_map(|(_, item)| match item {
            Item::Table(table) => Some(first_table(table)?.decor_mut()),
            Item::ArrayOfTables(tables) => Some(tables.get_mut(0)?.decor_mut()),
            _ => None,
        });
        match before_first {
            Some(decor) => {
                let old = decor.prefix().and_then(|prefix| prefix.as_str());
                decor.set_prefix(format!("{text}{}", old.unwrap_or_default()));
            }
            None => {
                let old = self.content.trailing().as_str().unwrap_or_default();
                let new = format!("{text}{old}");
                self.content.set_trailing(new);
            }
        }
    }

    /// The tables in a section such as `mcp_servers`, whichever way they are written.
    pub fn section(&mut self, name: &str) -> Result<Option<&mut dyn TableLike>, ConfigEditError> {
        let unusual = self.unusual(name, "not a table");
        match self.content.get_mut(name) {
            None => Ok(None),
            Some(item) => item.as_table_like_mut().map(Some).ok_or(unusual),
        }
    }

    /// Adds a table to a section, at the end of the file.
    pub fn add_table(
        &mut self,
        section: &str,
        name: &str,
        mut table: Table,
    ) -> Result<(), ConfigEditError> {
        let is_empty = self.content.to_string().is_empty();
        if self.section(section)?.is_none() {
            let mut tables = Table::new();
            tables.set_implicit(true);
            self.content.insert(section, Item::Table(tables));
        }
        // Comments at the end of the file stay before what comes after them now.
        let above = self.content.trailing().as_str().unwrap_or_default();
        let above = if is_empty {
            String::new()
        } else {
            format!("{above}\n")
        };
        self.content.set_trailing("");
        table.decor_mut().set_prefix(above);
        table.set_position(Some(isize::MAX));
        if let Some(tables) = self.section(section)? {
            tables.insert(name, Item::Table(table));
        }
        Ok(())
    }

    fn unusual(&self, key: &str, found: &'static str) -> ConfigEditError {
        ConfigEditError::Unusual {
            path: self.path.clone(),
            key: key.to_owned(),
            found,
        }
    }

    fn text(&self) -> String {
        let text = self.content.to_string();
        match self.has_crlf {
            true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => text,
        }
    }

    /// Writes the file. A reader sees the old one or the new one; a link to a file elsewhere stays
    /// a link. A new file may carry secrets, and only its owner may read it.
    pub fn save(&self) -> Result<(), ConfigEditError> {
        self.save_with(PRIVATE)
    }

    /// The same for a file that others are to read too: a new one is as open as other new files.
    pub fn save_shared(&self) -> Result<(), ConfigEditError> {
        self.save_with(0o666)
    }

    fn save_with(&self, mode_of_new: u32) -> Result<(), ConfigEditError> {
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
        let written = FileReplacement::begin(&target, mode).and_then(|mut new| {
            new.file().write_all(self.text().as_bytes())?;
            new.finish()
        });
        written.map_err(cannot("write", &target))
    }
}

/// The table itself if it has a header, or else the first in it that has one.
fn first_table(table: &mut Table) -> Option<&mut Table> {
    if !table.is_implicit() {
        return Some(table);
    }
    table.iter_mut().find_map(|(_, item)| match item {
        Item::Table(inner) => first_table(inner),
        _ => None,
    })
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

fn cannot(what: &'static str, path: &Path) -> impl Fn(io::Error) -> ConfigEditError {
    let path = path.to_owned();
    move |error| ConfigEditError::Io {
        what,
        path: path.clone(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: &str) -> Result<String, ConfigEditError> {
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
        let written: DocumentMut = set("", "model", odd).unwrap().parse().unwrap();
        assert_eq!(written.get("model").and_then(Item::as_str), Some(odd));
    }

    #[test]
    fn a_file_that_cannot_be_read_as_toml_is_left_alone() {
        let refused = set("model = \n", "model", "a/b").unwrap_err();
        assert!(
            matches!(refused, ConfigEditError::Syntax { .. }),
            "{refused}"
        );
        // The key is a table here, which no name can take the place of.
        let refused = set("model.x = 1\n", "model", "a/b").unwrap_err();
        assert!(
            matches!(refused, ConfigEditError::Unusual { .. }),
            "{refused}"
        );
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
