//! Messages that wait, on disk from the moment they are accepted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use stentor_journal::message::{
    ContentBlock, CustomMessage, KnownMessage, Message, UserContent, UserMessage,
};
use stentor_journal::store::{EntryKind, StoreError};

use super::Actor;
use crate::event::{EventKind, InterruptMode, QueueMode, Queues};
use crate::session::error::SessionError;
use crate::session::queues::{self, CustomPart, QueueKind, Queued};

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
            session: self.id.to_string(),
            queue,
            content: UserContent::Blocks(content),
            custom: None,
            attribution: None,
            deliver_as: self.new_entry_id(),
            timestamp: self.environment.clock.now_ms(),
        };
        self.enqueue_message(queued).await
    }

    pub(super) async fn enqueue_message(&mut self, queued: Queued) -> Result<(), SessionError> {
        self.note_queued(&queued)?;
        // A run that looks while the disk is waited for asks, and gets it.
        self.signals.queued.store(true, Ordering::Release);
        if let Err(error) = self.record.sync().await {
            // Refused, so a resumed session must not deliver it either.
            self.note_unqueued(&[queued]);
            self.signal_queues();
            return Err(error.into());
        }
        let is_shown = queued.is_shown();
        self.waiting.push(queued);
        self.queues_changed(is_shown);
        Ok(())
    }

    /// What waits for the run: steering messages, or else follow-ups if it would stop. Nothing for
    /// one that was told to stop: the queues survive an abort.
    pub(super) fn deliver_to_run(
        &mut self,
        or_follow_ups: bool,
    ) -> Result<Vec<Arc<Message>>, StoreError> {
        if self.is_stopping() {
            return Ok(Vec::new());
        }
        let steering = self.deliver(QueueKind::Steering)?;
        if !steering.is_empty() || !or_follow_ups {
            return Ok(steering);
        }
        self.deliver(QueueKind::FollowUp)
    }

    /// Takes waiting messages, as many as the mode says, into the conversation. What the disk
    /// refuses waits on.
    pub(super) fn deliver(&mut self, queue: QueueKind) -> Result<Vec<Arc<Message>>, StoreError> {
        let mode = match queue {
            QueueKind::Steering => self.settings.steering_mode,
            QueueKind::FollowUp => self.settings.follow_up_mode,
            QueueKind::NextTurn | QueueKind::Aside => QueueMode::All,
        };
        let taken = self.waiting.take(queue, mode);
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let are_shown = taken.iter().any(Queued::is_shown);
        let mut delivered = Vec::with_capacity(taken.len());
        let mut taken = taken.into_iter();
        let mut failure = None;
        for queued in taken.by_ref() {
            match self.append_delivered(&queued, true) {
                Ok(message) => {
                    self.waiting.delivered(queued, Arc::clone(&message));
                    delivered.push(message);
                }
                Err(error) => {
                    failure = Some((queued, error));
                    break;
                }
            }
        }
        self.signal_queues();
        let Some((refused, error)) = failure else {
            return Ok(delivered);
        };
        let left: Vec<Queued> = std::iter::once(refused).chain(taken).collect();
        self.waiting.put_back(queue, left);
        self.queues_changed(are_shown);
        if delivered.is_empty() {
            Err(error)
        } else {
            Ok(delivered)
        }
    }

    /// Puts a message into the conversation as the entry it was to become. With `must_last` it is
    /// in the file when this returns.
    pub(super) fn append_delivered(
        &mut self,
        queued: &Queued,
        must_last: bool,
    ) -> Result<Arc<Message>, StoreError> {
        let id = queued.deliver_as.clone();
        let content = queued.content.clone();
        let Some(custom) = &queued.custom else {
            let message = Arc::new(Message::from(KnownMessage::User(UserMessage {
                content,
                attribution: Some(match &queued.attribution {
                    Some(who) => who.clone(),
                    None => "user".to_owned(),
                }),
                synthetic: None,
                steering: (queued.queue == QueueKind::Steering).then_some(true),
                timestamp: queued.timestamp,
                rest: Default::default(),
            })));
            self.append_message(id, Arc::clone(&message))?;
            return Ok(message);
        };
        let CustomPart {
            custom_type,
            display,
            details,
        } = custom.clone();
        // A resumed session takes the message's time from the entry, so they are the same here.
        let timestamp = self.environment.clock.now_ms();
        let kind = EntryKind::CustomMessage {
            custom_type: custom_type.clone(),
            content: content.clone(),
            display,
            details: details.clone(),
            attribution: None,
        };
        let id = self.append_at(id, timestamp, kind, must_last)?;
        let message = Arc::new(Message::from(KnownMessage::Custom(CustomMessage {
            custom_type,
            content,
            display,
            details,
            timestamp,
            rest: Default::default(),
        })));
        self.conversation.push(id, Arc::clone(&message));
        Ok(message)
    }

    /// Takes out what waits and returns its texts. What a run has been given already is not among
    /// them, though clients are yet to be told that it waits no more: its turn will tell of it.
    pub(super) fn clear_queues(&mut self) -> Queues {
        let cleared = self.waiting.clear();
        if !cleared.is_empty() {
            self.note_unqueued(&cleared);
            self.queues_changed(true);
        }
        queues::texts(&cleared)
    }

    /// Takes the waiting steering messages out and returns their texts.
    pub(super) fn drop_steering(&mut self) -> Vec<String> {
        let dropped = self.waiting.take(QueueKind::Steering, QueueMode::All);
        if !dropped.is_empty() {
            self.note_unqueued(&dropped);
            self.queues_changed(true);
        }
        let said = dropped.iter().filter(|queued| queued.is_shown());
        said.map(Queued::text).collect()
    }

    pub(super) fn remove_queued(&mut self, queue: QueueKind, text: &str) -> bool {
        let Some(removed) = self.waiting.remove(queue, text) else {
            return false;
        };
        self.note_unqueued(&[removed]);
        self.queues_changed(true);
        true
    }

    pub(super) async fn promote_queued(&mut self, text: &str) -> Result<bool, SessionError> {
        let Some(found) = self.waiting.find(QueueKind::FollowUp, text) else {
            return Ok(false);
        };
        if self.waiting.is_full(QueueKind::Steering) {
            return Err(SessionError::QueueFull);
        }
        let promoted = Queued {
            queue: QueueKind::Steering,
            deliver_as: self.new_entry_id(),
            ..found.clone()
        };
        // First on disk as what it becomes, then no longer as what it was: never lost, and only a
        // crash between the two lines could have it twice.
        self.note_queued(&promoted)?;
        if let Some(removed) = self.waiting.remove(QueueKind::FollowUp, text) {
            self.note_unqueued(&[removed]);
        }
        self.waiting.push(promoted);
        self.queues_changed(true);
        self.record.sync().await?;
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

    /// A turn announces a message, which waits no more then.
    pub(super) fn announced(&mut self, message: &Arc<Message>) {
        if self.waiting.announced(message) {
            self.queues_changed(true);
        }
    }

    /// The run is over: nobody announces any more what it did not.
    pub(super) fn forget_unannounced(&mut self) {
        if self.waiting.forget_unannounced() {
            self.queues_changed(true);
        }
    }

    /// Lets a run see what it need not ask for.
    pub(super) fn signal_queues(&self) {
        let steering = self.waiting.has(QueueKind::Steering);
        let now = self.settings.interrupt_mode == InterruptMode::Immediate && steering;
        let queued = steering || self.waiting.has(QueueKind::FollowUp);
        let unannounced = self.waiting.has_unannounced();
        self.signals.steering_now.store(now, Ordering::Release);
        self.signals.queued.store(queued, Ordering::Release);
        self.signals
            .unannounced
            .store(unannounced, Ordering::Release);
    }

    /// The queues changed; `is_shown` where clients know of what changed.
    fn queues_changed(&self, is_shown: bool) {
        self.signal_queues();
        if is_shown {
            let queues = Arc::new(self.waiting.texts());
            self.hub.publish(EventKind::QueueChanged(queues));
        }
    }
}
