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
    /// Its text while it waits in a queue.
    queued: Option<String>,
}

impl OpenPrompts {
    /// A run was started for it.
    pub fn started(&self, id: Option<Box<RawValue>>) {
        self.lock().push(OpenPrompt { id, queued: None });
    }

    /// It waits in a queue.
    pub fn queued(&self, id: Option<Box<RawValue>>, text: &str) {
        let queued = Some(text.to_owned());
        self.lock().push(OpenPrompt { id, queued });
    }

    /// Takes those that nothing follows for any more: all but those that still wait.
    pub fn finished(&self, waiting: &Queues) -> Vec<OpenPrompt> {
        let waits = |prompt: &OpenPrompt| {
            prompt.queued.as_ref().is_some_and(|text| {
                waiting.steering.contains(text) || waiting.follow_up.contains(text)
            })
        };
        let mut open = self.lock();
        let (still_open, finished) = open.drain(..).partition(waits);
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
    fn a_prompt_that_still_waits_is_not_finished() {
        let prompts = OpenPrompts::default();
        prompts.started(None);
        prompts.queued(None, "later");
        let mut waiting = Queues {
            follow_up: vec!["later".to_owned()],
            ..Queues::default()
        };
        assert_eq!(prompts.finished(&waiting).len(), 1);
        assert_eq!(prompts.finished(&waiting).len(), 0);
        waiting.follow_up.clear();
        assert_eq!(prompts.finished(&waiting).len(), 1);
    }
}
