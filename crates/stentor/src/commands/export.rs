//! `stentor export`: a session as a web page, Markdown, JSON, or a file of its own.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stentor_journal::export::{session_json, session_markdown, session_page};
use stentor_journal::store::{self, StoreError, View};

/// Where the page goes.
pub enum Target {
    /// To stdout.
    Stdout,
    File(PathBuf),
}

impl Target {
    /// The place `-o` names; without it, a file named after the session in `cwd`.
    pub fn choose(output: Option<&Path>, session_id: &str, cwd: &Path) -> Self {
        match output {
            Some(path) if path == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(cwd.join(path)),
            // Ids come from files; only what cannot leave the folder is used.
            None => {
                let safe = store::check_session_id(session_id).is_ok();
                let name = if safe { session_id } else { "session" };
                Self::File(cwd.join(format!("{name}.html")))
            }
        }
    }
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Page,
    Markdown,
    Json,
    /// A session file with its pictures inside, which every program can open.
    Session,
}

impl Form {
    /// What the name of a file says; a page where it says nothing.
    fn of(target: &Target) -> Result<Self, ExportError> {
        let Target::File(path) = target else {
            return Ok(Self::Page);
        };
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => Ok(Self::Page),
            Some("md" | "markdown") => Ok(Self::Markdown),
            Some("json") => Ok(Self::Json),
            Some("jsonl") => Ok(Self::Session),
            _ => Err(ExportError::UnknownForm(path.clone())),
        }
    }

    fn write(self, file: &Path, view: &View) -> Result<Vec<u8>, ExportError> {
        Ok(match self {
            Self::Page => session_page(view).into_bytes(),
            Self::Markdown => session_markdown(view).into_bytes(),
            Self::Json => {
                let text = serde_json::to_string_pretty(&session_json(view))?;
                format!("{text}\n").into_bytes()
            }
            Self::Session => {
                let mut copy = Vec::new();
                store::copy_with_pictures(file, &mut copy)?;
                copy
            }
        })
    }
}

/// Why a session was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{}: use a name that ends in .html, .md, .json or .jsonl", .0.display())]
    UnknownForm(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot print the page: {0}")]
    Print(io::Error),
}

/// Writes the session in `file` in the form that the name of the output asks for.
pub fn run(
    file: &Path,
    output: Option<&Path>,
    cwd: &Path,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let view = store::view(file)?;
    let target = Target::choose(output, &view.header.id, cwd);
    let written = Form::of(&target)?.write(file, &view)?;
    let printed = match target {
        Target::Stdout => out.write_all(&written),
        Target::File(path) => match fs::write(&path, written) {
            Ok(()) => writeln!(out, "{}", path.display()),
            Err(error) => return Err(ExportError::Write { path, error }),
        },
    };
    match printed {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(ExportError::Print(error)),
        Ok(()) => Ok(()),
    }
}
