//! A session that is open: its handle, its turn, what is written of it, and what is asked of it.

use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use stentor_agent::event::Queues;
use stentor_agent::model::ModelErrorKind;
use stentor_agent::session::{RunOptions, Session, SessionError};
use stentor_agent::tasks;
use stentor_journal::message::ContentBlock;
use stentor_wire::jsonrpc::{Id, code};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::client::AcpClient;
use super::client_io::ClientIo;
use super::commands::AcpBuiltin;
use super::connection::AcpContext;
use super::error::{AcpResult, Refusal};
use super::events::AcpEncoder;
use super::frames;
use super::opening::ReadySession;
use super::params::{PromptParams, nothing};
use super::prompt::{self, PreparedPrompt};
use super::request::SessionMessage;
use super::settings::{SessionSettings, SettingChange};
use super::turn::{AcpTurn, PromptEnd, PromptRequest, TurnStage};
use crate::loaded::Loaded;
use crate::output::Closed;
use crate::pump::Pump;

/// A session that is open. Everything in it is its task's alone; what takes long is done by tasks
/// that report back, so that a cancel is never kept waiting.
pub(super) struct AcpSession {
    pub session: Session,
    /// Writes what happens in the session; its encoder has the turn.
    pub pump: Pump<AcpEncoder>,
    context: Arc<AcpContext>,
    client_io: Arc<ClientIo>,
    /// Makes the prompt of the turn ready, or runs the command it is.
    work: JoinSet<TurnStepDone>,
    /// Messages for the turn whose prompt is still made ready.
    early: Vec<Steering>,
    /// Whether a missing login is answered with the code for it (section 4).
    wants_login: bool,
    loaded: Loaded,
    /// Has been asked to unload and cannot, until something else happens.
    stays_loaded: bool,
    /// Nothing can happen in it any more.
    is_over: bool,
}

/// What was done for a turn.
enum TurnStepDone {
    Prepared(AcpResult<PreparedPrompt>),
    /// A command; the text is for the person who asked for it.
    Ran(String),
}

/// A message for the turn that runs.
struct Steering {
    id: Id,
    prompt: PromptParams,
    permit: Option<OwnedSemaphorePermit>,
}

/// What a task has to do next about its open session.
pub(super) enum SessionTaskStep {
    /// `None` when there will be none any more.
    Message(Option<SessionMessage>),
    /// Others need the place.
    Unload,
}

impl AcpSession {
    pub fn new(
        context: Arc<AcpContext>,
        session: Session,
        pump: Pump<AcpEncoder>,
        client_io: Arc<ClientIo>,
        loaded: Loaded,
    ) -> Self {
        Self {
            session,
            pump,
            context,
            client_io,
            work: JoinSet::new(),
            early: Vec::new(),
            wants_login: false,
            loaded,
            stays_loaded: false,
            is_over: false,
        }
    }

    /// Writes what happens, and does what the turn needs, until something else is to be done. A
    /// turn that was cancelled is over by then.
    pub async fn next(&mut self, mailbox: &mut mpsc::Receiver<SessionMessage>) -> SessionTaskStep {
        loop {
            let turn = self.pump.encoder().turn.as_ref();
            let cancel = turn.map(|turn| turn.request.cancel.clone());
            match cancel.is_some() || self.stays_loaded {
                true => self.loaded.in_use(),
                false => self.loaded.idle(),
            }
            tokio::select! {
                () = fired(cancel.as_ref()) => self.cancel_turn().await,
                Some(done) = self.work.join_next() => self.done(done).await,
                stepped = self.pump.step(), if !self.is_over => self.stepped(stepped),
                // An answer is not written before what came before it is on its way.
                message = mailbox.recv(), if self.is_over || self.pump.is_handed_over() => {
                    self.stays_loaded = false;
                    self.loaded.in_use();
                    if cancel.is_some_and(|cancel| cancel.is_cancelled()) {
                        self.cancel_turn().await;
                    }
                    return SessionTaskStep::Message(message);
                }
                () = self.loaded.asked_to_unload() => return SessionTaskStep::Unload,
            }
        }
    }

    /// Writes what happens while `work` goes on, which must not wait for the client.
    pub async fn pumping<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                stepped = self.pump.step(), if !self.is_over => self.stepped(stepped),
            }
        }
    }

    fn stepped(&mut self, stepped: Result<bool, Closed>) {
        if !stepped.is_ok_and(|goes_on| goes_on) {
            self.is_over = true;
            let refusal = Refusal::internal("The session ended.");
            self.end_turn(PromptEnd::Refused(refusal));
        }
    }

    /// Stops what runs and ends the session. An open prompt is answered with `cancelled`. What
    /// happened so far has been handed over when this returns; what is given back writes the rest.
    pub async fn close(mut self) -> Pump<AcpEncoder> {
        self.cancel_turn().await;
        let session = self.session.clone();
        self.pumping(async move { session.close().await }).await;
        // Nobody reads it if the pipe is closed.
        self.pump.catch_up().await.ok();
        self.pump
    }

    /// Leaves the session to those who share it: what runs goes on. What happened so far has been
    /// handed over when this returns; what is given back writes the rest.
    pub async fn leave(mut self) -> Pump<AcpEncoder> {
        self.session.close().await;
        // Nobody reads it if the pipe is closed.
        self.pump.catch_up().await.ok();
        self.pump
    }

    /// Stops whatever runs, whoever began it.
    pub async fn abort(&mut self) {
        let session = self.session.clone();
        self.pumping(async move { session.abort().await.ok() })
            .await;
    }

    /// The session as it is, for a client that opens it while it is open.
    pub async fn ready(&mut self) -> AcpResult<ReadySession> {
        let (session, models) = (self.session.clone(), self.context.agent.models().clone());
        self.pumping(ReadySession::of(&session, &models)).await
    }

    /// True when everything about the session can be loaded again and nothing goes on in it.
    pub async fn may_unload(&mut self) -> bool {
        let encoder = self.pump.encoder();
        if encoder.turn.is_some()
            || encoder.has_lasting_answer
            || !encoder.questions.is_empty()
            || !self.session.jobs().list().is_empty()
        {
            return false;
        }
        let session = self.session.clone();
        let state = self.pumping(async move { session.state().await }).await;
        state.is_ok_and(|state| {
            !state.is_running
                && !state.is_compacting
                && *state.queues == Queues::default()
                && state.file.is_some_and(|file| file.is_file())
        })
    }

    /// It is not unloaded, although it was asked to.
    pub fn stay_loaded(&mut self) {
        self.stays_loaded = true;
    }

    /// Answers a request behind everything that happened so far.
    fn answer(&mut self, id: &Id, answer: AcpResult<impl Serialize>) {
        let after = self.session.seq();
        self.pump
            .write_after(after, |_, out| frames::answer(out, id, answer));
    }
}

/// Prompts and the turn.
impl AcpSession {
    /// Begins a turn. It is answered when it is over.
    pub fn prompt(&mut self, request: PromptRequest, prompt: PromptParams, client: AcpClient) {
        if self.pump.encoder().turn.is_some() {
            let after = self.session.seq();
            let busy = SessionError::Busy.into();
            return self
                .pump
                .write_after(after, |_, out| request.refuse(busy, out));
        }
        self.pump.encoder_mut().begin(AcpTurn::new(request));
        self.wants_login = self.context.wants_login(client);
        let (session, client_io) = (self.session.clone(), Arc::clone(&self.client_io));
        let models = Arc::clone(self.context.agent.models());
        let prepared = prompt::prepare(session, models, client_io, prompt);
        self.work
            .spawn(async move { TurnStepDone::Prepared(prepared.await) });
    }

    /// Ends the turn, if there is one, behind everything that happened so far.
    fn end_turn(&mut self, end: PromptEnd) {
        self.end_turn_with(None, end);
    }

    fn end_turn_with(&mut self, text: Option<&str>, end: PromptEnd) {
        let after = self.session.seq();
        self.pump.write_after(after, |encoder, out| {
            if let (Some(text), Some(_)) = (text, &encoder.turn) {
                encoder.own_message(text, out);
            }
            encoder.end_turn(end, out);
        });
        self.refuse_early();
    }

    /// No messages can be put into what the prompt has become.
    fn refuse_early(&mut self) {
        for steering in std::mem::take(&mut self.early) {
            self.answer(&steering.id, Ok(prompt::not_steered()));
        }
    }

    /// Ends the turn because the client wants it to end, or the session is closed. It is over when
    /// this returns.
    pub async fn cancel_turn(&mut self) {
        let Some(stage) = self.pump.encoder().turn.as_ref().map(|turn| turn.stage) else {
            return;
        };
        self.work.shutdown().await;
        let session = self.session.clone();
        match stage {
            TurnStage::Preparing => {}
            TurnStage::Compacting => {
                self.pumping(async move { session.abort().await.ok() })
                    .await;
            }
            TurnStage::Running { run, .. } => {
                self.pumping(async move {
                    // What was meant for this turn is not for the next one.
                    session.clear_queues().await.ok();
                    session.abort_run(run).await.ok();
                })
                .await;
            }
        }
        self.end_turn(PromptEnd::Cancelled);
    }

    async fn done(&mut self, done: Result<TurnStepDone, JoinError>) {
        match done {
            Ok(TurnStepDone::Prepared(Ok(PreparedPrompt::Run(content, options)))) => {
                self.run(content, options).await;
            }
            Ok(TurnStepDone::Prepared(Ok(PreparedPrompt::Builtin(command)))) => {
                self.run_builtin(command)
            }
            Ok(TurnStepDone::Prepared(Err(refusal))) => self.end_turn(PromptEnd::Refused(refusal)),
            Ok(TurnStepDone::Ran(text)) => self.end_turn_with(Some(&text), PromptEnd::Over),
            Err(error) => {
                let refusal = Refusal::internal(format!("Internal error: {error}"));
                self.end_turn(PromptEnd::Refused(refusal));
            }
        }
    }

    fn run_builtin(&mut self, command: AcpBuiltin) {
        if matches!(command, AcpBuiltin::Compact { .. }) {
            self.pump.encoder_mut().set_stage(TurnStage::Compacting);
        }
        self.refuse_early();
        let running = prompt::run_builtin(self.session.clone(), command);
        self.work
            .spawn(async move { TurnStepDone::Ran(running.await) });
    }

    async fn run(&mut self, content: Vec<ContentBlock>, options: RunOptions) {
        let session = self.session.clone();
        let prompted = async move { session.prompt_with(content, options).await };
        match self.pumping(prompted).await {
            Ok(accepted) => {
                let (run, after) = (accepted.run(), accepted.after());
                let goes_on = self.pump.encoder_mut().accepted(run, after);
                // The run begins here, when it is known whose it is.
                drop(accepted);
                if !goes_on {
                    self.end_turn(PromptEnd::Cancelled);
                }
                for steering in std::mem::take(&mut self.early) {
                    self.steer(steering.id, steering.prompt, steering.permit);
                }
            }
            Err(SessionError::Model(error))
                if self.wants_login && error.kind == ModelErrorKind::Auth =>
            {
                let refusal = Refusal::new(code::AUTH_REQUIRED, error.message);
                self.end_turn(PromptEnd::Refused(refusal));
            }
            // No model can be asked: a turn that failed, not a broken agent (section 6.5).
            Err(error @ (SessionError::NoModel | SessionError::Model(_))) => {
                self.end_turn_with(Some(&error.to_string()), PromptEnd::Over);
            }
            Err(error) => self.end_turn(PromptEnd::Refused(error.into())),
        }
    }

    /// Puts a message into the turn that runs. Its files may have to be asked of the client, so a
    /// task of its own does it and answers.
    pub fn steer(&mut self, id: Id, prompt: PromptParams, permit: Option<OwnedSemaphorePermit>) {
        let turn = self.pump.encoder().turn.as_ref();
        let turn = turn.map(|turn| (turn.stage, turn.request.cancel.clone()));
        let over = match turn {
            Some((TurnStage::Preparing, _)) => {
                self.early.push(Steering { id, prompt, permit });
                return;
            }
            Some((TurnStage::Running { .. }, over)) => over,
            Some((TurnStage::Compacting, _)) | None => {
                return self.answer(&id, Ok(prompt::not_steered()));
            }
        };
        let (session, client_io) = (self.session.clone(), Arc::clone(&self.client_io));
        let context = Arc::clone(&self.context);
        tasks::spawn(async move {
            let steered = prompt::steer(session, client_io, over, prompt).await;
            context.answer(&id, steered).await;
            drop(permit);
        });
    }
}

/// Settings.
impl AcpSession {
    /// Changes a setting and answers when it has changed.
    pub async fn set(&mut self, id: &Id, setting: SettingChange) {
        let has_options = matches!(setting, SettingChange::Option { .. });
        let has_title = matches!(setting, SettingChange::Title(_));
        let session = self.session.clone();
        let set = async move {
            setting.apply(&session).await?;
            // It has happened when the state has been read behind it.
            Ok(session.state().await?)
        };
        match self.pumping(set).await {
            Ok(state) if has_options => {
                let settings = SessionSettings::of(self.context.agent.models(), &state);
                let response = acp::SetSessionConfigOptionResponse::new(settings.options());
                self.answer(id, Ok(response));
            }
            Ok(state) if has_title => {
                let title = state.name.unwrap_or_default();
                self.answer(id, Ok(acp::SetSessionTitleResponse::new(title)));
            }
            set => self.answer(id, set.map(|_| nothing())),
        }
    }
}

async fn fired(cancel: Option<&CancellationToken>) {
    match cancel {
        Some(cancel) => cancel.cancelled().await,
        None => std::future::pending().await,
    }
}
