//! How a prompt reaches a child: one is started if there is none, it is set up as the user wants it, and
//! is given what is new.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stentor_agent::model::{ModelError, ModelErrorKind, ModelRequest, Purpose, ThinkingLevel};
use stentor_agent::model_host::ModelHost;
use stentor_agent::tasks;
use stentor_client::{ChildAgent, ChildAgentError, Events, Feature, InitialSession};
use stentor_policy::PermissionMode;
use stentor_tools::process::Launcher;
use tokio::time::timeout;

use crate::answer::ChildAnswer;
use crate::child;
use crate::conversation::{RequestConversation, is_own_turn, joined};
use crate::host::SessionHost;
use crate::inbox::Inbox;
use crate::session_agent::SessionAgent;
use crate::session_cost::SessionCost;
use crate::steering::can;

/// How long a child may take to list its models.
const LISTED_WITHIN: Duration = Duration::from_secs(5);

/// How long a child that works may take to say which session it is in.
const SESSION_WITHIN: Duration = Duration::from_secs(2);

/// How long one may take that has nothing to do. What it does not say then is not recorded, so it has
/// more time.
const IDLE_SESSION_WITHIN: Duration = Duration::from_secs(10);

/// The level that sessions have when nobody chose one: an agent that was never given another keeps its
/// own.
const UNCHOSEN: ThinkingLevel = ThinkingLevel::Medium;

/// What an agent does without asking cannot be held back.
const NO_PLAN_MODE: &str = "it runs tools of its own, which plan mode cannot hold to reading: choose \
    another model, or end plan mode";

/// Everything that is needed to have a child at work.
pub(crate) struct ChildStarter {
    pub agent: SessionAgent,
    pub launcher: Launcher,
}

impl ChildStarter {
    /// Gives the child what is new, and begins to read its answer.
    pub async fn begin(self, request: ModelRequest) -> Result<ChildAnswer, ModelError> {
        let refused = match request.purpose {
            Purpose::Turn => None,
            Purpose::Compaction => {
                Some("it looks after its own context; there is nothing to compact")
            }
            Purpose::WebSearch | Purpose::Aside => {
                Some("an agent answers nothing beside its own conversation")
            }
        };
        if let Some(why) = refused {
            return Err(self.failed(ModelErrorKind::InvalidRequest, why));
        }
        self.agent.shared.set_host(request.host.clone());
        self.agent.shared.end_idle_watch();
        let mut inbox = Arc::clone(&self.agent.shared.inbox).lock_owned().await;
        self.agent
            .shared
            .works_by_itself
            .store(false, Ordering::Release);
        let mode = request.host.as_ref().map(|host| host.permission_mode());
        if mode == Some(PermissionMode::Plan) {
            // It may be at work since before the session was to plan.
            if self.agent.shared.busy.load(Ordering::Acquire) {
                inbox.abort(&self.agent.shared).await;
            }
            return Err(self.failed(ModelErrorKind::InvalidRequest, NO_PLAN_MODE));
        }
        if self.agent.shared.abandoned.load(Ordering::Acquire) {
            inbox.abort(&self.agent.shared).await;
        }
        self.agent.shared.forget_calls();
        inbox.open_calls.clear();
        let session = if self.agent.shared.busy.load(Ordering::Acquire) {
            self.steer(&mut inbox, &request).await;
            self.session_now(&mut inbox).await
        } else if request
            .messages
            .last()
            .is_some_and(|last| is_own_turn(last))
        {
            // The run was begun for what the child does by itself, if that is not shown by now.
            let is_empty = !inbox.has_own_turn();
            self.agent.shared.busy.store(!is_empty, Ordering::Release);
            let session = self.session_now(&mut inbox).await;
            let session = session.map(|id| owned_session(&id, &request.session_id));
            return Ok(match is_empty {
                true => ChildAnswer::empty(self.agent, inbox, session),
                false => ChildAnswer::new(self.agent, inbox, session),
            });
        } else {
            self.prompt(&mut inbox, &request).await?
        };
        inbox.told = request.messages.last().cloned();
        let session = session.map(|id| owned_session(&id, &request.session_id));
        Ok(ChildAnswer::new(self.agent, inbox, session))
    }

    /// What came while the child works, if anything did that it has not got already.
    async fn steer(&self, inbox: &mut Inbox, request: &ModelRequest) {
        let conversation =
            RequestConversation::new(&request.messages, self.agent.configured.name());
        let conversation = conversation.after(inbox.told.as_ref());
        let conversation = conversation.without(&mut inbox.given);
        let Some(child) = inbox.agent().cloned() else {
            return;
        };
        if conversation.has_news() {
            let message = conversation.prompt(&conversation.missed_since_own());
            self.agent.steer(inbox, &child, message).await;
        }
    }

    /// What the child's session can be resumed by, which it may have said since its turn began.
    async fn session_now(&self, inbox: &mut Inbox) -> Option<String> {
        let agent = inbox.agent().cloned()?;
        let session = timeout(SESSION_WITHIN, agent.session());
        if let Ok(Ok(session)) = inbox.while_reading(session).await {
            inbox.session = session.resume_id;
        }
        inbox.session.clone()
    }

    async fn prompt(
        &self,
        inbox: &mut Inbox,
        request: &ModelRequest,
    ) -> Result<Option<String>, ModelError> {
        let whole = || RequestConversation::new(&request.messages, self.agent.configured.name());
        if inbox.agent().is_some_and(ChildAgent::has_ended) {
            inbox.drop_child();
        }
        let mut conversation = whole().after(inbox.told.as_ref());
        let Some(host) = request.host.as_deref() else {
            return Err(self.failed(ModelErrorKind::Other, "there is no session"));
        };
        let recorded = conversation.session();
        // The session may have gone back behind what the child said last, in this process or in an
        // earlier one.
        let is_newest = match recorded {
            Some(recorded) => host.has_newest_answer(recorded.to_owned()).await,
            None => true,
        };
        let mut missed = conversation.missed(inbox.told.as_ref());
        if !missed.is_known || !is_newest {
            // What its session knows is not what was said here.
            inbox.drop_child();
            conversation = whole();
            missed = conversation.missed(None);
        }
        if inbox.agent().is_none() {
            conversation = whole();
            missed = conversation.missed(None);
            let session = recorded.filter(|_| is_newest);
            let session = session.and_then(|id| session_of(id, &request.session_id));
            if self.start(inbox, host, session).await? {
                missed = conversation.missed_since_own();
                let counted = recorded.map(|recorded| conversation.cost_in(recorded));
                inbox.cost = SessionCost::after(counted.unwrap_or_default());
            }
        }
        let Some(agent) = inbox.agent().cloned() else {
            return Err(self.failed(ModelErrorKind::Other, "it has not been started"));
        };
        let session = timeout(IDLE_SESSION_WITHIN, agent.session());
        let session = inbox.while_reading(session).await;
        let session = session.ok().and_then(Result::ok);
        if inbox.begun_with.is_none() {
            inbox.begun_with = session.as_ref().and_then(|session| session.model.clone());
        }
        self.choose_mode(inbox, &agent).await?;
        self.choose_model(inbox, &agent).await?;
        self.choose_thinking(inbox, &agent, request.thinking).await;
        if !missed.is_empty() {
            self.agent.shared.warn(format!(
                "{} does not know this conversation, so it gets the messages so far as text",
                self.agent.name()
            ));
        }
        self.agent.shared.forget_granted();
        let mut prompt = self.agent.visible(conversation.prompt(&missed), &agent);
        // The turn that it was to follow has failed.
        if let Some(unsteered) = inbox.unsteered.clone() {
            prompt = joined(unsteered, prompt);
        }
        let session = session.and_then(|session| session.resume_id);
        inbox.given.clear();
        let prompted = self.agent.prompt(inbox, &agent, prompt).await;
        if let Err(error) = prompted {
            // One that could not be given just this is as good as before.
            let is_well = matches!(
                error,
                ChildAgentError::Unsupported { .. }
                    | ChildAgentError::Busy
                    | ChildAgentError::TooLong { .. }
                    | ChildAgentError::Picture(_)
            );
            if !is_well {
                inbox.drop_child();
            }
            return Err(self.failed(ModelErrorKind::Other, &error.to_string()));
        }
        inbox.unsteered = None;
        inbox.session = session.clone();
        self.agent
            .shared
            .takes_prompts
            .store(false, Ordering::Release);
        self.agent.shared.busy.store(true, Ordering::Release);
        self.learn_models(agent);
        Ok(session)
    }

    /// Asks a child what it has, if nobody has asked yet. Nothing waits for it: not every child answers.
    fn learn_models(&self, agent: ChildAgent) {
        if !self.agent.configured.begin_learning() {
            return;
        }
        let configured = Arc::clone(&self.agent.configured);
        tasks::spawn(async move {
            let models = timeout(LISTED_WITHIN, agent.models()).await;
            // One that does not list its models can be given one all the same.
            let models = models.map(Result::unwrap_or_default).unwrap_or_default();
            configured.learn_models(models);
        });
    }

    /// Starts the child. True when it goes on with its own session.
    async fn start(
        &self,
        inbox: &mut Inbox,
        host: &dyn ModelHost,
        session: Option<&str>,
    ) -> Result<bool, ModelError> {
        if let Some(session) = session {
            let session = InitialSession::Resume(session.to_owned());
            match self.start_with(host, session).await {
                Ok((agent, events)) => {
                    self.started(inbox, agent, events).await?;
                    return Ok(true);
                }
                Err(error) => self.agent.shared.warn(format!(
                    "{}: its own session could not be resumed: {error}",
                    self.agent.name()
                )),
            }
        }
        let started = self.start_with(host, InitialSession::New).await;
        let (agent, events) = started.map_err(|error| {
            let kind = match error {
                ChildAgentError::NeedsLogin(_) => ModelErrorKind::Auth,
                _ => ModelErrorKind::Other,
            };
            self.failed(kind, &format!("{error}{}", self.agent.shared.hint()))
        })?;
        self.started(inbox, agent, events).await?;
        Ok(false)
    }

    async fn start_with(
        &self,
        session_host: &dyn ModelHost,
        session: InitialSession,
    ) -> Result<(ChildAgent, Events), ChildAgentError> {
        let host = SessionHost::new(&self.agent.shared, self.agent.configured.name());
        let restrictions = self
            .agent
            .configured
            .settings()
            .restrictions(&session_host.sandbox());
        let is_cut_off = restrictions
            .as_ref()
            .is_some_and(|restrictions| !restrictions.network);
        let hint = is_cut_off.then(|| {
            format!(
                " (it runs in the sandbox without network; `network = true` under [agents.{}] \
                 gives it one)",
                self.agent.configured.name()
            )
        });
        self.agent.shared.set_hint(hint.unwrap_or_default());
        let launcher = self.launcher.restricted(restrictions);
        let (settings, cwd) = (self.agent.configured.settings(), session_host.cwd());
        child::start(settings, &launcher, &cwd, session, host).await
    }

    /// Takes in a child, and has it as the user wants it.
    async fn started(
        &self,
        inbox: &mut Inbox,
        agent: ChildAgent,
        events: Events,
    ) -> Result<(), ModelError> {
        self.agent
            .shared
            .can_steer
            .store(can(&agent, Feature::Steer), Ordering::Release);
        self.agent.configured.learn(
            &agent.opened().modes,
            can(&agent, Feature::ThinkingLevel),
            can(&agent, Feature::Pictures),
        );
        inbox.set_child(agent.clone(), events);
        self.choose_mode(inbox, &agent).await?;
        if let Some(level) = &self.agent.configured.settings().thinking
            && let Err(error) = inbox.while_reading(agent.set_thinking_level(level)).await
        {
            self.warn(&error);
        }
        Ok(())
    }

    /// Has the child in the mode that is wanted: the one that was named, the one of its settings, or the
    /// one it began in. One that was named and cannot be had is an error.
    async fn choose_mode(&self, inbox: &mut Inbox, agent: &ChildAgent) -> Result<(), ModelError> {
        let opened = agent.opened();
        let (_, named) = self.agent.form.split(&opened.modes);
        let wanted = named.or(self.agent.configured.settings().mode.as_deref());
        let Some(wanted) = wanted.or(opened.mode.as_deref()) else {
            return Ok(());
        };
        if inbox.mode.as_deref().or(opened.mode.as_deref()) == Some(wanted) {
            return Ok(());
        }
        let modes: Vec<&str> = opened.modes.iter().map(|(id, _)| id.as_str()).collect();
        if named.is_some() && !modes.is_empty() && !modes.contains(&wanted) {
            let why = format!(
                "it has no mode {wanted:?}: its modes are {}",
                modes.join(", ")
            );
            return Err(self.failed(ModelErrorKind::UnknownModel, &why));
        }
        match inbox.while_reading(agent.set_mode(wanted)).await {
            Ok(()) => {}
            Err(error) if named.is_some() => {
                return Err(self.failed(ModelErrorKind::UnknownModel, &error.to_string()));
            }
            // It is told once; the next prompt is answered in the mode that it is in.
            Err(error) => self.warn(&error),
        }
        inbox.mode = Some(wanted.to_owned());
        Ok(())
    }

    /// Has the child use the model that is wanted: the one that was named, the one of its settings, or
    /// the one it began with. One that was named and cannot be had is an error.
    async fn choose_model(&self, inbox: &mut Inbox, agent: &ChildAgent) -> Result<(), ModelError> {
        let (named, _) = self.agent.form.split(&agent.opened().modes);
        let wanted = named.or(self.agent.configured.settings().model.as_deref());
        let begun_with = inbox.begun_with.as_deref();
        let Some(wanted) = wanted.or(begun_with).map(str::to_owned) else {
            return Ok(());
        };
        if inbox.model.as_deref().or(begun_with) == Some(&wanted) {
            return Ok(());
        }
        match inbox.while_reading(agent.set_model(&wanted)).await {
            Ok(()) => inbox.model = Some(wanted),
            Err(error) if named.is_some() => {
                return Err(self.failed(ModelErrorKind::UnknownModel, &error.to_string()));
            }
            Err(error) => {
                // It is told once; the next prompt goes to the model that it has.
                inbox.model = Some(wanted);
                self.warn(&error);
            }
        }
        Ok(())
    }

    /// Has the child think as long as the session says, once somebody has chosen how long.
    async fn choose_thinking(&self, inbox: &mut Inbox, agent: &ChildAgent, level: ThinkingLevel) {
        let is_chosen = inbox.thinking.is_some() || level != UNCHOSEN;
        if !is_chosen || !self.agent.info.reasoning || inbox.thinking == Some(level) {
            return;
        }
        inbox.thinking = Some(level);
        let chosen = inbox.while_reading(agent.set_thinking_level(level.as_str()));
        if let Err(error) = chosen.await {
            self.warn(&error);
        }
    }

    fn warn(&self, error: &ChildAgentError) {
        self.agent
            .shared
            .warn(format!("{}: {error}", self.agent.name()));
    }

    fn failed(&self, kind: ModelErrorKind, why: &str) -> ModelError {
        ModelError::new(kind, format!("{}: {why}", self.agent.name()))
    }
}

/// What is recorded of a child's session: its id, and the session that it belongs to.
fn owned_session(child: &str, session: &str) -> String {
    format!("{child}@{session}")
}

/// The child's session that was recorded, if it belongs to this session. A copy of a session has the
/// record, too, but not the child's session: two would go on with one.
fn session_of<'a>(recorded: &'a str, session: &str) -> Option<&'a str> {
    let (child, owner) = recorded.rsplit_once('@')?;
    (owner == session).then_some(child)
}
