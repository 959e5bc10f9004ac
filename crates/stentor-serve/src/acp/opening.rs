//! How sessions are opened, and how the client learns of it (section 5).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};
use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::hub::Cursor;
use stentor_agent::model::ModelRegistry;
use stentor_agent::session::{CostMeter, Session, SessionOptions, SessionState};
use stentor_agent::tasks;
use stentor_journal::store::{Entry, StoreError};
use stentor_wire::jsonrpc::Id;
use tokio::sync::watch;

use super::calls::CallViewer;
use super::client::AcpClient;
use super::client_io::ClientIo;
use super::commands;
use super::connection::AcpContext;
use super::cursor::UpdatesStart;
use super::error::{self, AcpResult, Refusal};
use super::events::AcpEncoder;
use super::frames::{self, update};
use super::limits;
use super::open_session::AcpSession;
use super::outbound::ClientRequests;
use super::params::{self, RequestedSession};
use super::questions::AcpQuestions;
use super::replay::Replay;
use super::settings::SessionSettings;
use super::shells::AcpUserShells;
use super::subagents::AcpSubagents;
use crate::loaded::Loaded;
use crate::pump::Pump;

/// Opens sessions for a client.
pub(super) struct Opener {
    context: Arc<AcpContext>,
    client: AcpClient,
}

/// A session that is on disk.
pub(super) struct SessionOnDisk {
    id: Arc<str>,
    path: PathBuf,
    client_io: Arc<ClientIo>,
    options: SessionOptions,
}

/// A session as it is when the client learns that it is open.
pub(super) struct ReadySession {
    /// What was said in a session that was live before, up to the first event.
    history: Option<Vec<Entry>>,
    /// Where the updates of a session that is shared begin.
    place: Option<UpdatesStart>,
    settings: SessionSettings,
    state: Box<SessionState>,
    cost: CostMeter,
}

/// A session that is live, and what its client wants of it.
struct LiveAcpSession {
    session: Session,
    client_io: Arc<ClientIo>,
    viewer: CallViewer,
    loaded: Loaded,
    is_resumed: bool,
    numbers_updates: bool,
    /// The client has everything up to here.
    after: Option<Cursor>,
}

/// How the client came to open a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningKind {
    New,
    Forked,
    Loaded,
    Resumed,
}

impl Opener {
    pub fn new(context: &Arc<AcpContext>, client: AcpClient) -> Self {
        Self {
            context: Arc::clone(context),
            client,
        }
    }

    /// Starts a new session.
    pub async fn start(
        &self,
        id: &str,
        wanted: &RequestedSession,
    ) -> AcpResult<(AcpSession, ReadySession)> {
        let loaded = self.context.loaded.admit().await;
        self.make_folder(wanted).await?;
        let (client_io, options) = self.options(wanted)?;
        let viewer = CallViewer::new(&wanted.cwd, &wanted.additional, &options.tools);
        let agent = self.context.agent.clone();
        let new = NewSession {
            id: Some(id.to_owned()),
            // Its id must work in other processes from now on.
            file_at_once: true,
            ..NewSession::default()
        };
        let session = blocking(move || agent.start_with(options, new)).await??;
        let opened = LiveAcpSession {
            session,
            client_io,
            viewer,
            loaded,
            is_resumed: false,
            numbers_updates: wanted.numbers_updates,
            after: None,
        };
        self.open(opened).await
    }

    /// Starts a session as a copy of the stored session `source`.
    pub async fn fork(
        &self,
        id: &str,
        source: &Arc<str>,
        wanted: &RequestedSession,
    ) -> AcpResult<(AcpSession, ReadySession)> {
        let unknown = || Refusal::unknown_session(source);
        let mut stored = self.find(source, wanted).await?.ok_or_else(unknown)?;
        stored.options.id = Some(id.to_owned());
        self.open_stored(stored, wanted, None, Agent::fork_stored)
            .await
    }

    /// The stored session `id`, with everything that opening it needs; `None` when none is stored.
    pub async fn find(
        &self,
        id: &Arc<str>,
        wanted: &RequestedSession,
    ) -> AcpResult<Option<SessionOnDisk>> {
        let (agent, wanted_id) = (self.context.agent.clone(), Arc::clone(id));
        let path = match blocking(move || agent.find_id(&wanted_id)).await? {
            Ok(path) => path,
            Err(AgentError::Store(StoreError::NotFound { .. })) => return Ok(None),
            Err(error) => return Err(error::about_stored(id, error)),
        };
        self.make_folder(wanted).await?;
        let (client_io, mut options) = self.options(wanted)?;
        // What the session was left with, not the default of new ones.
        options.prefer_stored_model();
        options.thinking = None;
        options.keeps_permission_mode = true;
        Ok(Some(SessionOnDisk {
            id: Arc::clone(id),
            path,
            client_io,
            options,
        }))
    }

    /// Goes on with a stored session.
    pub async fn resume(
        &self,
        stored: SessionOnDisk,
        wanted: &RequestedSession,
        after: Option<Cursor>,
    ) -> AcpResult<(AcpSession, ReadySession)> {
        self.open_stored(stored, wanted, after, Agent::resume).await
    }

    async fn open_stored(
        &self,
        stored: SessionOnDisk,
        wanted: &RequestedSession,
        after: Option<Cursor>,
        open: fn(&Agent, &Path, SessionOptions) -> Result<Session, AgentError>,
    ) -> AcpResult<(AcpSession, ReadySession)> {
        let loaded = self.context.loaded.admit().await;
        let SessionOnDisk {
            id,
            path,
            client_io,
            options,
        } = stored;
        let viewer = CallViewer::new(&wanted.cwd, &wanted.additional, &options.tools);
        let agent = self.context.agent.clone();
        let session = blocking(move || open(&agent, &path, options))
            .await?
            .map_err(|error| error::about_stored(&id, error))?;
        let opened = LiveAcpSession {
            session,
            client_io,
            viewer,
            loaded,
            is_resumed: true,
            numbers_updates: wanted.numbers_updates,
            after,
        };
        self.open(opened).await
    }

    /// Makes a folder that was not there when the request came.
    async fn make_folder(&self, wanted: &RequestedSession) -> AcpResult<()> {
        if wanted.cwd.is_dir() {
            return Ok(());
        }
        let (agent, cwd) = (self.context.agent.clone(), wanted.cwd.clone());
        blocking(move || agent.make_folder(&cwd)).await??;
        match wanted.cwd.is_dir() {
            true => Ok(()),
            false => Err(params::no_folder()),
        }
    }

    fn options(&self, wanted: &RequestedSession) -> AcpResult<(Arc<ClientIo>, SessionOptions)> {
        let mut options = self.context.agent.options(&wanted.cwd)?;
        let client_io = ClientIo::new(self.client);
        options.place = Arc::clone(&client_io) as _;
        options.add_folders(&wanted.additional);
        options.instructions.clone_from(&wanted.instructions);
        if let Some(servers) = &mut options.servers {
            for server in &wanted.servers {
                servers.add(server.clone());
            }
        }
        Ok((client_io, options))
    }

    async fn open(&self, opened: LiveAcpSession) -> AcpResult<(AcpSession, ReadySession)> {
        let LiveAcpSession {
            session,
            client_io,
            viewer,
            loaded,
            is_resumed,
            numbers_updates,
            after,
        } = opened;
        let context = &self.context;
        let models = context.agent.models();
        let is_joined = session.is_joined();
        let found = after.map(|cursor| session.subscribe_at(&cursor));
        let outcome = found.as_ref().map(|found| match found {
            Ok(_) => Ok(()),
            Err(missed) => Err(*missed),
        });
        let (events, history) = match found {
            Some(Ok(events)) => (events, None),
            Some(Err(_)) | None if is_joined => {
                let joined = session.join().await?;
                (joined.events, Some(joined.entries))
            }
            Some(Err(_)) | None => (session.subscribe(), None),
        };
        session.set_can_ask(true).await?;
        if self.client.shows_subagents {
            session.subagents().watch();
        }
        let mut ready = ReadySession::of(&session, models).await?;
        ready.history = history;
        ready.place = session.is_shared().then(|| UpdatesStart {
            cursor: events.cursor(),
            more: events.begins_with_what_goes_on(),
            outcome,
        });
        let numbered = ready.place.as_ref().filter(|_| numbers_updates);
        let begin = numbered.map(|place| place.cursor.clone());
        let (trace, trace_of_requests) = watch::channel(None);
        let encoder = AcpEncoder {
            session_id: Arc::clone(session.id()),
            client: self.client,
            turn: None,
            trace,
            viewer,
            notes: client_io.notes(),
            settings: ready.settings.clone(),
            questions: AcpQuestions::new(session.clone(), context.outbound.clone()),
            message_prefix: format!("{:08x}", context.agent.environment().clock.random()),
            cost: ready.cost.clone(),
            shown_cost: 0.0,
            context_used: None,
            // Who only watches has no turn that could end the quiet.
            is_quiet: is_resumed && !is_joined && !session.observes(),
            is_shared: session.is_shared(),
            begin,
            works_here: !is_joined,
            held: Vec::new(),
            message: None,
            calls: HashSet::new(),
            shells: AcpUserShells::default(),
            subagents: AcpSubagents::default(),
            has_shown_text: false,
            compactions: 0,
            has_title: ready.state.name.is_some() || ready.state.message_count > 0,
            shutdown: context.shutdown.clone(),
            knows_prompt: false,
            has_had_turn: false,
            last_settled: 0,
            own_messages: 0,
            has_lasting_answer: false,
        };
        let (pump, answers) = Pump::new(events, context.output.clone(), encoder);
        client_io.connect(ClientRequests {
            outbound: context.outbound.clone(),
            session: session.downgrade(),
            answers,
            trace: trace_of_requests,
        });
        let open = AcpSession::new(Arc::clone(context), session, pump, client_io, loaded);
        Ok((open, ready))
    }
}

impl ReadySession {
    /// The session as it is now.
    pub async fn of(session: &Session, models: &Arc<dyn ModelRegistry>) -> AcpResult<Self> {
        let state = session.state().await?;
        let cost = session.cost().await?;
        Ok(Self {
            history: None,
            place: None,
            settings: SessionSettings::of(models, &state),
            state: Box::new(state),
            cost,
        })
    }

    /// Appends the answer to the request that opened the session.
    fn write_answer(&self, id: &Id, announced: OpeningKind, session: &Session, out: &mut Vec<u8>) {
        let (modes, options) = (self.settings.modes(), self.settings.options());
        match announced {
            OpeningKind::New => {
                let response = acp::NewSessionResponse::new(Arc::clone(session.id()))
                    .modes(modes)
                    .config_options(options)
                    .meta(self.meta());
                frames::result(out, id, &response);
            }
            OpeningKind::Forked => {
                let response = acp::ForkSessionResponse::new(Arc::clone(session.id()))
                    .modes(modes)
                    .config_options(options)
                    .meta(self.meta());
                frames::result(out, id, &response);
            }
            OpeningKind::Loaded => {
                let response = acp::LoadSessionResponse::new()
                    .modes(modes)
                    .config_options(options)
                    .meta(self.meta());
                frames::result(out, id, &response);
            }
            OpeningKind::Resumed => {
                let response = acp::ResumeSessionResponse::new()
                    .modes(modes)
                    .config_options(options)
                    .meta(self.meta());
                frames::result(out, id, &response);
            }
        }
    }

    /// What a client may want to know that the protocol has no field for.
    fn meta(&self) -> Option<Map<String, Value>> {
        let mut own = Map::new();
        if let Some(sandbox) = self.state.sandbox.to_report() {
            own.insert("sandbox".into(), json!(sandbox));
        }
        if let Some(place) = &self.place {
            own.insert("cursor".into(), place.to_meta());
        }
        let ours = (!own.is_empty()).then(|| json!({ "stentor": own }))?;
        ours.as_object().cloned()
    }

    /// True when the client goes on from where it was, so that nothing is repeated.
    fn is_resumed(&self) -> bool {
        self.place.as_ref().is_some_and(UpdatesStart::is_resumed)
    }

    /// Appends what a loaded session is like beside its history.
    fn write_state(&self, session_id: &Arc<str>, out: &mut Vec<u8>) {
        if self.state.plan.tasks().next().is_some() {
            update(out, session_id, frames::plan(&self.state.plan));
        }
        if let Some(name) = &self.state.name {
            update(out, session_id, frames::title(Some(name.clone())));
        }
        let used = self.state.context.tokens;
        let usage = used.and_then(|used| frames::usage(&self.settings, used, self.cost.dollars()));
        if let Some(usage) = usage {
            update(out, session_id, usage);
        }
    }
}

impl AcpSession {
    /// Answers the request that opened the session. The client knows the id of a new one only from
    /// the answer on (section 5.1); of a loaded one it gets the whole history, then the answer,
    /// then nothing (section 5.2).
    pub async fn announce(
        &mut self,
        id: &Id,
        mut ready: ReadySession,
        announced: OpeningKind,
    ) -> AcpResult<()> {
        let session = self.session.clone();
        let commands = commands::update(&session.slash().list().await);
        let replays = announced == OpeningKind::Loaded && !ready.is_resumed();
        if replays {
            self.replay(ready.history.take(), ready.state.is_running)
                .await?;
        }
        self.pump.write_after(0, |_, out| match replays {
            true => {
                ready.write_state(session.id(), out);
                update(out, session.id(), commands);
                ready.write_answer(id, announced, &session, out);
            }
            false => {
                ready.write_answer(id, announced, &session, out);
                update(out, session.id(), commands);
            }
        });
        Ok(())
    }

    /// Replays what was said: `live` if the session was live before, else what is stored.
    async fn replay(&mut self, live: Option<Vec<Entry>>, is_running: bool) -> AcpResult<()> {
        // A stored one may go on with a question, too.
        let goes_on = live.is_some() || is_running;
        let entries = match live {
            Some(entries) => entries,
            None => self.session.active_path().await?.1,
        };
        let viewer = self.pump.encoder().viewer.clone();
        let mut replay = Replay::new(Arc::clone(self.session.id()), viewer);
        for entry in &entries {
            let length = self.pump.write_after(0, |_, out| {
                replay.entry(entry, out);
                out.len()
            });
            if length >= limits::REPLAY_BYTES {
                self.pump.hand_over().await?;
            }
        }
        self.pump.write_after(0, |encoder, out| match goes_on {
            // They may still run.
            true => encoder.calls.extend(replay.open_calls()),
            false => replay.finish(out),
        });
        Ok(())
    }
}

/// Does what may wait for the disk where that holds up nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> AcpResult<T> {
    tasks::spawn_blocking(work)
        .await
        .map_err(|error| Refusal::internal(format!("Internal error: {error}")))
}
