//! Paths in commands that people copy from what they are shown.

use std::path::Path;

/// A path as a shell takes it.
pub fn shell_argument(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}
