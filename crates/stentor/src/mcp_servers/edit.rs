//! Adding a server to a configuration file and removing it, everything else in it as it was.

use std::path::{Path, PathBuf};

use toml::Table;

use super::table::SECTION;
use crate::config::Scope;
use crate::config::edit::{self, Document};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ServerEditError {
    #[error(transparent)]
    File(#[from] edit::ConfigEditError),
    #[error("{} already has a server `{name}`; remove it first, or choose another name", path.display())]
    Exists { path: PathBuf, name: String },
    #[error("{} has no server `{name}`", path.display())]
    Missing { path: PathBuf, name: String },
}

/// Adds a server at the end of a file, which need not be there. The project's is for others too.
pub fn add(path: &Path, scope: Scope, name: &str, server: &Table) -> Result<(), ServerEditError> {
    let mut document = Document::open(path)?;
    let servers = document.section(SECTION)?;
    if servers.is_some_and(|servers| servers.contains_key(name)) {
        return Err(ServerEditError::Exists {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    }
    document.add_table(SECTION, name, written(server))?;
    match scope {
        Scope::User => document.save()?,
        Scope::Project => document.save_shared()?,
    }
    Ok(())
}

/// Removes a server from a file.
pub fn remove(path: &Path, name: &str) -> Result<(), ServerEditError> {
    let mut document = Document::open(path)?;
    let removed = document
        .section(SECTION)?
        .and_then(|servers| servers.remove(name));
    if removed.is_none() {
        return Err(ServerEditError::Missing {
            path: path.to_owned(),
            name: name.to_owned(),
        });
    }
    Ok(document.save()?)
}

/// The table of a server as it is written: tables in it stand on one line each.
fn written(server: &Table) -> toml_edit::Table {
    let parsed = server.to_string().parse::<toml_edit::DocumentMut>();
    let mut table = parsed.unwrap_or_default().as_table().clone();
    for (_, item) in table.iter_mut() {
        item.make_value();
    }
    table.fmt();
    table
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
        assert!(matches!(twice, ServerEditError::Exists { .. }), "{twice}");
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
            "# mine\nmodel = \"a/b\" # the good one\n\n# about two\n[mcp_servers.\"two\"]\nurl = \"http://h\"\n"
        );
        remove(&path, "two").unwrap();
        let missing = remove(&path, "two").unwrap_err();
        assert!(
            matches!(missing, ServerEditError::Missing { .. }),
            "{missing}"
        );
    }

    #[test]
    fn a_server_is_removed_however_it_is_written() {
        for (text, rest) in [
            (
                "mcp_servers = { one = { command = \"x\" }, two = { url = \"u\" } }\n",
                "mcp_servers = { two = { url = \"u\" } }\n",
            ),
            (
                "# a\nmcp_servers.one.command = \"x\"\nmodel = \"m\"\n",
                "model = \"m\"\n",
            ),
            (
                "[mcp_servers.one]\ncommand = '''\n[mcp_servers.two]\n'''\n[a]\nb = 1\n",
                "[a]\nb = 1\n",
            ),
        ] {
            let (_folder, path) = file(text);
            remove(&path, "one").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), rest, "{text}");
        }
    }

    #[test]
    fn a_comment_at_the_end_stays_where_it_was() {
        let text = "model = \"m\"\n# the end\n";
        let (_folder, path) = file(text);
        add(&path, Scope::User, "one", &server()).unwrap();
        let changed = fs::read_to_string(&path).unwrap();
        assert!(changed.starts_with(text), "{changed}");
    }
}
