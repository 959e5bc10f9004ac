//! What a path in an argument means.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};
use stentor_agent::tool::{ToolContext, Touches};
use stentor_policy::resolve;

use crate::tool_error::ToolError;

/// The file a call is about: as it was named, and where that is.
#[derive(Debug, Clone)]
pub(crate) struct FileTarget {
    pub given: PathBuf,
    /// Nothing when its links go in circles.
    resolved: Option<PathBuf>,
}

impl FileTarget {
    /// What the call was judged by; where nobody judged it, what the path means now.
    pub(crate) fn judged(path: &str, context: &ToolContext) -> Self {
        let given = absolute(path, &context.cwd);
        let touches = &context.touches;
        let settled = touches.settled.iter().flatten();
        let mut judged = touches.paths.iter().zip(settled);
        match judged.find(|(judged, _)| **judged == given) {
            Some((_, resolved)) => Self {
                given,
                resolved: resolved.clone(),
            },
            None => Self::of(given),
        }
    }

    /// What a path means now.
    pub(crate) fn of(given: PathBuf) -> Self {
        let resolved = resolve(&given);
        Self { given, resolved }
    }

    /// Where it is, all links followed.
    pub(crate) fn resolved(&self) -> Result<&Path, ToolError> {
        let circles = || rustix::io::Errno::LOOP.into();
        self.resolved
            .as_deref()
            .ok_or_else(|| ToolError::system("open", &self.given)(circles()))
    }
}

/// The absolute path a model meant: relative to `cwd`, `~` expanded, one leading `@` dropped
/// (models copy the mark of a mentioned file), odd spaces made plain unless a file is really
/// called that. Links are not resolved.
pub(crate) fn absolute(path: &str, cwd: &Path) -> PathBuf {
    let home = std::env::home_dir();
    if path.contains(is_odd_space) {
        let as_given = absolute_from(path, cwd, home.as_deref());
        if as_given.exists() {
            return as_given;
        }
        return absolute_from(&path.replace(is_odd_space, " "), cwd, home.as_deref());
    }
    absolute_from(path, cwd, home.as_deref())
}

/// What a call touches that names one path, the folder itself if it names none.
pub(crate) fn touched(arguments: &Map<String, Value>, name: &str, cwd: &Path) -> Touches {
    let path = arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default();
    Touches {
        paths: vec![absolute(path, cwd)],
        ..Touches::default()
    }
}

fn absolute_from(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let path = path.strip_prefix('@').unwrap_or(path);
    let path = match home {
        Some(home) if path == "~" => home.to_owned(),
        Some(home) => match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(path),
        },
        None => PathBuf::from(path),
    };
    without_dots(&cwd.join(path))
}

/// Spaces that word processors and some file names have where people see a plain one.
fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// The path without `.`. A `..` stays: what it leads to depends on links.
fn without_dots(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| !matches!(component, Component::CurDir))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_to_the_folder_and_free_of_marks() {
        for (given, expected) in [
            ("a.txt", "/work/a.txt"),
            ("./a/./b", "/work/a/b"),
            (".", "/work"),
            ("", "/work"),
            ("../a", "/work/../a"),
            ("/etc/x", "/etc/x"),
            ("~", "/home/me"),
            ("~/x", "/home/me/x"),
            ("~draft", "/work/~draft"),
            ("@src/a.rs", "/work/src/a.rs"),
            ("@@a", "/work/@a"),
        ] {
            let path = absolute_from(given, Path::new("/work"), Some(Path::new("/home/me")));
            assert_eq!(path, Path::new(expected), "{given}");
        }
    }

    #[test]
    fn odd_spaces_are_plain_ones_unless_a_file_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("10.30\u{202f}PM.png"), "").unwrap();
        for (given, expected) in [
            ("a\u{a0}b\u{3000}c", "a b c"),
            ("10.30\u{202f}PM.png", "10.30\u{202f}PM.png"),
        ] {
            assert_eq!(absolute(given, folder.path()), at(expected));
        }
    }
}
