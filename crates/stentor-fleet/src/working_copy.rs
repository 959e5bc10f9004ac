//! The file of a session as the stream has it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::stream;
use bytes::Bytes;
use stentor_journal::private_file::{FileReplacement, PRIVATE, create_folder};
use stentor_journal::store::SessionHeader;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::task::spawn_blocking;

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::message::{Label, MessageKind};
use crate::pictures::Pictures;
use crate::reading::StreamReading;

/// What is being done when something goes wrong here.
const DOING: &str = "read a journal";

/// A file that says what the stream says.
#[derive(Debug, Clone)]
pub(crate) struct WorkingCopy {
    pub path: PathBuf,
    /// Where the entries begin.
    pub begin: u64,
    /// How many bytes of entries there are, in whole lines.
    pub size: u64,
    /// The sequence of the last message.
    pub last: u64,
}

impl WorkingCopy {
    /// Makes the file at `path` say what the stream says of a session that works in `folder` here.
    /// What the file said and the stream does not is set aside. `None` when the stream says nothing.
    pub async fn make(
        fleet: &Fleet,
        session_id: &str,
        path: &Path,
        folder: &Path,
    ) -> Result<Option<Self>, FleetError> {
        let Some((last, _)) = fleet.last_message(session_id).await? else {
            return Ok(None);
        };
        let new = {
            let path = path.to_owned();
            let begun = spawn_blocking(move || {
                create_folder(path.parent().unwrap_or(Path::new(".")))
                    .and_then(|()| FileReplacement::begin(&path, PRIVATE))
                    .map_err(FleetError::io("write", &path))
            });
            begun.await.map_err(FleetError::nats(DOING))??
        };
        let mut reading = journal_messages(fleet, session_id).await?;
        let filled = fill(&mut reading, session_id, new, path, folder, last).await;
        reading.end().await;
        let (new, copy) = filled?;
        let pictures = Pictures::beside(path, session_id);
        let placed = {
            let copy = copy.clone();
            spawn_blocking(move || put_in_place(new, &copy))
        };
        let file = placed
            .await
            .map_err(FleetError::nats(DOING))?
            .map_err(FleetError::io("write", path))?;
        pictures.fetch(fleet, &Arc::new(file)).await?;
        Ok(Some(copy))
    }
}

/// Writes the messages of a session's subject up to the last one into a new file.
async fn fill(
    reading: &mut JournalReading<'_>,
    id: &str,
    mut new: FileReplacement,
    path: &Path,
    folder: &Path,
    last: u64,
) -> Result<(FileReplacement, WorkingCopy), FleetError> {
    let writing = || FleetError::io("write", path);
    let unreadable = |why: &str| FleetError::Journal {
        id: id.to_owned(),
        why: why.to_owned(),
    };
    let file = new.file().try_clone().map_err(writing())?;
    let mut file = tokio::fs::File::from_std(file);
    let (mut begin, mut size, mut whole) = (0, 0, 0);
    loop {
        let (sequence, label, payload) = next_message(id, reading).await?;
        match label.kind {
            MessageKind::Header => {
                let header = SessionHeader::from_line(&payload);
                let mut header = header.map_err(|why| unreadable(&why.to_string()))?;
                header.cwd = folder.display().to_string();
                let line = header.to_line().map_err(FleetError::nats(DOING))?;
                begin = line.len() as u64;
                file.write_all(&line).await.map_err(writing())?;
            }
            MessageKind::Entries if label.offset == size => {
                file.write_all(&payload).await.map_err(writing())?;
                if let Some(at) = memchr::memrchr(b'\n', &payload) {
                    whole = size + at as u64 + 1;
                }
                size += payload.len() as u64;
            }
            MessageKind::Entries => return Err(unreadable("a part of it is missing")),
            MessageKind::Owner => {
                size = label.offset.min(size);
                whole = whole.min(size);
                file.flush().await.map_err(writing())?;
                file.set_len(begin + size).await.map_err(writing())?;
                file.seek(SeekFrom::End(0)).await.map_err(writing())?;
            }
        }
        if sequence >= last {
            break;
        }
    }
    if begin == 0 {
        return Err(unreadable("it has no header"));
    }
    file.flush().await.map_err(writing())?;
    file.set_len(begin + whole).await.map_err(writing())?;
    let copy = WorkingCopy {
        path: path.to_owned(),
        begin,
        size: whole,
        last,
    };
    Ok((new, copy))
}

type JournalReading<'a> = StreamReading<'a, stream::Info>;

/// The messages of a session's journal from the first on.
async fn journal_messages<'a>(
    fleet: &'a Fleet,
    id: &str,
) -> Result<JournalReading<'a>, FleetError> {
    let subject = fleet.journal_subject(id);
    StreamReading::begin(fleet.journal_stream(), subject, DeliverPolicy::All, DOING).await
}

/// The next message: its sequence, what it is, and what it says.
async fn next_message(
    id: &str,
    reading: &mut JournalReading<'_>,
) -> Result<(u64, Label, Bytes), FleetError> {
    let unreadable = |why: &str| FleetError::Journal {
        id: id.to_owned(),
        why: why.to_owned(),
    };
    let message = reading.next().await?;
    let message = message.ok_or_else(|| unreadable("it ends too early"))?;
    let sequence = message.info().map_err(FleetError::nats(DOING))?;
    let sequence = sequence.stream_sequence;
    let label = message.headers.as_ref().and_then(Label::read);
    let label = label.ok_or_else(|| unreadable("a message in it is not of this program"))?;
    Ok((sequence, label, message.message.payload))
}

impl Fleet {
    /// Who wrote each message of a session's journal, and what it is: to see that there was one
    /// writer at a time.
    pub async fn journal_labels(&self, session_id: &str) -> Result<Vec<Label>, FleetError> {
        let Some((last, _)) = self.last_message(session_id).await? else {
            return Ok(Vec::new());
        };
        let mut reading = journal_messages(self, session_id).await?;
        let labels = labels_up_to(last, session_id, &mut reading).await;
        reading.end().await;
        labels
    }
}

async fn labels_up_to(
    last: u64,
    id: &str,
    reading: &mut JournalReading<'_>,
) -> Result<Vec<Label>, FleetError> {
    let mut labels = Vec::new();
    loop {
        let (sequence, label, _) = next_message(id, reading).await?;
        labels.push(label);
        if sequence >= last {
            return Ok(labels);
        }
    }
}

/// Puts a new working copy in the place of the one before, which is set aside if it says something
/// that the new one does not.
fn put_in_place(mut new: FileReplacement, copy: &WorkingCopy) -> io::Result<File> {
    if let Ok(before) = File::open(&copy.path) {
        let mut entries = BufReader::new(before);
        entries.skip_until(b'\n')?;
        new.file().seek(SeekFrom::Start(copy.begin))?;
        if !is_beginning(entries, BufReader::new(&*new.file()))? {
            let aside = free_name(&copy.path);
            tracing::warn!(
                "{} said what the fleet has not acknowledged; it is now {}",
                copy.path.display(),
                aside.display()
            );
            fs::rename(&copy.path, &aside)?;
        }
    }
    new.finish_unsynced()?;
    File::open(&copy.path)
}

/// True when `longer` begins with all of `shorter`.
fn is_beginning(mut shorter: impl Read, mut longer: impl Read) -> io::Result<bool> {
    let mut part = [0; 16 * 1024];
    let mut other = [0; 16 * 1024];
    loop {
        let read = shorter.read(&mut part)?;
        let (Some(part), Some(other)) = (part.get(..read), other.get_mut(..read)) else {
            return Ok(false);
        };
        if read == 0 {
            return Ok(true);
        }
        match longer.read_exact(other) {
            Ok(()) if part == other => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// A name beside a session file that is no session's.
fn free_name(path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let name = path.with_extension(format!("jsonl.unacknowledged-{number}"));
        if !name.exists() {
            return name;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(path: &Path, entries: &str) -> (FileReplacement, WorkingCopy) {
        let header = "header\n";
        let mut new = FileReplacement::begin(path, PRIVATE).unwrap();
        io::Write::write_all(new.file(), format!("{header}{entries}").as_bytes()).unwrap();
        let copy = WorkingCopy {
            path: path.to_owned(),
            begin: header.len() as u64,
            size: entries.len() as u64,
            last: 1,
        };
        (new, copy)
    }

    #[test]
    fn what_the_stream_does_not_say_is_set_aside_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let aside = folder.path().join("a.jsonl.unacknowledged-1");
        for (before, is_set_aside) in [
            ("one\n", false),
            ("one\ntwo\n", false),
            ("one\nother\n", true),
            ("one\ntwo\nthree\n", true),
        ] {
            fs::write(&path, format!("another header\n{before}")).unwrap();
            let (new, copy) = copy_of(&path, "one\ntwo\n");
            put_in_place(new, &copy).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "header\none\ntwo\n");
            assert_eq!(aside.exists(), is_set_aside, "{before:?}");
            fs::remove_file(&aside).ok();
        }
    }
}
