//! Several clients that share one session: each has handles of its own, and leaves it by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stentor_journal::store::{Entry, EntryKind, SessionHeader, StoreError};

use super::error::SessionError;
use super::handle::Session;
use crate::dialog::UnaskedAnswer;
use crate::hub::{ClientNumber, Cursor, CursorMissed, Subscription};

/// One client of a session that several may share. When it leaves, its subscriptions end and its
/// questions are no longer its own; the session goes on.
pub(super) struct Attachment {
    client: ClientNumber,
    /// Nobody's handle.
    session: Session,
    kind: AttachmentKind,
    has_left: AtomicBool,
    on_leave: Box<dyn Fn() + Send + Sync>,
}

/// How a client came to a session, and what it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentKind {
    /// The session was live already.
    pub joined: bool,
    /// The client only watches.
    pub observes: bool,
}

/// A session as one who joins it finds it.
pub struct JoinedSession {
    pub header: SessionHeader,
    /// What was said, from the first entry to the one the session goes on from.
    pub entries: Vec<Entry>,
    /// What goes on, and what happens from now on. Nothing of it is in `entries`.
    pub events: Subscription,
}

impl Attachment {
    /// The client has no more to do with the session. Once is enough.
    pub fn leave(&self) {
        if self.has_left.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = &self.session.shared;
        shared.hub.leave(self.client);
        let nobody_answers = shared.dialogs.leave(self.client);
        if nobody_answers {
            self.session.nobody_answers();
        }
        (self.on_leave)();
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Session {
    /// A handle for one client of several. It leaves the session, and `on_leave` is called, when it
    /// closes the handle or drops all of its handles.
    pub fn attach(
        &self,
        kind: AttachmentKind,
        on_leave: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let client = self.shared.hub.new_client();
        // Who only watches answers nothing, and must not look like somebody who is there to answer.
        if !kind.observes {
            self.shared.dialogs.enter(client);
        }
        let attachment = Attachment {
            client,
            session: Self {
                attachment: None,
                ..self.clone()
            },
            kind,
            has_left: AtomicBool::new(false),
            on_leave: Box::new(on_leave),
        };
        Self {
            attachment: Some(Arc::new(attachment)),
            ..self.clone()
        }
    }

    /// True when others may have to do with the session, too.
    pub fn is_shared(&self) -> bool {
        self.attachment.is_some()
    }

    /// True when the session was live before this client came.
    pub fn is_joined(&self) -> bool {
        self.kind().is_some_and(|kind| kind.joined)
    }

    /// True when this client only watches.
    pub fn observes(&self) -> bool {
        self.kind().is_some_and(|kind| kind.observes)
    }

    /// True when somebody else who shares the session is known to answer questions.
    pub fn others_answer(&self) -> bool {
        let client = self.client();
        client.is_some_and(|client| self.shared.dialogs.others_answer(client))
    }

    /// This client cannot answer a question. It stays open as long as somebody else is known to answer
    /// who could; then it is answered with this.
    pub fn cannot_answer(&self, id: u64, unasked: UnaskedAnswer) {
        if !self.observes() {
            let dialogs = &self.shared.dialogs;
            dialogs.cannot_answer(self.client(), id, unasked);
        }
    }

    /// True when somebody was asked something and has not answered.
    pub fn has_questions(&self) -> bool {
        self.shared.hub.has_questions()
    }

    /// True when it has ended.
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    /// Subscribes as the first thing a client does: to what happened since the session was opened,
    /// or, in a session that was live already, to what goes on.
    pub fn subscribe_first(&self) -> Subscription {
        if self.is_joined() {
            return self.shared.hub.join(self.client(), None);
        }
        self.subscribe_since(0).unwrap_or_else(|_| self.subscribe())
    }

    /// The session as it is at one moment, and everything that happens after it.
    pub async fn join(&self) -> Result<JoinedSession, SessionError> {
        let client = self.client();
        let (mut events, reading) = self.joined_at(client).await?;
        let (header, entries) = reading.await.map_err(|_| SessionError::Closed)??;
        events.has_read(unanswered(&entries));
        Ok(JoinedSession {
            header,
            entries,
            events,
        })
    }

    /// The place behind everything that happened so far.
    pub fn cursor(&self) -> Cursor {
        self.shared.hub.cursor()
    }

    /// Everything that happened after a cursor, and what happens from now on.
    pub fn subscribe_at(&self, cursor: &Cursor) -> Result<Subscription, CursorMissed> {
        self.shared.hub.subscribe_at(self.client(), cursor)
    }

    pub(super) fn client(&self) -> Option<ClientNumber> {
        self.attachment.as_ref().map(|attachment| attachment.client)
    }

    /// Itself, if this client may change something.
    pub(super) fn driving(&self) -> Result<&Self, SessionError> {
        if let Some(why) = &self.shared.read_only {
            return Err(SessionError::Store(StoreError::NotOurs {
                id: self.id().to_string(),
                why: why.to_string(),
            }));
        }
        match self.observes() {
            true => Err(SessionError::OnlyObserves),
            false => Ok(self),
        }
    }

    fn kind(&self) -> Option<AttachmentKind> {
        let attachment = self.attachment.as_ref();
        attachment.map(|attachment| attachment.kind)
    }
}

/// The messages behind the last answer: they are recorded before they are announced.
fn unanswered(entries: &[Entry]) -> impl Iterator<Item = String> {
    let is_answer = |entry: &&Entry| matches!(&entry.kind, EntryKind::Message { message } if message.as_assistant().is_some());
    let newest_first = entries.iter().rev();
    let unanswered = newest_first.take_while(move |entry| !is_answer(entry));
    unanswered.map(|entry| entry.id.clone())
}
