//! How many sessions are loaded at once: one more has the session unloaded that was idle for the
//! longest time.
//!
//! Who loads a session holds a [`Loaded`] for it, and notes when it is idle. Where no session is
//! idle one more is loaded all the same: a limit on what is unused, not on what is done. Unloading
//! waits for the disk, so a few more may be loaded while others are being unloaded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The sessions that are loaded. Clones are the same.
#[derive(Clone)]
pub(crate) struct LoadedSessions {
    shared: Arc<LoadedShared>,
}

struct LoadedShared {
    max: usize,
    /// So many more may be loaded while others are being unloaded.
    overlap: usize,
    state: Mutex<LoadedState>,
    /// Something was unloaded, or has become idle, or is not idle any more.
    changed: Notify,
}

#[derive(Default)]
struct LoadedState {
    loaded: usize,
    /// Those of them that were asked to unload and have not answered.
    leaving: usize,
    /// What asks each idle one to unload, the one that is idle for the longest time first.
    idle: BTreeMap<u64, CancellationToken>,
    /// Counts the times that one became idle.
    idle_count: u64,
}

/// One session that is loaded. Dropping it notes that it is not any more.
pub(crate) struct Loaded {
    shared: Arc<LoadedShared>,
    /// Its place among the idle ones, and what fires when it is asked to unload.
    idle: Option<(u64, CancellationToken)>,
}

impl LoadedSessions {
    /// At most `max` sessions, and at least one.
    pub fn new(max: usize) -> Self {
        let shared = LoadedShared {
            max: max.max(1),
            overlap: max / 4,
            state: Mutex::default(),
            changed: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Waits until one more may be loaded: idle ones are unloaded for it.
    pub async fn admit(&self) -> Loaded {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.try_admit() {
                return Loaded {
                    shared: Arc::clone(&self.shared),
                    idle: None,
                };
            }
            changed.await;
        }
    }

    fn try_admit(&self) -> bool {
        let LoadedShared { max, overlap, .. } = *self.shared;
        let mut state = self.shared.lock();
        state.ask_to_unload(max - 1);
        let may_load = state.loaded < max + overlap || state.leaving == 0;
        if may_load {
            state.loaded += 1;
        }
        may_load
    }
}

impl LoadedShared {
    fn lock(&self) -> MutexGuard<'_, LoadedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedState {
    /// Asks as many idle ones to unload as are more than `wanted`.
    fn ask_to_unload(&mut self, wanted: usize) {
        while self.loaded - self.leaving > wanted
            && let Some((_, unload)) = self.idle.pop_first()
        {
            self.leaving += 1;
            unload.cancel();
        }
    }
}

impl Loaded {
    /// The session is used: it is not to be unloaded.
    pub fn in_use(&mut self) {
        let Some((since, _)) = self.idle.take() else {
            return;
        };
        let mut state = self.shared.lock();
        if state.idle.remove(&since).is_none() {
            // It was asked to unload and does not.
            state.leaving -= 1;
        }
        drop(state);
        self.shared.changed.notify_waiters();
    }

    /// Nobody uses the session: it may be unloaded.
    pub fn idle(&mut self) {
        if self.idle.is_some() {
            return;
        }
        let unload = CancellationToken::new();
        let mut state = self.shared.lock();
        state.idle_count += 1;
        let since = state.idle_count;
        state.idle.insert(since, unload.clone());
        state.ask_to_unload(self.shared.max);
        drop(state);
        self.idle = Some((since, unload));
        self.shared.changed.notify_waiters();
    }

    /// Waits until it is asked to unload, which only an idle one is. It answers by dropping this,
    /// or by being in use.
    pub async fn asked_to_unload(&self) {
        match &self.idle {
            Some((_, unload)) => unload.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.in_use();
        self.shared.lock().loaded -= 1;
        self.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn asked(loaded: &Loaded) -> bool {
        loaded.asked_to_unload().now_or_never().is_some()
    }

    #[tokio::test]
    async fn one_more_waits_for_the_one_that_was_idle_for_the_longest_time() {
        let sessions = LoadedSessions::new(2);
        let mut first = sessions.admit().await;
        let mut second = sessions.admit().await;
        second.idle();
        first.idle();
        let mut third = Box::pin(sessions.admit());
        assert!(third.as_mut().now_or_never().is_none());
        assert_eq!((asked(&first), asked(&second)), (false, true));
        drop(second);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_few_more_are_loaded_while_others_are_being_unloaded() {
        let sessions = LoadedSessions::new(4);
        let mut loaded = Vec::new();
        for _ in 0..4 {
            let mut one = sessions.admit().await;
            one.idle();
            loaded.push(one);
        }
        loaded.push(sessions.admit().now_or_never().unwrap());
        assert!(sessions.admit().now_or_never().is_none());
        assert_eq!(loaded.iter().filter(|one| asked(one)).count(), 2);
    }

    #[tokio::test]
    async fn where_none_is_idle_one_more_is_loaded_and_unloaded_when_one_is() {
        let sessions = LoadedSessions::new(1);
        let mut first = sessions.admit().await;
        let mut second = sessions.admit().now_or_never().unwrap();
        first.idle();
        assert!(asked(&first));
        // It has something to do again: the other one will be unloaded for the next.
        first.in_use();
        second.idle();
        assert_eq!((asked(&first), asked(&second)), (false, true));
    }

    #[tokio::test]
    async fn who_waits_goes_on_when_the_one_asked_does_not_unload() {
        let sessions = LoadedSessions::new(1);
        let mut first = sessions.admit().await;
        first.idle();
        let mut second = Box::pin(sessions.admit());
        assert!(second.as_mut().now_or_never().is_none());
        first.in_use();
        assert!(second.now_or_never().is_some());
    }
}
