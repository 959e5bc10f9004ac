//! The prompts that were accepted and whose end a client waits for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use stentor_agent::event::Queues;

/// Prompts without a `prompt_result` yet.
#[derive(Debug, Default)]
pub(super) struct OpenPrompts {
    open: Mutex<Vec<OpenPrompt>>,
}

/// A prompt that was accepted.
#[derive(Debug)]
pub(super) struct OpenPrompt {
    pub id: Option<Box<RawValue>>,
    /// What happened up to this event happened before it.
    after_seq: u64,
    /// Its text while it waits in a queue.
    queued: Option<String>,
}

impl OpenPrompts {
    /// A run was started for it.
    pub fn started(&self, id: Option<Box<RawValue>>, after_seq: u64) {
        self.lock().push(OpenPrompt {
            id,
            after_seq,
            queued: None,
        });
    }

    /// It waits in a queue.
    pub fn queued(&self, id: Option<Box<RawValue>>, after_seq: u64, text: &str) {
        let queued = Some(text.to_owned());
        self.lock().push(OpenPrompt {
            id,
            after_seq,
            queued,
        });
    }

    /// Takes those that nothing follows for when the session settled with event `seq`: all but
    /// those that still wait and those that came later.
    pub fn finished(&self, seq: u64, waiting: &Queues) -> Vec<OpenPrompt> {
        let goes_on = |prompt: &OpenPrompt| {
            prompt.after_seq >= seq
                || prompt.queued.as_ref().is_some_and(|text| {
                    waiting.steering.contains(text) || waiting.follow_up.contains(text)
                })
        };
        let mut open = self.lock();
        let (still_open, finished) = open.drain(..).partition(goes_on);
        *open = still_open;
        finished
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenPrompt>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_still_waits_or_came_later_is_not_finished() {
        let prompts = OpenPrompts::default();
        prompts.started(None, 3);
        prompts.queued(None, 4, "later");
        let mut waiting = Queues {
            follow_up: vec!["later".to_owned()],
            ..Queues::default()
        };
        assert_eq!(prompts.finished(3, &waiting).len(), 0);
        assert_eq!(prompts.finished(5, &waiting).len(), 1);
        assert_eq!(prompts.finished(9, &waiting).len(), 0);
        waiting.follow_up.clear();
        assert_eq!(prompts.finished(9, &waiting).len(), 1);
    }
}
