//! Adding a server to a configuration file and removing it, everything else in it as it was:
//! comments, order, spelling.
//!
//! The text is changed where the server's own lines are, and the result is read before it is
//! written: if anything but that server would mean something else than before, the file is left
//! alone.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::table::SECTION;

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
    #[error("{} has a server `{name}` already; remove it first, or choose another name", path.display())]
    Exists { path: PathBuf, name: String },
    #[error("{} has no server `{name}`", path.display())]
    Missing { path: PathBuf, name: String },
    #[error(
        "the server `{name}` is written in {} in a way only you can change; edit the file",
        path.display()
    )]
    Unusual { path: PathBuf, name: String },
}

/// Adds a server at the end of a file, which need not be there.
pub fn add(path: &Path, name: &str, server: &Table) -> Result<(), EditError> {
    let text = read(path)?;
    let before = parse(path, &text)?;
    if section(&before).is_some_and(|servers| servers.contains_key(name)) {
        return Err(EditError::Exists {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    }
    let mut changed = text.clone();
    if !changed.is_empty() {
        if !changed.ends_with('\n') {
            changed.push('\n');
        }
        changed.push('\n');
    }
    changed.push_str(&written(name, server));
    let mut expected = before;
    let servers = expected
        .entry(SECTION)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(servers) = servers {
        servers.insert(name.to_owned(), Value::Table(server.clone()));
    }
    write_checked(path, name, &changed, &expected)
}

/// Removes a server from a file.
pub fn remove(path: &Path, name: &str) -> Result<(), EditError> {
    let text = read(path)?;
    let mut expected = parse(path, &text)?;
    let servers = expected.get_mut(SECTION).and_then(Value::as_table_mut);
    let removed = servers.map(|servers| (servers.remove(name), servers.is_empty()));
    let Some((Some(_), was_last)) = removed else {
        return Err(EditError::Missing {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    };
    if was_last {
        expected.remove(SECTION);
    }
    write_checked(path, name, &without(&text, name), &expected)
}

/// The table of a server as it is written, values that are tables themselves below it.
fn written(name: &str, server: &Table) -> String {
    let mut text = format!("[{SECTION}.{name}]\n");
    let (tables, plain): (Vec<_>, Vec<_>) = server.iter().partition(|(_, value)| value.is_table());
    for (key, value) in plain {
        text.push_str(&format!("{key} = {value}\n"));
    }
    for (key, value) in tables {
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

/// The text without the tables of a server. Comments in front of what follows stay with it.
fn without(text: &str, name: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut held = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            let was_inside = std::mem::replace(&mut inside, is_of(trimmed, name));
            if was_inside && !inside {
                kept.push_str(&held);
            }
            held.clear();
        }
        if !inside {
            kept.push_str(line);
        } else if trimmed.is_empty() || trimmed.starts_with('#') {
            held.push_str(line);
        } else {
            held.clear();
        }
    }
    kept
}

/// Whether a header begins a table of the server.
fn is_of(header: &str, name: &str) -> bool {
    let inner = header.trim_start_matches('[');
    let inner: String = inner.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = inner.replace(['"', '\''], "");
    let own = format!("{SECTION}.{name}");
    plain
        .strip_prefix(&own)
        .is_some_and(|rest| rest.starts_with(['.', ']']))
}

fn section(document: &Table) -> Option<&Table> {
    document.get(SECTION)?.as_table()
}

fn read(path: &Path) -> Result<String, EditError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(cannot("read", path)(error)),
    }
}

fn parse(path: &Path, text: &str) -> Result<Table, EditError> {
    text.parse()
        .map_err(|error: toml::de::Error| EditError::Syntax {
            path: path.to_owned(),
            message: error.message().trim_end().replace('\n', ", "),
        })
}

fn write_checked(path: &Path, name: &str, text: &str, expected: &Table) -> Result<(), EditError> {
    let unusual = || EditError::Unusual {
        path: path.to_owned(),
        name: name.to_owned(),
    };
    let mut now: Table = text.parse().map_err(|_| unusual())?;
    // An empty section may stay as a header, which means nothing.
    if section(&now).is_some_and(Table::is_empty) {
        now.remove(SECTION);
    }
    if now != *expected {
        return Err(unusual());
    }
    replace(path, text)
}

/// A reader sees the old file or the new one. A link to a file elsewhere stays a link.
fn replace(path: &Path, text: &str) -> Result<(), EditError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(cannot("create", folder))?;
    }
    // A new file may carry secrets; an old one stays as open as its owner made it.
    let mode = fs::metadata(&target).map_or(0o600, |known| known.permissions().mode() & 0o777);
    let beside = target.with_extension(format!("toml.{}.new", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &target)
    })();
    written.map_err(|error| {
        // What is left of the attempt is of no use.
        let _ = fs::remove_file(&beside);
        cannot("write", &target)(error)
    })
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

    const FILE: &str = "# mine\nmodel = \"a/b\" # the good one\n\n[mcp_servers.one]\ncommand = \"x\"\n# about one\n\n[mcp_servers.one.env]\nA = \"1\"\n\n# about two\n[mcp_servers.\"two\"]\nurl = \"http://h\"\n";

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        if !text.is_empty() {
            fs::write(&path, text).unwrap();
        }
        (folder, path)
    }

    fn server() -> Table {
        "command = \"npx\"\nargs = [\"-y\", \"a b\"]\nenv = { K = \"v\\\"w\" }"
            .parse()
            .unwrap()
    }

    #[test]
    fn a_server_is_added_at_the_end_and_the_rest_stays_as_it_was() {
        let (_folder, path) = file(FILE);
        add(&path, "three", &server()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let added = text.strip_prefix(FILE).unwrap();
        assert_eq!(
            added,
            "\n[mcp_servers.three]\nargs = [\"-y\", \"a b\"]\ncommand = \"npx\"\nenv = { K = 'v\"w' }\n"
        );
        let twice = add(&path, "three", &server()).unwrap_err();
        assert!(matches!(twice, EditError::Exists { .. }), "{twice}");
    }

    #[test]
    fn a_file_that_is_not_there_is_made_for_its_owner_only() {
        let (folder, _) = file("");
        let path = folder.path().join("deep/config.toml");
        add(&path, "one", &server()).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        remove(&path, "one").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn a_server_is_removed_with_its_tables_and_comments_of_others_stay() {
        let (_folder, path) = file(FILE);
        remove(&path, "one").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "# mine\nmodel = \"a/b\" # the good one\n\n\n# about two\n[mcp_servers.\"two\"]\nurl = \"http://h\"\n"
        );
        remove(&path, "two").unwrap();
        let missing = remove(&path, "two").unwrap_err();
        assert!(matches!(missing, EditError::Missing { .. }), "{missing}");
    }

    #[test]
    fn a_file_that_is_written_in_an_unusual_way_is_left_alone() {
        for text in [
            "mcp_servers = { one = { command = \"x\" } }\n",
            "mcp_servers.one.command = \"x\"\n",
            "[mcp_servers.one]\ncommand = '''\n[mcp_servers.two]\n'''\n",
        ] {
            let (_folder, path) = file(text);
            let refused = remove(&path, "one").unwrap_err();
            assert!(
                matches!(refused, EditError::Unusual { .. }),
                "{text} {refused}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_link_to_a_file_stays_a_link() {
        let (folder, path) = file(FILE);
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        add(&link, "three", &server()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&path).unwrap().contains("three"));
    }
}
