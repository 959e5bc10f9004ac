//! A session that is open on this connection: how it is opened, and how it is closed.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};
use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::model::ModelRegistry;
use stentor_agent::session::{Session, SessionOptions, SessionState};
use stentor_agent::tool::Tool;
use stentor_agent::tool_servers::ToolServer;
use stentor_journal::store::StoreError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::asking::Asking;
use super::calls::CallViewer;
use super::client::Client;
use super::commands;
use super::error::{self, Handled, Refusal};
use super::events::{self, Encoder};
use super::limits;
use super::order::Order;
use super::outbound::{Lane, Outbound};
use super::place::ClientPlace;
use super::replay::Replay;
use super::settings::Settings;
use super::turns::{Cancelled, Turns};
use crate::output::{Closed, Output};
use crate::pump::Pump;

/// A session that is open on this connection.
pub(super) struct OpenSession {
    pub lane: Lane,
    pub turns: Turns,
    pub place: Arc<ClientPlace>,
    pub models: Arc<dyn ModelRegistry>,
    /// Makes the ids of messages unique among all processes that ever opened the session.
    pub message_prefix: String,
    /// How many messages were said that are nobody's.
    pub said: AtomicU64,
    pub order: Arc<Order>,
    viewer: CallViewer,
    pump: Mutex<Option<JoinHandle<Result<Encoder, Closed>>>>,
}

/// What a client wants of a session it opens.
pub(super) struct Wanted {
    pub cwd: PathBuf,
    pub additional: Vec<PathBuf>,
    pub servers: Vec<ToolServer>,
}

/// A session that is on disk.
pub(super) struct Stored {
    id: String,
    path: PathBuf,
    place: Arc<ClientPlace>,
    options: SessionOptions,
}

/// Everything that opening needs of the connection.
#[derive(Clone)]
pub(super) struct Opener {
    pub agent: Agent,
    pub client: Client,
    pub output: Output,
    pub outbound: Outbound,
    pub shutdown: CancellationToken,
}

impl Opener {
    /// Starts a new session.
    pub async fn start(&self, wanted: Wanted) -> Handled<(Arc<OpenSession>, Ready)> {
        let (place, options) = self.options(&wanted)?;
        let tools = options.tools.clone();
        let agent = self.agent.clone();
        let new = NewSession {
            // Its id must work in other processes from now on.
            file_at_once: true,
            ..NewSession::default()
        };
        let session = blocking(move || agent.start_with(options, new)).await??;
        self.open(session, place, wanted, tools, None).await
    }

    /// The stored session `id`, with everything that opening it needs; `None` when none is stored.
    pub async fn find(&self, id: &str, wanted: &Wanted) -> Handled<Option<Stored>> {
        let (agent, wanted_id) = (self.agent.clone(), id.to_owned());
        let found = blocking(move || agent.find_id(&wanted_id)).await?;
        let path = match found {
            Ok(path) => path,
            Err(AgentError::Store(StoreError::NotFound { .. })) => return Ok(None),
            Err(error) => return Err(error::about_stored(id, error)),
        };
        let (place, mut options) = self.options(wanted)?;
        // What the session was left with, not the default of new ones.
        options.usual_model = options.model.take();
        options.thinking = None;
        options.keeps_permission_mode = true;
        Ok(Some(Stored {
            id: id.to_owned(),
            path,
            place,
            options,
        }))
    }

    /// Goes on with a stored session.
    pub async fn resume(
        &self,
        stored: Stored,
        wanted: Wanted,
        order: Arc<Order>,
    ) -> Handled<(Arc<OpenSession>, Ready)> {
        let Stored {
            id,
            path,
            place,
            options,
        } = stored;
        let tools = options.tools.clone();
        let agent = self.agent.clone();
        let session = blocking(move || agent.resume(&path, options))
            .await?
            .map_err(|error| error::about_stored(&id, error))?;
        self.open(session, place, wanted, tools, Some(order)).await
    }

    fn options(&self, wanted: &Wanted) -> Handled<(Arc<ClientPlace>, SessionOptions)> {
        let mut options = self.agent.options(&wanted.cwd)?;
        let place = ClientPlace::new(self.client);
        options.place = Arc::clone(&place) as _;
        options.policy = options.policy.with_roots(wanted.additional.clone());
        if let Some(servers) = &mut options.servers {
            for server in &wanted.servers {
                servers.add(server.clone());
            }
        }
        Ok((place, options))
    }

    async fn open(
        &self,
        session: Session,
        place: Arc<ClientPlace>,
        wanted: Wanted,
        tools: Vec<Arc<dyn Tool>>,
        resumed: Option<Arc<Order>>,
    ) -> Handled<(Arc<OpenSession>, Ready)> {
        let events = session.subscribe();
        session.set_can_ask(true).await?;
        let state = session.state().await?;
        let stats = session.stats().await?;
        let settings = Settings::of(self.agent.models(), &state);
        let turns = Turns::default();
        let viewer = CallViewer::new(&wanted.cwd, &tools);
        let message_prefix = format!("{:08x}", self.agent.environment().clock.random());
        let encoder = Encoder {
            shutdown: self.shutdown.clone(),
            session_id: Arc::clone(session.id()),
            client: self.client,
            turns: turns.clone(),
            viewer: viewer.clone(),
            notes: place.notes(),
            settings: settings.clone(),
            asking: Asking::new(session.clone(), self.outbound.clone()),
            message_prefix: message_prefix.clone(),
            cost: stats.total_usage.cost.total,
            is_quiet: resumed.is_some(),
            held: Vec::new(),
            message: None,
            calls: HashSet::new(),
            has_shown_text: false,
            compactions: 0,
            knows_prompt: false,
            has_title: state.name.is_some() || state.message_count > 0,
        };
        let usage = usage_of(&state, &settings, encoder.cost);
        let (pump, answers) = Pump::new(events, self.output.clone(), encoder);
        let lane = Lane {
            outbound: self.outbound.clone(),
            session,
            answers,
            turns: turns.clone(),
        };
        place.connect(lane.clone());
        let order = resumed.unwrap_or_else(|| Arc::new(Order::new()));
        let open = Arc::new(OpenSession {
            lane,
            turns,
            place,
            models: Arc::clone(self.agent.models()),
            message_prefix,
            said: AtomicU64::new(0),
            order,
            viewer,
            pump: Mutex::default(),
        });
        let ready = Ready {
            settings,
            state: Box::new(state),
            usage,
            after: 0,
            pump: Some(pump),
        };
        Ok((open, ready))
    }
}

/// An open session about which the client has not been told yet.
pub(super) struct Ready {
    pub settings: Settings,
    state: Box<SessionState>,
    usage: Option<acp::SessionUpdate>,
    /// The number of the event behind which the client is told.
    after: u64,
    /// What will tell of its events; `None` when that is at work already.
    pump: Option<Pump<Encoder>>,
}

impl Ready {
    /// What a client may want to know that the protocol has no field for.
    pub fn meta(&self) -> Option<Map<String, Value>> {
        let sandbox = self.state.sandbox.to_tell()?;
        let ours = json!({ "stentor": { "sandbox": sandbox } });
        ours.as_object().cloned()
    }
}

impl OpenSession {
    /// The session as it is, for a client that opens it again while it is open. What was stopped
    /// for that has ended when this returns.
    pub async fn ready_again(&self) -> Handled<Ready> {
        self.turns.all_over().await;
        let session = &self.lane.session;
        let state = session.state().await?;
        let cost = session.stats().await?.total_usage.cost.total;
        let settings = Settings::of(&self.models, &state);
        Ok(Ready {
            usage: usage_of(&state, &settings, cost),
            settings,
            state: Box::new(state),
            after: session.seq(),
            pump: None,
        })
    }

    /// All slash commands.
    async fn commands(&self) -> acp::SessionUpdate {
        commands::update(&self.lane.session.slash().list().await)
    }

    /// Hands over the answer that tells the client of the session, and lets its events follow.
    pub async fn announce(&self, ready: Ready, mut answer: Vec<u8>) {
        // The client knows the session's id only from the answer on (section 5.1).
        let list = self.commands().await;
        events::update(&mut answer, self.lane.session.id(), list);
        self.lane.answers.send(ready.after, answer).await.ok();
        self.run(ready.pump);
    }

    /// Tells the whole history, then the answer, then nothing (section 5.2).
    pub async fn tell_again(&self, ready: Ready, answer: Vec<u8>) -> Handled<()> {
        let Ready {
            state,
            usage,
            after,
            pump,
            ..
        } = ready;
        self.run(pump);
        let id = self.lane.session.id();
        let (_, entries) = self.lane.session.active_path().await?;
        let mut replay = Replay::new(Arc::clone(id), self.viewer.clone());
        let mut frames = Vec::new();
        for entry in &entries {
            replay.entry(entry, &mut frames);
            if frames.len() >= limits::REPLAY_BYTES {
                self.hand_over(after, std::mem::take(&mut frames)).await?;
            }
        }
        replay.finish(&mut frames);
        if state.plan.tasks().next().is_some() {
            let plan = events::plan_of(&state.plan);
            events::update(&mut frames, id, acp::SessionUpdate::Plan(plan));
        }
        if let Some(name) = &state.name {
            let info = acp::SessionInfoUpdate::new().title(name.clone());
            events::update(&mut frames, id, acp::SessionUpdate::SessionInfoUpdate(info));
        }
        if let Some(usage) = usage {
            events::update(&mut frames, id, usage);
        }
        events::update(&mut frames, id, self.commands().await);
        frames.extend_from_slice(&answer);
        self.hand_over(after, frames).await
    }

    /// Stops what runs and ends the session. Open prompts are answered with `cancelled`. Everything
    /// the session ever said has been handed over when this returns.
    pub async fn close(&self) {
        if let Some(Cancelled::Running(_)) = self.turns.cancel(None) {
            // What was meant for that turn is not for a later one.
            self.lane.session.clear_queues().await.ok();
        }
        self.lane.session.close().await;
        self.lane.answers.written(u64::MAX).await;
        // A run that ended in the moment in which it was accepted has answered nobody.
        for turn in self.turns.close() {
            self.answer_cancelled(&turn).await;
        }
        self.lane.answers.written(u64::MAX).await;
    }

    /// The task that writes the session's frames, to be waited for at the very end.
    pub fn take_pump(&self) -> Option<JoinHandle<Result<Encoder, Closed>>> {
        self.lock().take()
    }

    fn run(&self, pump: Option<Pump<Encoder>>) {
        if let Some(pump) = pump {
            *self.lock() = Some(tokio::spawn(pump.run()));
        }
    }

    async fn hand_over(&self, after: u64, frames: Vec<u8>) -> Handled<()> {
        self.lane
            .answers
            .send(after, frames)
            .await
            .map_err(|closed| Refusal::internal(closed.to_string()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<Result<Encoder, Closed>>>> {
        self.pump.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How full the context is, if that is known.
fn usage_of(state: &SessionState, settings: &Settings, cost: f64) -> Option<acp::SessionUpdate> {
    events::usage(settings, state.context.tokens?, cost)
}

/// Does what may wait for the disk where that holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Handled<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Refusal::internal(format!("It failed inside: {error}")))
}
