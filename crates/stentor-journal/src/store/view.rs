//! Looking at a session without opening it: no lock, no repair, nothing is written.

use std::fs::File;
use std::path::Path;

use super::blobs::{BlobReader, Blobs};
use super::bytes::{Bytes, read_range};
use super::entry::{CURRENT_VERSION, Entry, SessionHeader};
use super::error::StoreError;
use super::files::{check_regular, read_preamble};
use super::tail::tail_of;
use super::{migrate, walk};

/// What is in a session file.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    pub header: SessionHeader,
    pub name: Option<String>,
    /// The active path from its root to the last entry, compacted or not.
    pub entries: Vec<Entry>,
}

/// Reads the active path of a session file, which may be open for writing elsewhere.
pub fn view(path: &Path) -> Result<SessionView, StoreError> {
    check_regular(path)?;
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    let preamble = read_preamble(&file, path)?;
    let end = tail_of(&file).map_err(StoreError::io("read", path))?.keep;
    let mut entries = if preamble.header.version < CURRENT_VERSION {
        let mut lifted = Vec::new();
        migrate::lift(&file, end, preamble.header.version, &mut lifted)
            .map_err(StoreError::io("read", path))?;
        active_path(lifted.as_slice(), lifted.len() as u64, path)?
    } else {
        active_path(&file, end, path)?
    };
    let blobs = Blobs::of(path);
    let mut images = BlobReader::new(&blobs);
    for entry in &mut entries {
        images.bring_in(entry);
    }
    let named = entries
        .iter()
        .rev()
        .find_map(|entry| entry.kind.session_name());
    let name = named
        .map(str::to_owned)
        .or(preamble.title)
        .or_else(|| preamble.header.title.clone())
        .filter(|name| !name.trim().is_empty());
    Ok(SessionView {
        header: preamble.header,
        name,
        entries,
    })
}

fn active_path<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    path: &Path,
) -> Result<Vec<Entry>, StoreError> {
    let reading = || StoreError::io("read", path);
    let spans = walk::path_spans(bytes, end, None).map_err(reading())?;
    let mut entries = Vec::with_capacity(spans.len());
    for span in spans {
        let line = read_range(bytes, span.offset, span.length).map_err(reading())?;
        entries.extend(Entry::from_line(&line));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::CountingClock;
    use crate::message::{ContentBlock, Message};
    use crate::store::{EntryKind, create};

    fn entry(id: &str, parent: Option<&str>, kind: EntryKind) -> Entry {
        Entry {
            id: id.into(),
            parent_id: parent.map(str::to_owned),
            timestamp: "2026-11-15T07:45:38.409Z".into(),
            kind,
        }
    }

    fn said(text: &str) -> EntryKind {
        EntryKind::Message {
            message: Arc::new(Message::user(vec![ContentBlock::text(text)], 1)),
        }
    }

    #[test]
    fn a_session_that_is_being_written_can_be_looked_at_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let clock = CountingClock::starting_at(1_794_728_738_409);
        let header = SessionHeader::new("s1", "", "/work");
        let mut journal = create(dir.path(), header, &clock).unwrap();
        let entries = [
            entry("00000001", None, said("a")),
            entry("00000002", Some("00000001"), said("left")),
            entry("00000003", Some("00000001"), said("b")),
            entry(
                "00000004",
                Some("00000003"),
                EntryKind::SessionInfo { name: "N".into() },
            ),
        ];
        for entry in &entries {
            journal.append(entry).unwrap();
        }
        let path = journal.path().unwrap().to_owned();
        let torn = || {
            use std::io::Write;
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(b"{\"type\":\"mess").unwrap();
        };
        torn();
        let before = std::fs::read(&path).unwrap();

        let seen = view(&path).unwrap();

        let [first, _, second, name] = entries;
        assert_eq!(seen.entries, [first, second, name]);
        assert_eq!(seen.name.as_deref(), Some("N"));
        assert_eq!(
            (seen.header.id.as_str(), seen.header.cwd.as_str()),
            ("s1", "/work")
        );
        assert_eq!(
            std::fs::read(&path).unwrap(),
            before,
            "looking changes nothing"
        );
    }

    #[test]
    fn what_is_no_session_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, "{\"hello\":1}\n").unwrap();
        assert!(matches!(view(&path), Err(StoreError::NotASession { .. })));
        assert!(matches!(
            view(dir.path()),
            Err(StoreError::NotASession { .. })
        ));
        assert!(view(&dir.path().join("none")).is_err());
    }
}
