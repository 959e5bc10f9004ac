//! The handle of a child.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::capability::{Feature, Support};
use crate::codec::{Reply, Request, What, picture_file};
use crate::connection::{Limits, Lost, LostCounter, Pipes};
use crate::dialect::Dialect;
use crate::driver;
use crate::error::AgentError;
use crate::event::AgentEvent;
use crate::host::Host;
use crate::options::{SessionOpened, StartOptions};
use crate::process;
use crate::prompt::{AgentModel, Prompt, SessionInfo};

/// Requests that may wait for the child. Who has another one waits.
const REQUESTS: usize = 32;

/// A running agent. Clones drive the same one; it ends with the last of them.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

struct Shared {
    requests: mpsc::Sender<Request>,
    dialect: Dialect,
    limits: Limits,
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

impl Agent {
    /// Starts the program, shakes hands and opens a session. A program that does not get that far is
    /// killed, and the error has the last lines of its stderr.
    pub async fn start(
        options: StartOptions,
        host: impl Host,
    ) -> Result<(Self, Events), AgentError> {
        let pipes = process::spawn(&options)?;
        Self::over(pipes, options, host).await
    }

    /// The same with a program that was started by other means. Of the options the command and the
    /// environment mean nothing then.
    pub async fn over(
        pipes: Pipes,
        options: StartOptions,
        host: impl Host,
    ) -> Result<(Self, Events), AgentError> {
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
            driver::Ends {
                requests: incoming,
                events: sender,
                opened: opened_sender,
                lost: lost.clone(),
            },
        ));
        let opened = opened
            .await
            .unwrap_or_else(|_| Err(AgentError::NotReady("it ended".to_owned())))?;
        let shared = Shared {
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
    pub fn dialect(&self) -> Dialect {
        self.shared.dialect
    }

    /// What it said when its first session was opened.
    pub fn opened(&self) -> &SessionOpened {
        &self.shared.opened
    }

    /// What it wrote so far that could not be used.
    pub fn lost(&self) -> Lost {
        self.shared.lost.so_far()
    }

    /// Whether it has a feature: what the dialect says, and where that depends on the agent, what
    /// it announced.
    pub fn support(&self, feature: Feature) -> Support {
        let announced = &self.shared.opened.announced;
        match feature.support_in(self.shared.dialect) {
            Support::IfAnnounced if announced.contains(&feature) => Support::Yes,
            Support::IfAnnounced
                if feature == Feature::Resume && announced.contains(&Feature::Load) =>
            {
                Support::Partly("by loading it: what it repeats is left out")
            }
            Support::IfAnnounced => Support::No("it does not announce this"),
            support => support,
        }
    }

    /// Gives it a prompt. Returns when that is written; [`AgentEvent::TurnEnded`] comes when it is
    /// answered, also when it is refused. [`AgentError::Busy`] while it is at work.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<(), AgentError> {
        let prompt = self.ready_to_send(prompt.into()).await?;
        self.done(What::Prompt(prompt)).await
    }

    /// A message for the turn that runs. If that has just ended it is a prompt, where the dialect
    /// can do that; else it waits in the agent until the next.
    pub async fn steer(&self, message: impl Into<Prompt>) -> Result<(), AgentError> {
        self.require(Feature::Steer)?;
        let message = self.ready_to_send(message.into()).await?;
        self.done(What::Steer(message)).await
    }

    /// A message for after the turn that runs.
    pub async fn follow_up(&self, message: impl Into<Prompt>) -> Result<(), AgentError> {
        self.require(Feature::FollowUp)?;
        let message = self.ready_to_send(message.into()).await?;
        self.done(What::FollowUp(message)).await
    }

    /// Stops the turn. Returns when that is written; [`AgentEvent::TurnEnded`] says when it has
    /// stopped. An agent that does not stop within [`Limits::abort_within`] is given up.
    pub async fn abort(&self) -> Result<(), AgentError> {
        self.done(What::Abort).await
    }

    /// What is known of the session that is open now.
    pub async fn session(&self) -> Result<SessionOpened, AgentError> {
        self.open_session(What::Session).await
    }

    /// Begins a new session in the same process.
    pub async fn new_session(&self) -> Result<SessionOpened, AgentError> {
        self.open_session(What::NewSession).await
    }

    /// Goes on with a session it has stored.
    pub async fn resume_session(&self, id: &str) -> Result<SessionOpened, AgentError> {
        self.require(Feature::Resume)?;
        self.open_session(What::Resume(id.to_owned())).await
    }

    /// The same, and its messages are repeated as events before this returns.
    pub async fn load_session(&self, id: &str) -> Result<SessionOpened, AgentError> {
        self.require(Feature::Load)?;
        self.open_session(What::Load(id.to_owned())).await
    }

    /// The sessions it has stored.
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, AgentError> {
        self.require(Feature::ListSessions)?;
        match self.ask(What::Sessions).await? {
            Reply::Sessions(sessions) => Ok(sessions),
            _ => Err(out_of_place("the list of sessions")),
        }
    }

    /// The models it can use.
    pub async fn models(&self) -> Result<Vec<AgentModel>, AgentError> {
        self.require(Feature::Models)?;
        match self.ask(What::Models).await? {
            Reply::Models(models) => Ok(models),
            _ => Err(out_of_place("the list of models")),
        }
    }

    /// Chooses one of [`Agent::models`] by its id.
    pub async fn set_model(&self, id: &str) -> Result<(), AgentError> {
        self.require(Feature::Models)?;
        self.done(What::SetModel(id.to_owned())).await
    }

    /// Chooses one of its modes by its id.
    pub async fn set_mode(&self, id: &str) -> Result<(), AgentError> {
        self.require(Feature::Modes)?;
        self.done(What::SetMode(id.to_owned())).await
    }

    /// Chooses how long it thinks: `off`, `low`, `high` and what else it knows.
    pub async fn set_thinking_level(&self, level: &str) -> Result<(), AgentError> {
        self.require(Feature::ThinkingLevel)?;
        self.done(What::SetThinking(level.to_owned())).await
    }

    /// Ends it: politely at first, and by force if it has not gone after
    /// [`Limits::exit_within`]. [`AgentEvent::Exited`] is the last event.
    pub async fn stop(&self) {
        // One that is gone already needs no stopping.
        let _ = self.done(What::Stop).await;
    }

    fn require(&self, feature: Feature) -> Result<(), AgentError> {
        match self.support(feature) {
            Support::Yes | Support::Partly(_) | Support::IfAnnounced => Ok(()),
            Support::No(reason) => Err(AgentError::Unsupported {
                feature,
                dialect: self.shared.dialect,
                reason,
            }),
        }
    }

    /// Pictures go where the dialect takes them: into the message, or into files.
    async fn ready_to_send(&self, mut prompt: Prompt) -> Result<Prompt, AgentError> {
        if prompt.pictures.is_empty() {
            return Ok(prompt);
        }
        self.require(Feature::Pictures)?;
        if self.shared.dialect == Dialect::Synaps {
            let pictures = std::mem::take(&mut prompt.pictures);
            let written = tokio::task::spawn_blocking(move || {
                let files = pictures.iter().map(picture_file);
                files.collect::<Result<Vec<_>, _>>()
            });
            prompt.files = written
                .await
                .map_err(|error| AgentError::Picture(error.to_string()))??;
        }
        Ok(prompt)
    }

    async fn open_session(&self, what: What) -> Result<SessionOpened, AgentError> {
        match self.ask(what).await? {
            Reply::Session(opened) => Ok(*opened),
            _ => Err(out_of_place("a session")),
        }
    }

    async fn done(&self, what: What) -> Result<(), AgentError> {
        self.ask(what).await.map(drop)
    }

    async fn ask(&self, what: What) -> Result<Reply, AgentError> {
        let name = what.name();
        let (reply, answer) = oneshot::channel();
        let request = Request { what, reply };
        let gone = || AgentError::Ended("the agent has ended".to_owned());
        let limit: Duration = self.shared.limits.answer_within;
        match timeout(limit, self.shared.requests.send(request)).await {
            Ok(sent) => sent.map_err(|_| gone())?,
            Err(_) => return Err(AgentError::NotReading),
        }
        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_) => Err(AgentError::NoAnswer(name)),
        }
    }
}

fn out_of_place(what: &'static str) -> AgentError {
    AgentError::BadAnswer {
        what,
        why: "it is the answer to something else".to_owned(),
    }
}
