//! The file of stored answers: its form, its lock, and how it is replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stentor_journal::private_file;
use stentor_policy::RememberedAnswer;

/// An answer that is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAnswer {
    /// Never used again for another.
    pub number: u64,
    pub project: String,
    /// When it was given.
    pub answered: String,
    pub answer: RememberedAnswer,
}

/// Why answers could not be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum StoredAnswersError {
    #[error("cannot {what} {path}: {error}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error(
        "{path} is damaged and was not changed: {problem}; fix it, or remove it to be asked \
         again", path = path.display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error("{path} is locked by another process", path = path.display())]
    Busy { path: PathBuf },
    #[error("{} is not UTF-8, so no answers can be stored for it", .0.display())]
    NotUtf8(PathBuf),
    #[error("there is no remembered answer number {0}; `stentor permissions` lists them")]
    NoSuchNumber(u64),
    #[error("there are {MOST_ANSWERS} remembered answers; `stentor permissions forget` makes room")]
    Full,
}

/// More than anybody answers, and few enough to be read at every start.
const MOST_ANSWERS: usize = 10_000;
/// A larger file is not ours.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;
/// How long another process is waited for; a change takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
const VERSION: u32 = 1;

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerFile {
    version: u32,
    next_number: u64,
    answers: Vec<StoredAnswer>,
}

impl Default for AnswerFile {
    fn default() -> Self {
        Self {
            version: VERSION,
            next_number: 1,
            answers: Vec::new(),
        }
    }
}

impl AnswerFile {
    /// Reads the file. One that is not there is empty. No lock is needed, since it is only ever
    /// replaced as a whole.
    pub(super) fn read(path: &Path) -> Result<Self, StoredAnswersError> {
        let cannot = cannot("read", path);
        let mut text = String::new();
        match File::open(path) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Self::default());
            }
            Err(error) => return Err(cannot(error)),
            Ok(file) => file
                .take(LARGEST_BYTES)
                .read_to_string(&mut text)
                .map_err(cannot)?,
        };
        let damaged = |problem: String| StoredAnswersError::Damaged {
            path: path.to_owned(),
            problem,
        };
        let book: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if book.version != VERSION {
            let version = book.version;
            return Err(damaged(format!("version {version} is not supported")));
        }
        Ok(book)
    }

    /// Reads the file, changes what it says, and replaces it, while nobody else does.
    pub(super) fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, StoredAnswersError>,
    ) -> Result<T, StoredAnswersError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        private_file::create_folder(folder).map_err(cannot("make", folder))?;
        let _lock = lock(path)?;
        let mut book = Self::read(path)?;
        let done = change(&mut book)?;
        book.replace(path)?;
        Ok(done)
    }

    pub(super) fn into_answers(self) -> Vec<StoredAnswer> {
        self.answers
    }

    pub(super) fn store(
        &mut self,
        project: &str,
        answer: &RememberedAnswer,
        when: &str,
    ) -> Result<(), StoredAnswersError> {
        let is_other =
            |stored: &StoredAnswer| stored.project != project || !answer.replaces(&stored.answer);
        self.answers.retain(is_other);
        if self.answers.len() >= MOST_ANSWERS {
            return Err(StoredAnswersError::Full);
        }
        self.answers.push(StoredAnswer {
            number: self.next_number,
            project: project.to_owned(),
            answered: when.to_owned(),
            answer: answer.clone(),
        });
        self.next_number += 1;
        Ok(())
    }

    pub(super) fn forget(
        &mut self,
        numbers: &[u64],
    ) -> Result<Vec<StoredAnswer>, StoredAnswersError> {
        let is_there = |number: &u64| self.answers.iter().any(|stored| stored.number == *number);
        if let Some(number) = numbers.iter().find(|number| !is_there(number)) {
            return Err(StoredAnswersError::NoSuchNumber(*number));
        }
        Ok(self.remove(|stored| numbers.contains(&stored.number)))
    }

    pub(super) fn forget_project(&mut self, project: &str) -> Vec<StoredAnswer> {
        self.remove(|stored| stored.project == project)
    }

    fn remove(&mut self, goes: impl Fn(&StoredAnswer) -> bool) -> Vec<StoredAnswer> {
        let (gone, stay) = std::mem::take(&mut self.answers)
            .into_iter()
            .partition(goes);
        self.answers = stay;
        gone
    }

    /// A reader sees the old file or the new one, also after a crash.
    fn replace(&self, path: &Path) -> Result<(), StoredAnswersError> {
        let cannot = cannot("write", path);
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| cannot(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        text.push(b'\n');
        private_file::replace(path, &text).map_err(cannot)
    }
}

/// Keeps other processes, and other sessions of this one, from changing the file.
fn lock(path: &Path) -> Result<File, StoredAnswersError> {
    let lock_path = path.with_extension("lock");
    let cannot = cannot("lock", &lock_path);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_path)
        .map_err(&cannot)?;
    let patient_until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= patient_until => {
                return Err(StoredAnswersError::Busy {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn cannot(what: &'static str, path: &Path) -> impl Fn(io::Error) -> StoredAnswersError {
    let path = path.to_owned();
    move |error| StoredAnswersError::Io {
        what,
        path: path.clone(),
        error,
    }
}
