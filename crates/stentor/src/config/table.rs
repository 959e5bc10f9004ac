//! Tables whose content others read: what is wrong with one, and what its paths are relative to.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use stentor_text::spelling::nearest;

use super::error::{ConfigError, ConfigErrors};
use super::file::RawTable;
use super::source::{ConfigLocation, Scope};

/// What is wrong with a table: an unknown key with its line and the nearest right one, else the
/// words of the reader with the line of the table.
pub fn table_error(kind: &str, table: &RawTable, message: &str) -> ConfigError {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field").then(|| quoted.next());
    match unknown.flatten() {
        Some(key) => ConfigError::UnknownKey {
            at: line_of(key, table),
            suggestion: nearest(key, quoted).map(str::to_owned),
            key: format!("{}.{key}", heading(kind, table)),
        },
        None => ConfigError::Syntax {
            at: table.at.clone(),
            message: format!("[{}] {}", heading(kind, table), without_value(message)),
        },
    }
}

/// What is wrong with the value of a key, with its line; with the line of the table if no key is named.
pub fn key_error(kind: &str, table: &RawTable, key: &str, message: &str) -> ConfigError {
    ConfigError::Syntax {
        at: match key.is_empty() {
            true => table.at.clone(),
            false => line_of(key, table),
        },
        message: format!("[{}] {}", heading(kind, table), without_value(message)),
    }
}

/// What is between the brackets: a table that is the only one of its kind has no name of its own.
fn heading(kind: &str, table: &RawTable) -> String {
    match kind {
        "" => table.name.clone(),
        kind => format!("{kind}.{}", table.name),
    }
}

/// The reader quotes text that stands where something else belongs, and that may be a key.
fn without_value(message: &str) -> String {
    let quoted = message.strip_prefix("invalid type: string ");
    match quoted.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => format!("invalid type: text, expected {expected}"),
        None => message.to_owned(),
    }
}

/// Where `key` stands in its table, or where the table begins if that cannot be told.
fn line_of(key: &str, table: &RawTable) -> ConfigLocation {
    let mut at = table.at.clone();
    let text = std::fs::read_to_string(&at.file).unwrap_or_default();
    let below = text.lines().enumerate().skip(at.line);
    let mut inside = below.take_while(|(_, line)| !line.trim_start().starts_with('['));
    if let Some((index, line)) = inside.find(|(_, line)| line.trim_start().starts_with(key)) {
        at.line = index + 1;
        at.column = line.len() - line.trim_start().len() + 1;
    }
    at
}

/// Tables that were read as they are, as what they must be.
pub fn tables<T: DeserializeOwned>(
    kind: &str,
    tables: &[RawTable],
) -> Result<BTreeMap<String, T>, ConfigErrors> {
    let mut read = BTreeMap::new();
    let mut errors = Vec::new();
    for table in tables {
        match table.table.clone().try_into::<T>() {
            Ok(value) => {
                read.insert(table.name.clone(), value);
            }
            Err(error) => errors.push(table_error(kind, table, error.message())),
        }
    }
    if errors.is_empty() {
        Ok(read)
    } else {
        Err(ConfigErrors(errors))
    }
}

/// What relative paths of a table are relative to: the folder of the user's file, the project's
/// folder in the project's file.
pub fn base(raw: &RawTable) -> &Path {
    let folder = raw.at.file.parent();
    let base = match raw.at.scope {
        Scope::User => folder,
        Scope::Project => folder.and_then(Path::parent),
    };
    base.unwrap_or(Path::new("."))
}

/// A word whose `~/` is the user's folder.
pub fn at_home(word: String, home: Option<&Path>) -> String {
    match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest).display().to_string(),
        _ => word,
    }
}
