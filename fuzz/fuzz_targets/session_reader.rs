//! Any bytes are a session or an error, never a panic, and reading backwards from the end finds
//! what the plainest reader finds by reading everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use naive::{PlainReading, read_plainly};
use stentor_journal::store::reader::{Restored, read_bytes};
// What the plain reader refers to as its parent's.
use stentor_journal::store::{Entry, EntryKind};

/// The plain reader of the crate's own tests, which is no part of its public face.
#[path = "../../crates/stentor-journal/src/store/naive.rs"]
mod naive;

/// Beyond this the reader no longer looks everywhere for the model and the name.
const MAX_COMPARED_BYTES: usize = 1024 * 1024;

fuzz_target!(|bytes: &[u8]| {
    compare(bytes);
    let mut session =
        br#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}"#.to_vec();
    session.push(b'\n');
    session.extend_from_slice(bytes);
    compare(&session);
});

fn compare(bytes: &[u8]) {
    let Ok((header, restored)) = read_bytes(bytes) else {
        return;
    };
    if header.version == 3 && bytes.len() < MAX_COMPARED_BYTES {
        assert_eq!(plain(restored), read_plainly(bytes));
    }
}

fn plain(restored: Restored) -> PlainReading {
    PlainReading {
        context: restored.context,
        leaf: restored.leaf,
        name: restored.name,
        model: restored.model,
        thinking_level: restored.thinking_level,
    }
}
