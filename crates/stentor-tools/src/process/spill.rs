//! The file that keeps an output whole when only its end is shown.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use crate::file::random_name;
use crate::truncation::size;

/// The most that is kept of one output.
pub(crate) const MAX_SPILL_BYTES: u64 = 1 << 30;

/// How much is kept of outputs altogether.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptOutput {
    /// Files that nobody wrote for so long go.
    pub longest: Duration,
    /// Of more than this the oldest files go.
    pub most_bytes: u64,
}

impl Default for KeptOutput {
    fn default() -> Self {
        Self {
            longest: Duration::from_secs(7 * 24 * 60 * 60),
            most_bytes: 2 << 30,
        }
    }
}

/// Files younger than this stay, however much there is: somebody may still write or read them.
const YOUNG: Duration = Duration::from_secs(60 * 60);
/// How the names of outputs begin: by the tool they are of.
const NAME_STARTS: [&str; 2] = ["bash-", "fetch-"];
const NAME_END: &str = ".log";

/// Removes the outputs in `folder` that are too old or too many. It looks at every file there, so it
/// is no work for a thread that somebody waits for.
pub fn clean_up(folder: &Path, kept: KeptOutput) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let now = SystemTime::now();
    let mut outputs: Vec<(Duration, u64, PathBuf)> = entries
        .flatten()
        .filter(|entry| is_output(&entry.file_name()))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
            // One from the future is as good as new.
            let age = now.duration_since(metadata.modified().ok()?);
            Some((age.unwrap_or_default(), metadata.len(), entry.path()))
        })
        .collect();
    outputs.sort_unstable();
    let mut bytes: u64 = 0;
    for (age, length, path) in outputs {
        bytes = bytes.saturating_add(length);
        if age > kept.longest || (bytes > kept.most_bytes && age > YOUNG) {
            std::fs::remove_file(path)?;
            bytes -= length;
        }
    }
    Ok(())
}

fn is_output(name: &OsStr) -> bool {
    let is_start = |name: &str| NAME_STARTS.iter().any(|start| name.starts_with(start));
    name.to_str()
        .is_some_and(|name| is_start(name) && name.ends_with(NAME_END))
}

/// A file that takes an output as it comes.
#[derive(Debug)]
pub(crate) struct Spill {
    path: PathBuf,
    file: Option<File>,
    most_bytes: u64,
    room_bytes: u64,
    failure: Option<String>,
}

impl Spill {
    /// Makes a new file in `folder`, and the folder if need be, that only its owner can read.
    /// A failure is kept and told in the note: the command itself goes on.
    pub(crate) async fn create(folder: &Path, most_bytes: u64) -> Self {
        Self::with_room(folder, "bash", most_bytes).await
    }

    /// The same for a page that was fetched.
    pub(crate) async fn of_page(folder: &Path) -> Self {
        Self::with_room(folder, "fetch", MAX_SPILL_BYTES).await
    }

    async fn with_room(folder: &Path, tool: &str, room_bytes: u64) -> Self {
        let path = folder.join(format!("{tool}-{}{NAME_END}", random_name()));
        let made = async {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .await
        };
        let (file, failure) = match made.await {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            path,
            file,
            most_bytes: room_bytes,
            room_bytes,
            failure,
        }
    }

    /// Appends, as far as there is room.
    pub(crate) async fn append(&mut self, text: &str) {
        let Some(file) = &mut self.file else { return };
        let room = usize::try_from(self.room_bytes).unwrap_or(usize::MAX);
        let kept = text.as_bytes().get(..room).unwrap_or(text.as_bytes());
        self.room_bytes -= kept.len() as u64;
        let written = file.write_all(kept).await;
        self.note_failure(written);
    }

    /// Waits until everything is in the file.
    pub(crate) async fn finish(&mut self) {
        if let Some(file) = &mut self.file {
            let flushed = file.flush().await;
            self.note_failure(flushed);
        }
    }

    /// Where the whole output is, if it could be kept.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.failure.is_none().then_some(self.path.as_path())
    }

    /// Tells a reader of the tail where the rest is.
    pub(crate) fn note(&self) -> String {
        match &self.failure {
            Some(failure) => format!("Full output could not be kept: {failure}"),
            None if self.room_bytes == 0 => format!(
                "First {} of the output: {}",
                size(self.most_bytes),
                self.path.display()
            ),
            None => format!("Full output: {}", self.path.display()),
        }
    }

    fn note_failure(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure = Some(error.to_string());
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_beyond_the_room_is_left_out_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::with_room(&folder.path().join("a/b"), "bash", 5).await;
        spill.append("abc").await;
        spill.append("defg").await;
        spill.append("h").await;
        spill.finish().await;
        let path = spill.path().unwrap().to_owned();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcde");
        assert_eq!(
            spill.note(),
            format!("First 5B of the output: {}", path.display())
        );
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_told_and_harms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let mut spill = Spill::create(&file.join("x"), MAX_SPILL_BYTES).await;
        spill.append("abc").await;
        spill.finish().await;
        assert_eq!(spill.path(), None);
        assert!(spill.note().starts_with("Full output could not be kept: "));
    }

    #[test]
    fn outputs_go_when_they_are_old_or_too_many_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        const HOUR: u64 = 60 * 60;
        for (name, hours, bytes) in [
            ("bash-old.log", 200, 1),
            ("bash-third.log", 30, 600),
            ("bash-second.log", 20, 600),
            ("bash-first.log", 10, 300),
            ("bash-young.log", 0, 600),
            ("fetch-old.log", 200, 1),
            ("other.log", 200, 1),
        ] {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(bytes).unwrap();
            let age = Duration::from_secs(hours * HOUR);
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        let kept = KeptOutput {
            longest: Duration::from_secs(168 * HOUR),
            most_bytes: 1_000,
        };
        clean_up(folder.path(), kept).unwrap();
        clean_up(&folder.path().join("none"), kept).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["bash-first.log", "bash-young.log", "other.log"]);
    }
}
