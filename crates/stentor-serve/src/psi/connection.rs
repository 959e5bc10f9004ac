//! The task that reads: it judges lines, calls the sessions and hands the answers to the writer.
//!
//! Requests are served one after the other, so that quick ones are answered in their order. What
//! may take long is a task of its own that answers when it is done; then nothing waits for it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stentor_wire::edn::Value;
use stentor_wire::psi::{ErrorCode, Op, Refused, Request, TopicSet};

use super::error::OpError;
use super::item::{Cause, Part};
use super::live::Live;
use super::ops;
use super::params::Params;
use super::payload;
use super::pending::NotAccepted;
use super::shared::Shared;
use super::slash;
use super::trace::{Direction, Trace};
use crate::input::{Input, InputLines};

/// The reading end of a connection.
pub(super) struct Connection {
    pub shared: Arc<Shared>,
    /// The session that is meant when a request names none (section 7).
    pub focus: Option<Arc<Live>>,
    pub topics: TopicSet,
    /// A subscription was made before.
    pub subscribed: bool,
    /// The handshake was made (section 5).
    pub ready: bool,
    /// Why there is no first session.
    no_session: Option<String>,
    trace: Trace,
}

/// A request that was accepted.
pub(super) struct Ask<'a> {
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
pub(super) enum Outcome {
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
pub(super) type Handled = Result<Outcome, OpError>;

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
        Ok(Outcome::Now(done))
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
            Ok(Outcome::Now(done)) => self.done(done).await,
            Ok(Outcome::Later) => {}
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
            return done.map(Outcome::Now);
        }
        let answerer = self.clone();
        tokio::spawn(async move {
            match work.await {
                Ok(done) => answerer.done(done).await,
                Err(error) => answerer.failed(error).await,
            }
        });
        Ok(Outcome::Later)
    }
}

impl Connection {
    pub fn new(shared: Arc<Shared>, trace: Trace) -> Self {
        Self {
            shared,
            focus: None,
            topics: TopicSet::default(),
            subscribed: false,
            ready: false,
            no_session: None,
            trace,
        }
    }

    /// Starts the first session. Without one the client is served all the same and told why.
    pub async fn begin(&mut self) {
        let resume = self.shared.options.resume.clone();
        let live = match resume {
            Some(path) => ops::navigation::load(&self.shared, &path).await,
            None => self.first_session().await,
        };
        match live {
            Ok(live) => {
                let mut parts = vec![Part::attach(&live)];
                parts.push(Part::Focus(Arc::clone(&live)));
                self.focus = Some(live);
                self.shared.write(parts).await;
            }
            Err(error) => {
                tracing::error!("no session could be started: {}", error.message);
                self.no_session = Some(error.message);
            }
        }
    }

    async fn first_session(&self) -> Result<Arc<Live>, OpError> {
        let cwd = &self.shared.options.cwd;
        let options = self.shared.options_in(cwd)?;
        self.shared.start(options).await.map_err(OpError::from)
    }

    /// Serves until the client closes its end.
    pub async fn serve(&mut self, input: &mut InputLines) {
        while let Some(line) = input.next().await {
            let refused = match line {
                Input::Line(line) => {
                    self.trace.note(Direction::In, line.as_bytes());
                    self.line(&line).await
                }
                Input::TooLong => Err(bare("the line is longer than 16 MiB and was skipped")),
                Input::InvalidUtf8 => Err(bare("the line is not UTF-8 and was skipped")),
            };
            if let Err(refused) = refused {
                self.shared.write(vec![Part::Refused(refused)]).await;
            }
        }
    }

    /// Judges a line in the order of section 4 and serves it.
    async fn line(&mut self, line: &str) -> Result<(), Refused> {
        let request = Request::read(line)?;
        let is_handshake = request.op.as_str() == Some(Op::Handshake.as_str());
        if !self.ready && !is_handshake {
            return Err(request.refused(ErrorCode::NotReady, "handshake first"));
        }
        let (id, op) = request.names()?;
        match self.shared.pending.accept(id) {
            Ok(()) => {}
            Err(NotAccepted::Twice) => {
                let message = format!("the request {id} is still pending");
                return Err(request.refused(ErrorCode::InvalidId, message));
            }
            Err(NotAccepted::TooMany) => {
                let limit = self.shared.options.max_pending;
                let message = format!("{limit} requests are pending already; wait for answers");
                return Err(request.refused(ErrorCode::MaxPendingExceeded, message));
            }
        }
        let answerer = Answerer {
            shared: Arc::clone(&self.shared),
            id: id.into(),
            op: op.to_owned(),
        };
        let handled = self.accepted(&answerer, request.params.as_ref()).await;
        answerer.answer(handled).await;
        Ok(())
    }

    async fn accepted(&mut self, answerer: &Answerer, params: Option<&Value<'_>>) -> Handled {
        let params = Params::read(params)?;
        let op = Op::parse(&answerer.op);
        if op.is_none_or(Op::takes_session) {
            params.session_id()?;
        }
        let Some(op) = op else {
            return Err(OpError {
                code: ErrorCode::OpNotSupported,
                message: format!("unsupported op: {}", answerer.op),
                data: Some(payload::map(|data| {
                    let names: Vec<&str> = Op::ALL.iter().map(|op| op.as_str()).collect();
                    data.field("supported-ops", &names);
                })),
            });
        };
        let ask = Ask {
            params,
            answerer: answerer.clone(),
        };
        self.dispatch(op, &ask).await
    }

    /// The table of operations (section 9).
    async fn dispatch(&mut self, op: Op, ask: &Ask<'_>) -> Handled {
        match op {
            Op::Handshake => ops::transport::handshake(self, ask).await,
            Op::Ping => ops::transport::ping().into(),
            Op::Subscribe => ops::transport::subscribe(self, ask).await,
            Op::Unsubscribe => ops::transport::unsubscribe(self, ask),
            Op::QueryEql => ops::reading::query_eql(self, ask).await,
            Op::GetState => ops::reading::get_state(self, ask).await,
            Op::GetMessages => ops::reading::get_messages(self, ask).await,
            Op::GetSessionStats => ops::reading::get_session_stats(self, ask).await,
            Op::ListSessions => ops::reading::list_sessions(self, ask).await,
            Op::Prompt => ops::prompting::prompt(self, ask).await,
            Op::PromptWhileStreaming => ops::prompting::while_streaming(self, ask).await,
            Op::Steer => ops::prompting::steer(self, ask).await,
            Op::FollowUp => ops::prompting::follow_up(self, ask).await,
            Op::Interrupt => ops::prompting::interrupt(self, ask).await,
            Op::Abort => ops::prompting::abort(self, ask).await,
            Op::AbortRetry => ops::prompting::abort_retry(self, ask).await,
            Op::Command => slash::command(self, ask).await,
            Op::FrontendActionResult => slash::actions::result(self, ask).await,
            Op::NewSession => ops::navigation::new_session(self, ask).await,
            Op::SwitchSession => ops::navigation::switch_session(self, ask).await,
            Op::Fork => ops::navigation::fork(self, ask).await,
            Op::SetSessionName => ops::navigation::set_session_name(self, ask).await,
            Op::SetModel => ops::settings::set_model(self, ask).await,
            Op::CycleModel => ops::settings::cycle_model(self, ask).await,
            Op::SetThinkingLevel => ops::settings::set_thinking_level(self, ask).await,
            Op::CycleThinkingLevel => ops::settings::cycle_thinking_level(self, ask).await,
            Op::Compact => ops::settings::compact(self, ask).await,
            Op::SetAutoCompaction => ops::settings::set_auto_compaction(self, ask).await,
            Op::SetAutoRetry => ops::settings::set_auto_retry(self, ask).await,
            Op::LoginBegin => ops::login::begin(self, ask).await,
            Op::LoginComplete => ops::login::complete(self, ask),
            Op::ResolveDialog => ops::dialogs::resolve(self, ask).await,
            Op::CancelDialog => ops::dialogs::cancel(self, ask).await,
            Op::ListBackgroundJobs => ops::jobs::list(self, ask).await,
            Op::InspectBackgroundJob => ops::jobs::inspect(self, ask).await,
            Op::CancelBackgroundJob => ops::jobs::cancel(self, ask).await,
            Op::Bash => ops::shell::bash(self, ask).await,
            Op::AbortBash => ops::shell::abort_bash(self, ask).await,
            Op::ExportHtml => ops::export::export_html(self, ask).await,
            Op::GetForkMessages => ops::reading::get_fork_messages(self, ask).await,
            Op::GetLastAssistantText => ops::reading::get_last_assistant_text(self, ask).await,
            Op::GetCommands => ops::reading::get_commands(self, ask).await,
            Op::GetAvailableModels => ops::reading::get_available_models(self),
        }
    }

    /// The session a request is meant for (section 7).
    pub async fn target(&self, ask: &Ask<'_>) -> Result<Arc<Live>, OpError> {
        match ask.params.session_id()? {
            Some(id) => self.shared.live(id).await?.ok_or_else(|| {
                OpError::new(ErrorCode::NotFound, format!("there is no session {id}"))
            }),
            None => self.focused(),
        }
    }

    /// The focused session.
    pub fn focused(&self) -> Result<Arc<Live>, OpError> {
        let first = || self.shared.sessions().into_iter().next();
        self.focus.clone().or_else(first).ok_or_else(|| {
            let why = self.no_session.as_deref().unwrap_or("none was started");
            OpError::new(ErrorCode::NotFound, format!("there is no session: {why}"))
        })
    }
}

impl<'a> Params<'a> {
    /// The session that is named (check 14).
    pub fn session_id(self) -> Result<Option<&'a str>, OpError> {
        match self.get("session-id") {
            None => Ok(None),
            Some(Value::Str(id)) if !id.trim().is_empty() => Ok(Some(id)),
            Some(_) => Err(OpError::params(":session-id must be a non-blank string")),
        }
    }
}

fn bare(message: &str) -> Refused {
    Refused {
        code: ErrorCode::InvalidFrame,
        message: message.to_owned(),
        id: None,
        op: None,
    }
}
