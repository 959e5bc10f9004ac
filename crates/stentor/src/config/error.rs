//! What can be wrong with the configuration, told so that a person can put it right.

use std::fmt;
use std::path::{Path, PathBuf};

use stentor_agent::project_files::NotRead;

use super::source::{ConfigLocation, Scope, ValueSource};
use crate::shell_argument::shell_argument;

/// Everything that is wrong, in the order it was found. Never empty.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// One thing that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: NotRead },
    #[error(
        "{}: anybody on this machine can write to it, and it can run commands as you, so it is not \
         used; check what it contains and run `chmod go-w {}`",
        path.display(),
        shell_argument(path)
    )]
    WritableByAnybody { path: PathBuf },
    #[error(
        "{}: it belongs to another user and can run commands as you, so it is not used; check what it \
         contains, then make it yours (`chown`) or move it away",
        path.display()
    )]
    OfAnotherUser { path: PathBuf },
    #[error("{}: is not UTF-8 (byte {offset})", path.display())]
    NotUtf8 { path: PathBuf, offset: usize },
    #[error("{at}: {message}")]
    Syntax { at: ConfigLocation, message: String },
    #[error("{at}: unknown key `{key}`{}", did_you_mean(.suggestion))]
    UnknownKey {
        at: ConfigLocation,
        key: String,
        suggestion: Option<String>,
    },
    #[error("{at}: [extensions.{name}]: {message}")]
    BadExtension {
        at: ConfigLocation,
        name: String,
        message: String,
    },
    #[error("{at}: [mcp_servers.{name}]: {message}")]
    BadServer {
        at: ConfigLocation,
        name: String,
        message: String,
    },
    #[error("{}: there is no file {}", place(.at), file.display())]
    NoSuchFile { at: ValueSource, file: PathBuf },
    #[error("{}: {message}", place(.at))]
    BadRule { at: ValueSource, message: String },
    #[error("{}: `{key}` {problem}", place(.at))]
    BadValue {
        at: ValueSource,
        key: String,
        problem: ValueProblem,
    },
}

/// Why there is no file that a change of the configuration could go to.
#[derive(Debug, thiserror::Error)]
pub enum NoFileToChange {
    #[error(
        "there is no folder for your configuration, because HOME is not set; set STENTOR_CONFIG_DIR"
    )]
    NoHome,
    #[error("this folder belongs to no project")]
    NoProject,
    #[error("{} is not changed: it leads out of the project", .0.display())]
    OutOfProject(PathBuf),
}

/// What is wrong with a value: what it is, what is expected, and perhaps what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueProblem {
    pub found: String,
    pub expected: String,
    pub suggestion: Option<String>,
}

/// Something that was left out of account, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub at: ConfigLocation,
    pub message: String,
}

impl Warning {
    /// About a whole file.
    pub fn of_file(file: &Path, scope: Scope, message: impl fmt::Display) -> Self {
        Self {
            at: ConfigLocation {
                file: file.into(),
                scope,
                line: 1,
                column: 1,
            },
            message: message.to_string(),
        }
    }
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "is {}, expected {}{}",
            self.found,
            self.expected,
            did_you_mean(&self.suggestion)
        )
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// What may have been meant, to go on after an error.
pub fn did_you_mean(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// An error points at the column, too, where `ValueSource` shows only the line.
fn place(source: &ValueSource) -> String {
    match source {
        ValueSource::File(at) => at.to_string(),
        ValueSource::Default | ValueSource::Environment(_) | ValueSource::Flag(_) => {
            source.to_string()
        }
    }
}

fn lines(errors: &[ConfigError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("\n")
}
