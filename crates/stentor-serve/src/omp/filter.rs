//! What a client wants to hear.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use stentor_wire::omp::command::{EventFilter, MessageUpdates, SubagentLevel};

/// What a client wants to hear; all of it until it says otherwise.
#[derive(Debug, Default)]
pub(super) struct Wants {
    current: RwLock<Arc<Wanted>>,
}

/// What is wanted at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    events: Option<HashSet<String>>,
    pub updates: MessageUpdates,
    pub subagents: SubagentLevel,
    /// Counts how often that was said.
    pub subscription: u64,
}

impl Wants {
    /// What is wanted now.
    pub fn now(&self) -> Arc<Wanted> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// `set_event_filter`. What it does not mention stays: only `events` is always replaced.
    pub fn filter(&self, filter: EventFilter) -> MessageUpdates {
        self.change(|wanted| {
            wanted.events = filter.events.map(|events| events.into_iter().collect());
            wanted.updates = filter.message_updates.unwrap_or(wanted.updates);
            wanted.updates
        })
    }

    /// `set_subagent_subscription`.
    pub fn subscribe(&self, level: SubagentLevel) {
        self.change(|wanted| {
            wanted.subagents = level;
            wanted.subscription += 1;
        });
    }

    /// The same form of updates as somebody else wants.
    pub fn mirror(&self, updates: MessageUpdates) {
        if self.now().updates != updates {
            self.change(|wanted| wanted.updates = updates);
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Wanted) -> T) -> T {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current))
    }
}

impl Wanted {
    /// Whether events of that type are wanted.
    pub fn event(&self, name: &str) -> bool {
        self.events
            .as_ref()
            .is_none_or(|events| events.contains(name))
    }
}
