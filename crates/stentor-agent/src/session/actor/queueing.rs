//! Messages that wait, on disk from the moment they are accepted.

use std::sync::Arc;

use serde_json::json;

use super::Actor;
use crate::event::{EventKind, QueueMode, Queues};
use crate::message::{ContentBlock, KnownMessage, Message, UserContent, UserMessage};
use crate::session::error::SessionError;
use crate::session::queues::{QueueKind, Queued};
use crate::store::{EntryKind, StoreError};

/// The note on disk that a message waits. Its data is a [`Queued`].
pub(super) const QUEUED: &str = "stentor.queued";

/// The note on disk that a message no longer waits, though it was not delivered.
pub(super) const UNQUEUED: &str = "stentor.unqueued";

impl Actor {
    pub(super) async fn enqueue(
        &mut self,
        queue: QueueKind,
        content: Vec<ContentBlock>,
    ) -> Result<(), SessionError> {
        if content.is_empty() {
            return Err(SessionError::EmptyMessage);
        }
        if self.waiting.is_full(queue) {
            return Err(SessionError::QueueFull);
        }
        let queued = Queued {
            queue,
            content,
            deliver_as: self.new_entry_id(),
            timestamp: self.environment.clock.now_ms(),
        };
        self.note_queued(&queued)?;
        self.record.sync().await?;
        self.waiting.push(queued);
        self.queues_changed();
        Ok(())
    }

    /// Takes waiting messages, as many as the mode says, into the conversation.
    pub(super) fn deliver(&mut self, queue: QueueKind) -> Result<Vec<Arc<Message>>, StoreError> {
        let mode = match queue {
            QueueKind::Steering => self.settings.steering_mode,
            QueueKind::FollowUp => self.settings.follow_up_mode,
        };
        let taken = self.waiting.take(queue, mode);
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let mut delivered = Vec::with_capacity(taken.len());
        for queued in taken {
            let message: Arc<Message> = Arc::new(
                KnownMessage::User(UserMessage {
                    content: UserContent::Blocks(queued.content),
                    attribution: None,
                    synthetic: None,
                    steering: None,
                    timestamp: queued.timestamp,
                })
                .into(),
            );
            self.append_message(queued.deliver_as, Arc::clone(&message))?;
            delivered.push(message);
        }
        self.queues_changed();
        Ok(delivered)
    }

    pub(super) fn clear_queues(&mut self) -> Queues {
        let texts = self.waiting.texts();
        let cleared = self.waiting.clear();
        if !cleared.is_empty() {
            self.note_unqueued(&cleared);
            self.queues_changed();
        }
        texts
    }

    /// Takes the waiting steering messages out and returns their texts.
    pub(super) fn drop_steering(&mut self) -> Vec<String> {
        let dropped = self.waiting.take(QueueKind::Steering, QueueMode::All);
        if !dropped.is_empty() {
            self.note_unqueued(&dropped);
            self.queues_changed();
        }
        dropped.iter().map(Queued::text).collect()
    }

    pub(super) fn remove_queued(&mut self, queue: QueueKind, text: &str) -> bool {
        let Some(removed) = self.waiting.remove(queue, text) else {
            return false;
        };
        self.note_unqueued(&[removed]);
        self.queues_changed();
        true
    }

    pub(super) async fn promote_queued(&mut self, text: &str) -> Result<bool, SessionError> {
        let Some(removed) = self.waiting.remove(QueueKind::FollowUp, text) else {
            return Ok(false);
        };
        self.note_unqueued(std::slice::from_ref(&removed));
        self.enqueue(QueueKind::Steering, removed.content).await?;
        Ok(true)
    }

    /// Notes on disk that a message waits.
    pub(super) fn note_queued(&mut self, queued: &Queued) -> Result<(), StoreError> {
        let data = serde_json::to_value(queued).ok();
        let kind = EntryKind::Custom {
            custom_type: QUEUED.to_owned(),
            data,
        };
        self.append(kind, true).map(|_| ())
    }

    fn note_unqueued(&mut self, removed: &[Queued]) {
        let ids: Vec<&str> = removed
            .iter()
            .map(|queued| queued.deliver_as.as_str())
            .collect();
        let data = Some(json!({ "deliverAs": ids }));
        let kind = EntryKind::Custom {
            custom_type: UNQUEUED.to_owned(),
            data,
        };
        if let Err(error) = self.append(kind, true) {
            tracing::warn!(%error, "a removed message may wait again when the session is resumed");
        }
    }

    fn queues_changed(&self) {
        self.signal_steering();
        self.hub
            .publish(EventKind::QueueChanged(Arc::new(self.waiting.texts())));
    }
}
