//! The messages that wait for the running turn: steering and follow-ups.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stentor_journal::message::{Message, UserContent};

use crate::event::{QueueMode, Queues};

/// Messages one queue may hold. A client that queues more is refused.
pub const MAX_QUEUED: usize = 1000;

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueueKind {
    /// Delivered as soon as the interrupt mode allows.
    Steering,
    /// Delivered when the agent would stop.
    FollowUp,
    /// Messages of extensions that follow the next prompt.
    NextTurn,
    /// Messages of extensions that came during a run and neither steer nor prolong it.
    Aside,
    /// Ends of jobs in the background: before the next model call, which they prolong a run for. No
    /// call is skipped for them.
    Notice,
}

/// A message that waits. It is on disk already, as a note that names the entry it will become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueuedMessage {
    /// The session it waits in; a fork does not inherit it.
    #[serde(default)]
    pub session: String,
    pub queue: QueueKind,
    pub content: UserContent,
    /// What makes it a message of an extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomPart>,
    /// Who caused it, where it is not the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// The id of the entry it becomes when it is delivered. An entry of that id on disk means
    /// that it was.
    pub deliver_as: String,
    pub timestamp: u64,
}

/// What a message of an extension has beside its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CustomPart {
    pub custom_type: String,
    pub display: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// All queues, first come first served.
#[derive(Debug, Default)]
pub(super) struct WaitingMessages {
    steering: VecDeque<QueuedMessage>,
    follow_up: VecDeque<QueuedMessage>,
    /// In the conversation already, but its turn has not begun: for clients they still wait.
    unannounced: VecDeque<(QueuedMessage, Arc<Message>)>,
    next_turn: VecDeque<QueuedMessage>,
    asides: VecDeque<QueuedMessage>,
    notices: VecDeque<QueuedMessage>,
}

impl WaitingMessages {
    pub fn push(&mut self, queued: QueuedMessage) {
        self.of(queued.queue).push_back(queued);
    }

    /// The messages to deliver now: one or all, as the mode says.
    pub fn take(&mut self, queue: QueueKind, mode: QueueMode) -> Vec<QueuedMessage> {
        let waiting = self.of(queue);
        match mode {
            QueueMode::All => waiting.drain(..).collect(),
            QueueMode::OneAtATime => waiting.pop_front().into_iter().collect(),
        }
    }

    /// Puts messages back to the front, where they were taken.
    pub fn put_back(&mut self, queue: QueueKind, messages: Vec<QueuedMessage>) {
        let waiting = self.of(queue);
        for message in messages.into_iter().rev() {
            waiting.push_front(message);
        }
    }

    /// Takes everything out that steers or prolongs a run.
    pub fn clear(&mut self) -> Vec<QueuedMessage> {
        self.steering
            .drain(..)
            .chain(self.follow_up.drain(..))
            .collect()
    }

    /// The first message with that text.
    pub fn find(&self, queue: QueueKind, text: &str) -> Option<&QueuedMessage> {
        let is_it = |queued: &&QueuedMessage| queued.is_shown() && queued.text() == text;
        self.peek(queue).iter().find(is_it)
    }

    /// Takes out the first message with that text.
    pub fn remove(&mut self, queue: QueueKind, text: &str) -> Option<QueuedMessage> {
        let waiting = self.of(queue);
        let is_it = |queued: &QueuedMessage| queued.is_shown() && queued.text() == text;
        let index = waiting.iter().position(is_it)?;
        waiting.remove(index)
    }

    pub fn is_full(&self, queue: QueueKind) -> bool {
        self.peek(queue).len() >= MAX_QUEUED
    }

    pub fn has(&self, queue: QueueKind) -> bool {
        !self.peek(queue).is_empty()
    }

    pub fn all(&self) -> impl Iterator<Item = &QueuedMessage> {
        let to_run = self.steering.iter().chain(&self.follow_up);
        let later = self.next_turn.iter().chain(&self.asides);
        to_run.chain(later).chain(&self.notices)
    }

    /// A message was delivered; its turn will announce it.
    pub fn delivered(&mut self, queued: QueuedMessage, message: Arc<Message>) {
        if queued.is_shown() {
            self.unannounced.push_back((queued, message));
        }
    }

    /// A turn announces a message now. True when it is one that was delivered.
    pub fn announced(&mut self, message: &Arc<Message>) -> bool {
        let mut unannounced = self.unannounced.iter();
        let found = unannounced.position(|(_, delivered)| Arc::ptr_eq(delivered, message));
        found.is_some_and(|index| self.unannounced.remove(index).is_some())
    }

    /// Nobody will announce what was delivered. True when there was something.
    pub fn forget_unannounced(&mut self) -> bool {
        !std::mem::take(&mut self.unannounced).is_empty()
    }

    pub fn has_unannounced(&self) -> bool {
        !self.unannounced.is_empty()
    }

    /// What clients see of it.
    pub fn texts(&self) -> Queues {
        let unannounced = self.unannounced.iter().map(|(queued, _)| queued);
        texts(unannounced.chain(&self.steering).chain(&self.follow_up))
    }

    fn of(&mut self, queue: QueueKind) -> &mut VecDeque<QueuedMessage> {
        match queue {
            QueueKind::Steering => &mut self.steering,
            QueueKind::FollowUp => &mut self.follow_up,
            QueueKind::NextTurn => &mut self.next_turn,
            QueueKind::Aside => &mut self.asides,
            QueueKind::Notice => &mut self.notices,
        }
    }

    pub fn peek(&self, queue: QueueKind) -> &VecDeque<QueuedMessage> {
        match queue {
            QueueKind::Steering => &self.steering,
            QueueKind::FollowUp => &self.follow_up,
            QueueKind::NextTurn => &self.next_turn,
            QueueKind::Aside => &self.asides,
            QueueKind::Notice => &self.notices,
        }
    }
}

/// The texts of messages by their queue: what people said, not what extensions did.
pub(super) fn texts<'a>(messages: impl IntoIterator<Item = &'a QueuedMessage>) -> Queues {
    let mut texts = Queues::default();
    for queued in messages {
        if queued.custom.is_some() {
            continue;
        }
        match queued.queue {
            QueueKind::Steering => texts.steering.push(queued.text()),
            QueueKind::FollowUp => texts.follow_up.push(queued.text()),
            QueueKind::NextTurn | QueueKind::Aside | QueueKind::Notice => {}
        }
    }
    texts
}

impl QueuedMessage {
    /// Whether clients see that it waits: it goes to a run, and is not an extension's own.
    pub fn is_shown(&self) -> bool {
        let goes_to_run = matches!(self.queue, QueueKind::Steering | QueueKind::FollowUp);
        goes_to_run && self.custom.is_none()
    }

    pub fn text(&self) -> String {
        self.content.text()
    }
}

#[cfg(test)]
mod tests {
    use stentor_journal::message::KnownMessage;

    use super::*;

    fn said(queue: QueueKind, text: &str) -> QueuedMessage {
        QueuedMessage {
            session: "here".to_owned(),
            queue,
            content: UserContent::Text(text.to_owned()),
            custom: None,
            attribution: None,
            deliver_as: text.to_owned(),
            timestamp: 0,
        }
    }

    fn entry_of(queued: &QueuedMessage) -> Arc<Message> {
        let message = stentor_journal::message::UserMessage {
            content: queued.content.clone(),
            attribution: None,
            synthetic: None,
            steering: None,
            timestamp: 0,
            rest: Default::default(),
        };
        Arc::new(KnownMessage::User(message).into())
    }

    #[test]
    fn what_a_run_was_given_still_waits_for_clients_and_can_not_be_taken_out() {
        let mut waiting = WaitingMessages::default();
        waiting.push(said(QueueKind::Steering, "given"));
        waiting.push(said(QueueKind::Steering, "waits"));
        waiting.push(said(QueueKind::FollowUp, "follows"));
        let given = waiting
            .take(QueueKind::Steering, QueueMode::OneAtATime)
            .remove(0);
        let message = entry_of(&given);
        waiting.delivered(given, Arc::clone(&message));
        let queues = |steering: &[&str], follow_up: &[&str]| Queues {
            steering: steering.iter().copied().map(str::to_owned).collect(),
            follow_up: follow_up.iter().copied().map(str::to_owned).collect(),
        };
        assert_eq!(waiting.texts(), queues(&["given", "waits"], &["follows"]));
        assert_eq!(waiting.remove(QueueKind::Steering, "given"), None);
        assert_eq!(texts(&waiting.clear()), queues(&["waits"], &["follows"]));
        assert_eq!(waiting.texts(), queues(&["given"], &[]));
        assert!(waiting.announced(&message));
        assert_eq!(waiting.texts(), Queues::default());
    }
}
