//! The task that reads: it judges lines, calls the sessions and hands the answers to the writer.
//!
//! Requests are served one after the other, so that quick ones are answered in their order. What
//! may take long is a task of its own that answers when it is done; then nothing waits for it.

use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_wire::edn::{Fields, Value};
use stentor_wire::psi::{ErrorCode, Op, Refused, Request, TopicSet, frame};

use super::error::OpError;
use super::item::ItemPart;
use super::live::PsiSession;
use super::ops;
use super::params::OpParams;
use super::payload;
use super::request::NotAccepted;
use super::request::{OpCall, OpResult, RequestAnswerer};
use super::shared::PsiShared;
use super::trace::{self, Trace};
use crate::input::{InputLine, InputLines};

/// The reading end of a connection.
pub(super) struct PsiConnection {
    pub shared: Arc<PsiShared>,
    /// The session that is meant when a request names none (section 7).
    pub focus: Option<Arc<PsiSession>>,
    pub topics: TopicSet,
    /// A subscription was made before.
    pub subscribed: bool,
    /// The handshake was made (section 5).
    pub ready: bool,
    /// Why there is no first session.
    no_session: Option<String>,
    trace: Trace,
}

impl PsiConnection {
    pub fn new(shared: Arc<PsiShared>, trace: Trace) -> Self {
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

    /// Starts the first session. Without one the client is served all the same, and requests are answered with why.
    pub async fn begin(&mut self) {
        let resume = self.shared.options.resume.clone();
        let live = match resume {
            Some(path) => ops::navigation::load(&self.shared, &path).await,
            None => self.first_session().await,
        };
        match live {
            Ok(live) => {
                let parts = vec![ItemPart::attach(&live), ItemPart::Focus(Arc::clone(&live))];
                self.focus = Some(live);
                self.shared.write(parts).await;
            }
            Err(error) => {
                tracing::error!("no session could be started: {}", error.message);
                self.no_session = Some(error.message);
            }
        }
    }

    async fn first_session(&self) -> Result<Arc<PsiSession>, OpError> {
        let cwd = &self.shared.options.cwd;
        let options = self.shared.options_in(cwd).await?;
        self.shared.start(options, Agent::start_first).await
    }

    /// Serves until the client closes its end.
    pub async fn serve(&mut self, input: &mut InputLines) {
        while let Some(line) = input.next().await {
            let refused = match line {
                InputLine::Line(line) => {
                    self.trace.note(trace::IN, line.as_bytes()).await;
                    self.line(&line).await
                }
                InputLine::TooLong => Err(bare("the line is longer than 16 MiB and was skipped")),
                InputLine::InvalidUtf8 => Err(bare("the line is not UTF-8 and was skipped")),
            };
            if let Err(refused) = refused {
                let mut answer = Vec::new();
                frame::refusal(&mut answer, &refused);
                self.shared
                    .write(vec![ItemPart::Answer(None, answer)])
                    .await;
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
        let answerer = RequestAnswerer {
            shared: Arc::clone(&self.shared),
            id: id.into(),
            op: op.to_owned(),
        };
        let handled = self.accepted(&answerer, request.params.as_ref()).await;
        answerer.answer(handled).await;
        Ok(())
    }

    async fn accepted(
        &mut self,
        answerer: &RequestAnswerer,
        params: Option<&Value<'_>>,
    ) -> OpResult {
        let params = OpParams::read(params)?;
        let op = Op::parse(&answerer.op);
        if op.is_none_or(Op::takes_session) {
            params.session_id()?;
        }
        let Some(op) = op else {
            let names: Vec<&str> = Op::ALL.iter().map(|op| op.as_str()).collect();
            return Err(OpError {
                code: ErrorCode::OpNotSupported,
                message: format!("unsupported op: {}", answerer.op),
                data: Some(payload::form(&Fields(&[("supported-ops", &names)]))),
            });
        };
        let answerer = answerer.clone();
        let mut call = OpCall {
            connection: self,
            params,
            answerer,
        };
        ops::dispatch(op, &mut call).await
    }

    /// The focused session.
    pub fn focused(&self) -> Result<Arc<PsiSession>, OpError> {
        let first = || self.shared.sessions().into_iter().next();
        self.focus.clone().or_else(first).ok_or_else(|| {
            let why = self.no_session.as_deref().unwrap_or("none was started");
            OpError::new(ErrorCode::NotFound, format!("there is no session: {why}"))
        })
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
