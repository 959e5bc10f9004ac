//! Reads a scenario from a TOML or JSON file.
//!
//! The `shape` module says what a file may contain, `values` the small things in it. A wrong key
//! or value is an error that names the file, the line and the nearest right name.

mod mistake;
mod shape;
mod values;

use std::path::{Path, PathBuf};

use super::scenario::Scenario;
use stentor_text::spelling::nearest;

/// How a scenario is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptFormat {
    Toml,
    Json,
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the scenario {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the scenario {} must be a .toml or .json file", path.display())]
    UnknownFormat { path: PathBuf },
    #[error("{file}:{line}: {problem}")]
    Invalid {
        file: String,
        line: usize,
        problem: String,
    },
}

impl ScriptFormat {
    /// The format a file name's ending stands for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        if ending.eq_ignore_ascii_case("toml") {
            Some(Self::Toml)
        } else if ending.eq_ignore_ascii_case("json") {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// Reads a scenario file.
pub fn load(path: &Path) -> Result<Scenario, ScriptError> {
    let format = ScriptFormat::of(path).ok_or_else(|| ScriptError::UnknownFormat {
        path: path.to_owned(),
    })?;
    let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, format, &path.to_string_lossy())
}

/// Reads a scenario from text; `file` stands for the file in errors.
pub fn parse(text: &str, format: ScriptFormat, file: &str) -> Result<Scenario, ScriptError> {
    let read: Result<shape::ScenarioShape, (usize, String)> = match format {
        ScriptFormat::Toml => toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (line_of(text, at), error.message().to_owned())
        }),
        ScriptFormat::Json => serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            // The line is told separately.
            let (message, _) = message.rsplit_once(" at line ").unwrap_or((&message, ""));
            (error.line().max(1), message.to_owned())
        }),
    };
    let invalid = |(line, problem): (usize, String)| ScriptError::Invalid {
        file: file.to_owned(),
        line,
        problem: with_suggestion(&problem),
    };
    read.map(Scenario::from).map_err(invalid)
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    memchr::memchr_iter(b'\n', before).count() + 1
}

/// Turns serde's list of everything that would have been right into the one thing that was meant.
fn with_suggestion(problem: &str) -> String {
    for (start, what) in [("unknown field `", "key"), ("unknown variant `", "value")] {
        let Some(rest) = problem.strip_prefix(start) else {
            continue;
        };
        let mut quoted = rest.split('`').step_by(2);
        let Some(wrong) = quoted.next() else {
            continue;
        };
        let right: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
        return match nearest(wrong, right.iter().copied()) {
            Some(near) => format!("unknown {what} `{wrong}`: did you mean `{near}`?"),
            None => format!("unknown {what} `{wrong}`: use one of {}", right.join(", ")),
        };
    }
    problem.to_owned()
}

#[cfg(test)]
mod tests;
