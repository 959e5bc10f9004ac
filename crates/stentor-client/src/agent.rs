//! The handle of a child.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::capability::{Feature, FeatureSupport};
use crate::codec::{AgentAction, HandleReply, HandleRequest, picture_file};
use crate::connection::{AgentLimits, ChildPipes, LostCounter, LostLines};
use crate::dialect::AgentDialect;
use crate::driver;
use crate::error::ChildAgentError;
use crate::event::AgentEvent;
use crate::host::Host;
use crate::options::{SessionOpened, StartOptions};
use crate::process;
use crate::prompt::{AgentPrompt, OfferedModel, SessionInfo};

/// Requests that may wait for the child. Who has another one waits.
const REQUESTS: usize = 32;

/// A running agent. Clones drive the same one; it ends with the last of them.
#[derive(Clone)]
pub struct ChildAgent {
    shared: Arc<AgentShared>,
}

struct AgentShared {
    requests: mpsc::Sender<HandleRequest>,
    dialect: AgentDialect,
    limits: AgentLimits,
    opened: SessionOpened,
    lost: LostCounter,
}

/// What an agent does, in order. It must be read or dropped: while too many wait, the agent waits,
/// and answers behind them with it.
pub struct Events {
    events: mpsc::Receiver<AgentEvent>,
}

impl Events {
    /// The next one; `None` when the agent is gone.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        self.events.recv().await
    }

    /// The next one if it is there already.
    pub fn try_next(&mut self) -> Option<AgentEvent> {
        self.events.try_recv().ok()
    }
}

impl ChildAgent {
    /// Starts the program, shakes hands and opens a session. A program that does not get that far is
    /// killed, and the error has the last lines of its stderr.
    pub async fn start(
        options: StartOptions,
        host: impl Host,
    ) -> Result<(Self, Events), ChildAgentError> {
        let pipes = process::spawn(&options)?;
        Self::over(pipes, options, host).await
    }

    /// The same with a program that was started by other means. Of the options the command and the
    /// environment mean nothing then.
    pub async fn over(
        pipes: ChildPipes,
        options: StartOptions,
        host: impl Host,
    ) -> Result<(Self, Events), ChildAgentError> {
        let (requests, incoming) = mpsc::channel(REQUESTS);
        let (sender, events) = mpsc::channel(options.limits.events.max(1));
        let lost = LostCounter::default();
        let (opened_sender, opened) = oneshot::channel();
        let (dialect, limits) = (options.dialect, options.limits);
        let host: Arc<dyn Host> = Arc::new(host);
        tokio::spawn(driver::drive(
            pipes,
            options,
            host,
            driver::ChannelEnds {
                requests: incoming,
                events: sender,
                opened: opened_sender,
                lost: lost.clone(),
            },
        ));
        let opened = opened
            .await
            .unwrap_or_else(|_| Err(ChildAgentError::NotReady("it ended".to_owned())))?;
        let shared = AgentShared {
            requests,
            dialect,
            limits,
            opened,
            lost,
        };
        let agent = Self {
            shared: Arc::new(shared),
        };
        Ok((agent, Events { events }))
    }

    /// What it speaks.
    pub fn dialect(&self) -> AgentDialect {
        self.shared.dialect
    }

    /// What it said when its first session was opened.
    pub fn opened(&self) -> &SessionOpened {
        &self.shared.opened
    }

    /// What it wrote so far that could not be used.
    pub fn lost(&self) -> LostLines {
        self.shared.lost.so_far()
    }

    /// Whether it has a feature: what the dialect says, and where that depends on the agent, what
    /// it announced.
    pub fn support(&self, feature: Feature) -> FeatureSupport {
        let announced = &self.shared.opened.announced;
        match feature.support_in(self.shared.dialect) {
            FeatureSupport::IfAnnounced if announced.contains(&feature) => FeatureSupport::Yes,
            FeatureSupport::IfAnnounced
                if feature == Feature::Resume && announced.contains(&Feature::Load) =>
            {
                FeatureSupport::Partly("by loading it: what it repeats is left out")
            }
            FeatureSupport::IfAnnounced => FeatureSupport::No("it does not announce this"),
            support => support,
        }
    }

    /// Whether it has ended. So it is before the events that report that are handed out.
    pub fn has_ended(&self) -> bool {
        self.shared.requests.is_closed()
    }

    /// Gives it a prompt. Returns when that is written; [`AgentEvent::TurnEnded`] comes when it is
    /// answered, also when it is refused. [`ChildAgentError::Busy`] while it is at work.
    pub async fn prompt(&self, prompt: impl Into<AgentPrompt>) -> Result<(), ChildAgentError> {
        let prompt = self.ready_to_send(prompt.into()).await?;
        self.done(AgentAction::Prompt(prompt)).await
    }

    /// A message for the turn that runs. If that has just ended it is a prompt, where the dialect
    /// can do that; else it waits in the agent until the next.
    pub async fn steer(&self, message: impl Into<AgentPrompt>) -> Result<(), ChildAgentError> {
        self.require(Feature::Steer)?;
        let message = self.ready_to_send(message.into()).await?;
        self.done(AgentAction::Steer(message)).await
    }

    /// A message for after the turn that runs.
    pub async fn follow_up(&self, message: impl Into<AgentPrompt>) -> Result<(), ChildAgentError> {
        self.require(Feature::FollowUp)?;
        let message = self.ready_to_send(message.into()).await?;
        self.done(AgentAction::FollowUp(message)).await
    }

    /// Stops the turn. Returns when that is written; [`AgentEvent::TurnEnded`] says when it has
    /// stopped. An agent that does not stop within [`AgentLimits::abort_within`] is given up.
    pub async fn abort(&self) -> Result<(), ChildAgentError> {
        self.done(AgentAction::Abort).await
    }

    /// What is known of the session that is open now.
    pub async fn session(&self) -> Result<SessionOpened, ChildAgentError> {
        self.open_session(AgentAction::Session).await
    }

    /// Begins a new session in the same process.
    pub async fn new_session(&self) -> Result<SessionOpened, ChildAgentError> {
        self.open_session(AgentAction::NewSession).await
    }

    /// Goes on with a session it has stored.
    pub async fn resume_session(&self, id: &str) -> Result<SessionOpened, ChildAgentError> {
        self.require(Feature::Resume)?;
        self.open_session(AgentAction::Resume(id.to_owned())).await
    }

    /// The same, and its messages are repeated as events before this returns.
    pub async fn load_session(&self, id: &str) -> Result<SessionOpened, ChildAgentError> {
        self.require(Feature::Load)?;
        self.open_session(AgentAction::Load(id.to_owned())).await
    }

    /// The sessions it has stored.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, ChildAgentError> {
        self.require(Feature::ListSessions)?;
        match self.ask(AgentAction::Sessions).await? {
            HandleReply::Sessions(sessions) => Ok(sessions),
            _ => Err(out_of_place("the list of sessions")),
        }
    }

    /// The models it can use.
    pub async fn models(&self) -> Result<Vec<OfferedModel>, ChildAgentError> {
        self.require(Feature::Models)?;
        match self.ask(AgentAction::Models).await? {
            HandleReply::Models(models) => Ok(models),
            _ => Err(out_of_place("the list of models")),
        }
    }

    /// Chooses one of [`ChildAgent::models`] by its id.
    pub async fn set_model(&self, id: &str) -> Result<(), ChildAgentError> {
        self.require(Feature::Models)?;
        self.done(AgentAction::SetModel(id.to_owned())).await
    }

    /// Chooses one of its modes by its id.
    pub async fn set_mode(&self, id: &str) -> Result<(), ChildAgentError> {
        self.require(Feature::Modes)?;
        self.done(AgentAction::SetMode(id.to_owned())).await
    }

    /// Chooses how long it thinks: `off`, `low`, `high` and what else it knows.
    pub async fn set_thinking_level(&self, level: &str) -> Result<(), ChildAgentError> {
        self.require(Feature::ThinkingLevel)?;
        self.done(AgentAction::SetThinking(level.to_owned())).await
    }

    /// Ends it: politely at first, and by force if it has not gone after
    /// [`AgentLimits::exit_within`]. [`AgentEvent::Exited`] is the last event.
    pub async fn stop(&self) {
        // One that is gone already needs no stopping.
        let _ = self.done(AgentAction::Stop).await;
    }

    fn require(&self, feature: Feature) -> Result<(), ChildAgentError> {
        match self.support(feature) {
            FeatureSupport::Yes | FeatureSupport::Partly(_) | FeatureSupport::IfAnnounced => Ok(()),
            FeatureSupport::No(reason) => Err(ChildAgentError::Unsupported {
                feature,
                dialect: self.shared.dialect,
                reason,
            }),
        }
    }

    /// Pictures go where the dialect takes them: into the message, or into files.
    async fn ready_to_send(&self, mut prompt: AgentPrompt) -> Result<AgentPrompt, ChildAgentError> {
        if prompt.pictures.is_empty() {
            return Ok(prompt);
        }
        self.require(Feature::Pictures)?;
        if self.shared.dialect == AgentDialect::Synaps {
            let pictures = std::mem::take(&mut prompt.pictures);
            let written = tokio::task::spawn_blocking(move || {
                let files = pictures.iter().map(picture_file);
                files.collect::<Result<Vec<_>, _>>()
            });
            prompt.files = written
                .await
                .map_err(|error| ChildAgentError::Picture(error.to_string()))??;
        }
        Ok(prompt)
    }

    async fn open_session(&self, what: AgentAction) -> Result<SessionOpened, ChildAgentError> {
        match self.ask(what).await? {
            HandleReply::Session(opened) => Ok(*opened),
            _ => Err(out_of_place("a session")),
        }
    }

    async fn done(&self, what: AgentAction) -> Result<(), ChildAgentError> {
        self.ask(what).await.map(drop)
    }

    async fn ask(&self, what: AgentAction) -> Result<HandleReply, ChildAgentError> {
        let name = what.name();
        let (reply, answer) = oneshot::channel();
        let request = HandleRequest { what, reply };
        let gone = || ChildAgentError::Ended("the agent has ended".to_owned());
        let limit: Duration = self.shared.limits.answer_within;
        match timeout(limit, self.shared.requests.send(request)).await {
            Ok(sent) => sent.map_err(|_| gone())?,
            Err(_) => return Err(ChildAgentError::NotReading),
        }
        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_) => Err(ChildAgentError::NoAnswer(name)),
        }
    }
}

fn out_of_place(what: &'static str) -> ChildAgentError {
    ChildAgentError::BadAnswer {
        what,
        why: "it is the answer to something else".to_owned(),
    }
}
