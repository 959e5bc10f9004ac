//! Messages that wait, on disk from the moment they are accepted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{CustomMessage, KnownMessage, Message, UserContent, UserMessage};
use stentor_journal::store::{EntryKind, StoreError};

use super::log::SessionLog;
use crate::event::{EventKind, InterruptMode, QueueMode, Queues};
use crate::hub::Hub;
use crate::session::error::SessionError;
use crate::session::options::SessionOptions;
use crate::session::queues::{self, CustomPart, QueueKind, QueuedMessage, WaitingMessages};
use crate::turn::Signals;

/// The note on disk that a message waits. Its data is a [`QueuedMessage`].
pub(super) const QUEUED: &str = "stentor.queued";

/// The note on disk that a message no longer waits, though it was not delivered.
pub(super) const UNQUEUED: &str = "stentor.unqueued";

/// The queues of a session, and how they are emptied.
pub(super) struct MessageQueues {
    hub: Hub,
    signals: Arc<Signals>,
    waiting: WaitingMessages,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub interrupt_mode: InterruptMode,
}

impl MessageQueues {
    pub fn new(hub: Hub, signals: Arc<Signals>, options: &SessionOptions) -> Self {
        Self {
            hub,
            signals,
            waiting: WaitingMessages::default(),
            steering_mode: options.steering_mode,
            follow_up_mode: options.follow_up_mode,
            interrupt_mode: options.interrupt_mode,
        }
    }

    pub fn set_interrupt_mode(&mut self, mode: InterruptMode) {
        self.interrupt_mode = mode;
        self.signal();
    }

    /// What clients see of it.
    pub fn texts(&self) -> Queues {
        self.waiting.texts()
    }

    pub fn is_full(&self, queue: QueueKind) -> bool {
        self.waiting.is_full(queue)
    }

    /// Lets a message wait. It is on disk when this returns, which the actor waits for: whoever
    /// sent it is answered then.
    pub async fn enqueue(
        &mut self,
        log: &mut SessionLog,
        queued: QueuedMessage,
    ) -> Result<(), SessionError> {
        log.note(QUEUED, &queued, true)?;
        // A run that looks while the disk is waited for asks, and gets it.
        self.signals.queued.store(true, Ordering::Release);
        if let Err(error) = log.sync().await {
            // Refused, so a resumed session must not deliver it either.
            note_unqueued(log, &[queued]);
            self.signal();
            return Err(error.into());
        }
        let is_shown = queued.is_shown();
        self.waiting.push(queued);
        self.changed(is_shown);
        Ok(())
    }

    /// Lets a message wait that is as good as on disk: whoever it is for learns of it later.
    pub fn enqueue_unsynced(
        &mut self,
        log: &mut SessionLog,
        queued: QueuedMessage,
    ) -> Result<(), StoreError> {
        log.note(QUEUED, &queued, true)?;
        self.waiting.push(queued);
        self.signal();
        Ok(())
    }

    /// The end of a job that waits to be told.
    pub fn take_notice(&mut self) -> Option<QueuedMessage> {
        let taken = self
            .waiting
            .take(QueueKind::Notice, QueueMode::OneAtATime)
            .pop();
        self.signal();
        taken
    }

    /// A stored session's message waits again.
    pub fn restore(&mut self, log: &mut SessionLog, queued: QueuedMessage) {
        log.reserve(queued.deliver_as.clone());
        self.waiting.push(queued);
        self.signal();
    }

    /// Notes on disk again what waits.
    pub fn note_again(&self, log: &mut SessionLog) -> Result<(), StoreError> {
        let mut waiting = self.waiting.all();
        waiting.try_for_each(|queued| log.note(QUEUED, queued, true))
    }

    /// What waits for a run: ends of jobs and steering messages, or else follow-ups if it would
    /// stop.
    pub fn deliver_to_run(
        &mut self,
        log: &mut SessionLog,
        or_follow_ups: bool,
    ) -> Result<Vec<ConversationItem>, StoreError> {
        let mut taken = self.deliver_all(log, QueueKind::Notice);
        match self.deliver(log, QueueKind::Steering) {
            Ok(steering) => taken.extend(steering),
            Err(error) if taken.is_empty() => return Err(error),
            Err(error) => tracing::warn!(%error, "a steering message stays queued"),
        }
        if !taken.is_empty() || !or_follow_ups {
            return Ok(taken);
        }
        self.deliver(log, QueueKind::FollowUp)
    }

    /// The steering messages that a run is given next, those of extensions excepted.
    pub fn next_steering(&self) -> Vec<UserContent> {
        let said = self.waiting.peek(QueueKind::Steering).iter();
        let said = said.filter(|queued| queued.custom.is_none());
        let count = match self.steering_mode {
            QueueMode::All => usize::MAX,
            QueueMode::OneAtATime => 1,
        };
        said.take(count)
            .map(|queued| queued.content.clone())
            .collect()
    }

    /// What waits in a queue that clients do not see. What the disk refuses waits on.
    pub fn deliver_all(&mut self, log: &mut SessionLog, queue: QueueKind) -> Vec<ConversationItem> {
        self.deliver(log, queue).unwrap_or_else(|error| {
            tracing::warn!(%error, "a message stays queued");
            Vec::new()
        })
    }

    /// Takes waiting messages, as many as the mode says, into the conversation. What the disk
    /// refuses waits on.
    fn deliver(
        &mut self,
        log: &mut SessionLog,
        queue: QueueKind,
    ) -> Result<Vec<ConversationItem>, StoreError> {
        let mode = match queue {
            QueueKind::Steering => self.steering_mode,
            QueueKind::FollowUp => self.follow_up_mode,
            QueueKind::NextTurn | QueueKind::Aside | QueueKind::Notice => QueueMode::All,
        };
        let taken = self.waiting.take(queue, mode);
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let are_shown = taken.iter().any(QueuedMessage::is_shown);
        let mut delivered = Vec::with_capacity(taken.len());
        let mut taken = taken.into_iter();
        let mut failure = None;
        for queued in taken.by_ref() {
            match append_queued(log, &queued, true) {
                Ok(item) => {
                    self.waiting.delivered(queued, Arc::clone(&item.message));
                    delivered.push(item);
                }
                Err(error) => {
                    failure = Some((queued, error));
                    break;
                }
            }
        }
        self.signal();
        let Some((refused, error)) = failure else {
            return Ok(delivered);
        };
        let left: Vec<QueuedMessage> = std::iter::once(refused).chain(taken).collect();
        self.waiting.put_back(queue, left);
        self.changed(are_shown);
        if delivered.is_empty() {
            Err(error)
        } else {
            Ok(delivered)
        }
    }

    /// Takes out what waits and returns its texts. What a run has been given already is not among
    /// them, though clients still see it waiting: its turn will announce it.
    pub fn clear(&mut self, log: &mut SessionLog) -> Queues {
        let cleared = self.waiting.clear();
        if !cleared.is_empty() {
            note_unqueued(log, &cleared);
            self.changed(true);
        }
        queues::texts(&cleared)
    }

    /// Takes the waiting steering messages out and returns their texts.
    pub fn drop_steering(&mut self, log: &mut SessionLog) -> Vec<String> {
        let dropped = self.waiting.take(QueueKind::Steering, QueueMode::All);
        if !dropped.is_empty() {
            note_unqueued(log, &dropped);
            self.changed(true);
        }
        let shown = dropped.iter().filter(|queued| queued.is_shown());
        shown.map(QueuedMessage::text).collect()
    }

    /// Takes out the first message with that text. False when there is none.
    pub fn remove(&mut self, log: &mut SessionLog, queue: QueueKind, text: &str) -> bool {
        let Some(removed) = self.waiting.remove(queue, text) else {
            return false;
        };
        note_unqueued(log, &[removed]);
        self.changed(true);
        true
    }

    /// Makes the first follow-up with that text a steering message. False when there is none.
    pub async fn promote(
        &mut self,
        log: &mut SessionLog,
        text: &str,
    ) -> Result<bool, SessionError> {
        let Some(found) = self.waiting.find(QueueKind::FollowUp, text) else {
            return Ok(false);
        };
        if self.waiting.is_full(QueueKind::Steering) {
            return Err(SessionError::QueueFull);
        }
        let promoted = QueuedMessage {
            queue: QueueKind::Steering,
            deliver_as: log.reserve_entry_id(),
            ..found.clone()
        };
        // First on disk as what it becomes, then no longer as what it was: never lost, and only a
        // crash between the two lines could have it twice.
        log.note(QUEUED, &promoted, true)?;
        if let Some(removed) = self.waiting.remove(QueueKind::FollowUp, text) {
            note_unqueued(log, &[removed]);
        }
        self.waiting.push(promoted);
        self.changed(true);
        log.sync().await?;
        Ok(true)
    }

    /// A turn announces a message, which waits no more then.
    pub fn announced(&mut self, message: &Arc<Message>) {
        if self.waiting.announced(message) {
            self.changed(true);
        }
    }

    /// The run is over: nobody announces any more what it did not.
    pub fn forget_unannounced(&mut self) {
        if self.waiting.forget_unannounced() {
            self.changed(true);
        }
    }

    /// Lets a run see what it need not ask for.
    fn signal(&self) {
        let steering = self.waiting.has(QueueKind::Steering);
        let now = self.interrupt_mode == InterruptMode::Immediate && steering;
        let notice = self.waiting.has(QueueKind::Notice);
        let queued = steering || notice || self.waiting.has(QueueKind::FollowUp);
        let unannounced = self.waiting.has_unannounced();
        if steering {
            self.signals.steering_waits.notify_one();
        }
        self.signals.steering_now.store(now, Ordering::Release);
        self.signals.queued.store(queued, Ordering::Release);
        self.signals
            .unannounced
            .store(unannounced, Ordering::Release);
    }

    /// The queues changed; `is_shown` where clients see what changed.
    fn changed(&self, is_shown: bool) {
        self.signal();
        if is_shown {
            let queues = Arc::new(self.waiting.texts());
            self.hub.publish(EventKind::QueueChanged(queues));
        }
    }
}

fn note_unqueued(log: &mut SessionLog, removed: &[QueuedMessage]) {
    let ids: Vec<&str> = removed
        .iter()
        .map(|queued| queued.deliver_as.as_str())
        .collect();
    if let Err(error) = log.note(UNQUEUED, &json!({ "deliverAs": ids }), true) {
        tracing::warn!(%error, "a removed message may be queued again when the session is resumed");
    }
    for id in ids {
        log.release(id);
    }
}

/// Puts a message into the conversation as the entry it was to become. With `must_last` it is in
/// the file when this returns.
pub(super) fn append_queued(
    log: &mut SessionLog,
    queued: &QueuedMessage,
    must_last: bool,
) -> Result<ConversationItem, StoreError> {
    let id = queued.deliver_as.clone();
    let content = queued.content.clone();
    let Some(custom) = &queued.custom else {
        let by = queued.attribution.as_deref().unwrap_or("user");
        let message = Arc::new(Message::from(KnownMessage::User(UserMessage {
            content,
            attribution: Some(by.to_owned()),
            synthetic: None,
            steering: (queued.queue == QueueKind::Steering).then_some(true),
            timestamp: queued.timestamp,
            rest: Default::default(),
        })));
        log.append_message(id.clone(), Arc::clone(&message))?;
        return Ok(ConversationItem {
            entry_id: id,
            message,
        });
    };
    let CustomPart {
        custom_type,
        display,
        details,
    } = custom.clone();
    // A resumed session takes the message's time from the entry, so they are the same here.
    let timestamp = log.now_ms();
    let kind = EntryKind::CustomMessage {
        custom_type: custom_type.clone(),
        content: content.clone(),
        display,
        details: details.clone(),
        attribution: None,
    };
    let id = log.append_at(id, timestamp, kind, must_last)?;
    let message = Arc::new(Message::from(KnownMessage::Custom(CustomMessage {
        custom_type,
        content,
        display,
        details,
        timestamp,
        rest: Default::default(),
    })));
    log.push(id.clone(), Arc::clone(&message));
    Ok(ConversationItem {
        entry_id: id,
        message,
    })
}
