//! A request that was accepted, how it is answered, and which are not answered yet (section 6).

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use stentor_agent::tasks;
use stentor_wire::edn::{Fields, WriteEdn};
use stentor_wire::psi::ErrorCode;
use stentor_wire::psi::frame::{self, ErrorContext};

use super::connection::PsiConnection;
use super::error::OpError;
use super::item::ItemPart;
use super::live::PsiSession;
use super::params::OpParams;
use super::payload;
use super::shared::{PsiShared, lock};

/// A request that was accepted.
pub(super) struct OpCall<'a> {
    pub connection: &'a mut PsiConnection,
    pub params: OpParams<'a>,
    pub answerer: RequestAnswerer,
}

/// Answers one request, from wherever.
#[derive(Clone)]
pub(super) struct RequestAnswerer {
    pub shared: Arc<PsiShared>,
    pub id: Arc<str>,
    pub op: String,
}

/// An answer and what goes with it.
#[derive(Default)]
pub(super) struct OpDone {
    /// The session whose events so far come before the answer.
    pub session: Option<Arc<PsiSession>>,
    pub before: Vec<ItemPart>,
    /// One written form.
    pub data: Option<Vec<u8>>,
    pub after: Vec<ItemPart>,
}

/// The result of an operation; nothing where a task of its own answers.
pub(super) type OpResult = Result<Option<OpDone>, OpError>;

impl OpDone {
    /// An answer with a payload.
    pub fn data(data: Vec<u8>) -> Self {
        Self {
            data: Some(data),
            ..Self::default()
        }
    }

    /// An answer with a map.
    pub fn map(fields: &[(&str, &dyn WriteEdn)]) -> Self {
        Self::data(payload::form(&Fields(fields)))
    }

    /// `{:accepted true}`.
    pub fn accepted() -> Self {
        Self::map(&[("accepted", &true)])
    }

    /// The same, after the events of a session so far.
    #[must_use]
    pub fn of(mut self, live: &Arc<PsiSession>) -> Self {
        self.session = Some(Arc::clone(live));
        self
    }

    /// The same, behind other parts.
    #[must_use]
    pub fn behind(mut self, parts: Vec<ItemPart>) -> Self {
        self.before.extend(parts);
        self
    }
}

impl From<OpDone> for OpResult {
    fn from(done: OpDone) -> Self {
        Ok(Some(done))
    }
}

impl RequestAnswerer {
    pub async fn done(&self, done: OpDone) {
        let after = done.session.as_ref();
        let mut frame = Vec::new();
        frame::response(&mut frame, &self.id, &self.op, done.data.as_deref());
        let mut parts = done.before;
        parts.push(ItemPart::Answer(Some(Arc::clone(&self.id)), frame));
        parts.extend(done.after);
        self.write(after, parts).await;
    }

    /// Writes what the request causes, behind the events of a session so far.
    pub async fn write(&self, after: Option<&Arc<PsiSession>>, parts: Vec<ItemPart>) {
        let after = after.map(|live| live.after_all());
        let cause = Some(Arc::clone(&self.id));
        self.shared.hand_over(after, cause, parts).await;
    }

    pub async fn answer(&self, handled: OpResult) {
        match handled {
            Ok(Some(done)) => self.done(done).await,
            Ok(None) => {}
            Err(error) => {
                let context = ErrorContext {
                    id: Some(&self.id),
                    op: Some(&self.op),
                    data: error.data.as_deref(),
                };
                let mut frame = Vec::new();
                frame::error(&mut frame, error.code, &error.message, context);
                let answer = ItemPart::Answer(Some(Arc::clone(&self.id)), frame);
                self.write(None, vec![answer]).await;
            }
        }
    }

    /// Serves a request in a task of its own, unless it can be answered at once.
    ///
    /// The work is begun here, before the next request is read: what it asks of a session is asked
    /// in the order of the requests, so that an abort right behind stops it.
    pub fn later(
        &self,
        work: impl Future<Output = Result<OpDone, OpError>> + Send + 'static,
    ) -> OpResult {
        let mut work = Box::pin(work);
        // The task polls it again at once, so nobody has to be woken for this first time.
        let mut begun = Context::from_waker(Waker::noop());
        if let Poll::Ready(done) = work.as_mut().poll(&mut begun) {
            return done.map(Some);
        }
        let answerer = self.clone();
        tasks::spawn(async move { answerer.answer(work.await.map(Some)).await });
        Ok(None)
    }
}

impl OpCall<'_> {
    /// The session it is meant for (section 7).
    pub async fn target(&self) -> Result<Arc<PsiSession>, OpError> {
        let connection = &*self.connection;
        match self.params.session_id()? {
            Some(id) => connection.shared.live(id).await?.ok_or_else(|| {
                OpError::new(ErrorCode::NotFound, format!("there is no session {id}"))
            }),
            None => connection.focused(),
        }
    }

    pub fn shared(&self) -> &Arc<PsiShared> {
        &self.connection.shared
    }
}

/// Ids of accepted requests, until the first response or error with the id is written.
pub(super) struct PendingIds {
    limit: usize,
    ids: Mutex<HashSet<String>>,
}

/// Why a request is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAccepted {
    Twice,
    TooMany,
}

impl PendingIds {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ids: Mutex::default(),
        }
    }

    /// Accepts a request (checks 10 to 12).
    pub fn accept(&self, id: &str) -> Result<(), NotAccepted> {
        let mut ids = lock(&self.ids);
        if ids.contains(id) {
            return Err(NotAccepted::Twice);
        }
        if ids.len() >= self.limit {
            return Err(NotAccepted::TooMany);
        }
        ids.insert(id.to_owned());
        Ok(())
    }

    /// The request was answered.
    pub fn answered(&self, id: &str) {
        lock(&self.ids).remove(id);
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.ids).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_request_of_the_same_id_is_told_before_the_limit() {
        let pending = PendingIds::new(2);
        assert_eq!(pending.accept("a"), Ok(()));
        assert_eq!(pending.accept("b"), Ok(()));
        assert_eq!(pending.accept("a"), Err(NotAccepted::Twice));
        assert_eq!(pending.accept("c"), Err(NotAccepted::TooMany));
        pending.answered("a");
        pending.answered("never");
        assert_eq!(pending.accept("a"), Ok(()));
    }
}
