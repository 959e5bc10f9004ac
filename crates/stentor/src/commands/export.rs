//! `stentor export`: a session as a web page.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stentor_journal::export::session_page;
use stentor_journal::store;

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

/// Writes the page of the session in `file`. The error is text for a person.
pub fn run(
    file: &Path,
    output: Option<&Path>,
    cwd: &Path,
    out: &mut impl Write,
) -> Result<(), String> {
    let view = store::view(file).map_err(|error| error.to_string())?;
    let page = session_page(&view);
    let printed = match Target::choose(output, &view.header.id, cwd) {
        Target::Stdout => out.write_all(page.as_bytes()),
        Target::File(path) => {
            fs::write(&path, page)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            writeln!(out, "{}", path.display())
        }
    };
    match printed {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(format!("cannot print the page: {error}")),
        Ok(()) => Ok(()),
    }
}
