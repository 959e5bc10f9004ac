//! Adding a server to a configuration file and removing it, everything else in it as it was.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::table::SECTION;
use crate::config::Scope;
use crate::config::edit::{self, Document};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    File(#[from] edit::EditError),
    #[error("{} has a server `{name}` already; remove it first, or choose another name", path.display())]
    Exists { path: PathBuf, name: String },
    #[error("{} has no server `{name}`", path.display())]
    Missing { path: PathBuf, name: String },
}

/// Adds a server at the end of a file, which need not be there. The project's is for others too.
pub fn add(path: &Path, scope: Scope, name: &str, server: &Table) -> Result<(), EditError> {
    let mut document = Document::open(path)?;
    let mut expected = document.table().clone();
    if section(&expected).is_some_and(|servers| servers.contains_key(name)) {
        return Err(EditError::Exists {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    }
    let mut changed = document.text().to_owned();
    if !changed.is_empty() {
        if !changed.ends_with('\n') {
            changed.push('\n');
        }
        changed.push('\n');
    }
    changed.push_str(&written(name, server));
    let servers = expected
        .entry(SECTION)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(servers) = servers {
        servers.insert(name.to_owned(), Value::Table(server.clone()));
    }
    change(&mut document, name, changed, &expected)?;
    match scope {
        Scope::User => document.save()?,
        Scope::Project => document.save_shared()?,
    }
    Ok(())
}

/// Removes a server from a file.
pub fn remove(path: &Path, name: &str) -> Result<(), EditError> {
    let mut document = Document::open(path)?;
    let mut expected = document.table().clone();
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
    let changed = without(document.text(), name);
    change(&mut document, name, changed, &expected)?;
    Ok(document.save()?)
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

fn change(
    document: &mut Document,
    name: &str,
    text: String,
    expected: &Table,
) -> Result<(), EditError> {
    document.replace(text, &format!("the server `{name}`"), |now| {
        let mut now = now.clone();
        // An empty section may stay as a header, which means nothing.
        if section(&now).is_some_and(Table::is_empty) {
            now.remove(SECTION);
        }
        now == *expected
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        add(&path, Scope::User, "three", &server()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let added = text.strip_prefix(FILE).unwrap();
        assert_eq!(
            added,
            "\n[mcp_servers.three]\nargs = [\"-y\", \"a b\"]\ncommand = \"npx\"\nenv = { K = 'v\"w' }\n"
        );
        let twice = add(&path, Scope::User, "three", &server()).unwrap_err();
        assert!(matches!(twice, EditError::Exists { .. }), "{twice}");
    }

    #[test]
    fn what_was_added_to_a_new_file_is_removed_again() {
        let (_folder, path) = file("");
        add(&path, Scope::User, "one", &server()).unwrap();
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
                matches!(refused, EditError::File(edit::EditError::Unusual { .. })),
                "{text} {refused}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
