//! One page: the session it shows, and what it asks for.

use std::path::{Path, PathBuf};

use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::dialog::DialogAnswer;
use stentor_agent::model::NamedBy;
use stentor_agent::session::{ForkPoint, OwnCommandError, Session, SessionError};
use stentor_agent::tasks;
use tokio::task::JoinHandle;

use super::commands::{PageCommand, PersonMessage};
use super::costs::Costs;
use super::frames::{Op, PageState};
use super::listing::{SessionListing, States};
use super::view::PageView;
use super::{PageOptions, nodes, panel};
use crate::connection::Access;
use crate::input::InputLine;
use crate::output::{Closed, Output};
use crate::picture::NoPicture;
use crate::pump::Pump;

/// A page in a browser.
pub(super) struct PageConnection {
    agent: Agent,
    options: PageOptions,
    access: Access,
    output: Output,
    shown: Option<ShownSession>,
    /// Reads what the sessions of the list have cost, where that takes a while.
    costs: Option<JoinHandle<Result<(), Closed>>>,
}

/// So much is read of session files before a list is shown; the rest while it is.
const LISTED_BYTES: u64 = 4 << 20;

/// The session it shows.
struct ShownSession {
    session: Session,
    pump: JoinHandle<Result<PageView, Closed>>,
}

/// Why something was not done. The texts are for the person at the page.
#[derive(Debug, thiserror::Error)]
enum PageError {
    #[error("this page only watches")]
    OnlyWatches,
    #[error("open a session first")]
    NoSession,
    #[error("there is no folder {0} here")]
    NoFolder(String),
    #[error("session {0} no longer exists")]
    NoSuchSession(String),
    #[error("there is no model {0}")]
    NoModel(String),
    #[error("{0} is not one of the choices")]
    NoChoice(String),
    #[error("the picture cannot be used: {0}")]
    Picture(#[from] NoPicture),
    #[error("the page sent an invalid command: {0}")]
    NoCommand(#[from] serde_json::Error),
    #[error("the line is too long or not text")]
    NoLine,
    #[error(transparent)]
    Session(SessionError),
    #[error(transparent)]
    Command(#[from] OwnCommandError),
    #[error(transparent)]
    Agent(AgentError),
    #[error("internal error of the server")]
    Inside,
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl From<SessionError> for PageError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::OnlyObserves => Self::OnlyWatches,
            other => Self::Session(other),
        }
    }
}

impl From<AgentError> for PageError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Session(error) => error.into(),
            other => Self::Agent(other),
        }
    }
}

impl PageConnection {
    pub fn new(agent: Agent, options: PageOptions, access: Access, output: Output) -> Self {
        Self {
            agent,
            options,
            access,
            output,
            shown: None,
            costs: None,
        }
    }

    /// Does what a line asks for. What does not work is shown on the page.
    pub async fn handle(&mut self, line: InputLine) -> Result<(), Closed> {
        match self.command(line).await {
            Ok(()) => Ok(()),
            Err(PageError::Closed(closed)) => Err(closed),
            Err(why) => {
                let (level, text) = ("error", why.to_string());
                self.write(&Op::Notice { level, text: &text }).await
            }
        }
    }

    /// The page has no more to do with its session.
    pub async fn leave(&mut self) {
        self.stop_reading_costs().await;
        if let Some(shown) = self.shown.take() {
            shown.pump.abort();
            // Its last line is out before anything of another session.
            shown.pump.await.ok();
            shown.session.close().await;
        }
    }

    async fn command(&mut self, line: InputLine) -> Result<(), PageError> {
        let InputLine::Line(line) = line else {
            return Err(PageError::NoLine);
        };
        let command: PageCommand = serde_json::from_str(&line)?;
        match command {
            PageCommand::List => self.list().await,
            PageCommand::Open { session } => self.open(session).await,
            PageCommand::New { cwd } => self.start(cwd).await,
            PageCommand::Prompt(said) => self.say(said, false).await,
            PageCommand::FollowUp(said) => self.say(said, true).await,
            PageCommand::Abort => Ok(self.session()?.abort().await?),
            PageCommand::Unqueue => {
                let queues = self.session()?.clear_queues().await?;
                let text = [queues.steering, queues.follow_up].concat().join("\n\n");
                Ok(self.write(&Op::Editor { text: &text }).await?)
            }
            PageCommand::Model { value } => self.choose_model(value).await,
            PageCommand::Thinking { value } => {
                let level = value.parse().map_err(|_| PageError::NoChoice(value))?;
                self.session()?.set_thinking(level).await?;
                Ok(())
            }
            PageCommand::Mode { value } => {
                let mode = value.parse().map_err(|_| PageError::NoChoice(value))?;
                Ok(self.session()?.set_permission_mode(mode).await?)
            }
            PageCommand::Answer { id, answer } => {
                Ok(self.session()?.answer_permission(id, answer).await?)
            }
            PageCommand::Reply {
                id,
                value,
                yes,
                values,
            } => {
                let answer = match (value, values, yes) {
                    (Some(value), _, _) => DialogAnswer::Value(value),
                    (None, Some(values), _) => DialogAnswer::Values(values),
                    (None, None, Some(yes)) => DialogAnswer::Confirmed(yes == "yes"),
                    (None, None, None) => DialogAnswer::Nothing,
                };
                self.session()?.answer_dialog(id, answer).await?;
                Ok(())
            }
            PageCommand::Forks => {
                let prompts = self.session()?.user_messages().await?;
                let (id, html) = ("forks", panel::forks(&prompts));
                Ok(self.write(&Op::Set { id, html: &html }).await?)
            }
            PageCommand::Fork { entry } => self.fork(entry).await,
            PageCommand::Rename { value } => Ok(self.session()?.set_name(&value).await?),
        }
    }

    fn session(&self) -> Result<&Session, PageError> {
        let shown = self.shown.as_ref();
        shown
            .map(|shown| &shown.session)
            .ok_or(PageError::NoSession)
    }

    async fn write(&self, op: &Op<'_>) -> Result<(), Closed> {
        write(&self.output, op).await
    }

    /// A list that is on its way would show what was.
    async fn stop_reading_costs(&mut self) {
        if let Some(reading) = self.costs.take() {
            reading.abort();
            reading.await.ok();
        }
    }

    async fn list(&mut self) -> Result<(), PageError> {
        self.stop_reading_costs().await;
        let states: States = self.agent.activities().await.into_iter().collect();
        let shown = self.session().ok().map(|session| session.id().to_string());
        let (agent, fleet) = (self.agent.clone(), self.options.fleet.clone());
        let listing = tasks::spawn_blocking(move || {
            let listing = SessionListing::read(&agent, states, shown, fleet.as_deref());
            let is_all = Costs::shared().read_some(&listing.sessions, LISTED_BYTES);
            (listing, is_all)
        });
        let (listing, is_all) = listing.await.map_err(|_| PageError::Inside)?;
        if self.shown.is_none() {
            let state = PageState {
                cwd: self.options.cwd.display().to_string(),
                observes: self.access == Access::Observe,
                ..PageState::default()
            };
            self.write(&Op::State(&state)).await?;
        }
        write_list(&self.output, &listing).await?;
        if let Some(fleet) = &self.options.fleet {
            let (id, html) = (
                "nodes",
                nodes::html(&fleet.nodes(), listing.node_of_shown()),
            );
            self.write(&Op::Set { id, html: &html }).await?;
        }
        if !is_all {
            let output = self.output.clone();
            self.costs = Some(tasks::spawn(async move {
                let read = move || {
                    Costs::shared().read_all(&listing.sessions);
                    listing
                };
                match tasks::spawn_blocking(read).await {
                    Ok(listing) => write_list(&output, &listing).await,
                    Err(_) => Ok(()),
                }
            }));
        }
        Ok(())
    }

    /// Shows a session that is stored, live or not.
    async fn open(&mut self, id: String) -> Result<(), PageError> {
        let agent = self.agent.clone();
        let opening = tasks::spawn_blocking(move || {
            let listed = agent.listed(&id).ok_or(PageError::NoSuchSession(id))?;
            let mut options = agent.options(Path::new(&listed.cwd))?;
            options.prefer_stored_model();
            Ok::<_, PageError>(agent.resume(&listed.path, options)?)
        });
        // A session that the page shows already is joined again before it is left.
        let session = opening.await.map_err(|_| PageError::Inside)??;
        self.show(session).await
    }

    async fn start(&mut self, cwd: Option<String>) -> Result<(), PageError> {
        let named = cwd.filter(|cwd| !cwd.is_empty());
        let cwd = named.map_or_else(|| self.options.cwd.clone(), PathBuf::from);
        let agent = self.agent.clone();
        let starting = tasks::spawn_blocking(move || {
            agent.make_folder(&cwd)?;
            match cwd.is_absolute() && cwd.is_dir() {
                true => Ok(agent.start(&cwd, NewSession::default())?),
                false => Err(PageError::NoFolder(cwd.display().to_string())),
            }
        });
        let session = starting.await.map_err(|_| PageError::Inside)??;
        self.show(session).await
    }

    async fn fork(&mut self, entry: Option<String>) -> Result<(), PageError> {
        let session = self.session()?.clone();
        let point = entry.map_or(ForkPoint::Leaf, ForkPoint::Before);
        let cwd = session.state().await?.cwd;
        let mut options = self.agent.options(&cwd)?;
        options.prefer_stored_model();
        let (forked, text) = self.agent.fork(&session, point, options).await?;
        self.show(forked).await?;
        let text = text.unwrap_or_default();
        Ok(self.write(&Op::Editor { text: &text }).await?)
    }

    /// Shows a session instead of the one before.
    async fn show(&mut self, session: Session) -> Result<(), PageError> {
        self.leave().await;
        session.set_can_ask(true).await?;
        let joined = session.join().await?;
        let state = session.state().await?;
        let (models, observes) = (self.agent.models(), session.observes());
        let (view, mut lines) = PageView::new(models, &state, observes, &joined.entries);
        self.output.send_all(&mut lines).await?;
        // It answers by events alone.
        let (pump, _) = Pump::new(joined.events, self.output.clone(), view);
        let pump = tasks::spawn(pump.run());
        self.shown = Some(ShownSession { session, pump });
        self.list().await
    }

    /// Says something to the agent. What it does not take goes back into the box.
    async fn say(&mut self, said: PersonMessage, is_follow_up: bool) -> Result<(), PageError> {
        let text = said.text.clone();
        let taken = match is_follow_up {
            true => self.follow_up(said).await,
            false => self.prompt(said).await,
        };
        if taken.is_err() {
            self.write(&Op::Editor { text: &text }).await?;
        }
        taken
    }

    async fn follow_up(&self, said: PersonMessage) -> Result<(), PageError> {
        let session = self.session()?;
        let content = session.expand(said.content()?).await?;
        Ok(session.follow_up(content).await?)
    }

    async fn prompt(&mut self, said: PersonMessage) -> Result<(), PageError> {
        if self.shown.is_none() {
            self.start(None).await?;
        }
        let session = self.session()?;
        if let Some(command) = session.own_command(&said.text).await {
            let answer = session.run_own(command).await?;
            let (level, text) = ("info", &answer.text);
            self.write(&Op::Notice { level, text }).await?;
            let prompt = answer.prompt.filter(|_| answer.has_moved);
            return match prompt {
                Some(text) => Ok(self.write(&Op::Editor { text: &text }).await?),
                None => Ok(()),
            };
        }
        let content = session.expand(said.content()?).await?;
        match session.prompt(content.clone()).await {
            Ok(accepted) => drop(accepted),
            Err(SessionError::Busy) => session.steer(content).await?,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn choose_model(&self, name: String) -> Result<(), PageError> {
        let info = self.agent.models().resolve(&name, NamedBy::User);
        let info = info.ok_or(PageError::NoModel(name))?;
        self.session()?.set_model(&info.provider, &info.id).await?;
        Ok(())
    }
}

async fn write(output: &Output, op: &Op<'_>) -> Result<(), Closed> {
    let mut line = Vec::new();
    op.write(&mut line);
    output.send(&line).await
}

async fn write_list(output: &Output, listing: &SessionListing) -> Result<(), Closed> {
    let (id, html) = ("sessions", listing.html(Costs::shared()));
    write(output, &Op::Set { id, html: &html }).await
}
