//! The reader of the connection: one line in, and what is to be done about it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use stentor_agent::agent::Agent;
use stentor_agent::tasks;
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Fault, Id, Incoming, RawJson, code, decode, encode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::AcpOptions;
use super::calls::one_line;
use super::client::AcpClient;
use super::cursor;
use super::error::{AcpResult, Refusal};
use super::frames;
use super::initialize;
use super::limits;
use super::listing;
use super::opening::blocking;
use super::outbound::Outbound;
use super::params::{
    self, ModeParams, ModelParams, OptionParams, PromptParams, RequestRef, RequestedSession,
    SessionRef, TitleParams, params,
};
use super::request::{RequestKind, SessionRequest};
use super::sessions::AcpSessions;
use super::settings::SettingChange;
use super::turn::PromptRequest;
use crate::input::InputLine;
use crate::loaded::LoadedSessions;
use crate::output::Output;

/// What the reader has: everything that changes is its own.
pub(super) struct AcpReader {
    pub context: Arc<AcpContext>,
    pub sessions: AcpSessions,
    /// Known from `initialize` on.
    client: Option<AcpClient>,
    requests: Arc<Semaphore>,
    steering: Arc<Semaphore>,
}

/// What the reader and the tasks of the sessions share.
pub(super) struct AcpContext {
    pub agent: Agent,
    pub options: AcpOptions,
    pub output: Output,
    pub outbound: Outbound,
    pub loaded: LoadedSessions,
    /// Fires when an extension wants the program to end.
    pub shutdown: CancellationToken,
}

impl AcpContext {
    /// Answers a request that belongs to no session, or whose session is not open.
    pub async fn answer<T: Serialize>(&self, id: &Id, answer: AcpResult<T>) {
        let mut out = Vec::new();
        frames::answer(&mut out, id, answer);
        // A client that closed the pipe misses nothing.
        self.output.send(&out).await.ok();
    }

    async fn forget_logins(&self) -> AcpResult<Map<String, Value>> {
        if let Some(login) = &self.options.login {
            let forgotten = login.forget_all().await;
            forgotten
                .map_err(|why| Refusal::internal(format!("Not everything is forgotten: {why}")))?;
        }
        Ok(params::nothing())
    }

    /// Whether a missing login is answered with the code for it (section 4).
    pub fn wants_login(&self, client: AcpClient) -> bool {
        !self.options.logins.is_empty() && client.terminal_login
    }
}

impl AcpReader {
    pub fn new(agent: Agent, options: AcpOptions, output: Output) -> Self {
        let context = Arc::new(AcpContext {
            agent,
            options,
            output,
            outbound: Outbound::default(),
            loaded: LoadedSessions::new(limits::MAX_LOADED),
            shutdown: CancellationToken::new(),
        });
        Self {
            sessions: AcpSessions::new(Arc::clone(&context)),
            context,
            client: None,
            requests: Arc::new(Semaphore::new(limits::REQUESTS_AT_ONCE)),
            steering: Arc::new(Semaphore::new(limits::STEERING_AT_ONCE)),
        }
    }

    /// Handles one line. Anything that may take long is done by a task.
    pub async fn line(&mut self, line: InputLine) {
        let line = match line {
            InputLine::Line(line) => line,
            InputLine::TooLong => {
                let reason = "The line is longer than 64 MiB and was skipped.";
                return self.fault(&Fault::invalid_request(None, reason)).await;
            }
            InputLine::InvalidUtf8 => {
                return self.fault(&Fault::parse("The line is not UTF-8.")).await;
            }
        };
        if line.trim_matches(['\u{feff}', ' ', '\t', '\r']).is_empty() {
            return;
        }
        match decode(&line) {
            Incoming::Request { id, method, params } => self.request(id, &method, params).await,
            Incoming::Notification { method, params } => {
                self.notification(&method, params).await;
            }
            Incoming::Response { id, result } => self.context.outbound.answered(&id, result),
            Incoming::ResponseError { id, error } => self.context.outbound.refused(&id, error),
            Incoming::Error(fault) => self.fault(&fault).await,
            Incoming::Ignore { .. } => {}
        }
    }

    /// Ends everything: stops what runs and lets the last frames out if anybody reads them.
    pub async fn end(&mut self) {
        self.context.outbound.close();
        self.sessions.end().await;
    }

    /// Requests that no session is needed for. All others are its task's.
    async fn request(&mut self, id: Id, method: &str, raw: RawJson<'_>) {
        if method == method::INITIALIZE {
            let answer = self.initialize(raw);
            return self.context.answer(&id, answer).await;
        }
        let Some(client) = self.client else {
            let refusal = Refusal::new(
                code::INVALID_REQUEST,
                "Not initialized: the first request must be initialize.",
            );
            return self.context.answer::<()>(&id, Err(refusal)).await;
        };
        let refused = match method {
            method::AUTHENTICATE => {
                let answer = params::authenticate(raw, &self.context.options.logins);
                self.context.answer(&id, answer).await;
                None
            }
            method::LOGOUT => {
                self.log_out(id.clone()).await;
                None
            }
            method::SESSION_LIST => self.list(id.clone(), raw).await.err(),
            method::SESSION_STATUS => self.status(id.clone(), raw).await.err(),
            _ => self.session_request(&id, client, method, raw).await.err(),
        };
        if let Some(refusal) = refused {
            self.context.answer::<()>(&id, Err(refusal)).await;
        }
    }

    /// Puts a request into the mailbox of its session. What opens, closes or deletes a session stops
    /// what goes on in it, but only when it is not refused, which is for the task to say.
    async fn session_request(
        &mut self,
        id: &Id,
        client: AcpClient,
        method: &str,
        raw: RawJson<'_>,
    ) -> AcpResult<()> {
        let (session, kind, permit) = match method {
            method::SESSION_NEW => {
                let wanted = self.wanted(raw)?;
                let session = self.context.agent.environment().clock.session_id();
                (session, RequestKind::New(wanted), self.permit().await)
            }
            method::SESSION_LOAD | method::SESSION_RESUME => {
                let wanted = self.wanted(raw)?;
                let SessionRef { session_id } = params(raw)?;
                let replays = method == method::SESSION_LOAD;
                let after = cursor::wanted(raw)?.after;
                let kind = RequestKind::Reopen {
                    wanted,
                    replays,
                    after,
                };
                (session_id, kind, self.permit().await)
            }
            method::SESSION_FORK => {
                let wanted = self.wanted(raw)?;
                let SessionRef { session_id: source } = params(raw)?;
                let session = self.context.agent.environment().clock.session_id();
                let kind = RequestKind::Fork { wanted, source };
                (session, kind, self.permit().await)
            }
            method::SESSION_SET_TITLE => {
                let TitleParams { session_id, title } = params(raw)?;
                let title = one_line(&title);
                if title.is_empty() {
                    return Err(Refusal::invalid_params("title must not be empty"));
                }
                (session_id, RequestKind::Title(title), self.permit().await)
            }
            method::SESSION_DELETE => {
                let SessionRef { session_id } = params(raw)?;
                (session_id, RequestKind::Delete, self.permit().await)
            }
            method::SESSION_CLOSE => {
                let session = self.known(raw)?;
                self.sessions.cancel(&session);
                (session, RequestKind::Close, self.permit().await)
            }
            method::SESSION_PROMPT => {
                let (session, prompt) = (self.known(raw)?, params::<PromptParams>(raw)?);
                let request = PromptRequest::new(id.clone(), prompt.meta.as_ref());
                (session, RequestKind::Prompt(request, prompt), None)
            }
            method::SESSION_STEERING => {
                let (session, prompt) = (self.known(raw)?, params(raw)?);
                // Its files may have to be asked of the client, whose answers must be read
                // meanwhile: so one too many is refused instead of waited for.
                let permit = Arc::clone(&self.steering).try_acquire_owned();
                let permit = permit.map_err(|_| {
                    Refusal::internal("Too many steering messages at once: wait for their answers.")
                })?;
                (session, RequestKind::Steer(prompt), Some(permit))
            }
            method::SESSION_SET_MODE => {
                let session = self.known(raw)?;
                let ModeParams { mode_id } = params(raw)?;
                (
                    session,
                    RequestKind::Set(SettingChange::Mode(mode_id)),
                    None,
                )
            }
            method::SESSION_SET_MODEL => {
                let session = self.known(raw)?;
                let ModelParams { model_id } = params(raw)?;
                (
                    session,
                    RequestKind::Set(SettingChange::Model(model_id)),
                    None,
                )
            }
            method::SESSION_SET_CONFIG_OPTION => {
                let session = self.known(raw)?;
                let OptionParams {
                    config_id: id,
                    value,
                } = params(raw)?;
                (
                    session,
                    RequestKind::Set(SettingChange::Option { id, value }),
                    None,
                )
            }
            _ => return Err(Refusal::method_not_found(method)),
        };
        let request = SessionRequest {
            id: id.clone(),
            client,
            kind,
            permit,
        };
        self.sessions.send(&session, request).await;
        Ok(())
    }

    fn wanted(&self, raw: RawJson<'_>) -> AcpResult<RequestedSession> {
        let AcpContext { agent, options, .. } = &*self.context;
        params::wanted(raw, &options.folders, |cwd| agent.can_make_folder(cwd))
    }

    /// Known notifications are heard, all others ignored. A cancel overtakes what waits in the
    /// mailbox.
    async fn notification(&mut self, method: &str, raw: RawJson<'_>) {
        match method {
            method::SESSION_CANCEL => {
                if let Ok(SessionRef { session_id }) = params(raw)
                    && !self.sessions.cancel(&session_id)
                {
                    // What runs is another client's, or goes on from an earlier process.
                    self.sessions.abort(&session_id).await;
                }
            }
            method::CANCEL_REQUEST => {
                if let Ok(RequestRef { request_id }) = params(raw) {
                    self.sessions.cancel_request(&request_id);
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, raw: RawJson<'_>) -> AcpResult<impl Serialize + use<>> {
        let client = initialize::read(raw)?;
        self.client = Some(client);
        let stores_sessions = self.context.agent.keeps_sessions();
        let logins = &self.context.options.logins;
        Ok(initialize::answer(client, logins, stores_sessions))
    }

    async fn list(&self, id: Id, raw: RawJson<'_>) -> AcpResult<()> {
        let wanted = params(raw)?;
        let open = self.sessions.ids();
        let permit = self.permit().await;
        let context = Arc::clone(&self.context);
        tasks::spawn(async move {
            let (agent, folders) = (context.agent.clone(), context.options.folders.clone());
            let page = blocking(move || listing::page(&agent, &wanted, &open, &folders)).await;
            let page = page.and_then(|page| page);
            context.answer(&id, page).await;
            drop(permit);
        });
        Ok(())
    }

    /// Forgets the logins that are stored. Keys of the configuration are the user's to remove.
    async fn log_out(&self, id: Id) {
        let permit = self.permit().await;
        let context = Arc::clone(&self.context);
        tasks::spawn(async move {
            let forgotten = context.forget_logins().await;
            context.answer(&id, forgotten).await;
            drop(permit);
        });
    }

    /// `session/status`: opens nothing.
    async fn status(&self, id: Id, raw: RawJson<'_>) -> AcpResult<()> {
        let SessionRef { session_id } = params(raw)?;
        let is_loaded = self.sessions.is_loaded(&session_id);
        let permit = self.permit().await;
        let context = Arc::clone(&self.context);
        tasks::spawn(async move {
            let status = listing::status(&context.agent, session_id, is_loaded).await;
            context.answer(&id, status).await;
            drop(permit);
        });
        Ok(())
    }

    /// The session that a request names, which must have been opened.
    fn known(&self, raw: RawJson<'_>) -> AcpResult<String> {
        let SessionRef { session_id } = params(raw)?;
        match self.sessions.contains(&session_id) {
            true => Ok(session_id),
            false => Err(Refusal::unknown_session(&session_id)),
        }
    }

    /// Waits until one more request may be worked on.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.requests).acquire_owned().await.ok()
    }

    async fn fault(&self, fault: &Fault) {
        let mut out = Vec::new();
        let (code, message) = (fault.code, fault.message);
        let data = json!({ "reason": fault.reason });
        if encode::error(&mut out, fault.id.as_ref(), code, message, Some(&data)).is_ok() {
            out.push(b'\n');
            self.context.output.send(&out).await.ok();
        }
    }
}
