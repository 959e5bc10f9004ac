//! What sessions have cost, without reading their files again and again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use stentor_journal::store::{ListedSession, UsageSoFar};

use super::spending;

/// More files than this are not remembered: the pages of a server list far fewer.
const MOST_KNOWN: usize = 500;

/// The costs that all pages of a server show.
static COSTS: LazyLock<Costs> = LazyLock::new(Costs::default);

/// The costs of sessions as far as their files were read.
#[derive(Debug, Default)]
pub(super) struct Costs {
    known: Mutex<HashMap<PathBuf, KnownCost>>,
    /// Held by who reads: a file is not read twice because two pages want to know.
    reading: Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct KnownCost {
    modified_ms: u64,
    size_bytes: u64,
    so_far: UsageSoFar,
}

impl KnownCost {
    fn is_current(&self, session: &ListedSession) -> bool {
        (self.modified_ms, self.size_bytes) == (session.modified_ms, session.size_bytes)
    }
}

impl Costs {
    /// The ones that all pages share.
    pub fn shared() -> &'static Self {
        &COSTS
    }

    /// The cost of a session, as far as it is known.
    pub fn of(&self, session: &ListedSession) -> String {
        let known = self.known();
        let known = known.get(&session.path);
        known.map_or_else(String::new, |known| {
            spending::cost_in_words(known.so_far.usage())
        })
    }

    /// Reads what was added to the files of these sessions, and no more than so many bytes. Returns
    /// whether that was all of it. Who waits for a list does not wait for somebody else who reads.
    pub fn read_some(&self, sessions: &[ListedSession], most_bytes: u64) -> bool {
        match self.reading.try_lock() {
            Ok(_reading) => self.read(sessions, most_bytes),
            Err(_) => self.read(sessions, 0),
        }
    }

    /// Reads all that was added to the files of these sessions.
    pub fn read_all(&self, sessions: &[ListedSession]) {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(sessions, u64::MAX);
    }

    fn read(&self, sessions: &[ListedSession], most_bytes: u64) -> bool {
        let mut left = most_bytes;
        let mut is_all = true;
        for session in sessions {
            let known = self.known().get(&session.path).cloned();
            let mut known = known.unwrap_or_default();
            if known.is_current(session) {
                continue;
            }
            let added = session.size_bytes.checked_sub(known.so_far.next_byte());
            let added = added.unwrap_or(session.size_bytes).max(1);
            if added > left {
                is_all = false;
                continue;
            }
            left -= added;
            // What cannot be read is listed without a cost until it changes.
            known.so_far.read_on(&session.path).ok();
            (known.modified_ms, known.size_bytes) = (session.modified_ms, session.size_bytes);
            let mut all = self.known();
            if all.len() >= MOST_KNOWN {
                all.retain(|path, _| sessions.iter().any(|listed| listed.path == *path));
            }
            all.insert(session.path.clone(), known);
        }
        is_all
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownCost>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(path: PathBuf, answers: usize) -> ListedSession {
        let header =
            json!({ "type": "session", "version": 3, "id": "s", "timestamp": "", "cwd": "/w" });
        let answer = json!({
            "type": "message", "id": "00000001", "parentId": null, "timestamp": "",
            "message": {
                "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
                "usage": { "input": 1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1,
                           "cost": { "input": 0.5, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5 } },
                "stopReason": "stop", "timestamp": 1,
            },
        });
        let lines = format!("{header}\n{}", format!("{answer}\n").repeat(answers));
        std::fs::write(&path, &lines).unwrap();
        ListedSession {
            path,
            modified_ms: answers as u64,
            size_bytes: lines.len() as u64,
            ..ListedSession::default()
        }
    }

    #[test]
    fn long_files_are_left_for_later_and_what_is_known_of_them_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let short = session(folder.path().join("short.jsonl"), 1);
        let long = session(folder.path().join("long.jsonl"), 10);
        let costs = Costs::default();
        let both = [long.clone(), short.clone()];
        assert!(!costs.read_some(&both, short.size_bytes));
        assert_eq!(
            (costs.of(&long), costs.of(&short)),
            (String::new(), "$0.50".into())
        );
        {
            let _somebody_reads = costs.reading.lock().unwrap();
            assert!(!costs.read_some(&both, u64::MAX));
        }
        costs.read_all(&both);
        assert_eq!(costs.of(&long), "$5.00");
        // Of a file that has grown, what was added is read, and the old sum is shown until then.
        let grown = session(long.path.clone(), 11);
        assert_eq!(costs.of(&grown), "$5.00");
        assert!(!costs.read_some(std::slice::from_ref(&grown), 10));
        assert!(costs.read_some(std::slice::from_ref(&grown), short.size_bytes));
        assert_eq!(costs.of(&grown), "$5.50");
    }
}
