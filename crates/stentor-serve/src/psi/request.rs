//! A request that was accepted, and how it is answered.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stentor_agent::tasks;
use stentor_wire::edn::EdnWriter;
use stentor_wire::psi::ErrorCode;

use super::connection::Connection;
use super::error::OpError;
use super::item::{Cause, Part};
use super::live::Live;
use super::params::Params;
use super::payload;
use super::shared::Shared;

/// A request that was accepted.
pub(super) struct Call<'a> {
    pub connection: &'a mut Connection,
    pub params: Params<'a>,
    pub answerer: Answerer,
}

/// Answers one request, from wherever.
#[derive(Clone)]
pub(super) struct Answerer {
    pub shared: Arc<Shared>,
    pub id: Arc<str>,
    pub op: String,
}

/// What an operation did.
pub(super) enum Answered {
    Now(Done),
    /// A task of its own answers.
    Later,
}

/// An answer and what goes with it.
#[derive(Default)]
pub(super) struct Done {
    /// The session whose events so far come before the answer.
    pub session: Option<Arc<Live>>,
    pub before: Vec<Part>,
    /// One written form.
    pub data: Option<Vec<u8>>,
    pub after: Vec<Part>,
}

/// The result of an operation.
pub(super) type Handled = Result<Answered, OpError>;

impl Done {
    /// An answer with a payload.
    pub fn data(data: Vec<u8>) -> Self {
        Self {
            data: Some(data),
            ..Self::default()
        }
    }

    /// `{:accepted true}`.
    pub fn accepted() -> Self {
        Self::data(payload::map(|data| {
            data.field("accepted", &true);
        }))
    }

    /// The same, after the events of a session so far.
    #[must_use]
    pub fn of(mut self, live: &Arc<Live>) -> Self {
        self.session = Some(Arc::clone(live));
        self
    }

    /// The same, behind other parts.
    #[must_use]
    pub fn behind(mut self, parts: Vec<Part>) -> Self {
        self.before.extend(parts);
        self
    }
}

impl From<Done> for Handled {
    fn from(done: Done) -> Self {
        Ok(Answered::Now(done))
    }
}

impl Answerer {
    pub fn cause(&self) -> Cause {
        Some(Arc::clone(&self.id))
    }

    pub async fn done(&self, done: Done) {
        let after = done.session.map(|live| live.after_all());
        let mut parts = done.before;
        parts.push(Part::Response {
            id: Arc::clone(&self.id),
            op: self.op.clone(),
            data: done.data,
        });
        parts.extend(done.after);
        self.shared.hand_over(after, parts).await;
    }

    pub async fn failed(&self, error: OpError) {
        let (id, op) = (Arc::clone(&self.id), self.op.clone());
        self.shared.write(vec![Part::Error { id, op, error }]).await;
    }

    pub async fn answer(&self, handled: Handled) {
        match handled {
            Ok(Answered::Now(done)) => self.done(done).await,
            Ok(Answered::Later) => {}
            Err(error) => self.failed(error).await,
        }
    }

    /// Serves a request in a task of its own, unless it can be answered at once.
    ///
    /// The work is begun here, before the next request is read: what it asks of a session is asked
    /// in the order of the requests, so that an abort right behind stops it.
    pub fn later(
        &self,
        work: impl Future<Output = Result<Done, OpError>> + Send + 'static,
    ) -> Handled {
        let mut work = Box::pin(work);
        // The task polls it again at once, so nobody has to be woken for this first time.
        let mut begun = Context::from_waker(Waker::noop());
        if let Poll::Ready(done) = work.as_mut().poll(&mut begun) {
            return done.map(Answered::Now);
        }
        let answerer = self.clone();
        tasks::spawn(async move {
            match work.await {
                Ok(done) => answerer.done(done).await,
                Err(error) => answerer.failed(error).await,
            }
        });
        Ok(Answered::Later)
    }
}

impl Call<'_> {
    /// The session it is meant for (section 7).
    pub async fn target(&self) -> Result<Arc<Live>, OpError> {
        let connection = &*self.connection;
        match self.params.session_id()? {
            Some(id) => connection.shared.live(id).await?.ok_or_else(|| {
                OpError::new(ErrorCode::NotFound, format!("there is no session {id}"))
            }),
            None => connection.focused(),
        }
    }

    /// An answer with a payload that `fill` writes, after the events of a session so far.
    pub fn answer(&self, live: &Arc<Live>, fill: impl FnOnce(&mut EdnWriter<'_>)) -> Handled {
        Done::data(payload::map(fill)).of(live).into()
    }

    /// `{:accepted true}`, after the events of a session so far.
    pub fn accept(&self, live: &Arc<Live>) -> Handled {
        Done::accepted().of(live).into()
    }
}
