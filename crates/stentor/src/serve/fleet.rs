//! The server as a node of a fleet, and `stentor fleet`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use stentor_agent::agent::AgentError;
use stentor_agent::live_sessions::{LiveActivity, LiveSessions};
use stentor_agent::tasks;
use stentor_fleet::settings::{FleetSecret, WorkPlace};
use stentor_fleet::tunnel::{self, FleetPeers, TunnelTable};
use stentor_fleet::{
    ControlRequest, Fleet, FleetError, FleetSettings, FleetStore, NodeId, NodeSessions,
    SessionActivity,
};
use stentor_serve::frontend::{Frontend, Storing};
use stentor_serve::http::DefaultClientPlace;
use stentor_serve::server::Server;
use stentor_text::visible::visible;
use stentor_wire::attach::AttachRefusal;

use crate::acp;
use crate::args::{FleetAction, FleetArgs};
use crate::config::table::{base, key_error, table_error};
use crate::config::{Config, ConfigError, ConfigErrors, Layer, RawTable};
use crate::environment::Variables;
use crate::frontend::{RuntimeError, Start, runtime};
use crate::relay;
use crate::setup::{self, FolderError};

use super::http::working_folder;

pub use stentor_fleet::Node;

/// Where `user`, `password` and `token` are if they are not in [fleet].
const USER_VARIABLE: &str = "STENTOR_FLEET_USER";
const PASSWORD_VARIABLE: &str = "STENTOR_FLEET_PASSWORD";
const TOKEN_VARIABLE: &str = "STENTOR_FLEET_TOKEN";

/// Why there is no fleet, or it does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetFailure {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(
        "no NATS server is named: `stentor serve --fleet nats://HOST:4222`, or `url` in [fleet] of \
         your configuration"
    )]
    NoUrl,
    #[error("there is no folder for the sessions of the fleet; set `data_dir`")]
    NoFolder,
    #[error("the fleet has no session {0}")]
    NoSession(String),
    #[error("several sessions begin with {0}; give more of the id")]
    Ambiguous(String),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A connection to the fleet, before the server is a node of it.
pub struct Membership {
    store: FleetStore,
}

impl Membership {
    /// Connects to the fleet at `url`, or at the configured servers if that is empty.
    pub async fn connect(url: &str, life: &str) -> Result<Self, FleetFailure> {
        let (settings, config) = settings(Some(url).filter(|url| !url.is_empty()))?;
        let fleet = Fleet::connect(settings, life).await?;
        fleet.check_durability().await?;
        let data = config.settings.data_dir.ok_or(FleetFailure::NoFolder)?;
        let root = data
            .value
            .join("fleet")
            .join(&fleet.settings().tenant)
            .join(&fleet.this_node().name);
        let store = FleetStore::new(fleet, &root, setup::system_clock())?;
        Ok(Self { store })
    }

    /// Where the sessions of all clients go.
    pub fn storing(&self) -> Storing {
        Storing {
            files: self.store.files().clone(),
            journals: Arc::new(self.store.clone()),
        }
    }

    /// Makes the server a node.
    pub async fn join(self, server: &Server) -> Result<Node, FleetFailure> {
        let sessions = ServerSessions {
            live: server.live().clone(),
            storing: self.storing(),
        };
        let fleet = self.store.fleet().clone();
        let node = Node::join(self.store, Arc::new(sessions)).await?;
        let tunnels = TunnelTable::default();
        let peers = FleetPeers::new(fleet.clone(), tunnels.clone(), node.places().clone());
        server.set_peers(Arc::new(peers));
        // Clients of other nodes are in this node's environment, and in its folder where theirs is not
        // here.
        let place = DefaultClientPlace {
            cwd: working_folder()?,
            env: relay::variables(),
        };
        tunnel::listen(fleet, tunnels, server.clone(), place).await?;
        Ok(node)
    }
}

/// The live sessions of the server.
#[derive(Clone)]
struct ServerSessions {
    live: LiveSessions,
    storing: Storing,
}

impl NodeSessions for ServerSessions {
    fn take_up(&self, file: PathBuf, folder: PathBuf) -> BoxFuture<'static, Result<(), String>> {
        let sessions = self.clone();
        Box::pin(async move {
            let taken = tasks::spawn_blocking(move || sessions.open(&file, folder)).await;
            match taken {
                Ok(taken) => taken.map_err(|why| why.to_string()),
                Err(panicked) => Err(panicked.to_string()),
            }
        })
    }

    fn suspend(&self, file: PathBuf, why: String) -> BoxFuture<'static, ()> {
        let live = self.live.clone();
        Box::pin(async move { live.suspend(&file, why).await })
    }

    fn activities(&self) -> BoxFuture<'static, Vec<(PathBuf, SessionActivity)>> {
        let live = self.live.clone();
        Box::pin(async move {
            let activities = live.activities().await.into_iter();
            let states = activities.map(|(file, activity)| {
                let state = match activity {
                    LiveActivity::Idle => SessionActivity::Idle,
                    LiveActivity::Running => SessionActivity::Running,
                    LiveActivity::Asking => SessionActivity::Asking,
                };
                (file, state)
            });
            states.collect()
        })
    }
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
enum SessionNotOpened {
    #[error("{}", .0.message)]
    Setup(AttachRefusal),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error("it cannot be opened without a client")]
    NoAgent,
}

impl ServerSessions {
    /// Opens a session for nobody: it marks what was interrupted, and waits for its clients. It is
    /// set up as one of this node, with the node's environment.
    fn open(&self, file: &Path, folder: PathBuf) -> Result<(), SessionNotOpened> {
        let start = Start {
            folder: folder.clone(),
            variables: Variables::OfProcess,
            storing: None,
        };
        let prepared = acp::for_client(&[], &start).map_err(SessionNotOpened::Setup)?;
        let Frontend::Acp(agent, _) = prepared.frontend else {
            return Err(SessionNotOpened::NoAgent);
        };
        let Storing { files, journals } = self.storing.clone();
        // Nobody is there who could answer a question.
        let agent = agent
            .storing_in(files, journals)
            .sharing(self.live.clone(), true);
        let options = agent.options(&folder)?;
        agent.resume(file, options)?;
        Ok(())
    }
}

/// `stentor fleet`: shows nodes and sessions, moves sessions, empties nodes.
pub fn run(args: &FleetArgs, as_json: bool, out: &mut impl Write) -> Result<(), FleetFailure> {
    let (settings, _) = settings(args.url.as_deref())?;
    runtime()?.block_on(async {
        let fleet = Fleet::open(settings).await?;
        match &args.action {
            FleetAction::Status => {
                fleet.look_at_nodes().await?;
                show_nodes(&fleet, as_json, out)
            }
            FleetAction::Sessions => {
                fleet.look().await?;
                show_sessions(&fleet, as_json, out)
            }
            FleetAction::Drain { node } => {
                fleet.look_at_nodes().await?;
                let there: Vec<String> = fleet.nodes().into_iter().map(|one| one.id.name).collect();
                if !there.contains(node) {
                    let name = node.clone();
                    return Err(FleetError::UnknownNode { name, there }.into());
                }
                ask(&fleet, node, &ControlRequest::Drain, as_json, out).await
            }
            FleetAction::Move { session, node } => {
                fleet.look().await?;
                let session = one_session(&fleet, session)?;
                let to = node.clone();
                match fleet.owner_of(&session) {
                    Some(owner) => {
                        let asked = ControlRequest::Move { session, to };
                        ask(&fleet, &owner.name, &asked, as_json, out).await
                    }
                    // Nobody has it who could hand it over.
                    None => {
                        let asked = ControlRequest::Take { session };
                        ask(&fleet, &to, &asked, as_json, out).await
                    }
                }
            }
        }
    })
}

/// The id of the session that somebody means.
fn one_session(fleet: &Fleet, wanted: &str) -> Result<String, FleetFailure> {
    let mut found = fleet.find(wanted).into_iter();
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.id),
        (Some(_), Some(_)) => Err(FleetFailure::Ambiguous(wanted.to_owned())),
        (None, _) => Err(FleetFailure::NoSession(wanted.to_owned())),
    }
}

async fn ask(
    fleet: &Fleet,
    node: &str,
    asked: &ControlRequest,
    as_json: bool,
    out: &mut impl Write,
) -> Result<(), FleetFailure> {
    let answer = fleet.ask(node, asked).await?;
    match answer.error {
        Some(why) => Err(FleetFailure::Refused(why)),
        None if as_json => Ok(writeln!(out, "{}", json!({ "moved": answer.moved }))?),
        None => Ok(writeln!(out, "{} session(s) handed over", answer.moved)?),
    }
}

fn show_nodes(fleet: &Fleet, as_json: bool, out: &mut impl Write) -> Result<(), FleetFailure> {
    let nodes = fleet.nodes();
    if as_json {
        return Ok(writeln!(out, "{}", json!({ "nodes": nodes }))?);
    }
    for node in nodes {
        let draining = if node.draining { ", takes none" } else { "" };
        writeln!(
            out,
            "{}  {} of {} sessions{draining}  {}",
            visible(&node.id.name),
            node.sessions,
            node.capacity,
            visible(&node.places.join(", "))
        )?;
    }
    Ok(())
}

fn show_sessions(fleet: &Fleet, as_json: bool, out: &mut impl Write) -> Result<(), FleetFailure> {
    let sessions = fleet.sessions();
    let is_gone = |owner: &NodeId| !fleet.has_node(owner);
    if as_json {
        let sessions = sessions.iter().map(|session| {
            let mut shown = json!(session);
            if let Some(owner) = &session.owner {
                shown["owner"]["gone"] = json!(is_gone(owner));
            }
            shown
        });
        let sessions: Vec<_> = sessions.collect();
        return Ok(writeln!(out, "{}", json!({ "sessions": sessions }))?);
    }
    for session in sessions {
        let owner = session.owner.as_ref().map(|owner| match is_gone(owner) {
            true => format!("{} (gone)", visible(&owner.name)),
            false => visible(&owner.name).into_owned(),
        });
        let title = session.name.or(session.first_message).unwrap_or_default();
        writeln!(
            out,
            "{}  {}  {}  {}  {}",
            visible(&session.id),
            session.state.word(),
            owner.as_deref().unwrap_or("-"),
            visible(&session.place),
            visible(title.lines().next().unwrap_or_default())
        )?;
    }
    Ok(())
}

/// `[fleet]` of the user's configuration, with the servers that a flag names.
fn settings(url: Option<&str>) -> Result<(FleetSettings, Config), FleetFailure> {
    let start = Start::of_process();
    let folder = start.working_folder(None)?;
    let config = setup::load_config(&folder, &Layer::default(), &start.variables)?;
    let mut settings = match &config.fleet {
        Some(raw) => of_table(raw, start.home().as_deref())?,
        None => FleetSettings::default(),
    };
    if let Some(url) = url {
        settings.url = Some(url.to_owned());
    }
    // What is secret need not be in a file.
    let variable = |name: &str| {
        let value = start.variables.get(name)?.into_string().ok()?;
        Some(value).filter(|value| !value.is_empty())
    };
    settings.user = settings.user.or_else(|| variable(USER_VARIABLE));
    let secret = |name: &str| variable(name).map(FleetSecret::new);
    settings.password = settings.password.or_else(|| secret(PASSWORD_VARIABLE));
    settings.token = settings.token.or_else(|| secret(TOKEN_VARIABLE));
    match settings.url {
        Some(_) => Ok((settings, config)),
        None => Err(FleetFailure::NoUrl),
    }
}

/// What is wrong with [fleet], where it is.
fn bad_table(raw: &RawTable, why: &toml::de::Error) -> ConfigError {
    let text = why.to_string();
    let key = text
        .rsplit_once("in `")
        .and_then(|(_, key)| key.split('`').next());
    // An unknown key is named by the message itself.
    match key.filter(|_| !why.message().starts_with("unknown field")) {
        Some(key) => key_error("", raw, key, why.message()),
        None => table_error("", raw, why.message()),
    }
}

fn of_table(raw: &RawTable, home: Option<&Path>) -> Result<FleetSettings, ConfigErrors> {
    let read = raw.table.clone().try_into::<FleetSettings>();
    let mut settings = read.map_err(|why| ConfigErrors(vec![bad_table(raw, &why)]))?;
    let resolve = |path: &mut PathBuf| {
        let inside = home.and_then(|home| Some(home.join(path.strip_prefix("~").ok()?)));
        *path = inside.unwrap_or_else(|| base(raw).join(&*path));
    };
    for path in [
        &mut settings.nkey,
        &mut settings.credentials,
        &mut settings.tls_ca,
        &mut settings.tls_certificate,
        &mut settings.tls_key,
    ] {
        path.as_mut().map(resolve);
    }
    for place in settings.places.values_mut() {
        match place {
            WorkPlace::Folder(path) => resolve(path),
            WorkPlace::Checkout(checkout) => resolve(&mut checkout.path),
        }
    }
    Ok(settings)
}
