//! The connection: one line in, one handler, one answer.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::json;
use stentor_agent::agent::Agent;
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Fault, Id, Incoming, RawJson, code, decode, encode};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::AcpOptions;
use super::client::Client;
use super::error::{Handled, Refusal};
use super::events;
use super::initialize;
use super::limits;
use super::open::Opener;
use super::order::Turnstile;
use super::outbound::Outbound;
use super::prompting::Prompt;
use super::sessions::{Sessions, Slot};
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
    pub sessions: Arc<Sessions>,
    working: Arc<Semaphore>,
    steering: Arc<Semaphore>,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
}

impl Connection {
    pub fn new(agent: Agent, options: AcpOptions, output: Output) -> Self {
        Self {
            agent,
            options,
            output,
            outbound: Outbound::default(),
            client: Mutex::default(),
            sessions: Arc::default(),
            working: Arc::new(Semaphore::new(limits::REQUESTS_AT_ONCE)),
            steering: Arc::new(Semaphore::new(limits::STEERING_AT_ONCE)),
            shutdown: CancellationToken::new(),
        }
    }

    /// Handles one line. Anything that may take long is done beside the reading.
    pub async fn line(self: &Arc<Self>, line: Input) {
        let line = match line {
            Input::Line(line) => line,
            Input::TooLong => {
                let reason = "The line is longer than 64 MiB and was skipped.";
                return self.fault(&Fault::invalid_request(None, reason)).await;
            }
            Input::InvalidUtf8 => {
                return self.fault(&Fault::parse("The line is not UTF-8.")).await;
            }
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
        let ending = self.sessions.take_open().into_iter().map(|open| {
            tokio::spawn(async move {
                open.close().await;
                let pump = open.take_pump();
                drop(open);
                if let Some(pump) = pump {
                    pump.await.ok();
                }
            })
        });
        futures_util::future::join_all(ending).await;
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
                let wanted = setup::wanted(raw, &self.options.folders);
                self.work(
                    id,
                    |this, id| async move { this.new_session(id, wanted?).await },
                )
                .await;
            }
            method::SESSION_LOAD | method::SESSION_RESUME => {
                let tells_again = method == method::SESSION_LOAD;
                let wanted = setup::wanted(raw, &self.options.folders).and_then(|wanted| {
                    let session: SessionRef = params(raw)?;
                    Ok((session.session_id, wanted))
                });
                let wanted = wanted.map(|(session, wanted)| {
                    // From here on, what is meant for the session waits until it is open.
                    let occupied = self.sessions.occupy(&session);
                    (session, wanted, occupied)
                });
                self.work(id, move |this, id| async move {
                    let (session, wanted, occupied) = wanted?;
                    let reopened = this.reopen(id, session, wanted, occupied, tells_again);
                    reopened.await
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
                let occupied =
                    session.and_then(|session| self.sessions.occupy_known(&session.session_id));
                self.work(
                    id,
                    |this, id| async move { this.close(id, occupied?).await },
                )
                .await;
            }
            method::SESSION_DELETE => {
                let wanted = params::<SessionRef>(raw).map(|session| {
                    let occupied = self.sessions.occupy(&session.session_id);
                    (session.session_id, occupied)
                });
                self.respond(id, |this| async move {
                    let (session, occupied) = wanted?;
                    this.delete(&session, occupied).await
                })
                .await;
            }
            method::SESSION_SET_MODE => {
                let (wanted, place) = (params(raw), self.place_in_order(raw));
                self.work(id, |this, id| async move {
                    let _place = in_turn(place).await;
                    this.set_mode(id, wanted?).await
                })
                .await;
            }
            method::SESSION_SET_CONFIG_OPTION => {
                let (wanted, place) = (params(raw), self.place_in_order(raw));
                self.work(id, |this, id| async move {
                    let _place = in_turn(place).await;
                    this.set_option(id, wanted?).await
                })
                .await;
            }
            method::SESSION_SET_MODEL => {
                let (wanted, place) = (params(raw), self.place_in_order(raw));
                self.work(id, |this, id| async move {
                    let _place = in_turn(place).await;
                    this.set_model(id, wanted?).await
                })
                .await;
            }
            method::SESSION_STEERING => {
                self.steer(id, raw).await;
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
                    && let Some(slot) = self.sessions.slot(&session.session_id)
                {
                    slot.cancel(None);
                }
            }
            method::CANCEL_REQUEST => {
                if let Ok(request) = params::<setup::RequestRef>(raw) {
                    for slot in self.sessions.slots() {
                        slot.cancel(Some(&request.request_id));
                    }
                }
            }
            _ => {}
        }
    }

    fn initialize(&self, raw: RawJson<'_>) -> Handled<impl Serialize + use<>> {
        let client = initialize::read(raw)?;
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        let keeps_sessions = self.agent.keeps_sessions();
        Ok(initialize::answer(
            client,
            &self.options.logins,
            keeps_sessions,
        ))
    }

    /// A prompt is taken in the order of the lines, so that a cancel behind it finds its turn.
    async fn prompt(self: &Arc<Self>, id: Id, raw: RawJson<'_>) {
        let wanted = params::<SessionRef>(raw).and_then(|session| {
            let slot = self.sessions.slot(&session.session_id);
            let slot = slot.ok_or_else(|| Refusal::unknown_session(&session.session_id))?;
            Ok((session.session_id, slot, params::<Prompt>(raw)?))
        });
        let taken = match wanted {
            Err(refusal) => Err(refusal),
            Ok((_, Slot::Open(open), prompt)) => {
                let cancel = CancellationToken::new();
                open.prompt(id.clone(), prompt, cancel, self.wants_login())
            }
            Ok((session, slot, prompt)) => {
                return self.prompt_later(id, &session, &slot, prompt).await;
            }
        };
        if let Err(refusal) = taken {
            self.answer::<()>(&id, Err(refusal)).await;
        }
    }

    /// A prompt for a session that is being opened: it begins when the session is there, unless it
    /// is cancelled before.
    async fn prompt_later(self: &Arc<Self>, id: Id, session: &str, slot: &Slot, prompt: Prompt) {
        let order = Arc::clone(slot.order());
        let place = order.enter();
        let cancel = order.prompt_waits(&id);
        let session = session.to_owned();
        self.work(id, |this, id| async move {
            let opened = async {
                place.pass().await;
                this.sessions.open(&session).await
            };
            let opened = tokio::select! {
                biased;
                () = cancel.cancelled() => Ok(None),
                opened = opened => opened.map(Some),
            };
            let cancelled = prompt.cancelled();
            let begun = match opened {
                Ok(Some(open)) => {
                    open.prompt(id.clone(), prompt, cancel.clone(), this.wants_login())
                }
                Ok(None) => Err(Refusal::unknown_session(&session)),
                Err(refusal) => Err(refusal),
            };
            // Only now: until it has begun, this is where a cancel finds it.
            order.prompt_begun(&id);
            match begun {
                Err(_) if cancel.is_cancelled() => this.answer(&id, Ok(cancelled)).await,
                begun => begun?,
            }
            Ok(())
        })
        .await;
    }

    /// A message for the turn that runs. Its files may have to be asked of the client, whose
    /// answers must be read meanwhile: so one too many is refused instead of waited for.
    async fn steer(self: &Arc<Self>, id: Id, raw: RawJson<'_>) {
        let session = params::<SessionRef>(raw);
        let prompt = params(raw);
        let Ok(permit) = Arc::clone(&self.steering).try_acquire_owned() else {
            let refusal =
                Refusal::internal("Too many steering messages at once: wait for their answers.");
            return self.answer::<()>(&id, Err(refusal)).await;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let steered = async {
                let open = this.sessions.open(&session?.session_id).await?;
                open.steer(prompt?).await
            };
            let steered = steered.await;
            this.answer(&id, steered).await;
            drop(permit);
        });
    }

    /// The place of a change among the changes of its session.
    fn place_in_order(&self, raw: RawJson<'_>) -> Option<Turnstile> {
        let session: SessionRef = params(raw).ok()?;
        let slot = self.sessions.slot(&session.session_id)?;
        Some(slot.order().enter())
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
        let data = json!({ "reason": fault.reason });
        if encode::error(&mut frames, fault.id.as_ref(), code, message, Some(&data)).is_ok() {
            frames.push(b'\n');
            self.output.send(&frames).await.ok();
        }
    }

    /// What opening a session needs.
    pub fn opener(&self) -> Opener {
        Opener {
            shutdown: self.shutdown.clone(),
            agent: self.agent.clone(),
            client: self.client().unwrap_or_default(),
            output: self.output.clone(),
            outbound: self.outbound.clone(),
        }
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
async fn in_turn(place: Option<Turnstile>) -> Option<Turnstile> {
    if let Some(place) = &place {
        place.pass().await;
    }
    place
}
