//! The connection: one line in, one handler, one answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use stentor_agent::agent::Agent;
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Fault, Id, Incoming, RawJson, code, decode, encode};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::AcpOptions;
use super::client::Client;
use super::error::{Handled, Refusal};
use super::events;
use super::initialize;
use super::limits;
use super::open::{OpenSession, Opener};
use super::outbound::Outbound;
use super::setup::{self, SessionRef, params};
use crate::input::Input;
use crate::output::Output;

/// What one client has.
pub(super) struct Connection {
    pub agent: Agent,
    pub options: AcpOptions,
    pub output: Output,
    outbound: Outbound,
    /// Known from `initialize` on.
    client: Mutex<Option<Client>>,
    sessions: Mutex<HashMap<Arc<str>, Slot>>,
    working: Arc<Semaphore>,
}

/// A session of this connection.
#[derive(Clone)]
pub(super) enum Slot {
    /// It is being opened or closed; the token fires when that is over.
    Busy(CancellationToken),
    Open(Arc<OpenSession>),
}

impl Connection {
    pub fn new(agent: Agent, options: AcpOptions, output: Output) -> Self {
        Self {
            agent,
            options,
            output,
            outbound: Outbound::default(),
            client: Mutex::default(),
            sessions: Mutex::default(),
            working: Arc::new(Semaphore::new(limits::REQUESTS_AT_ONCE)),
        }
    }

    /// Handles one line. Anything that may take long is done beside the reading.
    pub async fn line(self: &Arc<Self>, line: Input) {
        let line = match line {
            Input::Line(line) => line,
            Input::TooLong => return self.fault(&Fault::invalid_request(None)).await,
            Input::InvalidUtf8 => return self.fault(&Fault::parse()).await,
        };
        if line.trim_matches(['\u{feff}', ' ', '\t', '\r']).is_empty() {
            return;
        }
        match decode(&line) {
            Incoming::Request { id, method, params } => self.request(id, &method, params).await,
            Incoming::Notification { method, params } => self.notification(&method, params),
            Incoming::Response { id, result } => self.outbound.answered(&id, result),
            Incoming::ResponseError { id, error } => self.outbound.refused(&id, error),
            Incoming::Error(fault) => self.fault(&fault).await,
            Incoming::Ignore { .. } => {}
        }
    }

    /// Ends everything: stops what runs and lets the last frames out if anybody reads them.
    pub async fn end(&self) {
        self.outbound.close();
        let slots: Vec<Slot> = self.lock().drain().map(|(_, slot)| slot).collect();
        let ending = slots.into_iter().filter_map(|slot| match slot {
            Slot::Open(open) => Some(tokio::spawn(async move {
                open.close().await;
                let pump = open.take_pump();
                drop(open);
                if let Some(pump) = pump {
                    pump.await.ok();
                }
            })),
            Slot::Busy(_) => None,
        });
        let ending = futures_util::future::join_all(ending);
        tokio::time::timeout(limits::LAST_FRAMES, ending).await.ok();
    }

    /// The table of requests.
    async fn request(self: &Arc<Self>, id: Id, method: &str, raw: RawJson<'_>) {
        if method == method::INITIALIZE {
            let answer = self.initialize(raw);
            return self.answer(&id, answer).await;
        }
        if self.client().is_none() {
            let refusal = Refusal::new(
                code::INVALID_REQUEST,
                "Not initialized: the first request must be initialize.",
            );
            return self.answer::<()>(&id, Err(refusal)).await;
        }
        match method {
            method::AUTHENTICATE => {
                let answer = setup::authenticate(raw, &self.options.logins);
                self.answer(&id, answer).await;
            }
            // Nothing is kept by this connection that could be given up.
            method::LOGOUT => self.answer(&id, Ok(setup::nothing())).await,
            method::SESSION_PROMPT => self.prompt(id, raw).await,
            method::SESSION_NEW => {
                let wanted = setup::wanted(raw);
                self.work(
                    id,
                    |this, id| async move { this.new_session(id, wanted?).await },
                )
                .await;
            }
            method::SESSION_LOAD | method::SESSION_RESUME => {
                let tells_again = method == method::SESSION_LOAD;
                let wanted = setup::wanted(raw).and_then(|wanted| {
                    let session: SessionRef = params(raw)?;
                    Ok((session.session_id, wanted))
                });
                let wanted = wanted.map(|(session, wanted)| {
                    // From here on, what is meant for the session waits until it is open.
                    let busy = self.occupy(&session);
                    (session, wanted, busy)
                });
                self.work(id, move |this, id| async move {
                    let (session, wanted, busy) = wanted?;
                    this.reopen(id, session, wanted, busy, tells_again).await
                })
                .await;
            }
            method::SESSION_LIST => {
                let wanted = params(raw);
                self.respond(id, |this| async move { this.list(wanted?).await })
                    .await;
            }
            method::SESSION_CLOSE => {
                let session = params::<SessionRef>(raw);
                self.work(id, |this, id| async move {
                    this.close(id, &session?.session_id).await
                })
                .await;
            }
            method::SESSION_DELETE => {
                let session = params::<SessionRef>(raw);
                self.respond(
                    id,
                    |this| async move { this.delete(&session?.session_id).await },
                )
                .await;
            }
            method::SESSION_SET_MODE => {
                let (wanted, order) = (params(raw), self.in_order(raw));
                self.work(id, |this, id| async move {
                    let _made = in_turn(order).await;
                    this.set_mode(id, wanted?).await
                })
                .await;
            }
            method::SESSION_SET_CONFIG_OPTION => {
                let (wanted, order) = (params(raw), self.in_order(raw));
                self.work(id, |this, id| async move {
                    let _made = in_turn(order).await;
                    this.set_option(id, wanted?).await
                })
                .await;
            }
            method::SESSION_SET_MODEL => {
                let (wanted, order) = (params(raw), self.in_order(raw));
                self.work(id, |this, id| async move {
                    let _made = in_turn(order).await;
                    this.set_model(id, wanted?).await
                })
                .await;
            }
            method::SESSION_STEERING => {
                let session = params::<SessionRef>(raw);
                let prompt = params(raw);
                self.respond(id, |this| async move {
                    let open = this.session(&session?.session_id).await?;
                    open.steer(prompt?).await
                })
                .await;
            }
            _ => {
                let refusal = Refusal::method_not_found(method);
                self.answer::<()>(&id, Err(refusal)).await;
            }
        }
    }

    /// Known notifications are heard, all others ignored.
    fn notification(&self, method: &str, raw: RawJson<'_>) {
        match method {
            method::SESSION_CANCEL => {
                if let Ok(session) = params::<SessionRef>(raw)
                    && let Some(Slot::Open(open)) = self.slot(&session.session_id)
                {
                    open.cancel(None);
                }
            }
            method::CANCEL_REQUEST => {
                if let Ok(request) = params::<setup::RequestRef>(raw) {
                    let slots: Vec<Slot> = self.lock().values().cloned().collect();
                    for slot in slots {
                        if let Slot::Open(open) = slot {
                            open.cancel(Some(&request.request_id));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn initialize(&self, raw: RawJson<'_>) -> Handled<impl Serialize + use<>> {
        let client = initialize::read(raw)?;
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        Ok(initialize::answer(
            client,
            &self.options.logins,
            self.options.tool_servers.is_some(),
        ))
    }

    /// A prompt is taken in the order of the lines, so that a cancel behind it finds its turn.
    async fn prompt(self: &Arc<Self>, id: Id, raw: RawJson<'_>) {
        let session = params::<SessionRef>(raw);
        let prompt = params(raw);
        let taken = match session {
            Err(refusal) => Err(refusal),
            Ok(session) => match self.slot(&session.session_id) {
                None => Err(Refusal::unknown_session(&session.session_id)),
                Some(Slot::Open(open)) => {
                    prompt.and_then(|prompt| open.prompt(id.clone(), prompt, self.wants_login()))
                }
                Some(Slot::Busy(_)) => {
                    return self
                        .work(id, |this, id| async move {
                            let open = this.session(&session.session_id).await?;
                            open.prompt(id, prompt?, this.wants_login())
                        })
                        .await;
                }
            },
        };
        if let Err(refusal) = taken {
            self.answer::<()>(&id, Err(refusal)).await;
        }
    }

    /// The place of a change among the changes of its session, if that is open.
    fn in_order(&self, raw: RawJson<'_>) -> Option<(CancellationToken, DropGuard)> {
        let session: SessionRef = params(raw).ok()?;
        match self.slot(&session.session_id)? {
            Slot::Open(open) => Some(open.order.enter()),
            Slot::Busy(_) => None,
        }
    }

    /// Does the work of a request beside the reading, and answers with what it gives.
    async fn respond<T, F>(self: &Arc<Self>, id: Id, work: impl FnOnce(Arc<Self>) -> F)
    where
        T: Serialize + Send + Sync,
        F: Future<Output = Handled<T>> + Send + 'static,
    {
        let this = Arc::clone(self);
        let work = work(Arc::clone(self));
        self.beside(async move {
            let result = work.await;
            this.answer(&id, result).await;
        })
        .await;
    }

    /// Does the work of a request beside the reading. It answers by itself, unless it fails.
    async fn work<F>(self: &Arc<Self>, id: Id, work: impl FnOnce(Arc<Self>, Id) -> F)
    where
        F: Future<Output = Handled<()>> + Send + 'static,
    {
        let this = Arc::clone(self);
        let work = work(Arc::clone(self), id.clone());
        self.beside(async move {
            if let Err(refusal) = work.await {
                this.answer::<()>(&id, Err(refusal)).await;
            }
        })
        .await;
    }

    async fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.working).acquire_owned().await else {
            return;
        };
        tokio::spawn(async move {
            work.await;
            drop(permit);
        });
    }

    /// Answers a request that belongs to no session, or whose session has nothing to say about it.
    pub async fn answer<T: Serialize>(&self, id: &Id, answer: Handled<T>) {
        let mut frames = Vec::new();
        match answer {
            Ok(result) => events::result(&mut frames, id, &result),
            Err(refusal) => refusal.write(&mut frames, id),
        }
        // A client that closed the pipe misses nothing.
        self.output.send(&frames).await.ok();
    }

    async fn fault(&self, fault: &Fault) {
        let mut frames = Vec::new();
        let (code, message) = (fault.code, fault.message);
        if encode::error(&mut frames, fault.id.as_ref(), code, message, None).is_ok() {
            frames.push(b'\n');
            self.output.send(&frames).await.ok();
        }
    }

    /// What opening a session needs.
    pub fn opener(&self) -> Opener {
        Opener {
            agent: self.agent.clone(),
            tool_servers: self.options.tool_servers.clone(),
            client: self.client().unwrap_or_default(),
            output: self.output.clone(),
            outbound: self.outbound.clone(),
        }
    }

    /// The open session of that id; one that is being opened is waited for.
    pub async fn session(&self, id: &str) -> Handled<Arc<OpenSession>> {
        loop {
            match self.slot(id) {
                None => return Err(Refusal::unknown_session(id)),
                Some(Slot::Open(open)) => return Ok(open),
                Some(Slot::Busy(over)) => over.cancelled().await,
            }
        }
    }

    /// Marks a session as being opened. Gives what was there, and what to fire when it is over.
    pub fn occupy(&self, id: &str) -> (Option<Slot>, CancellationToken) {
        let token = CancellationToken::new();
        let before = self.lock().insert(Arc::from(id), Slot::Busy(token.clone()));
        (before, token)
    }

    pub fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Slot>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, id: &str) -> Option<Slot> {
        self.lock().get(id).cloned()
    }

    fn client(&self) -> Option<Client> {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a missing login is answered with the code for it (section 4).
    fn wants_login(&self) -> bool {
        !self.options.logins.is_empty() && self.client().is_some_and(|client| client.terminal_login)
    }
}

/// Waits until it is this change's turn. What is given back lets the next one go when it is
/// dropped.
async fn in_turn(order: Option<(CancellationToken, DropGuard)>) -> Option<DropGuard> {
    let (before, made) = order?;
    before.cancelled().await;
    Some(made)
}
