//! `stentor sessions rename` and `stentor sessions delete`.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use stentor_journal::clock::Clock;
use stentor_journal::store::{self, Entry, SessionView, StoreError, short_id};

use crate::released::with_released;
use crate::session_name::{SessionNameError, check_name};

/// Gives the session in `file` a name, as every dialect does: with an entry at its end.
pub fn rename(file: &Path, name: &str, clock: &dyn Clock) -> Result<(), RenameError> {
    let name = check_name(name)?;
    Ok(with_released(file, || store::rename(file, name, clock))?)
}

/// Why a session has no new name.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    #[error(transparent)]
    Name(#[from] SessionNameError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether sessions may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// `--yes` was given.
    Given,
    /// Somebody is at the terminal.
    Ask,
    /// Nobody can be asked.
    Missing,
}

/// Why sessions were not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("deleting cannot be undone: add --yes")]
    NoConsent,
    #[error("cannot ask: {0}")]
    Asking(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The first line of what was asked first.
fn first_prompt(view: &SessionView) -> Option<String> {
    const LONGEST: usize = 60;
    let messages = view.entries.iter().filter_map(Entry::to_message);
    let mut texts = messages.filter_map(|message| Some(message.as_user()?.content.text()));
    let text = texts.next()?;
    Some(text.trim().lines().next()?.chars().take(LONGEST).collect())
}

/// Deletes the sessions, if that is wanted. Returns how many were.
pub fn delete(
    files: &[PathBuf],
    consent: Consent,
    answers: &mut impl BufRead,
    questions: &mut impl Write,
) -> Result<usize, DeleteError> {
    let mut deleted = 0;
    for file in files {
        let wanted = match consent {
            Consent::Given => true,
            Consent::Missing => return Err(DeleteError::NoConsent),
            Consent::Ask => {
                let view = store::view(file)?;
                let id = short_id(&view.header.id);
                let name = view.name.clone().or_else(|| first_prompt(&view));
                let name = name.unwrap_or(view.header.cwd);
                write!(questions, "Delete {id} ({name}) for good? [y/N] ")?;
                questions.flush()?;
                let mut answer = String::new();
                answers.read_line(&mut answer)?;
                matches!(answer.trim(), "y" | "Y" | "yes")
            }
        };
        if wanted {
            with_released(file, || store::remove(file))?;
            deleted += 1;
        }
    }
    Ok(deleted)
}
