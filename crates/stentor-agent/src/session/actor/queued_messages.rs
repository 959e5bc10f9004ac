//! Messages that wait for a run, or begin one: of the user, and of extensions.

use std::sync::Arc;

use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{ContentBlock, UserContent};

use super::Actor;
use super::queues::append_queued;
use super::runs::OpeningMessage;
use crate::event::EventKind;
use crate::session::error::SessionError;
use crate::session::injected::{DeliverAs, Delivery, Injected};
use crate::session::queues::{CustomPart, QueueKind, QueuedMessage};

/// Who caused a message that an extension said in the name of the user.
const BY_AGENT: &str = "agent";

impl Actor {
    /// Lets a message of the user wait.
    pub(super) async fn enqueue(
        &mut self,
        queue: QueueKind,
        content: Vec<ContentBlock>,
    ) -> Result<(), SessionError> {
        if content.is_empty() {
            return Err(SessionError::EmptyMessage);
        }
        if self.queues.is_full(queue) {
            return Err(SessionError::QueueFull);
        }
        let queued = self.queued(queue, UserContent::Blocks(content), None, None);
        self.queues.enqueue(&mut self.log, queued).await
    }

    /// Puts a message of an extension into the conversation, now or when its time comes.
    pub(super) async fn inject(
        &mut self,
        injected: Injected,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        let is_custom = matches!(injected, Injected::Custom { .. });
        let is_running = self.activities.is_any_running();
        let queue = match (delivery.deliver_as, is_running) {
            (Some(DeliverAs::NextTurn), _) => Some(QueueKind::NextTurn),
            (_, false) => None,
            (_, true) if is_custom && delivery.trigger_turn == Some(false) => {
                Some(QueueKind::Aside)
            }
            (Some(DeliverAs::FollowUp), true) => Some(QueueKind::FollowUp),
            (Some(DeliverAs::Steer), true) => Some(QueueKind::Steering),
            (None, true) if is_custom => Some(QueueKind::Steering),
            (None, true) => return Err(SessionError::Busy),
        };
        if queue.is_some_and(|queue| self.queues.is_full(queue)) {
            return Err(SessionError::QueueFull);
        }
        // Where it does not wait, no queue sees it.
        let message = self.injected_message(injected, queue.unwrap_or(QueueKind::Steering))?;
        if queue.is_some() {
            self.queues.enqueue(&mut self.log, message).await
        } else if !is_custom || delivery.trigger_turn == Some(true) {
            let opening = OpeningMessage::Extension(Box::new(message));
            self.begin_run(opening, None).await.map(|_| ())
        } else {
            let item = append_queued(&mut self.log, &message, false)?;
            self.announce(item);
            Ok(())
        }
    }

    /// Delivers what neither steers nor prolongs a run. A model call is about to be made, or the
    /// run is over: no call waits for its result.
    pub(super) fn deliver_asides(&mut self) {
        for item in self.queues.deliver_all(&mut self.log, QueueKind::Aside) {
            self.announce(item);
        }
    }

    fn injected_message(
        &mut self,
        injected: Injected,
        queue: QueueKind,
    ) -> Result<QueuedMessage, SessionError> {
        match injected {
            Injected::Custom {
                custom_type,
                content,
                display,
                details,
            } => {
                let custom = CustomPart {
                    custom_type,
                    display,
                    details,
                };
                Ok(self.queued(queue, content, Some(custom), None))
            }
            Injected::User(content) if content.is_empty() => Err(SessionError::EmptyMessage),
            Injected::User(content) => {
                let by = Some(BY_AGENT.to_owned());
                Ok(self.queued(queue, UserContent::Blocks(content), None, by))
            }
        }
    }

    pub(super) fn queued(
        &mut self,
        queue: QueueKind,
        content: UserContent,
        custom: Option<CustomPart>,
        attribution: Option<String>,
    ) -> QueuedMessage {
        QueuedMessage {
            session: self.id.to_string(),
            queue,
            content,
            custom,
            attribution,
            deliver_as: self.log.reserve_entry_id(),
            timestamp: self.log.now_ms(),
        }
    }

    /// Announces a complete message that no run announces.
    fn announce(&self, item: ConversationItem) {
        let number = self.signals.next_number();
        let message = item.message;
        self.hub.publish(EventKind::MessageStarted {
            number,
            entry_id: item.entry_id.into(),
            message: Arc::clone(&message),
        });
        self.hub
            .publish(EventKind::MessageEnded { number, message });
    }
}
