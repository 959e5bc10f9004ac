//! What a job puts out: the end of it in memory, each reader with a place of its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stentor_agent::jobs::JobOutput;

use crate::truncation::MAX_BYTES;

/// What is kept when more than twice as much has come.
const KEPT_BYTES: usize = 2 * MAX_BYTES as usize;

/// An output as it grows. Memory stays flat, however much comes.
#[derive(Default)]
pub(crate) struct OutputLog(Mutex<JobOutputState>);

#[derive(Default)]
struct JobOutputState {
    kept: String,
    /// Bytes that came before what is kept.
    before: u64,
    /// Where the whole of it is, in words.
    whole: String,
}

impl OutputLog {
    pub(crate) fn push(&self, text: &str) {
        let mut state = self.lock();
        state.kept.push_str(text);
        if state.kept.len() > 2 * KEPT_BYTES {
            let from = state.kept.len() - KEPT_BYTES;
            let from = state.kept.ceil_char_boundary(from);
            state.kept.drain(..from);
            state.before += from as u64;
        }
    }

    /// Says where the whole of it is.
    pub(crate) fn set_whole(&self, note: String) {
        self.lock().whole = note;
    }

    /// What came after so many bytes, as far as it is kept.
    pub(crate) fn after(&self, place: u64) -> JobOutput {
        let state = self.lock();
        let skipped = usize::try_from(place.saturating_sub(state.before)).unwrap_or(usize::MAX);
        let from = state.kept.ceil_char_boundary(skipped.min(state.kept.len()));
        JobOutput {
            text: state.kept.get(from..).unwrap_or_default().to_owned(),
            dropped_bytes: state.before.saturating_sub(place),
            next: state.before + state.kept.len() as u64,
            whole: state.whole.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, JobOutputState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_goes_on_where_it_was() {
        let log = OutputLog::default();
        log.push("one\n");
        let first = log.after(0);
        assert_eq!((first.text.as_str(), first.next), ("one\n", 4));
        log.push("zwölf\n");
        assert_eq!(log.after(first.next).text, "zwölf\n");
        assert_eq!(log.after(0).text, "one\nzwölf\n");
        let at_end = log.after(0).next;
        assert_eq!(log.after(at_end).text, "");
        assert_eq!(log.after(u64::MAX).text, "");
    }

    #[test]
    fn what_is_no_longer_kept_is_counted_and_memory_stays_flat() {
        let log = OutputLog::default();
        let line = "ä".repeat(511) + "\n";
        for _ in 0..10_000 {
            log.push(&line);
        }
        let total = 10_000 * line.len() as u64;
        let all = log.after(0);
        assert_eq!(all.next, total);
        assert_eq!(all.dropped_bytes + all.text.len() as u64, total);
        assert!(all.text.len() >= KEPT_BYTES && all.text.len() <= 2 * KEPT_BYTES);
        assert!(log.lock().kept.capacity() < 1 << 20);
        let late = log.after(total - 3);
        assert_eq!((late.text.as_str(), late.dropped_bytes), ("ä\n", 0));
        let middle = log.after(total / 2);
        assert_eq!(middle.dropped_bytes + middle.text.len() as u64, total / 2);
    }
}
