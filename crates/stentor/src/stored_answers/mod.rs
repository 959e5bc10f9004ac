//! "Always" answers, stored for the later sessions of a project.
//!
//! They are in one file of the user, never in the project: a repository must not be able to grant
//! itself anything. Several processes may use the file at once; each change is made under a lock
//! and appears as a whole.

mod file;

use std::path::{Path, PathBuf};

use stentor_agent::box_error::BoxError;
use stentor_journal::clock::{SharedClock, iso_time};
use stentor_policy::{AnswerStore, RememberedAnswer};

use file::AnswerFile;
pub use file::{StoredAnswer, StoredAnswersError};

/// The file with the stored answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswers {
    file: PathBuf,
}

impl StoredAnswers {
    /// The answers stored in the user's `data_dir`.
    pub fn in_folder(data_dir: &Path) -> Self {
        Self {
            file: data_dir.join("permissions.json"),
        }
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The answers given in a project, oldest first.
    pub fn of_project(&self, project: &Path) -> Result<Vec<StoredAnswer>, StoredAnswersError> {
        let project = resolved(project)?;
        let book = AnswerFile::read(&self.file)?;
        let mut answers = book.into_answers();
        answers.retain(|stored| stored.project == project);
        Ok(answers)
    }

    /// The answers given in all projects, oldest first.
    pub fn all(&self) -> Result<Vec<StoredAnswer>, StoredAnswersError> {
        AnswerFile::read(&self.file).map(AnswerFile::into_answers)
    }

    /// Stores an answer, in the place of an earlier one about the same calls.
    pub fn store(
        &self,
        project: &Path,
        answer: &RememberedAnswer,
        when: &str,
    ) -> Result<(), StoredAnswersError> {
        let project = resolved(project)?;
        AnswerFile::change(&self.file, |book| book.store(&project, answer, when))
    }

    /// Removes the answers with these numbers, all of them or none.
    pub fn forget(&self, numbers: &[u64]) -> Result<Vec<StoredAnswer>, StoredAnswersError> {
        AnswerFile::change(&self.file, |book| book.forget(numbers))
    }

    /// Removes the answers given in a project.
    pub fn forget_project(&self, project: &Path) -> Result<Vec<StoredAnswer>, StoredAnswersError> {
        let project = resolved(project)?;
        AnswerFile::change(&self.file, |book| Ok(book.forget_project(&project)))
    }
}

/// Stores the answers of one session's project.
pub struct ProjectAnswers {
    pub answers: StoredAnswers,
    pub project: PathBuf,
    pub clock: SharedClock,
}

impl AnswerStore for ProjectAnswers {
    fn store(&self, answer: &RememberedAnswer) -> Result<(), BoxError> {
        let when = iso_time(self.clock.now_ms());
        Ok(self.answers.store(&self.project, answer, &when)?)
    }
}

/// The project's path without links, as text: two spellings of one folder are one project.
fn resolved(project: &Path) -> Result<String, StoredAnswersError> {
    let resolved = project
        .canonicalize()
        .map_err(|error| StoredAnswersError::Io {
            what: "find",
            path: project.to_owned(),
            error,
        })?;
    match resolved.into_os_string().into_string() {
        Ok(text) => Ok(text),
        Err(path) => Err(StoredAnswersError::NotUtf8(PathBuf::from(path))),
    }
}

#[cfg(test)]
mod tests;
