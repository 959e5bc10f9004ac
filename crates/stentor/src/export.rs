//! `stentor export`: a session as a web page, Markdown, JSON, or a file of its own.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stentor_journal::export::{session_json, session_markdown, session_page};
use stentor_journal::store::{self, SessionView, StoreError};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    Page,
    Markdown,
    Json,
    /// A session file with its pictures inside, which every program can open.
    Session,
}

impl ExportFormat {
    /// What the name of a file says; a page where it says nothing.
    fn of(path: &Path) -> Result<Self, ExportError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("html" | "htm") => Ok(Self::Page),
            Some("md" | "markdown") => Ok(Self::Markdown),
            Some("json") => Ok(Self::Json),
            Some("jsonl") => Ok(Self::Session),
            _ => Err(ExportError::UnknownForm(path.to_owned())),
        }
    }

    fn write(self, file: &Path, view: &SessionView) -> Result<Vec<u8>, ExportError> {
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

/// Exports the session in `file` to `output`, where `-` is the page on stdout.
pub fn run(
    file: &Path,
    output: Option<&Path>,
    cwd: &Path,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let printed = if output == Some(Path::new("-")) {
        let view = store::view(file)?;
        out.write_all(session_page(&view).as_bytes())
    } else {
        let path = to_file(file, output, cwd)?;
        writeln!(out, "{}", path.display())
    };
    match printed {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(ExportError::Print(error)),
        Ok(()) => Ok(()),
    }
}

/// Writes the session in `file` in the form that the name of the output asks for; without one, as a
/// page named after the session. Returns where.
pub fn to_file(file: &Path, output: Option<&Path>, cwd: &Path) -> Result<PathBuf, ExportError> {
    let view = store::view(file)?;
    let id = &view.header.id;
    let path = match output {
        Some(path) => cwd.join(path),
        // Ids come from files; only what cannot leave the folder is used.
        None if store::check_session_id(id).is_ok() => cwd.join(format!("{id}.html")),
        None => cwd.join("session.html"),
    };
    let written = ExportFormat::of(&path)?.write(file, &view)?;
    match fs::write(&path, written) {
        Ok(()) => Ok(path),
        Err(error) => Err(ExportError::Write { path, error }),
    }
}
