//! What a session file consumed, for somebody who asks again and again while it grows.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::StoreError;
use super::journal::consumption;
use super::scan;
use super::whole_file::open_to_read;
use crate::usage::Usage;

/// What the lines of a session file consumed that were read so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageSoFar {
    usage: Usage,
    /// Where the next reading begins.
    next_byte: u64,
    /// Device and number of the file: one that took its place is read from its beginning.
    file: (u64, u64),
}

impl UsageSoFar {
    /// The sum.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Where the next reading begins, if the file is still the same.
    pub fn next_byte(&self) -> u64 {
        self.next_byte
    }

    /// Reads what was added to the file since the last time.
    pub fn read_on(&mut self, path: &Path) -> Result<(), StoreError> {
        let (file, end) = open_to_read(path)?;
        let found = file.metadata().map_err(StoreError::io("read", path))?;
        let identity = (found.dev(), found.ino());
        let is_same = self.file == identity && self.next_byte <= end;
        let mut read = match is_same {
            true => self.clone(),
            false => Self {
                file: identity,
                ..Self::default()
            },
        };
        scan::each_consuming_entry(&file, read.next_byte..end, |entry| {
            if let Some((_, usage)) = consumption(&entry.kind) {
                read.usage.add(&usage);
            }
        })
        .map_err(StoreError::io("read", path))?;
        read.next_byte = end;
        *self = read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    fn header() -> String {
        let header =
            json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/w" });
        format!("{header}\n")
    }

    fn answer(id: &str, output: u64) -> String {
        let entry = json!({
            "type": "message", "id": id, "parentId": null, "timestamp": "",
            "message": {
                "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
                "usage": { "input": 0, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": output,
                           "cost": { "input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5 } },
                "stopReason": "stop", "timestamp": 1,
            },
        });
        format!("{entry}\n")
    }

    #[test]
    fn what_was_read_is_not_read_again_and_a_file_that_was_replaced_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let first = header() + &answer("00000001", 3);
        std::fs::write(&path, format!("{first}{{\"half")).unwrap();
        let mut so_far = UsageSoFar::default();
        so_far.read_on(&path).unwrap();
        assert_eq!((so_far.usage().output, so_far.usage().cost.total), (3, 0.5));
        assert_eq!(so_far.next_byte(), first.len() as u64);

        // What was read before may be anything now: nobody looks at it.
        let unread = first.replace("\"output\":3", "\"output\":9");
        std::fs::write(&path, &unread).unwrap();
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(answer("00000002", 4).as_bytes()).unwrap();
        so_far.read_on(&path).unwrap();
        assert_eq!((so_far.usage().output, so_far.usage().cost.total), (7, 1.0));
        let again = so_far.clone();
        so_far.read_on(&path).unwrap();
        assert_eq!(so_far, again);

        std::fs::write(
            folder.path().join("other"),
            first + &answer("00000003", 1).repeat(3),
        )
        .unwrap();
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        so_far.read_on(&path).unwrap();
        assert_eq!(so_far.usage().output, 6);
        std::fs::write(&path, header()).unwrap();
        so_far.read_on(&path).unwrap();
        assert_eq!(so_far.usage().output, 0);
    }
}
