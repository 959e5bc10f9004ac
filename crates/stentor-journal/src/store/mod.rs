//! The conversation on disk: append-only JSONL in the version-3 session format.
//!
//! A session is one file: a header line, then one line per entry, each with an id, the id of its
//! parent and a time, so that the lines form a tree. The last line is the leaf; the way from it to
//! the root is the active path. The same files are read and written by pi and omp.
//!
//! Read in this order: [`entry`] is a line, [`journal`] is the seam behind which a session keeps
//! its entries, [`files`] makes, opens and forks session files ([`journal_store`] where something else is behind
//! them), [`mod@list`] finds them again. Behind
//! those: `bytes` reads lines in both directions, `walk` follows the parent links backwards,
//! `restore` rebuilds what is in context, `tail` judges a torn end, `scan` answers questions about
//! the whole file (`whole_file` for those who have not opened it), `migrate` lifts older versions, `lock` keeps a second writer out, `blobs` keeps
//! large pictures beside the file.
//!
//! **Invariants.** An entry that [`Journal::append`] accepted is in the file as one whole line. A
//! line is never changed or removed, only a half-written end is cut. Opening costs memory in
//! proportion to what is in context, not to what was ever said. A foreign file is never truncated.

pub mod entry;
pub mod error;
pub mod files;
pub mod journal;
pub mod journal_store;
pub mod list;
pub mod names;
pub mod reader;
pub mod transcript;
pub mod view;

mod blobs;
mod bytes;
mod codec;
mod file_journal;
mod line;
mod lock;
mod memory;
mod migrate;
mod repair;
mod restore;
mod scan;
mod tail;
mod usage_so_far;
mod walk;
mod whole_file;

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;

pub use entry::{CURRENT_VERSION, Compaction, Entry, EntryKind, NoHeader, SessionHeader};
pub use error::{Holder, StoreError};
pub use files::{
    check_can_create_at, create, create_at, fork, fork_in_memory, open, open_to_read,
    open_untouched, remove, rename, rename_opened,
};
pub use journal::{
    CONSUMED_BY_SUMMARY, CONSUMED_BY_TOOLS, Consumer, Journal, JournalReader, OpenedSession,
    Totals, memory, memory_reader,
};
pub use journal_store::{JournalStore, KeptSessions, Reservation, SessionFileStore};
pub use list::{ListedSession, NewestFirst, find, find_among, list, list_all, short_id};
pub use names::{
    check_session_id, encoded_cwd, file_path, new_entry_id, omp_encoded_cwd, subagents_folder,
};
pub use restore::in_context;
pub use transcript::{Transcript, transcript};
pub use usage_so_far::UsageSoFar;
pub use view::{SessionView, view};
pub use whole_file::{
    Consumption, Occurrence, SessionConsumption, consumed, copy_with_pictures, each_consumption,
    occurrences,
};
