//! An agent, as a model.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream;
use stentor_agent::model::{
    CallStream, Model, ModelError, ModelErrorKind, ModelInfo, ModelRequest, ModelStream, Purpose,
};
use stentor_agent::tasks;
use stentor_client::{Agent, AgentError, Dialect, Events, Feature, OpenSession, Support};
use stentor_journal::message::ToolCall;
use stentor_tools::process::Launcher;
use tokio::sync::OwnedMutexGuard;

use crate::answer::Answer;
use crate::calls;
use crate::child;
use crate::conversation::Conversation;
use crate::host::SessionHost;
use crate::inbox::{Inbox, Shared};
use crate::settings::AgentSettings;

/// An agent of one session. Its child is started with the first prompt and ends with it.
pub struct AgentModel {
    info: Arc<ModelInfo>,
    settings: Arc<AgentSettings>,
    launcher: Launcher,
    shared: Arc<Shared>,
}

impl AgentModel {
    /// The agent of that name. Nothing is started yet.
    pub fn new(name: &str, settings: Arc<AgentSettings>, launcher: Launcher) -> Self {
        Self {
            info: settings.info(name),
            settings,
            launcher,
            shared: Arc::default(),
        }
    }

    fn starter(&self) -> Starter {
        Starter {
            name: self.info.full_name(),
            id: self.info.id.clone(),
            settings: Arc::clone(&self.settings),
            launcher: self.launcher.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Model for AgentModel {
    fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let starter = self.starter();
        let begin = State::Begin(Box::new((starter, request)));
        Box::pin(stream::unfold(begin, async |state| {
            let mut answer = match state {
                State::Begin(begin) => {
                    let (starter, request) = *begin;
                    match starter.begin(request).await {
                        Ok(answer) => Box::new(answer),
                        Err(error) => return Some((Err(error), State::Over)),
                    }
                }
                State::Answering(answer) => answer,
                State::Over => return None,
            };
            let event = answer.next().await?;
            let next = match event {
                Ok(_) => State::Answering(answer),
                Err(_) => State::Over,
            };
            Some((event, next))
        }))
    }

    fn elsewhere(&self, call: &ToolCall) -> Option<CallStream> {
        let is_own = self.shared.has_call(&call.id);
        is_own.then(|| calls::follow(Arc::clone(&self.shared), call.id.clone()))
    }

    fn takes_messages(&self) -> bool {
        !self.shared.busy.load(Ordering::Acquire) || self.shared.can_steer.load(Ordering::Acquire)
    }

    fn run_ended(&self) {
        if !self.shared.busy.load(Ordering::Acquire) {
            return;
        }
        self.shared.abandoned.store(true, Ordering::Release);
        let shared = Arc::clone(&self.shared);
        tasks::spawn(async move {
            let mut inbox = shared.inbox.lock().await;
            if shared.abandoned.load(Ordering::Acquire) {
                inbox.abort(&shared).await;
            }
        });
    }
}

/// How far an answer is.
enum State {
    Begin(Box<(Starter, ModelRequest)>),
    Answering(Box<Answer>),
    Over,
}

/// Everything that is needed to have a child at work.
struct Starter {
    /// `agent/NAME`.
    name: String,
    id: String,
    settings: Arc<AgentSettings>,
    launcher: Launcher,
    shared: Arc<Shared>,
}

impl Starter {
    /// Gives the child what is new, and begins to read its answer.
    async fn begin(self, request: ModelRequest) -> Result<Answer, ModelError> {
        if request.purpose == Purpose::Compaction {
            let why = "it looks after its own context; there is nothing to compact";
            return Err(self.failed(ModelErrorKind::InvalidRequest, why));
        }
        self.shared.set_host(request.host.clone());
        let mut inbox = Arc::clone(&self.shared.inbox).lock_owned().await;
        if self.shared.abandoned.load(Ordering::Acquire) {
            inbox.abort(&self.shared).await;
        }
        self.shared.forget_calls();
        let session = match self.shared.busy.load(Ordering::Acquire) {
            true => {
                self.steer(&mut inbox, &request).await?;
                inbox
                    .agent()
                    .and_then(|agent| agent.opened().resume_id.clone())
            }
            false => self.prompt(&mut inbox, &request).await?,
        };
        inbox.told = request.messages.last().cloned();
        let shared = Arc::clone(&self.shared);
        Ok(Answer::new(self.name, shared, inbox, session))
    }

    /// What came while the child works, if anything did.
    async fn steer(
        &self,
        inbox: &mut OwnedMutexGuard<Inbox>,
        request: &ModelRequest,
    ) -> Result<(), ModelError> {
        let conversation = Conversation::new(&request.messages, &self.id);
        let Some(agent) = inbox.agent().cloned() else {
            return Ok(());
        };
        if !conversation.has_news() {
            return Ok(());
        }
        let message = conversation.prompt(&conversation.missed_since_own());
        let echoes = agent.dialect() != Dialect::Psi;
        match inbox.while_reading(agent.steer(message)).await {
            Ok(()) => inbox.owed += usize::from(echoes),
            Err(error) => self.shared.warn(format!("{}: {error}", self.name)),
        }
        Ok(())
    }

    async fn prompt(
        &self,
        inbox: &mut OwnedMutexGuard<Inbox>,
        request: &ModelRequest,
    ) -> Result<Option<String>, ModelError> {
        let conversation = Conversation::new(&request.messages, &self.id);
        let mut missed = conversation.missed(inbox.told.as_ref());
        if !missed.is_known {
            // What its session knows is not what was said here.
            inbox.drop_child();
        }
        if inbox.agent().is_none() {
            let cwd = request.host.as_ref().map(|host| host.cwd());
            let resumed = self
                .start(inbox, cwd.as_deref(), conversation.session())
                .await?;
            if resumed {
                missed = conversation.missed_since_own();
            }
        }
        let Some(agent) = inbox.agent().cloned() else {
            return Err(self.failed(ModelErrorKind::Other, "it has not been started"));
        };
        if !missed.is_empty() {
            self.shared.warn(format!(
                "{} does not know this conversation: it is given what was said so far as text",
                self.name
            ));
        }
        self.shared.forget_granted();
        let prompt = conversation.prompt(&missed);
        let session = inbox.while_reading(agent.session()).await;
        let session = session.ok().and_then(|session| session.resume_id);
        let prompted = inbox.while_reading(agent.prompt(prompt)).await;
        if let Err(error) = prompted {
            inbox.drop_child();
            return Err(self.failed(ModelErrorKind::Other, &error.to_string()));
        }
        self.shared.busy.store(true, Ordering::Release);
        Ok(session)
    }

    /// Starts the child. True when it goes on with its own session.
    async fn start(
        &self,
        inbox: &mut OwnedMutexGuard<Inbox>,
        cwd: Option<&Path>,
        session: Option<&str>,
    ) -> Result<bool, ModelError> {
        let session = session.map(str::to_owned);
        if let Some(session) = session {
            match self.start_with(cwd, OpenSession::Resume(session)).await {
                Ok((agent, events)) => {
                    self.started(&agent).await;
                    inbox.set_child(agent, events);
                    return Ok(true);
                }
                Err(error) => self.shared.warn(format!(
                    "{}: its own session could not be resumed: {error}",
                    self.name
                )),
            }
        }
        let (agent, events) = self
            .start_with(cwd, OpenSession::New)
            .await
            .map_err(|error| {
                let kind = match error {
                    AgentError::NeedsLogin(_) => ModelErrorKind::Auth,
                    _ => ModelErrorKind::Other,
                };
                self.failed(kind, &error.to_string())
            })?;
        self.started(&agent).await;
        inbox.set_child(agent, events);
        Ok(false)
    }

    async fn start_with(
        &self,
        cwd: Option<&Path>,
        session: OpenSession,
    ) -> Result<(Agent, Events), AgentError> {
        let host = SessionHost {
            shared: Arc::clone(&self.shared),
            files: AtomicU64::new(1),
        };
        child::start(&self.settings, &self.launcher, cwd, session, host).await
    }

    /// Has the child as the user wants it.
    async fn started(&self, agent: &Agent) {
        let steers = !matches!(agent.support(Feature::Steer), Support::No(_));
        self.shared.can_steer.store(steers, Ordering::Release);
        let settings = &self.settings;
        if let Some(model) = &settings.model
            && let Err(error) = agent.set_model(model).await
        {
            self.shared.warn(format!("{}: {error}", self.name));
        }
        if let Some(mode) = &settings.mode
            && let Err(error) = agent.set_mode(mode).await
        {
            self.shared.warn(format!("{}: {error}", self.name));
        }
    }

    fn failed(&self, kind: ModelErrorKind, why: &str) -> ModelError {
        ModelError::new(kind, format!("{}: {why}", self.name))
    }
}
