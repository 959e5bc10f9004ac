//! What a client wants to hear.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use stentor_wire::omp::command::{EventFilter, MessageUpdates, SubagentLevel};

/// What a client wants to hear; all of it until it says otherwise.
#[derive(Debug, Default)]
pub(super) struct FrameFilter {
    current: RwLock<Arc<WantedFrames>>,
}

/// What is wanted at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedFrames {
    events: Option<HashSet<String>>,
    pub updates: MessageUpdates,
    pub subagents: SubagentLevel,
    /// Counts how often that was said.
    pub subscription: u64,
}

/// The events of pi. omp's own, which tell the same in other words or more, are not among them.
const OF_PI: [&str; 21] = [
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "queue_update",
    "compaction_start",
    "compaction_end",
    "auto_retry_start",
    "auto_retry_end",
    "session_info_changed",
    "thinking_level_changed",
    "entry_appended",
    "summarization_retry_scheduled",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
];

impl FrameFilter {
    /// pi's events, as pi writes them since its updates carry no snapshots.
    pub fn of_pi() -> Self {
        let wanted = WantedFrames {
            events: Some(OF_PI.map(str::to_owned).into()),
            updates: MessageUpdates::Bare,
            ..WantedFrames::default()
        };
        Self {
            current: RwLock::new(Arc::new(wanted)),
        }
    }

    /// What is wanted now.
    pub fn now(&self) -> Arc<WantedFrames> {
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

    fn change<T>(&self, change: impl FnOnce(&mut WantedFrames) -> T) -> T {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current))
    }
}

impl WantedFrames {
    /// Whether events of that type are wanted.
    pub fn event(&self, name: &str) -> bool {
        self.events
            .as_ref()
            .is_none_or(|events| events.contains(name))
    }
}
