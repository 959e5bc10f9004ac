//! Messages of extensions.

use std::sync::Arc;

use stentor_journal::message::{Message, UserContent};

use super::Actor;
use crate::event::EventKind;
use crate::session::error::SessionError;
use crate::session::injected::{DeliverAs, Delivery, Injected};
use crate::session::queues::{CustomPart, QueueKind, Queued};
use crate::turn::Work;

/// Who caused a message that an extension said in the name of the user.
const BY_AGENT: &str = "agent";

impl Actor {
    /// Puts a message of an extension into the conversation, now or when its time comes.
    pub(super) async fn inject(
        &mut self,
        injected: Injected,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        let is_custom = matches!(injected, Injected::Custom { .. });
        let queue = match (delivery.deliver_as, self.activity.is_some()) {
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
        let message = self.waiting_form(injected, queue)?;
        match queue {
            Some(queue) if self.waiting.is_full(queue) => Err(SessionError::QueueFull),
            Some(_) => self.enqueue_message(message).await,
            None if !is_custom || delivery.trigger_turn == Some(true) => {
                self.begin_injected_run(&message).await
            }
            None => {
                let message = self.append_delivered(&message, false)?;
                self.tell(message);
                Ok(())
            }
        }
    }

    /// Delivers what neither steers nor prolongs a run. A model call is about to be made, or the
    /// run is over: no call waits for its result.
    pub(super) fn deliver_asides(&mut self) {
        for message in self.deliver_all(QueueKind::Aside) {
            self.tell(message);
        }
    }

    /// What waits in a queue that clients are not told of. What the disk refuses waits on.
    pub(super) fn deliver_all(&mut self, queue: QueueKind) -> Vec<Arc<Message>> {
        self.deliver(queue).unwrap_or_else(|error| {
            tracing::warn!(%error, "a message of an extension waits on");
            Vec::new()
        })
    }

    async fn begin_injected_run(&mut self, message: &Queued) -> Result<(), SessionError> {
        self.return_from_fallback();
        self.must_have_model()?;
        self.tell_unheard_bash()?;
        let before = self.leaf.clone();
        let id = message.deliver_as.clone();
        let message = self.append_delivered(message, true)?;
        if let Err(error) = self.record.sync().await {
            // Refused, so it was never said: what comes next goes on from before it.
            self.conversation.forget(&id);
            self.leaf = before;
            return Err(error.into());
        }
        self.start(Work::Answer(vec![message]), None);
        Ok(())
    }

    fn waiting_form(
        &self,
        injected: Injected,
        queue: Option<QueueKind>,
    ) -> Result<Queued, SessionError> {
        let (content, custom, attribution) = match injected {
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
                (content, Some(custom), None)
            }
            Injected::User(content) if content.is_empty() => {
                return Err(SessionError::EmptyMessage);
            }
            Injected::User(content) => {
                let attribution = Some(BY_AGENT.to_owned());
                (UserContent::Blocks(content), None, attribution)
            }
        };
        Ok(Queued {
            session: self.id.to_string(),
            // Where it does not wait, no queue sees it.
            queue: queue.unwrap_or(QueueKind::Steering),
            content,
            custom,
            attribution,
            deliver_as: self.new_entry_id(),
            timestamp: self.environment.clock.now_ms(),
        })
    }

    /// Announces a complete message that no run announces.
    fn tell(&self, message: Arc<Message>) {
        let number = self.signals.next_number();
        self.hub.publish(EventKind::MessageStarted {
            number,
            message: Arc::clone(&message),
        });
        self.hub
            .publish(EventKind::MessageEnded { number, message });
    }
}
