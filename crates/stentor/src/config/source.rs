//! Where a value of the configuration came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: ValueSource,
}

/// The places a value can come from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// Nobody said anything.
    Default,
    File(ConfigLocation),
    /// The environment variable of that name.
    Environment(String),
    /// The flag of that name.
    Flag(String),
}

/// A place in a configuration file. Lines and columns count from one, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigLocation {
    pub file: Arc<Path>,
    pub scope: Scope,
    pub line: usize,
    pub column: usize,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own.
    User,
    /// It lies in the project, so whoever wrote the project wrote it.
    Project,
}

impl<T> Sourced<T> {
    /// A value nobody set.
    pub fn default_value(value: T) -> Self {
        Self {
            value,
            source: ValueSource::Default,
        }
    }

    /// The same source for another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced {
            value: change(self.value),
            source: self.source,
        }
    }
}

impl ValueSource {
    /// Its strength: a value with the higher rank wins.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(ConfigLocation {
                scope: Scope::User, ..
            }) => 1,
            Self::File(ConfigLocation {
                scope: Scope::Project,
                ..
            }) => 2,
            Self::Environment(_) => 3,
            Self::Flag(_) => 4,
        }
    }
}

impl ConfigLocation {
    /// Where the byte at `offset` of `text` is.
    pub fn in_text(file: &Arc<Path>, scope: Scope, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: Arc::clone(file),
            scope,
            line: before.matches('\n').count() + 1,
            column: before.chars().count() - before[..line_start].chars().count() + 1,
        }
    }
}

impl fmt::Display for ConfigLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(at) => write!(f, "{}:{}", at.file.display(), at.line),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let file: Arc<Path> = Path::new("c.toml").into();
        let text = "a = 1\nä = \"ö\" # x\n";
        for (offset, line, column) in [(0, 1, 1), (4, 1, 5), (6, 2, 1), (8, 2, 2), (999, 3, 1)] {
            let at = ConfigLocation::in_text(&file, Scope::User, text, offset);
            assert_eq!((at.line, at.column), (line, column), "offset {offset}");
        }
    }
}
